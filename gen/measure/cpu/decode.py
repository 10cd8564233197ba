"""A decode step against its context: with rows that stay, with rows that are copied, and with none.

Each lane is taken apart too: matrix products, attention and copies are timed alone in the same rounds.
"""

from typing import Any

import torch

from gen.measure import work
from gen.measure.bench import Bench
from gen.measure.clock import Lane
from gen.measure.predict import point
from gen.measure.samples import Series, ratio
from kvref.cache.concat import ConcatCache
from kvref.cache.contiguous import ContiguousCache
from kvref.cache.nothing import NoCache
from kvref.cache.view import KVCache
from kvref.generate import decode_step, prefill
from kvref.plan import cost

LANES = ("contiguous", "concat", "none")


def measure(bench: Bench) -> dict[str, Any]:
    """Values of the record `decode`."""
    contexts = bench.within(bench.sizes.contexts)
    return {
        **bench.facts,
        "contexts": contexts,
        "lanes": list(LANES),
        "recomputed_contexts": [tokens for tokens in contexts if tokens <= bench.sizes.recomputed],
        "steps_per_sample": bench.sizes.steps,
        "at": {str(tokens): _at(bench, tokens) for tokens in contexts},
    }


def step_lane(bench: Bench, cache: KVCache, context: int, steps: int | None = None) -> Lane:
    """Steps for tokens that read `context` keys, their own among them; the last of them reads just as many."""
    model, steps = bench.model, min(steps or bench.sizes.steps, context)
    start = context - steps
    if cache.length < start:
        work.fill(cache, model, start - cache.length)
    token = 1 % model.config.vocab_size

    def run() -> None:
        for _ in range(steps):
            decode_step(model, cache, token)

    return Lane(run, times=steps, before=lambda: cache.truncate(start))


def recompute_lane(bench: Bench, context: int) -> Lane:
    """The same token without a cache: the whole sequence in one pass."""
    model, ids = bench.model, work.some_ids(bench.config, context)
    return Lane(lambda: prefill(model, NoCache(model.config), ids))


def _at(bench: Bench, context: int) -> dict[str, Any]:
    model = bench.model
    plain = ContiguousCache(model.config, context, dtype=model.dtype)
    growing = ConcatCache(model.config, dtype=model.dtype)
    lanes = {"contiguous": step_lane(bench, plain, context), "concat": step_lane(bench, growing, context)}
    lanes |= {
        "products": Lane(work.products(model, 1)),
        "attention": Lane(work.step_attention(model, plain.k, plain.v)),
        "copies": Lane(work.copies(plain.k[:, :-1], plain.v[:, :-1])),
    }
    if context <= bench.sizes.recomputed:
        lanes["none"] = recompute_lane(bench, context)
        lanes["all products"] = Lane(work.products(model, context, head_rows=1))
        lanes["all attention"] = Lane(work.prompt_attention(model, context))
    work.fill(plain, model, context - plain.length)  # so that the attention alone reads numbers
    with torch.inference_mode():
        taken = bench.compare(f"context {context}", lanes)
    copied = _copied_bytes(lanes["concat"], growing)
    return _points(bench, context, taken, copied)


def _copied_bytes(lane: Lane, cache: ConcatCache) -> int:
    """Counted by the cache itself while it runs the lane's steps once more: bytes a step."""
    assert lane.before is not None
    lane.before()
    before = cache.copied_bytes
    lane.work()
    return (cache.copied_bytes - before) // lane.times


def _points(bench: Bench, context: int, taken: dict[str, Series], copied: int) -> dict[str, Any]:
    """The lanes' points and how many times each takes what the plain cache takes."""
    size = bench.model.dtype.itemsize
    step = cost.decode_cost(bench.config, context, size)
    parts = {name: taken[name] for name in ("products", "attention")}
    found = {
        "contiguous": point(taken["contiguous"], step, bench.ceilings, parts),
        "concat": point(taken["concat"], step, bench.ceilings, parts | {"copies": taken["copies"]}, copied_bytes=copied),
        "concat_ratio": ratio(taken["concat"], taken["contiguous"]),
    }
    if "none" in taken:
        whole = {name: taken[f"all {name}"] for name in ("products", "attention")}
        found["none"] = point(taken["none"], cost.prefill_cost(bench.config, context, size), bench.ceilings, whole)
        found["none_ratio"] = ratio(taken["none"], taken["contiguous"])
    return found
