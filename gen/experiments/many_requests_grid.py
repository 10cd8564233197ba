"""Many requests on one server, run beforehand for every place on a grid: pool, block, token budget and rate of arrivals.

The scheduler is `kvref.plan`'s, the trace its default one with longer prompts, the clock that of `gen.experiments.serving`. For
each run: how long readers wait, how full the pool is, and what it comes to. Nothing was measured.
"""

from collections import deque
from collections.abc import Callable
from itertools import pairwise
from math import ceil
from typing import Any

from gen.experiments import serving
from gen.experiments.context import Context
from gen.records import Record
from kvref.plan.lifecycle import Lifecycle
from kvref.plan.manager import KVManager
from kvref.plan.prefix import Namespace
from kvref.plan.request import Request
from kvref.plan.scheduler import Scheduler
from kvref.plan.simulate import Run, simulate
from kvref.plan.static import StaticScheduler
from kvref.plan.trace import default_trace

POOLS = (8192, 16_384, 32_768)  # tokens
BLOCKS = (16, 64, 256)
BUDGETS = (128, 512, 2048)
RATES = (10, 20, 40)  # requests a second
REQUESTS = 48
TRACE: dict[str, int] = {
    "systems": 4,
    "system_tokens": 500,
    "own_tokens": 900,
    "reply_tokens": 50,
    "max_own_tokens": 3000,
    "max_reply_tokens": 400,
}
SEED = 0
MAX_REQUESTS = 64
MAX_LENGTH = 4096  # of any request: what static batching reserves for each
WHOLE = 8192  # a budget in which every prompt has room
SHARES = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
BINS = 24
SCALES = {"ttft_ms": [1, 10, 100, 1000, 10_000, 30_000], "itl_ms": [3, 5, 10, 20, 50, 100]}  # lines of a logarithmic scale
KEPT = 1  # of the log of events, which nobody reads here

# Where on the grid the page speaks of, and the parts of all waits that it names: first tokens are fewer than others.
EXAMPLE = {"pool_tokens": 16_384, "block_tokens": 16, "token_budget": 512, "requests_per_second": 40}
FAR = {"ttft_ms": 0.95, "itl_ms": 0.99}

Nested = dict[str, Any]


def records(context: Context) -> list[Record]:
    """The record `many-requests-grid`."""
    traces = {rate: default_trace(REQUESTS, rate, SEED, **TRACE) for rate in RATES}
    runs = _runs(traces)
    values = {
        **serving.facts(),
        "grid": {
            "pool_tokens": list(POOLS),
            "block_tokens": list(BLOCKS),
            "token_budget": list(BUDGETS),
            "requests_per_second": list(RATES),
        },
        "trace": {"requests": REQUESTS, "seed": SEED, **TRACE, **_lengths(traces[RATES[0]])},
        "max_requests": MAX_REQUESTS,
        "max_length": MAX_LENGTH,
        "shares": list(SHARES),
        "bins": BINS,
        "scales": SCALES,
        "runs": runs,
        "example": _example(runs),
    }
    what = (
        "Runs of kvref's schedulers on a grid of pool, block, token budget and rate of arrivals: quantiles of TTFT and ITL, "
        "the pool over time, throughput; times by formula, in fp16"
    )
    return [context.record("many-requests-grid", "learn/many-requests", what, values)]


def _lengths(trace: tuple[Request, ...]) -> dict[str, Any]:
    """The trace as it came out; the same requests at every rate."""
    return {
        "mean_prompt_tokens": sum(len(one.prompt_ids) for one in trace) / len(trace),
        "longest_prompt_tokens": max(len(one.prompt_ids) for one in trace),
        "mean_reply_tokens": sum(one.max_new_tokens for one in trace) / len(trace),
        "longest_reply_tokens": max(one.max_new_tokens for one in trace),
    }


def _runs(traces: dict[int, tuple[Request, ...]]) -> Nested:
    """Each schedule's runs by what it depends on. Static batching reserves places of one length: blocks hardly matter to it."""

    def run(scheduler: Lifecycle, rate: int, pool: int) -> Nested:
        return summary(simulate(scheduler, traces[rate], serving.step_ms(scheduler.manager.block_tokens)), pool)

    def chunks(pool: int, block: int, budget: int, rate: int) -> Nested:
        return run(Scheduler(_manager(pool, block), token_budget=budget, max_requests=MAX_REQUESTS), rate, pool)

    def static(pool: int, rate: int) -> Nested:
        scheduler = StaticScheduler(_manager(pool, BLOCKS[0]), max_requests=MAX_REQUESTS, max_length=MAX_LENGTH)
        return run(scheduler, rate, pool)

    return {
        "chunks": _grid(chunks, POOLS, BLOCKS, BUDGETS, RATES),
        "whole": _grid(lambda pool, block, rate: chunks(pool, block, WHOLE, rate), POOLS, BLOCKS, RATES),
        "static": _grid(static, POOLS, RATES),
    }


