"""A server that reserves one piece of memory for each request, in three ways, and what that memory then holds.

Pieces are handed out by a buddy allocator, whose pieces are powers of two, as the vLLM paper takes for Orca
(arXiv:2309.06180, section 6.1). Requests are served in order of arrival. Counts slots, of one token each; knows nothing about
blocks, tables or time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kvref.plan.request import Request

# How many slots are reserved for a request, given the longest there can be.
RESERVED: dict[str, Callable[[Request, int], int]] = {
    "longest": lambda request, longest: longest,
    "power": lambda request, longest: min(longest, len(request.prompt_ids) + power_of_two(request.max_new_tokens)),
    "exact": lambda request, longest: request.rows,
}


def power_of_two(count: int) -> int:
    """The smallest one that is not below ``count``."""
    return 1 << (count - 1).bit_length()


class Buddies:
    """Memory of a power of two of slots, in pieces that are powers of two; the halves of a piece are buddies."""

    def __init__(self, slots: int) -> None:
        if slots != power_of_two(slots):
            raise ValueError(f"slots: expected a power of two, got {slots}.")
        self.slots = slots
        self._free: dict[int, set[int]] = {slots: {0}}  # places by size

    def take(self, slots: int) -> tuple[int, int] | None:
        """A piece with room for that many, as place and size: the smallest that is free, halved while it can be."""
        wanted = power_of_two(slots)
        size = min((size for size, places in self._free.items() if places and size >= wanted), default=None)
        if size is None:
            return None
        place = min(self._free[size])
        self._free[size].remove(place)
        while size > wanted:
            size //= 2
            self._free.setdefault(size, set()).add(place + size)
        return place, size

    def give_back(self, place: int, size: int) -> None:
        """Join the piece with its buddy as long as that is free too."""
        while size < self.slots and (place ^ size) in self._free.get(size, ()):
            self._free[size].remove(place ^ size)
            place, size = min(place, place ^ size), size * 2
        self._free.setdefault(size, set()).add(place)


@dataclass(slots=True)
class _Running:
    request: Request
    piece: tuple[int, int]
    reserved: int
    rows: int  # written so far


@dataclass(frozen=True)
class Use:
    """Slots on average, over all steps in which a request had to wait for room."""

    tokens: float  # hold a token's K and V
    to_come: float  # reserved, and filled before the request ends
    never: float  # reserved, and never filled
    gaps: float  # not reserved, and too small or cut off
    requests: float  # at once

    def shares(self, slots: int) -> dict[str, float]:
        """The four kinds as parts of all slots."""
        return {name: getattr(self, name) / slots for name in ("tokens", "to_come", "never", "gaps")}


def serve(trace: Sequence[Request], slots: int, longest: int, policy: str) -> Use:
    """Serve all requests, each as soon as there is room; a step adds one row to every request that runs."""
    memory, running, waiting = Buddies(slots), list[_Running](), list(reversed(trace))
    sums, steps = [0] * 5, 0
    while waiting or running:
        _admit(memory, running, waiting, longest, policy)
        if waiting:
            steps += 1
            sums = [before + now for before, now in zip(sums, _count(slots, running), strict=True)]
        for one in [one for one in running if one.rows >= one.request.rows]:
            memory.give_back(*one.piece)
            running.remove(one)
        for one in running:
            one.rows += 1
    return Use(*(one / max(1, steps) for one in sums))


def _admit(memory: Buddies, running: list[_Running], waiting: list[Request], longest: int, policy: str) -> None:
    while waiting:
        reserved = RESERVED[policy](waiting[-1], longest)
        piece = memory.take(reserved)
        if piece is None:
            return
        request = waiting.pop()
        running.append(_Running(request, piece, reserved, len(request.prompt_ids)))


def _count(slots: int, running: list[_Running]) -> tuple[int, int, int, int, int]:
    tokens = sum(one.rows for one in running)
    final = sum(one.request.rows for one in running)
    reserved = sum(one.reserved for one in running)
    return tokens, final - tokens, reserved - final, slots - reserved, len(running)
