"""Taking times: clocks that are checked, and things that are timed in turns.

Everything that is compared is timed in the same rounds, one after the other and in both orders, so that a machine that
slows down slows all of it. A sample that the clock cannot have taken is dropped with its round, and another round is run
for it. Knows nothing about models; the clock of a GPU is in `gen.measure.events`.
"""

import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from gen.errors import UserError
from gen.measure.samples import Series

ROUNDS = 8
SLACK_MS, SLACK = 5.0, 0.1  # by which two clocks may differ over one sample: both are read, not at once


class ClockFault(Exception):
    """One sample that cannot be believed, in words."""


class Timer(Protocol):
    """Does some work and says how many milliseconds it took. Raises ClockFault."""

    def __call__(self, work: Callable[[], object]) -> float:
        """Time `work` once, all of it: what runs asynchronously is waited for before and after."""
        ...


@dataclass(frozen=True)
class Lane:
    """One of the things that are compared. `work` does it `times` times; `before`, which is not timed, makes ready."""

    work: Callable[[], object]
    times: int = 1
    before: Callable[[], object] | None = None


class HostTimer:
    """The monotonic clock of the machine, watched by a second one that nothing adjusts."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter, second: Callable[[], float] | None = None) -> None:
        self.clock, self.second = clock, second or _raw

    def __call__(self, work: Callable[[], object]) -> float:
        """Milliseconds."""
        start, other = self.clock(), self.second()
        work()
        return believed(1e3 * (self.clock() - start), 1e3 * (self.second() - other))


def _raw() -> float:
    """Seconds of a clock that is never adjusted, where the system has one."""
    return time.clock_gettime(time.CLOCK_MONOTONIC_RAW) if hasattr(time, "CLOCK_MONOTONIC_RAW") else time.monotonic()


def believed(ms: float, other_ms: float) -> float:
    """`ms`, if it can be a duration and a second clock agrees. Raises ClockFault."""
    if not math.isfinite(ms) or ms <= 0:
        raise ClockFault(f"The clock said that {ms:.4g} ms went by")
    if not abs(ms - other_ms) <= SLACK_MS + SLACK * ms:
        said = f"it said {ms:.4g} ms, a second clock {other_ms:.4g} ms"
        raise ClockFault(f"The clock jumped: {said}")
    return ms


def say(sentence: str) -> None:
    """Progress, kept off standard output."""
    print(sentence, file=sys.stderr, flush=True)


def in_turns(
    lanes: Mapping[str, Lane],
    timer: Timer,
    *,
    rounds: int = ROUNDS,
    warm: int = 1,
    keep: Callable[[Mapping[str, list[float]]], None] | None = None,
) -> dict[str, Series]:
    """Time all lanes once a round, after `warm` rounds that do not count: name -> milliseconds.

    `keep` is given the samples at the end, and also when something stops the rounds halfway. Raises UserError when as
    many rounds were spoilt by the clock as were wanted.
    """
    for lane in lanes.values():
        for _ in range(warm):
            _ready(lane)
            lane.work()
    samples: dict[str, list[float]] = {name: [] for name in lanes}
    dropped = 0
    try:
        while any(len(taken) < rounds for taken in samples.values()):
            order = list(lanes) if (len(next(iter(samples.values()))) + dropped) % 2 == 0 else list(lanes)[::-1]
            try:
                taken = {name: _sample(lanes[name], timer) for name in order}
            except ClockFault as fault:
                dropped += 1
                say(f"{fault}: this round does not count.")
                if dropped > rounds:
                    raise UserError(f"{fault}; {dropped} rounds were lost to it, so nothing can be timed here.") from None
                continue
            for name, ms in taken.items():
                samples[name].append(ms)
    finally:
        if keep is not None:
            keep(samples)
    return {name: Series(tuple(taken), dropped) for name, taken in samples.items()}


def _sample(lane: Lane, timer: Timer) -> float:
    _ready(lane)
    return timer(lane.work) / lane.times


def _ready(lane: Lane) -> None:
    if lane.before is not None:
        lane.before()
