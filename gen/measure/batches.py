"""Decode steps of several sequences that share one pass over the weights, at one or more contexts."""

from typing import Any

from gen.measure import work
from gen.measure.bench import Bench
from gen.measure.predict import point
from gen.measure.static import DecodeStep
from kvref.plan.cost import decode_cost


def measure(bench: Bench) -> dict[str, Any]:
    """Values of the record `batch`. What there is no room or no time for is left out, by name."""
    at: dict[str, dict[str, Any]] = {}
    left_out = []
    for context, batches in bench.sizes.batches.items():
        if context > bench.config.max_positions:
            continue
        for batch in batches:
            held = decode_cost(bench.config, context, bench.model.dtype.itemsize, batch=batch)
            size = held.kv_read_bytes + held.kv_written_bytes
            if why := bench.obstacle(size):
                left_out.append({"context_tokens": context, "batch": batch, "kv_bytes": size, "why": why})
                continue
            at.setdefault(str(context), {})[str(batch)] = _step(bench, context, batch)
    return {
        **bench.facts,
        "contexts": [context for context in bench.sizes.batches if str(context) in at],
        "batches": {context: [int(batch) for batch in row] for context, row in at.items()},
        "at": at,
        "left_out": left_out,
    }


def _step(bench: Bench, context: int, batch: int) -> dict[str, Any]:
    step = DecodeStep(bench.model, batch, context)
    lanes = {
        "step": bench.launched(step),
        "products": bench.launched(work.products(bench.model, batch)),
        "attention": bench.launched(step.attention()),
    }
    taken = bench.compare(f"{batch} sequences of {context} tokens", lanes)
    whole = taken.pop("step")
    cost = decode_cost(bench.config, context, bench.model.dtype.itemsize, batch=batch)
    return {**point(whole, cost, bench.ceilings, taken), "tokens_per_second": 1e3 * batch / whole.least}
