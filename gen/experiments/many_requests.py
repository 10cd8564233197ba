"""Eight requests on one server: static and continuous batching, prompts whole and in chunks, and a pool that runs out.

Who is served when is decided by `kvref.plan`; how long a step takes at least by `gen.experiments.serving`. The requests are
few enough to be seen; the grid of `many_requests_grid` has many. Nothing was measured.
"""

from typing import Any

from gen.experiments import serving
from gen.experiments.context import Context
from gen.experiments.timeline import timeline
from gen.records import Record
from kvref.plan.lifecycle import Lifecycle
from kvref.plan.manager import KVManager
from kvref.plan.request import Request
from kvref.plan.scheduler import Preemption, Scheduler
from kvref.plan.simulate import simulate
from kvref.plan.static import StaticScheduler

BLOCK_TOKENS = 16
SLOTS = 4
MAX_LENGTH = 4096  # of any request: what static batching reserves for each
WHOLE = 8192  # a budget in which every prompt has room
BUDGET = 512
SMALL = 128  # a budget that is too small
POOL_BLOCKS = 1024
HOST_BLOCKS = 1024
SHORT_BLOCKS = 247  # 3,952 tokens
SHORT_SLOTS = 5
Row = tuple[str, int, int, int]  # id, arrival in ms, tokens of the prompt, tokens of the reply
REQUESTS = (
    ("A", 0, 900, 24), ("B", 0, 300, 52), ("C", 0, 1500, 10), ("D", 5, 500, 30),
    ("E", 12, 200, 14), ("F", 40, 4000, 20), ("G", 60, 700, 34), ("H", 75, 400, 12),
)  # fmt: skip
SHORT = (
    ("A", 0, 1000, 70),
    ("B", 0, 1000, 110),
    ("C", 5, 500, 120),
    ("D", 10, 200, 100),
    ("E", 20, 1100, 90),
    ("F", 40, 800, 40),
)


def records(context: Context) -> list[Record]:
    """The record `many-requests`."""
    runs = {"static": _static(), "whole": _continuous(WHOLE), "chunks": _continuous(BUDGET)}
    pool = {"room": _short(POOL_BLOCKS), "recompute": _short(SHORT_BLOCKS), "swap": _short(SHORT_BLOCKS, "swap")}
    values = {
        **serving.facts(),
        "block_tokens": BLOCK_TOKENS,
        "max_length": MAX_LENGTH,
        "runs": runs,
        "pool": pool,
        "example": _example(runs),
    }
    what = (
        "Eight requests as kvref's schedulers serve them, and a pool that runs out: spans of each request, tokens and blocks "
        "of each step; times by formula, in fp16"
    )
    return [context.record("many-requests", "learn/many-requests", what, values)]


def trace(rows: tuple[Row, ...]) -> tuple[Request, ...]:
    """Requests with prompts of which no two begin alike."""
    return tuple(
        Request(name, tuple(1000 * number + place % 1000 for place in range(prompt)), reply, arrival_ms=float(arrival))
        for number, (name, arrival, prompt, reply) in enumerate(rows, 1)
    )


def _manager(blocks: int) -> KVManager:
    return KVManager(blocks, BLOCK_TOKENS, prefix_caching=False, host_blocks=HOST_BLOCKS)


def _static() -> dict[str, Any]:
    scheduler = StaticScheduler(_manager(POOL_BLOCKS), max_requests=SLOTS, max_length=MAX_LENGTH)
    return _run(scheduler, REQUESTS, SLOTS, POOL_BLOCKS, None)


def _continuous(budget: int) -> dict[str, Any]:
    scheduler = Scheduler(_manager(POOL_BLOCKS), token_budget=budget, max_requests=SLOTS)
    return _run(scheduler, REQUESTS, SLOTS, POOL_BLOCKS, budget)


def _short(blocks: int, preemption: Preemption = "recompute") -> dict[str, Any]:
    scheduler = Scheduler(_manager(blocks), token_budget=BUDGET, max_requests=SHORT_SLOTS, preemption=preemption)
    return _run(scheduler, SHORT, SHORT_SLOTS, blocks, BUDGET, "swapped" if preemption == "swap" else "preempted")


def _run(
    scheduler: Lifecycle, rows: tuple[Row, ...], slots: int, blocks: int, budget: int | None, away: str = "preempted"
) -> dict[str, Any]:
    run = simulate(scheduler, trace(rows), serving.step_ms(BLOCK_TOKENS))
    shown = timeline(run, slots=slots, pool_blocks=blocks, block_tokens=BLOCK_TOKENS, away=away)
    return {"token_budget": budget, **shown}


def _example(runs: dict[str, Any]) -> dict[str, Any]:
    """What the page puts side by side."""
    static, whole, chunks = (runs[name]["totals"] for name in ("static", "whole", "chunks"))
    long = max(REQUESTS, key=lambda row: row[2])
    return {
        "requests": len(REQUESTS),
        "short_requests": len(SHORT),
        "pool_tokens": POOL_BLOCKS * BLOCK_TOKENS,
        "gain": {"tokens": whole["tokens_per_second"] / static["tokens_per_second"]},
        "fall": {"itl": whole["longest_itl_ms"] / chunks["longest_itl_ms"]},
        "alone": {
            "id": long[0],
            "prompt_tokens": long[2],
            "budgets": {str(budget): _alone(long, budget) for budget in (SMALL, BUDGET, WHOLE)},
        },
    }


def _alone(row: Row, budget: int) -> dict[str, Any]:
    """A long prompt with the server to itself: what its chunks cost it, and the two sides of its first step."""
    scheduler = Scheduler(_manager(POOL_BLOCKS), token_budget=budget, max_requests=1)
    run = simulate(scheduler, trace(((row[0], 0, row[2], 1),)), serving.step_ms(BLOCK_TOKENS))
    (only,) = run.requests
    tokens = run.steps[0].work[0].tokens
    return {
        "steps": len(run.steps),
        "ttft_ms": only.ttft_ms,
        "tokens": tokens,
        **serving.sides_ms(0, tokens, len(run.steps) == 1),
    }
