"""The records of blocks and of sharing: what the pages say of them holds, and the simulation behind the waste adds up."""

import json
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from gen import models
from gen.experiments import blocks, chains, reserving, shared_rows, sharing, waste
from gen.experiments.context import Context
from gen.experiments.story import Source, Story
from gen.paths import DEFAULT_MODEL, PUBLISHED
from gen.tokenizer import Text
from kvref import load_checkpoint
from kvref.plan.manager import KVManager
from kvref.plan.prefix import NOBODY, Namespace, chain_hash
from kvref.plan.request import Request
from kvref.plan.trace import default_trace


@pytest.fixture(scope="module")
def tiny(tiny_gpt2: Path) -> Context:
    return Context(models.describe(tiny_gpt2), load_checkpoint(tiny_gpt2), Text(tiny_gpt2), "the cat", warn=lambda _: None)


def values(id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(PUBLISHED.record(DEFAULT_MODEL, id).read_bytes())["values"]
    return found


# --- two requests and their tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", blocks.SIZES)
def test_tables_say_where_each_token_lies(size: int) -> None:
    found = values("blocks")
    one = found["by_size"][str(size)]
    for name, table in one["tables"].items():
        tokens = one["tokens"][name]
        assert one["slots"][name] == [table[at // size] * size + at % size for at in range(tokens)]
        assert (one["empty"][name], one["empty"][name] < size) == (len(table) * size - tokens, True)
    held = {block for table in one["tables"].values() for block in table}
    assert len(held) == one["used_blocks"] == one["blocks"] - len(one["free"])
    assert not held & set(one["free"])
    assert one["blocks"] * size == found["slots"]


def test_the_sizes_show_what_the_page_says() -> None:
    by_size = values("blocks")["by_size"]
    assert by_size["4"]["tables"] == {"A": [0, 5, 6], "B": [1, 2, 3, 4]}
    assert by_size["1"]["tables"]["A"][0] == by_size["1"]["tables"]["B"][0], "both begin with the same token"
    example = values("blocks")["example"]
    assert (example["position"], example["row"], example["place"], example["block"], example["slot"]) == (5, 1, 1, 5, 21)
    assert (example["tokens"], example["table_rows"], example["empty"]) == (9, 3, 3)


@pytest.mark.parametrize("id", ["blocks", "sharing"])
def test_after_every_action_ref_counts_are_table_rows(id: str) -> None:
    found = values(id)
    for actions in [found["actions"]] if id == "blocks" else [one["actions"] for one in found["stories"].values()]:
        assert actions
        for action in actions:
            rows = [str(block) for table in action["tables"].values() for block in table]
            assert action["refs"] == {block: rows.count(block) for block in rows}
            assert not {*action["refs"]} & {str(block) for block in (*action["free"], *action["idle"])}


def test_rows_read_through_tables_are_those_of_the_contiguous_cache(tiny: Context) -> None:
    for size in (1, 3, 8):
        logits, rows = blocks._through_tables(tiny, {"cat": tiny.main, "repeat": tiny.main}, size)
        assert logits < 1e-4
        assert rows < 1e-4


def test_bounds_are_those_of_rounding() -> None:
    assert values("blocks")["read"]["row_difference_bound"] <= 2e-3
    assert values("sharing")["hit"]["logit_difference_bound"] <= 2e-3


# --- what a server's memory holds --------------------------------------------------------------------------------------


def test_the_four_parts_are_all_slots() -> None:
    for trace in values("blocks")["waste"]["traces"].values():
        for policy in trace["policies"].values():
            assert sum(policy[part] for part in ("tokens", "to_come", "never", "gaps")) == pytest.approx(1, abs=1e-3)
        shares = [trace["policies"][name]["tokens"] for name in ("longest", "power", "exact", "blocks")]
        assert shares == sorted(shares)


def test_lengths_like_the_papers_waste_what_the_paper_measured() -> None:
    """Its figure 2, in percent: ours has the mean lengths of its ShareGPT set, and an exponential spread."""
    paper = {"longest": 20.4, "power": 26.8, "exact": 38.2, "blocks": 96.3}
    policies = values("blocks")["waste"]["traces"]["long"]["policies"]
    assert {name: round(100 * policies[name]["tokens"] - share, 1) for name, share in paper.items()} == {
        name: pytest.approx(0, abs=2.5) for name in paper
    }


def test_empty_slots_are_about_half_a_block() -> None:
    found = values("blocks")["block_size"]
    for size, empty, expected in zip(found["sizes"], found["empty_slots"], found["empty_slots_expected"], strict=True):
        assert expected == (size - 1) / 2
        assert abs(empty - expected) <= 0.15 * size
    assert found["found_share"] == sorted(found["found_share"], reverse=True)
    assert found["found_share"][found["sizes"].index(64)] == 0, "larger than the system prompt"
    for one, two in pairwise(found["table_entries"]):
        assert two < one


def test_pieces_never_overlap_and_grow_together_again() -> None:
    memory, draw = reserving.Buddies(256), Random(1)
    held: list[tuple[int, int]] = []
    for _ in range(2000):
        if held and draw.random() < 0.5:
            memory.give_back(*held.pop(int(draw.random() * len(held))))
        elif piece := memory.take(1 + int(draw.random() * 60)):
            held.append(piece)
        slots = [slot for place, size in held for slot in range(place, place + size)]
        assert len(slots) == len(set(slots))
        assert all(place % size == 0 for place, size in held)
    for piece in held:
        memory.give_back(*piece)
    assert memory.take(256) == (0, 256)
    with pytest.raises(ValueError, match="expected a power of two, got 96"):
        reserving.Buddies(96)


def test_what_each_way_reserves() -> None:
    request = Request("r", tuple(range(7)), 25)
    assert {name: reserve(request, 2048) for name, reserve in reserving.RESERVED.items()} == {
        "longest": 2048,
        "power": 7 + 32,
        "exact": 31,
    }


def test_all_requests_are_served_whatever_is_reserved() -> None:
    trace = default_trace(40, 1000)
    for name in reserving.RESERVED:
        use = reserving.serve(trace, 1024, 512, name)
        assert sum(use.shares(1024).values()) == pytest.approx(1)


# --- sharing -----------------------------------------------------------------------------------------------------------


def test_hashes_are_chained_and_equal_as_far_as_the_hits_go() -> None:
    found = values("sharing")["chains"]
    base = found["of"][found["base"]]
    for name, one in found["of"].items():
        parent = None
        space = Namespace(salt=found["salt"]) if name == "salt" else NOBODY
        for row, block in enumerate(one["blocks"]):
            full = len(block["ids"]) == values("sharing")["block_tokens"]
            parent = chain_hash(parent, tuple(block["ids"]), space) if full else None
            assert block["key"] == parent
            assert block["short"] == (parent[: found["short_digits"]] if parent else None)
            assert block["hit"] == (row < one["hits"]) == (full and parent == base["blocks"][row]["key"])
        assert one["cached_tokens"] < one["tokens"], "one token is computed in any case"
    same = [a["ids"] == b["ids"] for a, b in zip(base["blocks"], found["of"]["first"]["blocks"], strict=True)]
    assert same == [False] + [True] * (len(same) - 1)
    assert found["of"]["first"]["hits"] == found["of"]["salt"]["hits"] == 0


def test_what_three_questions_save() -> None:
    found = values("sharing")
    saved, third = found["saved"], found["stories"]["prompt"]["actions"][2]
    assert saved["tokens"] == {"without": 78, "with": 50, "shared": 28}
    assert saved["blocks"] == {"without": 20, "with": 13, "shared": 7}
    assert len(third["refs"]) == saved["blocks"]["with"]
    assert sum(map(len, third["tables"].values())) == saved["blocks"]["without"]
    assert saved["bytes"]["fp16"] == 28 * 23_040
    assert found["hit"]["cached_tokens"] == saved["cached_tokens"]["hamlet"] == 12
    assert found["found_by_size"]["of"]["hamlet"] == [14, 14, 12, 8, 0, 0]


def test_idle_blocks_are_found_again_and_the_oldest_go_first() -> None:
    actions = {action["code"]: action for action in values("sharing")["stories"]["prompt"]["actions"]}
    ended, stranger = actions["eA"], actions["nrepeat"]
    assert ended["idle"] == [6, 5, 4], "the end of A before its beginning"
    assert [event["block"] for event in stranger["events"] if event["event"] == "evicted"] == [6, 9]
    assert stranger["idle"] == [8, 7, 11, 10]


def test_copied_rows_are_equal_and_the_next_ones_are_not() -> None:
    copy = values("sharing")["copy"]
    for part in ("k", "v"):
        a, b = copy["rows"]["A"][part], copy["rows"]["B"][part]
        assert a[: copy["tokens"]] == b[: copy["tokens"]]
        assert a[-1] != b[-1]
        assert copy["differs"][part] > 0.1
    assert copy["bytes"]["float32"] == copy["tokens"] * 46_080
    assert [slot // 4 for slot in copy["slots"]["A"]] == [copy["target"]] * 3
    assert [slot // 4 for slot in copy["slots"]["B"]] == [copy["source"]] * 3


def test_rows_before_the_first_other_token_are_equal_and_later_ones_are_not() -> None:
    for one in values("sharing")["rows"].values():
        assert one["differ"] == [one["first"]]
        assert (one["before_bound"], one["first_layer_bound"]) <= (2e-4, 2e-4)
        first_layer, *rest = one["change"]
        assert first_layer[0] > 1e-2
        assert max(first_layer[1:]) <= one["first_layer_bound"]
        assert min(value for row in rest for value in row) == one["least_after"] > 10 * one["before_bound"]


def test_rows_of_a_tiny_model_are_apart_from_the_changed_token_on(tiny: Context) -> None:
    ids = tiny.main.ids
    found = shared_rows.apart(tiny, ids, [*ids[:4], ids[4] + 1, *ids[5:]], "another")
    assert (found["first"], found["differ"]) == (4, [4])
    assert found["before_bound"].measured < 1e-5 < found["least_after"]
    assert torch.tensor(found["change"]).shape == (tiny.config.layers, len(ids) - 4)


def test_a_hit_and_a_copy_in_a_tiny_model(tiny: Context) -> None:
    ids = tiny.main.ids
    hit = shared_rows.hit(tiny, ids, [*ids[:9], ids[0]], 4)
    assert (hit["cached_tokens"], hit["computed_tokens"]) == (8, 2)
    assert max(hit["logit_difference_bound"].measured, hit["row_difference_bound"].measured) < 1e-4
    assert hit["flops"]["ratio"] > 2
    copy = shared_rows.copied(tiny, 16, 4, shared_rows.fork_after(tiny.main, 4, 3))
    assert copy["rows"]["A"]["k"][: copy["tokens"]] == copy["rows"]["B"]["k"][: copy["tokens"]]


def test_any_model_and_prompt_can_be_recorded(tiny: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long prompt, and one that fills its blocks exactly: the pool grows, and the fork is inside a block all the same."""
    monkeypatch.setattr(waste, "waste", dict)
    monkeypatch.setattr(waste, "block_sizes", dict)
    for prompt in ("the cat " * 5, "the "):
        context = Context(tiny.facts, tiny.transformer, tiny.text, prompt, warn=lambda _: None)
        (record,) = blocks.records(context)
        assert record.values["slots"] % 16 == 0
        assert record.values["example"]["tokens"] > record.values["example"]["position"]
        (record,) = sharing.records(context)
        assert record.values["copy"]["tokens"] < sharing.BLOCK_TOKENS
        codes = record.values["stories"]["copy"]["script"].split(".")
        assert (codes[0], codes[-3:]) == ("ncat", ["fA", "dA", "wB"])


def test_an_instruction_without_the_word_is_changed_elsewhere(tiny: Context) -> None:
    ids = list(range(40, 70))
    middle, first = sharing._changed(tiny, ids)
    assert [sum(a != b for a, b in zip(ids, other, strict=True)) for other in (middle, first)] == [1, 1]
    assert first[1:] == ids[1:]


def test_a_story_keeps_what_the_manager_did() -> None:
    story = Story(KVManager(8, 4, design="copy-on-write"), {"a": Source(range(20, 30), 5, {6: 99})})
    actions = story.play("na.dA.fA.wB.eA")
    assert [action["tables"] for action in actions][-2:] == [{"A": [0, 1], "B": [0, 2]}, {"B": [0, 2]}]
    assert [event["event"] for event in actions[3]["events"]][:2] == ["allocated", "copied"]
    assert story.manager.tokens("B") == (20, 21, 22, 23, 24, 25, 99)


def test_tokens_that_are_found_shrink_with_larger_blocks() -> None:
    found = chains.found_by_size({"one": list(range(30)), "two": [*range(20), *range(90, 99)]})
    assert found["of"] == {"one": [29, 28, 28, 24, 16, 0], "two": [20, 20, 20, 16, 16, 0]}
