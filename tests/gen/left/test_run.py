"""`python -m gen run` from end to end on small models: what it counts, what it refuses, where it writes."""

import copy
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from gen import __main__ as command
from gen import fetch, manifest, models, paths
from gen.experiments import heads, old_keys, one_token, recording
from gen.experiments.context import Context
from gen.paths import ROOT, Site
from gen.tokenizer import Text
from kvref import load_checkpoint


@pytest.fixture(scope="session")
def tiny(tiny_gpt2: Path) -> Context:
    """The tiny GPT-2 with the prompt of every page."""
    facts = models.describe(tiny_gpt2)
    return Context(facts, load_checkpoint(tiny_gpt2), Text(tiny_gpt2), "the cat", warn=lambda _: None)


def values(site: Site, model: str, id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(site.record(model, id).read_bytes())["values"]
    return found


@pytest.mark.usefixtures("build")
def test_a_model_of_the_readers_own_is_recorded_into_build(tiny_gpt2: Path, capfd: pytest.CaptureFixture[str]):
    published = (ROOT / "docs/data/manifest.json").read_bytes()
    assert command.main(["run", "--model", str(tiny_gpt2), "--prompt", "a cat", "--name", "mine"]) == 0
    assert "records," in capfd.readouterr().out
    site = Site("mine")
    manifest.verify(site)
    model, cat = values(site, "tiny-gpt2", "model"), values(site, "tiny-gpt2", "cat")
    assert model["label"] == "small seeded model tiny-gpt2 (random weights, seed 7)"
    assert model["seeded"] is True
    assert (model["layers"], model["query_heads"], model["kv_heads"], model["rope_theta"]) == (3, 5, 5, None)
    assert cat["prompt_text"] == "a cat"
    assert cat["layers"] == [0, 1, 2]
    identity = json.loads(site.record("tiny-gpt2", "cat/kv-01").read_bytes())["identity"]
    assert identity["seed"] == 7
    assert identity["command"] == f"python -m gen run cat --model {tiny_gpt2} --prompt 'a cat' --name mine"
    assert (ROOT / "docs/data/manifest.json").read_bytes() == published
    # The same again changes nothing, and a check of it holds.
    before = {path: path.stat().st_mtime_ns for path in site.data.rglob("*.json")}
    again = ["run", "--model", str(tiny_gpt2), "--prompt", "a cat", "--name", "mine"]
    assert command.main(again) == 0
    assert {path: path.stat().st_mtime_ns for path in site.data.rglob("*.json")} == before
    assert command.main([*again, "--check"]) == 0
    assert "numbers, worst deviation 0\n" in capfd.readouterr().out
    # Another model under the same name replaces the first.
    shard = site.record("tiny-gpt2", "cat/kv-01")
    shard.write_bytes(shard.read_bytes().replace(b"[[", b"[[9.5,", 1))
    assert command.main([*again, "--check"]) == 1
    assert "tiny-gpt2/cat/kv-01.json: values." in capfd.readouterr().err


@pytest.mark.usefixtures("build", "store")
def test_a_gguf_file_of_the_readers_own_has_grouped_heads(tiny_gguf: Path):
    assert command.main(["run", "model", "cat", "chat", "--model", str(tiny_gguf)]) == 0
    site = Site("tiny-llama-gguf")
    model = values(site, "tiny-llama", "model")
    assert (model["query_heads"], model["kv_heads"], model["group_size"], model["seeded"]) == (4, 2, 2, False)
    assert all(head["kv_head"] == head["head"] // 2 for head in values(site, "tiny-llama", "cat")["heads"])
    chat = values(site, "tiny-llama", "chat")
    assert chat["prompt_text"] == f"{chat['instruction']}\n{chat['question']}\n"


def test_a_recording_is_consistent(tiny: Context):
    made = {record.id: record.values for record in recording.cat(tiny)}
    cat = made["cat"]
    total, prompt = cat["tokens_total"], cat["prompt_tokens"]
    assert [token["position"] for token in cat["tokens"]] == list(range(total))
    assert [token["role"] for token in cat["tokens"]] == ["prompt"] * prompt + ["reply"] * (total - prompt)
    fed = [position for step in cat["steps"] for position in step["fed_tokens"]]
    assert fed == list(range(total))
    for step, following in zip(cat["steps"], cat["tokens"][prompt:], strict=False):
        assert step["chosen_id"] == following["id"] == step["top"][0]["id"]
    assert all(step["in_reply"] for step in cat["steps"])
    last = cat["steps"][-1]
    assert cat["final"] == {"id": last["chosen_id"], "text": last["top"][0]["text"], "position": total, "stop": False}
    assert cat["reply_tokens"] == cat["reply_tokens_fed"] + 1 == len(cat["steps"])
    assert cat["reply_text"] == tiny.text.decode([*tiny.main.ids[prompt:], last["chosen_id"]])
    assert cat["steps"][-1]["cache_tokens"] == total
    for layer in range(3):
        kv, attention = made[f"cat/kv-{layer:02d}"], made[f"cat/attention-{layer:02d}"]
        q, k, v = (torch.tensor(table) for table in (attention["q"], kv["k"], kv["v"]))
        for position in range(total):
            for head in range(5):
                scores = torch.tensor(attention["scores"][position][head])
                weights = torch.tensor(attention["weights"][position][head])
                assert len(scores) == position + 1
                expected = k[: position + 1, head] @ q[position, head] / math.sqrt(8)
                assert torch.allclose(scores, expected, atol=1e-4, rtol=1e-4)
                assert torch.allclose(weights, torch.softmax(scores, -1), atol=1e-5)
                output = torch.tensor(attention["output"][position][head])
                assert torch.allclose(output, weights @ v[: position + 1, head], atol=1e-4, rtol=1e-4)


def test_lanes_count_what_the_formulas_say(tiny: Context):
    (record,) = one_token.records(tiny)
    found, n, p = record.values, tiny.main.total_tokens, tiny.main.prompt_tokens
    assert found["total"]["without"]["kv_rows"] == n * (n + 1) // 2 - p * (p - 1) // 2
    assert found["total"]["with"]["kv_rows"] == found["total"]["with"]["query_rows"] == n
    assert found["total"]["with"]["score_cells"] == p * p + sum(range(p + 1, n + 1))
    assert found["total"]["without"]["score_cells"] == sum(i * i for i in range(p, n + 1))
    assert found["passes"][0]["without"] == found["passes"][0]["with"]
    assert found["after_step_4"]["with"]["kv_rows"] == p + 4
    assert found["after_step_4"]["without"]["kv_rows"] == sum(range(p, p + 5))
    assert found["blocks"] == {"block_tokens": 4, "blocks": -(-n // 4), "slots": -(-n // 4) * 4, "used": n}
    assert found["logit_difference_bound"].measured < 1e-3


def test_the_shortest_request_has_one_token(tiny: Context):
    short = Context(tiny.facts, tiny.transformer, tiny.text, "a", warn=lambda _: None)
    (record,) = one_token.records(short)
    assert record.values["passes"][0]["with"]["score_cells"] == 1
    assert record.values["general"]["without"] == sum(range(1, short.main.total_tokens + 1))
    assert old_keys.records(short)[0].values["token_position"] == 0


def test_a_reply_that_ends_at_once_is_recorded(tiny: Context):
    config = replace(tiny.transformer.config, eos_token_ids=(tiny.main.reply[0],))
    ended = Context(tiny.facts, copy.copy(tiny.transformer), tiny.text, tiny.prompt, warn=lambda _: None)
    ended.transformer.config = config
    cat = recording.cat(ended)[0].values
    assert (cat["reply_tokens"], cat["reply_tokens_fed"], cat["reply_text"], len(cat["steps"])) == (0, 0, "", 1)
    assert cat["final"]["stop"]
    assert not cat["steps"][0]["in_reply"]
    assert one_token.records(ended)[0].values["total"]["ratio"]["kv_rows"] == 1.0
    assert old_keys.records(ended)[0].values["unmasked_max"] == 0.0


def test_lanes_that_write_different_tokens_are_refused(tiny: Context):
    without, with_cache = one_token.lanes(tiny.transformer, tiny.main)
    without[1] = one_token.Pass(without[1].counts, -without[1].logits)
    with pytest.raises(Exception, match="After step 1 the lanes wrote"):
        one_token._same_tokens(tiny.main, without, with_cache)


def test_old_keys_move_only_without_the_mask(tiny: Context):
    (record,) = old_keys.records(tiny)
    found = record.values
    assert found["token_text"] == "e"
    assert found["causal_change_bound"].measured <= found["causal_change_all_bound"].measured < 1e-4
    assert found["unmasked_layer0_bound"].measured < 1e-4
    assert found["unmasked_max"] > 0.1
    assert len(found["unmasked_change"]) == 3
    assert {len(row) for row in found["unmasked_change"]} == {len(found["steps"])}


def test_the_head_of_middle_entropy_is_chosen_among_those_that_are_left(tiny: Context):
    first = torch.tensor([[0.9, 0.1, 0.2], [0.05, 0.31, 0.29]])
    entropy = torch.tensor([[1.0, 3.0, 2.0], [0.5, 1.9, 2.5]])
    # Left: (0,1) 3.0, (0,2) 2.0, (1,0) 0.5, (1,2) 2.5; of four the lower of the two in the middle.
    assert heads.middle_head(tiny, heads.Spread(first, entropy)) == (0, 2)
    assert heads.middle_head(tiny, heads.Spread(torch.ones(2, 3), entropy)) == (1, 1)


def test_what_followed_the_last_time():
    assert heads.following_tokens([5, 6, 7, 5, 6, 5, 5]) == {3: 1, 4: 2, 5: 4}


def test_close_calls_are_refused_for_publication_and_noted_elsewhere(tiny: Context):
    notes: list[str] = []
    own = Context(tiny.facts, tiny.transformer, tiny.text, warn=notes.append)
    own.require_margin(1e-9, "the choice")
    assert "the choice hangs on a difference of 1e-09" in notes[0]
    published = Context(tiny.facts, tiny.transformer, tiny.text)
    with pytest.raises(Exception, match="cannot be published"):
        published.require_margin(1e-9, "the choice")


REFUSED = {
    "unknown record": (["run", "nonsense"], "Unknown record 'nonsense'"),
    "empty prompt": (["run", "--prompt", ""], "The prompt is empty"),
    "blank prompt": (["run", "--prompt", " \n"], "The prompt is empty"),
    "not text": (["run", "--prompt", "a\udcff"], "not valid UTF-8"),
    "published prompt": (["run", "--write", "--prompt", "x"], "publishes the fixed prompt only"),
    "published name": (["run", "--write", "--name", "x"], "publishes the fixed prompt only"),
    "reserved name": (["run", "--name", "site"], "belongs to the published site"),
    "name with a path": (["run", "--name", "../x"], "will not do as a folder"),
    "unknown model": (["run", "--model", "gpt-7"], "Unknown model 'gpt-7'"),
}


@pytest.mark.usefixtures("build")
@pytest.mark.parametrize("case", REFUSED)
def test_mistakes_are_one_sentence(case: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fetch, "_kept", lambda *_: pytest.fail("nothing is fetched for a mistake"))
    arguments, sentence = REFUSED[case]
    assert command.main(arguments) == 2
    error = capfd.readouterr().err
    assert error.startswith("error: ")
    assert sentence in error
    assert error.count("\n") == 1


@pytest.mark.usefixtures("build")
def test_a_prompt_has_at_most_64_tokens(tiny_gpt2: Path, capfd: pytest.CaptureFixture[str]):
    run = ["run", "cat", "--model", str(tiny_gpt2), "--name", "long", "--prompt"]
    assert command.main([*run, "x" * 65]) == 2
    assert "takes 65 tokens: expected 1 to 64" in capfd.readouterr().err
    assert not Site("long").data.exists()
    assert command.main([*run, "x" * 64]) == 0
    assert values(Site("long"), "tiny-gpt2", "cat")["prompt_tokens"] == 64


def test_a_file_where_a_folder_belongs_is_seen_first(tiny_gpt2: Path, build: Path, capfd: pytest.CaptureFixture[str]):
    build.write_text("mine")
    for arguments in (["run", "cost", "--model", str(tiny_gpt2), "--name", "x"], ["draw"]):
        assert command.main(arguments) == 2
        assert capfd.readouterr().err == f"error: {build} is a file: expected a folder, or nothing; move it away.\n"
    assert build.read_text() == "mine"


def test_only_models_of_the_table_are_published(tiny_gpt2: Path, capfd: pytest.CaptureFixture[str]):
    assert command.main(["run", "--write", "--model", str(tiny_gpt2)]) == 2
    assert "--write publishes smollm2-135m-instruct and gpt2 only, by name, got" in capfd.readouterr().err


@pytest.mark.usefixtures("build")
def test_show_writes_nothing(tiny_gpt2: Path, build: Path, capfd: pytest.CaptureFixture[str]):
    assert command.main(["run", "cost", "--model", str(tiny_gpt2), "--show"]) == 0
    assert '"bytes_per_number":2' in capfd.readouterr().out
    assert not build.exists()


def broken(folder: Path, tiny_gpt2: Path, name: str, data: bytes) -> Path:
    for file in tiny_gpt2.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / name).write_bytes(data)
    return folder


@pytest.mark.usefixtures("build")
@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("size", [0, 40])
def test_a_broken_folder_is_one_sentence(
    tmp_path: Path, tiny_gpt2: Path, capfd: pytest.CaptureFixture[str], name: str, size: int
):
    folder = tmp_path / "broken"
    folder.mkdir()
    broken(folder, tiny_gpt2, name, (tiny_gpt2 / name).read_bytes()[:size])
    assert command.main(["run", "--model", str(folder)]) == 2
    error = capfd.readouterr().err
    assert error.startswith("error: ")
    assert "Traceback" not in error


def test_a_site_is_found_again_by_the_words_it_was_made_with():
    assert paths.local_site(prompt="The Dog  ran!").name == "the-dog-ran"
    assert paths.local_site("/models/My Llama.gguf").name == "my-llama-gguf"
    assert paths.local_site("gpt2", "a").name == "gpt2-a"
    assert paths.local_site(prompt="site").name == "site-local"
    assert paths.local_site(prompt="猫").name.startswith("text-")
    assert len(paths.local_site(prompt="word " * 60).name) <= 40


def test_a_command_is_asked_for(capfd: pytest.CaptureFixture[str]):
    assert command.main([]) == 2
    assert "usage:" in capfd.readouterr().err
    assert command.main(["--help"]) == 0
    assert "usage:" in capfd.readouterr().out
