"""What a server's memory for caches holds: one piece reserved for each request in three ways, or blocks; and what the block's
size changes.

Requests are those of `kvref.plan.trace.default_trace`, all there from the start, so that the memory is the limit. Pieces are
served by `gen.experiments.reserving`, blocks by kvref's own scheduler and manager. Nothing is averaged over a choice of seeds.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any

from gen.experiments import reserving
from kvref.plan.manager import KVManager
from kvref.plan.memory import expected_waste
from kvref.plan.request import Request
from kvref.plan.scheduler import Scheduler
from kvref.plan.simulate import StepRow, simulate
from kvref.plan.trace import default_trace

SLOTS = 16_384
LONGEST = 2048  # tokens of any request, prompt and reply together
BLOCK_TOKENS = 16
NO_LIMIT = 1_000_000
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)

# Lengths: those of the default trace; and the means of the ShareGPT set in the vLLM paper (arXiv:2309.06180, figure 11).
TRACES: dict[str, dict[str, Any]] = {
    "long": {
        "count": 250,
        "systems": 1,
        "system_tokens": 0,
        "own_tokens": 161.31,
        "reply_tokens": 337.99,
        "max_own_tokens": LONGEST // 2,
        "max_reply_tokens": LONGEST // 2,
    },
    "short": {"count": 250, "system_tokens": 48},
}


def trace(name: str) -> tuple[Request, ...]:
    """The requests of one of the two, all of them at once."""
    settings = TRACES[name]
    return default_trace(settings["count"], NO_LIMIT, **{key: one for key, one in settings.items() if key != "count"})


def waste() -> dict[str, Any]:
    """Both traces under all four policies."""
    return {
        "slots": SLOTS,
        "longest_tokens": LONGEST,
        "block_tokens": BLOCK_TOKENS,
        "traces": {name: _policies(trace(name)) for name in TRACES},
    }


def _policies(requests: Sequence[Request]) -> dict[str, Any]:
    uses = {name: reserving.serve(requests, SLOTS, LONGEST, name) for name in reserving.RESERVED}
    blocks = _blocks(requests)
    found = {name: {**use.shares(SLOTS), "requests": use.requests} for name, use in uses.items()}
    return {
        "requests": len(requests),
        "mean_prompt_tokens": sum(len(one.prompt_ids) for one in requests) / len(requests),
        "mean_reply_tokens": sum(one.max_new_tokens for one in requests) / len(requests),
        "longest_tokens": max(one.rows for one in requests),
        "policies": {**found, "blocks": blocks},
        "times": {name: blocks["requests"] / one["requests"] for name, one in found.items()},
    }


def _blocks(requests: Sequence[Request]) -> dict[str, float]:
    """The same parts for blocks, over all steps in which a request had to wait."""
    manager = KVManager(SLOTS // BLOCK_TOKENS, BLOCK_TOKENS, prefix_caching=False, log=deque(maxlen=0))
    scheduler = Scheduler(manager, token_budget=NO_LIMIT, max_requests=NO_LIMIT)
    run = simulate(scheduler, requests, lambda _: 1.0)
    rows = {one.id: one.rows for one in requests}
    counts = [_count(step, rows) for step in run.steps if step.waiting]
    means = [sum(column) / len(counts) for column in zip(*counts, strict=True)]
    shares = [mean / SLOTS for mean in means[:4]]
    return {**dict(zip(("tokens", "to_come", "never", "gaps"), shares, strict=True)), "requests": means[4]}


def _count(step: StepRow, rows: dict[str, int]) -> tuple[int, int, int, int, int]:
    """Slots of one step: tokens, taken and filled later, taken and never filled, free; and how many requests ran."""
    held = [(share.start + share.tokens, rows[share.request_id]) for share in step.work]
    taken = [-(-length // BLOCK_TOKENS) * BLOCK_TOKENS for length, _ in held]
    tokens = sum(length for length, _ in held)
    if tokens != step.stored_tokens or sum(taken) != step.used_blocks * BLOCK_TOKENS:
        raise AssertionError(f"step {step.number}: {sum(taken)} slots taken, {step.used_blocks} blocks in use.")
    to_come = sum(min(room, final) - length for room, (length, final) in zip(taken, held, strict=True))
    return tokens, to_come, sum(taken) - tokens - to_come, step.free_blocks * BLOCK_TOKENS, len(held)


# --- the size of a block ------------------------------------------------------------------------------------------------


def block_sizes() -> dict[str, Any]:
    """The default trace with blocks of several sizes: empty slots, entries of the table, and prompt tokens found again."""
    requests = trace("short")
    rows = [one.rows for one in requests]
    mean = sum(rows) / len(rows)
    blocks = [[-(-count // size) for count in rows] for size in SIZES]
    empty = [sum(counts) * size / len(rows) - mean for size, counts in zip(SIZES, blocks, strict=True)]
    found = [_found(requests, size) for size in SIZES]
    prompts = sum(len(one.prompt_ids) for one in requests)
    return {
        "sizes": list(SIZES),
        "requests": len(requests),
        "mean_rows": mean,
        "mean_prompt_tokens": prompts / len(requests),
        "system_tokens": TRACES["short"]["system_tokens"],
        "empty_slots": empty,
        "empty_slots_expected": [(size - 1) / 2 for size in SIZES],
        "waste": [slots / (mean + slots) for slots in empty],
        "waste_expected": [expected_waste(mean, size) for size in SIZES],
        "table_entries": [sum(counts) / len(rows) for counts in blocks],
        "found_tokens": [tokens / len(requests) for tokens in found],
        "found_share": [tokens / prompts for tokens in found],
    }


def _found(requests: Sequence[Request], size: int) -> int:
    """Prompt tokens that were in the cache already, each request finished before the next, with room for all."""
    manager = KVManager(sum(-(-one.rows // size) for one in requests), size, log=deque(maxlen=0))
    found = 0
    for one in requests:
        found += manager.admit(one.id, one.prompt_ids)
        manager.append(one.id, one.prompt_ids[manager.length(one.id) :])
        manager.confirm(one.id, len(one.prompt_ids))
        manager.free(one.id)
    return found
