"""What a simulation writes down: a row for each step, a row for each request, and the two together.

Knows nothing about how they came about.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple


class Share(NamedTuple):
    """What one request got of a step."""

    request_id: str
    start: int
    tokens: int
    samples: bool


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step. Counts are taken while the pass runs: its blocks are taken, none of those that end with it are given back.

    ``stored_tokens``: lengths of all running requests, shared tokens counted for each. ``reserved_tokens``: slots set aside
    for them.
    """

    number: int
    start_ms: float
    end_ms: float
    work: tuple[Share, ...]
    used_blocks: int
    idle_blocks: int
    free_blocks: int
    stored_tokens: int
    reserved_tokens: int
    waiting: int
    running: int
    swapped: int
    admitted: tuple[str, ...]
    preempted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request. ``token_ms``: when each token of its reply was there.

    ``finish_reason`` "refused": it could never fit, and ``refusal`` says why.
    """

    id: str
    arrival_ms: int | float
    prompt_tokens: int
    token_ms: tuple[float, ...]
    cached_tokens: int
    preemptions: int
    finish_reason: str
    refusal: str | None = None

    @property
    def reply_tokens(self) -> int:
        """Tokens of the reply."""
        return len(self.token_ms)

    @property
    def ttft_ms(self) -> float | None:
        """Time from the arrival to the first token; None without one."""
        return self.token_ms[0] - self.arrival_ms if self.token_ms else None

    @property
    def itl_ms(self) -> tuple[float, ...]:
        """Times between one token and the next."""
        return tuple(later - earlier for earlier, later in pairwise(self.token_ms))


@dataclass(frozen=True)
class Run:
    """All steps, and all requests in order of the trace."""

    steps: tuple[StepRow, ...]
    requests: tuple[RequestRow, ...]

    @property
    def end_ms(self) -> float:
        """When the last step ended."""
        return self.steps[-1].end_ms if self.steps else 0.0
