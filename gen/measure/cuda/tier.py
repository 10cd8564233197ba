"""The records of a GPU: published shapes with random weights in bfloat16, decode as CUDA graphs, all within five minutes."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from gen.measure import batches, memory, passes
from gen.measure.bench import Bench
from gen.measure.clock import say
from gen.measure.cuda import layout, tensors
from gen.measure.cuda.events import EventTimer, recorded
from gen.measure.cuda.shapes import SEED, SHAPES, RandomWeights, Shape
from gen.measure.device import Device, gpu
from gen.measure.jobs import Job, Subject
from gen.measure.store import Store
from gen.measure.tier import Group, Tier
from gen.paths import Site
from kvref.model.transformer import Transformer
from kvref.plan.cost import parameters

LIMIT_S = 270.0  # after this nothing new is begun
LAUNCHES = 8  # of a graph in a sample
SPARE = 0.05  # of the memory is left to libraries
REVISION = "shape only, random weights"


def make(site: Site | None, quick: bool, command: str) -> Tier:
    """The tier of the GPU that torch sees. Raises UserError where it sees none."""
    device = gpu()
    bench = Bench(
        device.torch_device,
        EventTimer(),
        SHAPES[0].sizes,
        cache_bytes=device.cache_bytes,
        recorded=recorded,
        launches=LAUNCHES,
        room=lambda size: _fits(device, size),
        late=_deadline(LIMIT_S),
    )
    return over(device, bench, Store(device.slug, site, quick), command, SHAPES[:1] if quick else SHAPES)


def over(device: Device, bench: Bench, store: Store, command: str, shapes: Sequence[Shape]) -> Tier:
    """The records for these shapes on this device; the tests give it a CPU and small ones."""
    dtypes = (torch.bfloat16, torch.float32)
    small = Group(
        [
            Job(
                "tensors",
                "tensors",
                "measure/devices",
                "A small seeded model on the CPU and on this device, every tensor compared",
                lambda bench: tensors.measure(bench.device),
            )
        ],
        lambda bench: Subject("small-llama", REVISION, None, SEED),
    )
    groups = [small, *(_group(shape, dtypes[0]) for shape in shapes)]
    return Tier(device, bench, store, command, dtypes, groups)


def _group(shape: Shape, dtype: torch.dtype) -> Group:
    table: list[tuple[str, str, Any]] = [
        ("products", "The model's matrices alone, for one row and for many", passes.products),
        ("batch", "A decode step of one to many sequences, as one CUDA graph", batches.measure),
        ("prefill", "A prompt in one pass, against its length", passes.prefills),
        ("memory", "Bytes of caches, predicted and counted by the device", memory.measure),
    ]
    jobs = [Job(kind, f"{kind}-{shape.id}", "measure/devices", f"{shape.name}: {what}", run) for kind, what, run in table]
    return Group(jobs, partial(_prepare, shape, dtype), _release)


def _prepare(shape: Shape, dtype: torch.dtype, bench: Bench) -> Subject:
    """Make the model where it will run, and lay it out for that device."""
    needed = parameters(shape.config) * dtype.itemsize
    if not bench.room(needed):
        raise MemoryError(f"{shape.name} takes {needed / 1e9:.1f} GB")
    start = time.monotonic()
    bench.sizes = shape.sizes
    bench.note = lambda label, samples: None
    bench.loaded = Transformer(shape.config, RandomWeights(shape.config, dtype, bench.device))
    found = layout.choose(bench)
    say(f"{shape.name}: {needed / 1e9:.1f} GB made in {time.monotonic() - start:.1f} s, laid out {found['chosen']}.")
    return Subject(shape.id, REVISION, None, SEED)


def _release(bench: Bench) -> None:
    bench.loaded, bench.layout = None, "in-out"


def _fits(device: Device, size: int) -> bool:
    """Whether so many bytes are free, what torch holds in reserve counted as free."""
    free, total = torch.cuda.mem_get_info(device.torch_device)
    reserve = torch.cuda.memory_reserved(device.torch_device) - torch.cuda.memory_allocated(device.torch_device)
    return size < free + reserve - SPARE * total


def _deadline(seconds: float) -> Any:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


