"""The GPU's script on a CPU: small shapes, the host's clock in the place of events, and no graphs. No GPU record is made."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from gen import geometry, measured
from gen.measure import ceilings, work
from gen.measure.bench import QUICK, Bench
from gen.measure.clock import HostTimer
from gen.measure.cuda import layout, tensors, tier
from gen.measure.cuda.shapes import SHAPES, RandomWeights, Shape
from gen.measure.device import processor
from gen.measure.static import DecodeStep
from gen.measure.store import Store
from gen.paths import ROOT
from kvref.cache.contiguous import ContiguousCache
from kvref.config import ModelConfig
from kvref.generate import decode_step
from kvref.model.transformer import Transformer
from kvref.plan.cost import kv_bytes_per_token, parameters

BATCHES = {8: (1, 3), 16: (1,)}
SIZES = replace(QUICK, moved_bytes=2**16, square=32, rows=(1, 4), prompts=(4, 12), batches=BATCHES, held_tokens=16)
LLAMA = ModelConfig("llama", 97, 48, 2, 6, 2, 8, 64, 32, 1e-5, rope_theta=10_000.0, tied_head=False)
TIED = replace(LLAMA, tied_head=True)
GPT2 = ModelConfig("gpt2", 89, 40, 2, 5, 5, 8, 60, 32, 1e-5)
SMALL = (Shape("small-gpt2", "A small GPT-2", GPT2, SIZES), Shape("small-llama", "A small Llama", LLAMA, SIZES))
HERE = torch.device("cpu")


def tier_here(**changes: Any) -> tier.Tier:
    machine = processor(1)
    bench = Bench(HERE, HostTimer(), SIZES, **changes)
    return tier.over(machine, bench, Store(machine.slug, None, quick=True), "python -m gen measure --device cuda", SMALL)


def records(build: Path) -> dict[str, dict[str, Any]]:
    ((_, named),) = measured.files(build / "measured-quick").items()
    return {id: measured.read(path) for id, path in named.items()}


def test_the_whole_script(build: Path) -> None:
    assert tier_here(launches=2).run([]) == 0
    made = records(build)
    kinds = {f"{kind}-{shape.id}" for kind in ("products", "batch", "prefill", "memory") for shape in SMALL}
    assert set(made) == {"ceilings", "tensors"} | kinds
    assert set(made["ceilings"]["values"]["products"]) == {"bfloat16", "float32"}
    step = made["batch-small-llama"]["values"]
    assert step["batches"] == {"8": [1, 3], "16": [1]}
    assert step["at"]["8"]["3"]["predicted"]["kv_bytes"] == 3 * 8 * kv_bytes_per_token(LLAMA, 2)
    assert made["batch-small-llama"]["identity"]["revision"] == "shape only, random weights"
    assert made["tensors"]["values"]["agree"] is True
    assert made["tensors"]["values"]["compared"]["logits"]["largest_difference"] == 0.0
    assert made["memory-small-gpt2"]["values"]["dtype"] == "bfloat16"


def test_what_there_is_no_room_or_time_for_is_left_out_by_name(build: Path) -> None:
    most = 2 * 8 * kv_bytes_per_token(LLAMA, 2)
    assert tier_here(room=lambda size: size <= most or size > 10**4).run(["batch-small-llama"]) == 0
    values = records(build)["batch-small-llama"]["values"]
    assert [(one["batch"], one["context_tokens"], one["why"]) for one in values["left_out"]] == [(3, 8, "no-room")]
    assert values["batches"] == {"8": [1], "16": [1]}


def test_a_run_that_takes_too_long_ends_between_records(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    late = iter([False, False, True, True, True])
    assert tier_here(late=late.__next__).run(["tensors", "products"]) == 2
    assert "products-small-llama: left out, the time of this run is up." in capsys.readouterr().err
    assert set(records(build)) == {"ceilings", "tensors"}


def test_a_model_that_does_not_fit_costs_its_records_only(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limit = 2 * parameters(LLAMA) - 1
    assert 2 * parameters(GPT2) <= limit
    assert tier_here(room=lambda size: size <= limit).run(["products"]) == 2
    assert "loading the model: out of memory, nothing of it was written. A small Llama takes" in capsys.readouterr().err
    assert "products-small-gpt2" in records(build)


# --- the step ----------------------------------------------------------------------------------------------------------


def make(config: ModelConfig, dtype: torch.dtype = torch.float64) -> Transformer:
    return Transformer(config, {name: 8 * tensor for name, tensor in RandomWeights(config, dtype, HERE).items()})


def chosen_by_kvref(model: Transformer, step: DecodeStep) -> list[int]:
    """The same step, one sequence at a time, through a plain cache."""
    found = []
    for row, token in enumerate(step.ids.tolist()):
        cache = ContiguousCache(model.config, step.cache.k.shape[2], dtype=model.dtype)
        kept = step.cache.length
        work.fill(cache, model, kept)
        cache.k[:, :kept], cache.v[:, :kept] = step.cache.k[:, row, :kept], step.cache.v[:, row, :kept]
        found.append(int(decode_step(model, cache, token).argmax()))
    return found


@pytest.mark.parametrize("config", [LLAMA, TIED, GPT2])
@pytest.mark.parametrize("turn", [False, True])
def test_the_step_chooses_as_kvref_does(config: ModelConfig, turn: bool) -> None:
    plain, model = make(config), make(config)
    layout.apply(model, turn=turn)
    step = DecodeStep(model, 5, 11)
    expected = chosen_by_kvref(plain, step)
    step()
    assert step.ids.tolist() == expected
    assert len(set(expected)) > 1


def test_a_step_can_be_run_again() -> None:
    step = DecodeStep(make(LLAMA), 2, 7)
    ids, rows = step.ids.clone(), step.cache.k[:, :, :6].clone()
    step()
    first = step.ids.clone()
    step.ids.copy_(ids)
    step()
    assert step.ids.tolist() == first.tolist()
    assert torch.equal(step.cache.k[:, :, :6], rows)
    assert step.cache.nbytes == 2 * 2 * 2 * 7 * 2 * 8 * 8


def test_a_layout_changes_where_numbers_lie_and_nothing_else() -> None:
    model = make(TIED)
    bench = Bench(HERE, HostTimer(), SIZES, loaded=model)
    before = model.parts.head.weight.clone()
    found = layout.choose(bench)
    assert found["chosen"] in ("in-out", "out-in")
    layout.apply(model, turn=True)
    assert torch.equal(model.parts.head.weight, before)
    assert model.parts.head.weight.stride() == (1, TIED.hidden_size)
    assert model.parts.embedding.data_ptr() == model.parts.head.weight.data_ptr()  # still one matrix


def test_random_weights_are_the_same_every_time() -> None:
    one, two = (RandomWeights(LLAMA, torch.bfloat16, HERE) for _ in range(2))
    assert len(one) == len(dict(one))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["layers.0.mlp.up_proj.weight"], one["layers.1.mlp.up_proj.weight"])
    assert float(one["norm.weight"].float().mean()) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.id)
def test_shapes_are_those_of_the_published_table(shape: Shape) -> None:
    row = geometry.find(shape.id)
    assert parameters(shape.config) == row["parameters"]["total"]
    held = geometry.geometry(row)
    assert (held.layers, held.groups[0].kv_heads, held.groups[0].key_dim) == shape.config.cached_shape
    assert max(shape.sizes.batches) <= shape.config.max_positions


def test_ceilings_are_known_by_number_format() -> None:
    values = ceilings.measure(Bench(HERE, HostTimer(), SIZES), (torch.bfloat16,))
    found = ceilings.of_record(values, torch.bfloat16, 5)
    assert found is not None
    assert found.bytes_per_second == max(values["read"]["bytes_per_second"], values["copy"]["bytes_per_second"])
    assert ceilings.of_record(values, torch.float32, 5) is None
    for part, key, wrong in (
        ("read", "bytes_per_second", "fast"),
        ("copy", "bytes_per_second", 0),
        ("products", "bfloat16", {}),
    ):
        edited = values | {part: values[part] | {key: wrong}}
        assert ceilings.of_record(edited, torch.bfloat16, 5) is None, part  # so they are measured anew
        assert ceilings.of_record(edited | {part: None}, torch.bfloat16, 5) is None, part
        del edited[part]
        assert ceilings.of_record(edited, torch.bfloat16, 5) is None, part


def test_a_difference_between_devices_would_be_seen() -> None:
    one, other = torch.tensor([1.0, -4.0]), torch.tensor([1.0, -4.01])
    found = tensors._difference([(one, one), (one, other)])
    assert found["numbers"] == 4
    assert found["of_largest"] == pytest.approx(0.0025, rel=1e-3)
    assert found["of_largest"] > tensors.TOLERANCE


MISSING = ["jaxtyping", "beartype", "safetensors", "gguf", "tokenizers", "transformers", "platformdirs", "filelock", "yaml"]
ALONE = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1:]:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Nothing())
from gen.__main__ import main

code = main(["measure", "--device", "cuda"])
import torch
from gen.measure.cuda.shapes import RandomWeights
from gen.measure.static import DecodeStep
from kvref.config import ModelConfig
from kvref.model.transformer import Transformer

config = ModelConfig("llama", 97, 48, 2, 6, 2, 8, 64, 32, 1e-5, rope_theta=10_000.0, tied_head=False)
DecodeStep(Transformer(config, RandomWeights(config, torch.bfloat16, torch.device("cpu"))), 2, 5)()
print("one step")
sys.exit(code)
"""


def test_torch_and_this_repository_are_enough() -> None:
    """Up to the sentence that there is no GPU, and one step of a small shape."""
    missing = [*MISSING, "numpy", "plotly", "mkdocs"]
    line = [sys.executable, "-W", "ignore", "-c", ALONE, *missing]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "sees no CUDA device here" in done.stderr
    assert done.stdout == "one step\n"
