"""The cache in blocks: two requests and their tables, the same rows in two orders, and what blocks waste.

Tables and orders are `kvref.plan.manager`'s; that reading through a table gives what a contiguous cache gives is found with
the real model and `kvref.cache.paged`. The rows themselves are those of the recordings, which are not repeated.
"""

from typing import Any

import torch

from gen.experiments import waste
from gen.experiments.context import Context
from gen.experiments.recording import REPEAT_FED_TOKENS, REPEAT_PROMPT
from gen.experiments.shared_rows import size_bytes
from gen.experiments.story import Source, Story
from gen.experiments.trace import Trace
from gen.records import Bound, Record
from kvref import PagedCache, decode_step, greedy, prefill
from kvref.plan.manager import KVManager

SIZES = (1, 2, 4, 8, 16)
READ_SIZES = (1, 4, 16)
BLOCK_TOKENS = 4
SLOTS = 32
SCRIPT = "ncat.nrepeat.dA.dB.dA.dB.dA.dA.dA.dA"  # as the first example of the pool that the reader drives
NAMES = {"A": "cat", "B": "repeat"}
EXAMPLE_POSITION = 5  # of A's tokens: the one whose address the page works out


def records(context: Context) -> list[Record]:
    """The record `blocks`."""
    ids = context.text.encode(REPEAT_PROMPT)
    traces = {"cat": context.main, "repeat": context.follow(ids, len(ids) + REPEAT_FED_TOKENS)}
    sources = {name: Source(one.ids, one.prompt_tokens) for name, one in traces.items()}
    slots = _slots(sources)
    stories = {size: _play(slots // size, size, sources) for size in SIZES}
    values = {
        "slots": slots,
        "sizes": list(SIZES),
        "script": SCRIPT,
        "recordings": NAMES,
        "by_size": {str(size): _tables(story) for size, story in stories.items()},
        "actions": stories[BLOCK_TOKENS].done,
        "example": _example(stories[BLOCK_TOKENS]),
        "read": _read(context, traces),
        "waste": waste.waste(),
        "block_size": waste.block_sizes(),
    }
    what = (
        "Two requests in blocks of several sizes, as kvref's manager lays them out; reading through a table against a "
        "contiguous cache; what the memory for caches holds under four policies, for two traces"
    )
    return [context.record("blocks", "learn/blocks", what, values)]


def _slots(sources: dict[str, Source]) -> int:
    """The pool: enough for both requests in the largest blocks."""
    ends = [sources[name].prompt_tokens + SCRIPT.count(f"d{letter}") for letter, name in NAMES.items()]
    return max(SLOTS, sum(-(-end // SIZES[-1]) * SIZES[-1] for end in ends))


def _play(blocks: int, size: int, sources: dict[str, Source]) -> Story:
    story = Story(KVManager(blocks, size), sources)
    story.play(SCRIPT)
    return story


def _tables(story: Story) -> dict[str, Any]:
    """Where both requests lie at the end."""
    manager = story.manager
    lengths = {name: manager.length(name) for name in NAMES}
    rooms = {name: len(manager.table(name)) * manager.block_tokens for name in NAMES}
    return {
        "blocks": manager.pool.total_blocks,
        "used_blocks": manager.pool.used_blocks,
        "free": list(manager.pool.free_order()),
        "tokens": lengths,
        "tables": {name: list(manager.table(name)) for name in NAMES},
        "slots": {name: list(manager.slots(name, 0, length)) for name, length in lengths.items()},
        "empty": {name: rooms[name] - length for name, length in lengths.items()},
    }


def _example(story: Story) -> dict[str, int]:
    """The address of one token, worked out."""
    manager = story.manager
    position = min(EXAMPLE_POSITION, manager.length("A") - 1)
    row, place = divmod(position, manager.block_tokens)
    block = manager.table("A")[row]
    (slot,) = manager.slots("A", position, position + 1)
    if slot != block * manager.block_tokens + place:
        raise AssertionError(f"position {position}: slot {slot}, but block {block} and place {place}.")
    held = manager.length("A")
    return {
        "position": position,
        "block_tokens": manager.block_tokens,
        "row": row,
        "place": place,
        "block": block,
        "slot": slot,
        "tokens": held,
        "table_rows": len(manager.table("A")),
        "empty": len(manager.table("A")) * manager.block_tokens - held,
    }


# --- reading through the table -------------------------------------------------------------------------------------------


def _read(context: Context, traces: dict[str, Trace]) -> dict[str, Any]:
    """Both requests run again by turns through blocks of every size, against the recordings' contiguous caches."""
    logits = rows = 0.0
    for size in READ_SIZES:
        found = _through_tables(context, traces, size)
        logits, rows = max(logits, found[0]), max(rows, found[1])
    return {
        "sizes": list(READ_SIZES),
        "logit_difference_bound": Bound(logits),
        "row_difference_bound": Bound(rows),
        "block_bytes": size_bytes(context.config, BLOCK_TOKENS),
    }


def _through_tables(context: Context, traces: dict[str, Trace], size: int) -> tuple[float, float]:
    """Largest difference of any logit, and of any cached number, from what the contiguous cache gave."""
    manager = KVManager(sum(-(-trace.total_tokens // size) for trace in traces.values()), size)
    cache = PagedCache(context.config, manager)
    logits = rows = 0.0
    with torch.inference_mode():
        for name, recording in NAMES.items():
            trace = traces[recording]
            cached = manager.admit(name, trace.ids[: trace.prompt_tokens])
            out = prefill(context.transformer, cache.sequence(name), trace.ids[cached : trace.prompt_tokens])
            logits = max(logits, float((out - trace.logits[0]).abs().max()))
        for step in range(1, max(one.steps for one in traces.values())):
            for name, recording in NAMES.items():
                trace = traces[recording]
                if step >= trace.steps:
                    continue
                out = decode_step(context.transformer, cache.sequence(name), trace.fed[step - 1])
                logits = max(logits, float((out - trace.logits[step]).abs().max()))
                if greedy(out) != trace.written[step]:
                    context.require_margin(0.0, f"the token after step {step} of {name}, in blocks of {size},")
    for name, recording in NAMES.items():
        trace = traces[recording]
        slots = torch.tensor(manager.slots(name, 0, trace.total_tokens))
        pairs = ((cache.k, trace.cache.k), (cache.v, trace.cache.v))
        rows = max(rows, *(float((one[:, slots] - other[:, : trace.total_tokens]).abs().max()) for one, other in pairs))
    return logits, rows
