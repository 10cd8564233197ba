"""The records of memory and of bounds: the numbers of published arithmetic, and caches that take what was foretold."""

import json
import pkgutil
from pathlib import Path
from typing import Any

import pytest
import torch

import kvref.cache
from gen import models
from gen.errors import CheckFailed
from gen.experiments import bound, memory
from gen.experiments.context import Context
from gen.paths import DEFAULT_MODEL, PUBLISHED
from gen.tokenizer import Text
from kvref import load_checkpoint

GIB, MIB, KIB = 2**30, 2**20, 2**10
NO_CACHES = {"view", "paged_pass", "paged_view"}  # modules of kvref.cache that hold no cache of their own


@pytest.fixture(scope="session")
def tiny(tiny_gpt2: Path) -> Context:
    return Context(models.describe(tiny_gpt2), load_checkpoint(tiny_gpt2), Text(tiny_gpt2), "the cat", warn=lambda _: None)


def values(id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(PUBLISHED.record(DEFAULT_MODEL, id).read_bytes())["values"]
    return found


# --- memory ------------------------------------------------------------------------------------------------------------


def test_the_table_of_the_page() -> None:
    found = values("memory")["models"]
    rows = {
        name: (row["layers"], row["kv_heads"], row["head_dim"], row["kv_bytes_per_token"], row["kv_bytes_at_4096"])
        for name, row in found.items()
    }
    assert rows == {
        "gpt-2-small": (12, 12, 64, 36 * KIB, 144 * MIB),
        "llama-2-7b": (32, 32, 128, 512 * KIB, 2 * GIB),
        "llama-3-8b": (32, 8, 128, 128 * KIB, 512 * MIB),
        "llama-2-70b": (80, 8, 128, 320 * KIB, 1.25 * GIB),
    }
    assert [name for name, row in found.items() if row["beyond_positions"]] == ["gpt-2-small"]
    assert found["gpt-2-small"]["kv_bytes_at_longest"] == 36 * MIB
    assert {row["ungrouped"]["ratio"] for row in found.values()} == {1, 4, 8}
    assert all(0.009 < row["kv_to_weights_at_longest"] < 0.161 for row in found.values())


def test_many_requests_and_one_long_one_outgrow_the_weights() -> None:
    record = values("memory")
    many, long = record["sixteen_requests"], record["outgrows"]
    assert (many["kv_bytes"], round(many["weight_bytes_fp16"] / GIB, 2)) == (32 * GIB, 12.55)
    each = many["kv_bytes"] // many["requests"]
    assert (many["outgrows_with_requests"] - 1) * each < many["weight_bytes_fp16"] < many["outgrows_with_requests"] * each
    assert (long["kv_bytes"], long["kv_to_weights"]) == (16 * GIB, 1.07)
    growth = record["growth"]
    for name, held in growth["bytes"].items():
        assert held == [tokens * record["models"][name]["kv_bytes_per_token"] for tokens in growth["tokens"]]


def test_every_cache_and_format_is_allocated_as_foretold(tiny: Context) -> None:
    found = memory.records(tiny)[0].values["allocated"]
    assert set(found) - {"tokens"} == set(memory.CACHES)
    for name in memory.CACHES:
        for dtype, width in (("float32", 4), ("float16", 2), ("bfloat16", 2)):
            # The tiny model: 3 layers, 5 KV heads of 8 numbers, K and V.
            assert found[name][dtype]["allocated_bytes"] == found[name]["slots"] * 2 * 3 * 5 * 8 * width
    assert found["concat"]["slots"] == tiny.main.total_tokens


def test_no_cache_of_kvref_is_left_out() -> None:
    modules = {one.name for one in pkgutil.iter_modules(kvref.cache.__path__)} - NO_CACHES
    assert len(modules) == len(memory.CACHES), "new: add it to CACHES"


def test_a_cache_that_holds_more_is_reported(tiny: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_filled", lambda *_: 7)
    with pytest.raises(CheckFailed, match=r"'contiguous' in float32 holds 7 bytes"):
        memory._allocated(tiny)


# --- bounds ------------------------------------------------------------------------------------------------------------


def test_the_example_of_the_page() -> None:
    found = values("bound")["example"]
    assert (found["model"], found["device"]) == ("Llama-3-8B", "H100 SXM")
    assert found["prefill"]["tflop"] == pytest.approx(61.57, abs=0.01)
    assert found["prefill"]["ttft_ms"] == pytest.approx(62.2, abs=0.1)
    assert found["one"]["itl_ms"] == pytest.approx(4.64, abs=0.01)
    assert (found["batched"]["itl_ms"], found["batched"]["tokens_per_second"]) == (14.74, 4343.0)
    assert found["batched"]["kv_share"] == pytest.approx(0.70, abs=0.01)
    assert found["short"]["itl_ms"] < found["one"]["itl_ms"] < found["long"]["itl_ms"]
    ridges = {name: round(device["ridge"]) for name, device in values("bound")["devices"].items()}
    assert ridges == {"h100-sxm": 295, "h200-sxm": 206, "a100-80gb-sxm": 153, "l4": 403}


@pytest.mark.parametrize("model", ["own", "llama-3-8b"])
def test_the_grid_keeps_what_the_page_says(model: str) -> None:
    record = values("bound")
    one = record["models"][model]
    for row, limit in enumerate(one["intensity_limit"]):
        rising = one["decode"]["intensity"][row]
        assert rising == sorted(rising)
        assert rising[-1] <= limit
        assert one["decode"]["kv_share"][row] == sorted(one["decode"]["kv_share"][row])
    for name, device in record["devices"].items():
        limited = one["on"][name]["decode"]["limited_by"]
        for row, rates in enumerate(one["on"][name]["decode"]["flops_per_second"]):
            for column, rate in enumerate(rates):
                assert rate <= device["peak_flops"]
                memory_bound = one["decode"]["intensity"][row][column] < device["ridge"]
                assert limited[row][column] == ("memory" if memory_bound else "compute")
        left, _, right = device["roof"]["intensity"]
        every = [*one["prefill"]["intensity"], *(value for row in one["decode"]["intensity"] for value in row)]
        assert left <= min(every)
        assert max(every) <= right


def test_each_device_has_its_sources() -> None:
    for row in bound.device_table().values():
        assert row["sources"]
        assert all(source.startswith("https://") for source in row["sources"])


def test_sizes_that_do_not_give_the_parameters_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = bound.SERVED_CONFIG.__class__(**{**bound.SERVED_CONFIG.__dict__, "intermediate_size": 14_335})
    monkeypatch.setattr(bound, "SERVED_CONFIG", wrong)
    with pytest.raises(CheckFailed, match="llama-3-8b: the matrices have"):
        bound.served_config()


def test_a_short_model_has_bounds_too(tiny: Context) -> None:
    own = bound.records(tiny)[0].values["models"]["own"]
    assert own["max_positions"] == 160
    assert torch.tensor(own["decode"]["bytes"]).shape == (len(own["contexts"]), len(bound.BATCHES))
