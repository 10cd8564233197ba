"""A simulated run as a timeline: for each request what it did when, for each step its tokens and the blocks that were held.

Knows nothing about how a run was scheduled but what its rows say, and nothing about pictures.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from gen.errors import CheckFailed
from kvref.plan.simulate import RequestRow, Run

Span = tuple[str, float, float, int]  # kind, from, to, tokens


def timeline(run: Run, *, slots: int, pool_blocks: int, block_tokens: int, away: str = "preempted") -> dict[str, Any]:
    """The run as plain lists. ``away`` names what a request is between its preemption and its return.

    With static batching a request keeps its slot until its batch ends: such spans are called ``idle``.
    """
    ends = _batch_ends(run) if any(step.reserved_tokens > step.used_blocks * block_tokens for step in run.steps) else {}
    spans = {one.id: list(_spans(run, one, ends.get(one.id), away)) for one in run.requests}
    requests = {one.id: _request(one, spans[one.id]) for one in run.requests}
    pool_tokens = pool_blocks * block_tokens
    steps = _steps(run, spans, pool_tokens)
    return {
        "slots": slots,
        "pool_blocks": pool_blocks,
        "requests": requests,
        "steps": steps,
        "totals": _totals(run, requests, steps, slots),
    }


def _batch_ends(run: Run) -> dict[str, float]:
    """When the batch of each request ended: at the last step before the next batch was formed."""
    forming = [number for number, step in enumerate(run.steps) if step.admitted] + [len(run.steps)]
    return {name: run.steps[after - 1].end_ms for at, after in pairwise(forming) for name in run.steps[at].admitted}


def _spans(run: Run, one: RequestRow, kept_until: float | None, away: str) -> Iterator[Span]:
    """What a request did, without gaps, from its arrival to its last token or until its slot is given away."""
    now, computed, given, gone = one.arrival_ms, 0, 0, "waiting"
    for step in run.steps:
        if one.id in step.preempted:
            gone = away
        work = next((share for share in step.work if share.request_id == one.id), None)
        if work is None:
            continue
        if now < step.start_ms:
            yield gone, now, step.start_ms, 0
        decode = work.samples and given > 0 and work.tokens == 1
        kind = "decode" if decode else "again" if work.start < computed else "prefill"
        yield kind, step.start_ms, step.end_ms, work.tokens
        now, computed, given = step.end_ms, max(computed, work.start + work.tokens), given + work.samples
    if kept_until is not None and now < kept_until:
        yield "idle", now, kept_until, 0


def _request(one: RequestRow, spans: list[Span]) -> dict[str, Any]:
    if one.ttft_ms is None or any(late[1] != early[2] for early, late in pairwise(spans)):
        raise CheckFailed(f"The timeline of request {one.id} has no first token, or a gap.")
    return {
        "arrival_ms": one.arrival_ms,
        "prompt_tokens": one.prompt_tokens,
        "reply_tokens": one.reply_tokens,
        "ttft_ms": one.ttft_ms,
        "longest_itl_ms": max(one.itl_ms, default=0.0),
        "finished_ms": one.token_ms[-1],
        "idle_ms": sum(to - start for kind, start, to, _ in spans if kind == "idle"),
        "preemptions": one.preemptions,
        "spans": {
            "kind": [span[0] for span in spans],
            "from_ms": [span[1] for span in spans],
            "to_ms": [span[2] for span in spans],
            "tokens": [span[3] for span in spans],
        },
    }


def _steps(run: Run, spans: dict[str, list[Span]], pool_tokens: int) -> dict[str, list[Any]]:
    decodes: dict[float, int] = {}
    for kind, start, _, _ in (span for each in spans.values() for span in each):
        decodes[start] = decodes.get(start, 0) + (kind == "decode")
    tokens = [sum(share.tokens for share in step.work) for step in run.steps]
    return {
        "start_ms": [step.start_ms for step in run.steps],
        "end_ms": [step.end_ms for step in run.steps],
        "requests": [len(step.work) for step in run.steps],
        "prefill_tokens": [all_ - decodes[step.start_ms] for all_, step in zip(tokens, run.steps, strict=True)],
        "decode_tokens": [decodes[step.start_ms] for step in run.steps],
        "stored_share": [step.stored_tokens / pool_tokens for step in run.steps],
        "reserved_share": [step.reserved_tokens / pool_tokens for step in run.steps],
    }


def _totals(run: Run, requests: dict[str, Any], steps: dict[str, list[Any]], slots: int) -> dict[str, Any]:
    replies = sum(one.reply_tokens for one in run.requests)
    return {
        "end_ms": run.end_ms,
        "steps": len(run.steps),
        "reply_tokens": replies,
        "tokens_per_second": 1000 * replies / run.end_ms,
        "mean_ttft_ms": sum(one["ttft_ms"] for one in requests.values()) / len(requests),
        "longest_ttft_ms": max(one["ttft_ms"] for one in requests.values()),
        "longest_itl_ms": max(one["longest_itl_ms"] for one in requests.values()),
        "idle_share": sum(one["idle_ms"] for one in requests.values()) / (slots * run.end_ms),
        "preemptions": sum(one["preemptions"] for one in requests.values()),
        "tokens_again": sum(
            tokens
            for one in requests.values()
            for kind, tokens in zip(one["spans"]["kind"], one["spans"]["tokens"], strict=True)
            if kind == "again"
        ),
        "most_tokens": max(a + b for a, b in zip(steps["prefill_tokens"], steps["decode_tokens"], strict=True)),
        "most_stored_share": max(steps["stored_share"]),
        "most_reserved_share": max(steps["reserved_share"]),
    }
