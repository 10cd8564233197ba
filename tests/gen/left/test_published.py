"""The committed recordings: complete, small, consistent with themselves. Needs no weights."""

import copy
import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from gen import io, manifest, notebooks, publish
from gen.errors import CheckFailed
from gen.paths import DEFAULT_MODEL, PUBLISHED, ROOT, Site
from gen.publish import FILE_LIMIT_BYTES, TOTAL_LIMIT_BYTES
from gen.records import IDENTITY_KEYS, Record


def values(id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(PUBLISHED.record(DEFAULT_MODEL, id).read_bytes())["values"]
    return found


def test_the_manifest_holds():
    table = manifest.verify(PUBLISHED)
    kept = {name.removeprefix(f"recomputed/{DEFAULT_MODEL}/").removesuffix(".json") for name in table["files"]}
    assert {"model", "heads", "cat", "chat", "repeat", "one-token", "old-keys", "cost"} <= kept


def test_every_file_is_canonical_identified_and_within_the_budget():
    total = 0
    for name, path in manifest.recordings(PUBLISHED).items():
        data = path.read_bytes()
        total += len(data)
        assert len(data) <= FILE_LIMIT_BYTES, name
        assert str(ROOT).encode() not in data, name
        if name in manifest.kept(PUBLISHED) | manifest.taken(PUBLISHED):
            assert io.canonical(json.loads(data)) == data, name
            continue
        document = json.loads(data)
        assert set(document) == {"environment", "identity", "values"}, name
        assert set(document["identity"]) == IDENTITY_KEYS, name
        notebook = Path(name).stem in notebooks.NAMES  # these bring their own seeded model
        assert (document["identity"]["seed"] is None) == (not notebook), name
        assert document["identity"]["command"].startswith("python -m gen run "), name
        assert "--write" not in document["identity"]["command"], name  # who copies it shall overwrite nothing
        tolerance = document["identity"]["tolerance"]
        assert tolerance["absolute"] <= 2e-4, name
        assert tolerance["of_largest"] <= 1e-4, name
    assert total <= TOTAL_LIMIT_BYTES


@pytest.mark.parametrize("id", ["cat", "chat", "repeat"])
def test_weights_come_from_scores_and_outputs_from_weights(id: str):
    """From the rounded numbers alone, in plain Python: softmax(scores) and weights · V."""
    index, model = values(id), values("model")
    for head in index["heads"]:
        shard, rows = values(f"{id}/attention-{head['layer']:02d}"), values(f"{id}/kv-{head['layer']:02d}")
        assert head["kv_head"] == head["head"] // model["group_size"]
        for position in range(index["tokens_total"]):
            scores = shard["scores"][position][head["head"]]
            weights = shard["weights"][position][head["head"]]
            assert len(scores) == len(weights) == position + 1
            total = sum(math.exp(score - max(scores)) for score in scores)
            softmax = [math.exp(score - max(scores)) / total for score in scores]
            assert weights == pytest.approx(softmax, abs=3e-3)
            value = [rows["v"][key][head["kv_head"]] for key in range(position + 1)]
            output = [sum(w * row[dim] for w, row in zip(weights, value, strict=True)) for dim in range(model["head_dim"])]
            assert shard["output"][position][head["head"]] == pytest.approx(output, abs=3e-3)


def test_one_shifted_value_of_the_real_data_fails_both_checks(build: Path):
    """By ten times what its record allows; the other numbers of the file still agree."""
    id = "cat/kv-02"
    copied = Site("copied")
    shutil.copytree(PUBLISHED.data, copied.data)
    stored = json.loads(PUBLISHED.record(DEFAULT_MODEL, id).read_bytes())
    record = Record(id, stored["identity"], stored["values"])
    assert not publish.difference(copied, DEFAULT_MODEL, [record]).differences
    shifted = copy.deepcopy(stored)
    largest = max(abs(number) for position in shifted["values"]["k"] for head in position for number in head)
    tolerance = stored["identity"]["tolerance"]
    shifted["values"]["k"][2][0][3] += 10 * min(tolerance["absolute"], tolerance["of_largest"] * largest)
    copied.record(DEFAULT_MODEL, id).write_bytes(io.canonical(shifted))
    found = publish.difference(copied, DEFAULT_MODEL, [record]).differences
    assert [key.partition(": ")[2] for key, _, _ in found] == ["values.k[2][0][3]"]
    with pytest.raises(CheckFailed, match=r"kv-02\.json: expected SHA-256"):
        manifest.verify(copied)


def test_the_idea_itself_is_in_the_numbers():
    keys = values("old-keys")
    assert keys["token_text"] == "sat"
    assert keys["causal_change_bound"] <= 1e-4
    assert keys["unmasked_layer0_bound"] <= 1e-4
    assert keys["unmasked_max"] > 1.0
    assert keys["unmasked_max"] == max(max(row) for row in keys["unmasked_change"])
    lanes = values("one-token")
    assert (lanes["after_step_4"]["without"]["kv_rows"], lanes["after_step_4"]["with"]["kv_rows"]) == (25, 7)
    assert lanes["logit_difference_bound"] <= 1e-3


def test_the_replies_are_what_the_pages_say_they_show():
    cat, chat, repeat = values("cat"), values("chat"), values("repeat")
    assert (cat["tokens_total"], cat["reply_tokens"], cat["reply_tokens_fed"]) == (15, 13, 12)
    assert cat["reply_text"].endswith(cat["final"]["text"])
    assert "Paris" in chat["reply_text"]
    assert chat["final"]["stop"]
    assert chat["final"]["text"] not in chat["reply_text"]
    phrase, _, begun = repeat["prompt_text"].partition(". ")
    assert (begun + repeat["reply_text"]).rstrip(".") == phrase


def test_the_shown_head_is_not_one_of_those_left_out():
    model, heads = values("model"), values("heads")
    chosen, rule = model["chosen"], model["rule"]
    every = [head for layer in heads["layers"] for head in layer]
    left_out = [head for head in every if head["weight_on_first"] > rule["max_weight_on_first"]]
    assert (len(every), len(left_out)) == (rule["heads_total"], rule["heads_left_out"])
    shown = heads["layers"][chosen["layer"]][chosen["head"]]
    assert shown["weight_on_first"] == chosen["weight_on_first"] <= rule["max_weight_on_first"]
    kept = sorted(head["entropy_bits"] for head in every if head not in left_out)
    assert shown["entropy_bits"] == kept[(len(kept) - 1) // 2]