def _manager(pool: int, block: int) -> KVManager:
    return KVManager(pool // block, block, hash_function=_quick, log=deque(maxlen=KEPT))


def _quick(parent: Any, token_ids: tuple[int, ...], _namespace: Namespace) -> int:
    """Which hash is taken changes nothing but the time: whatever it finds is compared."""
    return hash((parent, token_ids))


def _grid(run: Callable[..., Nested], first: tuple[int, ...], *others: tuple[int, ...], chosen: tuple[int, ...] = ()) -> Nested:
    """`run` at every place; of each of its numbers a list by the first axis, of lists by the next, and so on."""
    if not others:
        found = [run(*chosen, value) for value in first]
    else:
        found = [_grid(run, *others, chosen=(*chosen, value)) for value in first]
    return {name: [one[name] for one in found] for name in found[0]}


def summary(run: Run, pool_tokens: int) -> Nested:
    """What a run comes to: quantiles of the waits, and counts."""
    waits = [one.ttft_ms for one in run.requests if one.ttft_ms is not None]
    gaps = [gap for one in run.requests for gap in one.itl_ms]
    used = [step.reserved_tokens / pool_tokens for step in run.steps]
    occupancy = _binned(run, used)
    return {
        "ttft_ms": quantiles(waits),
        "itl_ms": quantiles(gaps),
        "tokens_per_second": 1000 * sum(one.reply_tokens for one in run.requests) / run.end_ms,
        "hit_share": sum(one.cached_tokens for one in run.requests) / sum(one.prompt_tokens for one in run.requests),
        "preemptions": sum(one.preemptions for one in run.requests),
        "most_running": max(step.running for step in run.steps),
        "steps": len(run.steps),
        "end_ms": run.end_ms,
        "occupancy": occupancy,
        "mean_used_share": sum(occupancy) / BINS,
        "most_used_share": max(used),
    }


def quantiles(waits: list[float]) -> list[float]:
    """For each share the shortest wait that no fewer than so many are within."""
    ordered = sorted(waits)
    return [ordered[max(1, ceil(share * len(ordered))) - 1] for share in SHARES]


def _binned(run: Run, used: list[float]) -> list[float]:
    """The mean of `used` in equal parts of the run's time; between two steps with nothing to do nobody holds anything."""
    width = run.end_ms / BINS
    sums = [0.0] * BINS
    for step, share in zip(run.steps, used, strict=True):
        first, last = int(step.start_ms / width), min(int(step.end_ms / width), BINS - 1)
        edges = [step.start_ms, *(place * width for place in range(first + 1, last + 1)), step.end_ms]
        for place, (start, end) in enumerate(pairwise(edges), first):
            sums[min(place, BINS - 1)] += share * (end - start)
    return [total / width for total in sums]


def _example(runs: Nested) -> Nested:
    """The runs that the page puts side by side, each with its far waits."""
    pool, block = POOLS.index(EXAMPLE["pool_tokens"]), BLOCKS.index(EXAMPLE["block_tokens"])
    rate, budget = RATES.index(EXAMPLE["requests_per_second"]), BUDGETS.index(EXAMPLE["token_budget"])
    places: dict[str, tuple[str, tuple[int, ...]]] = {
        str(tokens): ("chunks", (pool, block, place, rate)) for place, tokens in enumerate(BUDGETS)
    }
    places |= {"whole": ("whole", (pool, block, rate)), "static": ("static", (pool, rate))}

    def at(schedule: str, name: str, place: tuple[int, ...]) -> Any:
        value = runs[schedule][name]
        for index in place:
            value = value[index]
        return value

    def one(schedule: str, place: tuple[int, ...]) -> Nested:
        far = {name: at(schedule, name, (*place, SHARES.index(share))) for name, share in FAR.items()}
        return {**far, "tokens_per_second": at(schedule, "tokens_per_second", place)}

    by_block = [at("chunks", "hit_share", (pool, place, budget, rate)) for place in range(len(BLOCKS))]
    return {
        **EXAMPLE,
        "ttft_share": FAR["ttft_ms"],
        "itl_share": FAR["itl_ms"],
        "budgets": {name: one(*found) for name, found in places.items()},
        "hit_share_by_block": by_block,
    }
