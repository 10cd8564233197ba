"""One request's reply as it grows: its tokens, when each came, and how much of its text may be shown.

Text comes from a function that is passed in. Two things are held back until more is known: the bytes of a character that is
not complete, which a detokenizer shows as replacement characters at the end, and what may be the beginning of a stop text.
Knows nothing about models, blocks or schedules.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import pairwise

from kvref.plan.request import Request

INCOMPLETE = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class Output:
    """One new token of a request, and the text that can be shown since; ``finish_reason`` with the last one."""

    request_id: str
    token_id: int
    text: str
    finish_reason: str | None = None


@dataclass(frozen=True)
class Reply:
    """What came of a request so far.

    ``finish_reason``: "length", "stop" (an id or a text), "abort", or None while it goes on. ``token_ids`` has a stop id as
    its last, ``text`` ends before it. ``ttft_ms``: from submission to the first token; ``itl_ms``: between one token and the
    next. ``prompt_logprobs``, where they were asked for: of each prompt token but the first, natural logarithms.
    """

    request_id: str
    token_ids: tuple[int, ...]
    text: str
    finish_reason: str | None
    ttft_ms: float | None
    itl_ms: tuple[float, ...]
    cached_tokens: int
    preemptions: int
    prompt_logprobs: tuple[float, ...] | None


@dataclass
class Growing:
    """A reply that is not complete. ``submitted`` and ``times`` are seconds of the same clock."""

    request: Request
    submitted: float
    token_ids: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    text: str = ""  # what was shown
    stopped: bool = False  # by a stop text
    logprobs: dict[int, float] = field(default_factory=dict)  # by position

    def spelled(self, token_id: int) -> list[int]:
        """The ids to make text of once this one has joined: a stop id has none."""
        return self.token_ids if token_id in self.request.stop_ids else [*self.token_ids, token_id]

    def scored(self, start: int, count: int) -> tuple[int, ...]:
        """The prompt tokens whose likeliness is told by the logits at ``count`` positions from ``start``, if asked for."""
        return self.request.prompt_ids[start + 1 : start + 1 + count] if self.request.prompt_logprobs else ()

    def take(self, token_id: int, now: float, text: str, ended: bool) -> str:
        """The token joins; ``text`` is the whole reply's as it reads now. Returns the text that can be shown since."""
        self.token_ids.append(token_id)
        self.times.append(now)
        before = len(self.text)
        self.text, self.stopped = shown(text, self.request.stop_texts, ended)
        return self.text[before:]

    @property
    def ttft_ms(self) -> float | None:
        """Milliseconds to the first token; None before it."""
        return 1000 * (self.times[0] - self.submitted) if self.times else None

    @property
    def itl_ms(self) -> tuple[float, ...]:
        """Milliseconds between tokens."""
        return tuple(1000 * (later - earlier) for earlier, later in pairwise(self.times))

    @property
    def prompt_logprobs(self) -> tuple[float, ...] | None:
        """All of them, once the whole prompt was computed; None before, and where they were not asked for."""
        last = len(self.request.prompt_ids) - 1
        if not self.request.prompt_logprobs or len(self.logprobs) < last:
            return None
        return tuple(self.logprobs[position] for position in range(1, last + 1))


def shown(text: str, stop_texts: Collection[str], ended: bool) -> tuple[str, bool]:
    """How much of a text may be shown, and whether a stop text ends it: then it is what comes before the first one."""
    whole = text if ended else text.rstrip(INCOMPLETE)
    found = [place for stop in stop_texts if (place := whole.find(stop)) >= 0]
    if found:
        return whole[: min(found)], True
    held = 0 if ended else max((_begun(whole, stop) for stop in stop_texts), default=0)
    return whole[: len(whole) - held], False


def _begun(text: str, stop: str) -> int:
    """Characters at the end of the text with which the stop text begins."""
    return next((count for count in range(len(stop) - 1, 0, -1) if text.endswith(stop[:count])), 0)
