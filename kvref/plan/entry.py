"""What a scheduler notes: about each request so far, and about a step while it is being planned.

Knows no rules: the scheduler decides, this holds what it decided.
"""

from dataclasses import dataclass, field
from typing import Literal

from kvref.plan.manager import Copy, Move
from kvref.plan.request import Request
from kvref.plan.step import Step, Work

Status = Literal["waiting", "running", "swapped", "finished"]


@dataclass(slots=True, eq=False)
class Entry:
    """A request and what became of it so far."""

    request: Request
    tokens: list[int]  # the prompt, then the reply
    full_blocks: int  # that it will need in the end
    status: Status = "waiting"
    length: int = 0  # tokens that have slots, while it is running or swapped out
    admissions: int = 0
    preemptions: int = 0
    cached_tokens: int = 0
    finish_reason: str | None = None


@dataclass(frozen=True)
class Report:
    """What became of a request: ``finish_reason`` is "length", "stop", "abort" or what ``finish`` was told.

    ``cached_tokens`` are prompt tokens found in the cache when the request was first admitted: what a preempted request finds
    of its own is no hit.
    """

    request_id: str
    status: Status
    reply_ids: tuple[int, ...]
    cached_tokens: int
    preemptions: int
    finish_reason: str | None


@dataclass(slots=True)
class Counts:
    """How many requests are in which state."""

    waiting: int
    running: int
    swapped: int


@dataclass(slots=True)
class Draft:
    """A step that is being planned. ``budget``: tokens left that are set aside for nobody; ``entries`` belong to ``work``."""

    budget: int
    work: list[Work] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    swapped_out: list[Move] = field(default_factory=list)
    swapped_in: list[Move] = field(default_factory=list)
    admitted: list[str] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)

    def step(self, number: int) -> Step:
        """The finished plan."""
        moves = tuple(self.copies), tuple(self.swapped_out), tuple(self.swapped_in)
        return Step(number, tuple(self.work), *moves, tuple(self.admitted), tuple(self.preempted))
