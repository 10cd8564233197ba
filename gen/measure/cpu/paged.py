"""Keys and values in blocks against keys and values in one piece: the same steps, the same attention.

Four ways to keep the rows of one request: in one piece, in blocks as a fresh pool hands them out (neighbours), in blocks
in random order, and in blocks that are gathered into one piece before they are read, which is what a cache without a
kernel of its own does. Then several requests in one pass, packed, against buffers of fixed capacity.
"""

import random
from typing import Any

import torch

from gen.measure import work
from gen.measure.bench import Bench, Work
from gen.measure.clock import Lane
from gen.measure.cpu.decode import step_lane
from gen.measure.predict import point
from gen.measure.samples import Series, ratio
from gen.measure.static import DecodeStep
from kvref.cache.contiguous import ContiguousCache
from kvref.cache.paged import PagedCache
from kvref.cache.paged_view import GatheredView
from kvref.cache.view import KVCache
from kvref.plan import step as plan
from kvref.plan.cost import decode_cost, kv_bytes_per_token
from kvref.plan.manager import KVManager

BOUND = 1.15  # of paged attention over contiguous
LANES = ("contiguous", "paged", "shuffled", "gathered")


class Gathering(PagedCache):
    """Copies what a request may read into one piece, at every step."""

    view_class = GatheredView


def measure(bench: Bench) -> dict[str, Any]:
    """Values of the record `paged`."""
    contexts = bench.within(bench.sizes.paged)
    ((context, batches),) = list(bench.sizes.batches.items())[:1]
    (packed_at,) = bench.within((min(context, bench.config.max_positions),))
    return {
        **bench.facts,
        "block_tokens": bench.sizes.block_tokens,
        "contexts": contexts,
        "lanes": list(LANES),
        "at": {str(tokens): _at(bench, tokens) for tokens in contexts},
        "packed_context": packed_at,
        "packed": {str(batch): _packed(bench, packed_at, batch) for batch in batches},
    }


def _at(bench: Bench, context: int) -> dict[str, Any]:
    model = bench.model
    plain = ContiguousCache(model.config, context, dtype=model.dtype)
    caches: dict[str, KVCache] = {
        "contiguous": plain,
        "paged": _sequence(bench, context, PagedCache, shuffled=False),
        "shuffled": _sequence(bench, context, PagedCache, shuffled=True),
        "gathered": _sequence(bench, context, Gathering, shuffled=False),
    }
    lanes = {name: step_lane(bench, cache, context) for name, cache in caches.items()}
    with torch.inference_mode():
        taken = bench.compare(f"steps at {context}", lanes | {"products": Lane(work.products(model, 1))})
        reads = {name: Lane(_attention(bench, cache, context)) for name, cache in caches.items()}
        alone = bench.compare(f"attention at {context}", reads)
    return {**_points(bench, context, taken, alone), **_blocks(bench, context)}


def _points(bench: Bench, context: int, taken: dict[str, Series], alone: dict[str, Series]) -> dict[str, Any]:
    cost = decode_cost(bench.config, context, bench.model.dtype.itemsize)
    found: dict[str, Any] = {}
    for name in LANES:
        parts = {"products": taken["products"], "attention": alone[name]}
        found[name] = point(taken[name], cost, bench.ceilings, parts)
        if name != "contiguous":
            found[f"{name}_ratio"] = ratio(taken[name], taken["contiguous"])
            found[f"{name}_attention_ratio"] = ratio(alone[name], alone["contiguous"], most=BOUND)
    return found


def _blocks(bench: Bench, context: int) -> dict[str, int]:
    """What blocks cost beside time: the rows of the last one that no token fills, and the entries of the table."""
    size = bench.sizes.block_tokens
    blocks = -(-context // size)
    tail = blocks * size - context
    return {
        "blocks": blocks,
        "tail_tokens": tail,
        "tail_bytes": tail * kv_bytes_per_token(bench.config, bench.model.dtype.itemsize),
    }


def _manager(bench: Bench, tokens: int, *, shuffled: bool) -> KVManager:
    """A pool that is just large enough; shuffled, its free list is in random order."""
    size = bench.sizes.block_tokens
    blocks = -(-tokens // size)
    manager = KVManager(blocks, size, prefix_caching=False)
    order = list(range(blocks))
    for block in order:
        manager.admit(str(block), ())
        manager.append(str(block), [0])
    if shuffled:
        random.Random(1).shuffle(order)
    for block in order:
        manager.free(str(block))
    return manager


def _sequence(bench: Bench, context: int, kind: type[PagedCache], *, shuffled: bool) -> KVCache:
    manager = _manager(bench, context, shuffled=shuffled)
    return kind(bench.config, manager, dtype=bench.model.dtype).sequence("timed")


def _attention(bench: Bench, cache: KVCache, context: int) -> Work:
    """All layers' attention of the step that reads `context` keys, through this cache's views; the rows are appended once."""
    config = bench.config
    cache.truncate(min(cache.length, context - 1))
    if cache.length < context - 1:
        work.fill(cache, bench.model, context - 1 - cache.length)
    positions = cache.begin(torch.zeros(1, dtype=torch.int64))
    rows = [work.noise(bench.model, 1, config.kv_heads, config.head_dim) for _ in range(2)]
    q = work.noise(bench.model, 1, config.query_heads, config.head_dim)
    views = [cache.append(layer, *rows) for layer in range(config.layers)]

    @torch.inference_mode()
    def run() -> None:
        for view in views:
            view.attend(q, positions)

    return run


def _packed(bench: Bench, context: int, batch: int) -> dict[str, Any]:
    """The same step for several requests: packed through their tables, and in buffers of fixed capacity."""
    model = bench.model
    cache = PagedCache(model.config, _manager(bench, batch * _whole(bench, context), shuffled=True), dtype=model.dtype)
    tokens = work.some_ids(model.config, batch)
    packed = cache.packed(_step(cache, tokens.tolist(), context))
    lanes = {"fixed": Lane(DecodeStep(model, batch, context)), "packed": Lane(lambda: model(tokens, packed))}
    taken = bench.compare(f"{batch} requests of {context} tokens", lanes)
    return {**{name: one.timing() for name, one in taken.items()}, "packed_ratio": ratio(taken["packed"], taken["fixed"])}


def _whole(bench: Bench, tokens: int) -> int:
    """Rounded up to blocks."""
    size = bench.sizes.block_tokens
    return -(-tokens // size) * size


def _step(cache: PagedCache, tokens: list[int], context: int) -> plan.Step:
    """One token for each request, behind rows that are random."""
    manager = cache.manager
    cache.blocks.normal_()
    jobs = []
    for number, token in enumerate(tokens):
        name = str(number)
        manager.admit(name, ())
        slots = manager.append(name, [0] * (context - 1) + [token]).slots[-1:]
        jobs.append(plan.Work(name, context - 1, (token,), slots, manager.table(name), samples=True))
    return plan.Step(1, tuple(jobs), (), (), (), (), ())
