"""Bytes of caches and weights: predicted, held in tensors, and as the device counts them.

On a GPU the device's count is torch's allocator's; on a CPU it is how much more memory the process has after the cache
was made and filled. The second is coarse: memory that was given back earlier is used again without being counted.
"""

import ctypes
import gc
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gen.measure import work
from gen.measure.bench import Bench
from gen.measure.predict import LARGE_PERCENT
from kvref.cache.concat import ConcatCache
from kvref.cache.contiguous import ContiguousCache
from kvref.cache.paged import PagedCache
from kvref.cache.view import KVCache
from kvref.plan import cost
from kvref.plan.manager import KVManager

STATM = Path("/proc/self/statm")
DTYPES = (torch.float32, torch.bfloat16)


def measure(bench: Bench) -> dict[str, Any]:
    """Values of the record `memory`."""
    (tokens,) = bench.within((min(bench.sizes.held_tokens, bench.config.max_positions),))
    own = bench.model.dtype
    caches = {f"contiguous-{str(dtype).removeprefix('torch.')}": _contiguous(bench, tokens, dtype) for dtype in DTYPES}
    caches |= {f"concat-{str(own).removeprefix('torch.')}": _concat(bench, tokens)}
    caches |= {f"paged-{str(own).removeprefix('torch.')}": _paged(bench, tokens)}
    predicted, held = cost.parameters(bench.config) * own.itemsize, _storages(bench.model)
    return {
        **bench.facts,
        "tokens": tokens,
        "counted_by": "torch.cuda.memory_allocated" if bench.device.type == "cuda" else "resident memory of the process",
        "caches": caches,
        "weights": {"predicted_bytes": predicted, "tensor_bytes": held, "error_percent": _error(predicted, held)},
    }


def _contiguous(bench: Bench, tokens: int, dtype: torch.dtype) -> dict[str, Any]:
    def make() -> KVCache:
        cache = ContiguousCache(bench.config, tokens, dtype=dtype, device=bench.device)
        cache.k.zero_(), cache.v.zero_()  # a page that nothing was written to is not counted
        return cache

    return _held(bench, make, tokens * cost.kv_bytes_per_token(bench.config, dtype.itemsize))


def _concat(bench: Bench, tokens: int) -> dict[str, Any]:
    def make() -> KVCache:
        cache = ConcatCache(bench.config, dtype=bench.model.dtype, device=bench.device)
        work.fill(cache, bench.model, tokens)
        return cache

    return _held(bench, make, tokens * cost.kv_bytes_per_token(bench.config, bench.model.dtype.itemsize))


def _paged(bench: Bench, tokens: int) -> dict[str, Any]:
    """As many whole blocks as the tokens need."""
    size = bench.sizes.block_tokens
    blocks = -(-tokens // size)

    def make() -> PagedCache:
        cache = PagedCache(bench.config, KVManager(blocks, size), dtype=bench.model.dtype, device=bench.device)
        cache.blocks.zero_()
        return cache

    return _held(bench, make, blocks * size * cost.kv_bytes_per_token(bench.config, bench.model.dtype.itemsize))


def _held(bench: Bench, make: Callable[[], object], predicted: int) -> dict[str, Any]:
    """Make a cache and count what there is more than before."""
    before = _device_bytes(bench.device)
    cache = make()
    after = _device_bytes(bench.device)
    tensors = _storages(cache)
    counted = None if before is None or after is None else after - before
    return {
        "predicted_bytes": predicted,
        "tensor_bytes": tensors,
        "error_percent": _error(predicted, tensors),
        "device_bytes": counted,
        "device_error_percent": None if not counted else _error(predicted, counted),
        "device_why": _why(predicted, counted),
    }


def _error(predicted: int, got: int) -> float:
    return 100 * (predicted - got) / got


def _why(predicted: int, counted: int | None) -> str | None:
    """By which way the device's count is more than 20 % off; None within that, or where nothing was counted."""
    if counted is None or abs(predicted - counted) <= LARGE_PERCENT / 100 * max(counted, 1):
        return None
    return "memory-used-again" if counted < predicted else "allocator-keeps-more"


def _device_bytes(device: torch.device) -> int | None:
    """What is in use now, once everything unused was given back."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        return torch.cuda.memory_allocated(device)
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    try:
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def _storages(thing: object) -> int:
    """Bytes of all tensors reachable from an object, memory that several of them share once."""
    return sum({tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in _tensors(thing)}.values())


def _tensors(thing: object) -> Iterator[Tensor]:
    if isinstance(thing, Tensor):
        yield thing
    elif isinstance(thing, list | tuple):
        for item in thing:
            yield from _tensors(item)
    elif isinstance(thing, dict):
        yield from _tensors(list(thing.values()))
    elif is_dataclass(thing) and not isinstance(thing, type):
        for field in fields(thing):
            yield from _tensors(getattr(thing, field.name))
    elif type(thing).__module__.startswith(("kvref.", "gen.")):
        yield from _tensors(list(vars(thing).values()))
