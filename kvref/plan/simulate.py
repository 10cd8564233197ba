"""A trace run through a scheduler, with a clock that a function of the step advances: no model, no waiting.

The tokens are made up, so replies end at their ``max_new_tokens`` (unless the caller's ``sample`` draws a stop id). Times
are what ``step_ms`` says they are, and results are only as good as it is. Knows no tensors.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf
from zlib import crc32

from kvref.plan.entry import Counts
from kvref.plan.lifecycle import Lifecycle
from kvref.plan.request import Request
from kvref.plan.run import RequestRow, Run, Share, StepRow
from kvref.plan.step import Step

__all__ = ["RequestRow", "Run", "Share", "StepRow", "made_up", "simulate"]


def made_up(request_id: str, position: int) -> int:
    """A token id that depends on the request and the position alone, the same on every machine."""
    return crc32(f"{request_id} {position}".encode()) % 49_152


def simulate(
    scheduler: Lifecycle,
    trace: Sequence[Request],
    step_ms: Callable[[Step], float],
    sample: Callable[[str, int], int] = made_up,
) -> Run:
    """Submit each request when the clock reaches its arrival, and step until all have ended.

    ``step_ms(step)`` is how long the step takes; ``sample(request_id, position)`` the token at a position. A step begins
    when the one before it ends or, if there is nothing to do, at the next arrival. A reply gets its token when the pass
    ends. Raises ``ValueError`` for a trace that goes back in time and for a duration that is none.
    """
    bench = _Bench(scheduler, trace, sample)
    steps: list[StepRow] = []
    now = 0.0
    while bench.open:
        bench.arrive(now)
        step = scheduler.step()
        if step is None:
            now = bench.next_arrival(now)
            continue
        end = now + _duration(step_ms(step))
        steps.append(_step_row(scheduler, step, now, end))
        bench.commit(step, end)
        now = end
    return Run(tuple(steps), tuple(bench.rows[request.id] for request in trace))


class _Bench:
    """Who has arrived, when each got its tokens, and the rows of those that ended."""

    def __init__(self, scheduler: Lifecycle, trace: Sequence[Request], sample: Callable[[str, int], int]) -> None:
        if any(later.arrival_ms < earlier.arrival_ms for earlier, later in pairwise(trace)):
            raise ValueError("trace: expected arrivals that do not go back.")
        if scheduler.counts != Counts(0, 0, 0):
            raise ValueError(f"scheduler: expected one without requests, got {scheduler.counts}.")
        self.scheduler, self.trace, self.sample = scheduler, trace, sample
        self.token_ms: dict[str, list[float]] = {request.id: [] for request in trace}
        if len(self.token_ms) < len(trace):
            raise ValueError("trace: expected ids that differ.")
        self.requests: dict[str, Request] = {}
        self.rows: dict[str, RequestRow] = {}

    @property
    def open(self) -> bool:
        """Whether anybody has still to end."""
        return len(self.rows) < len(self.trace)

    def arrive(self, now: float) -> None:
        """Submit those that have arrived since."""
        while (arrived := len(self.requests)) < len(self.trace) and self.trace[arrived].arrival_ms <= now:
            request = self.trace[arrived]
            self.requests[request.id] = request
            try:
                self.scheduler.submit(request)
            except ValueError as refused:
                self.rows[request.id] = self._row(request, 0, 0, "refused", str(refused))

    def next_arrival(self, now: float) -> float:
        """When there will be something to do again."""
        arrived = len(self.requests)
        return float(self.trace[arrived].arrival_ms) if arrived < len(self.trace) else now

    def commit(self, step: Step, end: float) -> None:
        """Sample, and write down who ended."""
        sampled = {
            work.request_id: self.sample(work.request_id, work.start + len(work.token_ids))
            for work in step.work
            if work.samples
        }
        for name in sampled:
            self.token_ms[name].append(end)
        for name in self.scheduler.commit(step, sampled):
            report = self.scheduler.forget(name)
            reason = report.finish_reason or ""
            self.rows[name] = self._row(self.requests[name], report.cached_tokens, report.preemptions, reason)

    def _row(self, request: Request, cached: int, preemptions: int, reason: str, refusal: str | None = None) -> RequestRow:
        times = tuple(self.token_ms.pop(request.id))
        return RequestRow(request.id, request.arrival_ms, len(request.prompt_ids), times, cached, preemptions, reason, refusal)


def _step_row(scheduler: Lifecycle, step: Step, start: float, end: float) -> StepRow:
    pool, counts = scheduler.manager.pool, scheduler.counts
    return StepRow(
        number=step.number,
        start_ms=start,
        end_ms=end,
        work=tuple([Share(work.request_id, work.start, len(work.token_ids), work.samples) for work in step.work]),
        used_blocks=pool.used_blocks,
        idle_blocks=pool.idle_blocks,
        free_blocks=pool.free_blocks,
        stored_tokens=scheduler.stored_tokens,
        reserved_tokens=scheduler.reserved_tokens,
        waiting=counts.waiting,
        running=counts.running,
        swapped=counts.swapped,
        admitted=step.admitted,
        preempted=step.preempted,
    )


def _duration(milliseconds: int | float) -> float:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float) or not 0 <= milliseconds < inf:
        raise ValueError(f"step_ms: expected a finite number of at least 0, got {milliseconds!r}.")
    return float(milliseconds)
