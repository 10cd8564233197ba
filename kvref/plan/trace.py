"""Traces: requests in the order in which they arrive, read from rows or made up in a stated way.

``default_trace`` uses additions, multiplications and comparisons of ``random.Random(seed).random()`` only, whose numbers
Python promises not to change: the same trace on every machine. Knows nothing about blocks, schedulers or text.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from random import Random
from typing import Any

from kvref.checks import positive, short, whole
from kvref.plan.prefix import Namespace
from kvref.plan.request import Request, arrival

_FIELDS = tuple(one.name for one in fields(Request))
_LISTS = ("prompt_ids", "stop_ids", "stop_texts")
SLOWEST = 1e-200  # requests per second: arrivals are far from what a float can be
_NEEDED = ("id", "prompt_ids", "max_new_tokens")


def read_trace(rows: Iterable[Mapping[str, Any]]) -> tuple[Request, ...]:
    """Requests from rows as JSON has them: the fields of ``Request``, lists for tuples, an object for the namespace.

    Rows count from 1. Raises ``ValueError`` with the row and the field at the first mistake; arrivals must not go back and
    ids must differ.
    """
    requests: list[Request] = []
    seen: dict[str, int] = {}
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise ValueError(f"rows: expected a list of objects, got {type(rows).__name__}.")
    for number, row in enumerate(rows, 1):
        try:
            request = _request(row)
            if request.id in seen:
                raise ValueError(f"id: {request.id!r} is taken by row {seen[request.id]}.")
            if requests and request.arrival_ms < requests[-1].arrival_ms:
                raise ValueError(
                    f"arrival_ms: expected at least {requests[-1].arrival_ms!r}, the row before's, got {request.arrival_ms!r}."
                )
        except ValueError as wrong:
            raise ValueError(f"row {number}: {wrong}") from wrong
        seen[request.id] = number
        requests.append(request)
    return tuple(requests)


def _request(row: Any) -> Request:
    if not isinstance(row, Mapping):
        raise ValueError(f"expected an object, got {type(row).__name__}.")
    for name in row:
        if name not in _FIELDS:
            raise ValueError(f"{name}: no such field; there are {', '.join(_FIELDS)}.")
    for name in _NEEDED:
        if name not in row:
            raise ValueError(f"{name}: expected a value, got none.")
    values: dict[str, Any] = {
        name: tuple(value) if name in _LISTS and isinstance(value, list) else value for name, value in row.items()
    }
    if "namespace" in values:
        values["namespace"] = _namespace(values["namespace"])
    arrival(values.get("arrival_ms", 0.0))  # before the rest: a trace is known by its times
    return Request(**values)


def _namespace(value: Any) -> Any:
    if isinstance(value, Namespace):
        return value
    if not isinstance(value, Mapping) or not set(value) <= {"adapter", "salt"}:
        raise ValueError(f"namespace: expected an object with adapter and salt, got {short(value)}.")
    try:
        return Namespace(**value)
    except ValueError as wrong:
        raise ValueError(f"namespace: {wrong}") from wrong


def default_trace(
    count: int,
    requests_per_second: int | float,
    seed: int = 0,
    *,
    systems: int = 4,
    system_tokens: int = 48,
    own_tokens: int | float = 20,
    reply_tokens: int | float = 60,
    max_own_tokens: int = 256,
    max_reply_tokens: int = 512,
    vocabulary: int = 49_152,
) -> tuple[Request, ...]:
    """``count`` requests: a Poisson process of arrivals, prompts that begin with one of a few system prompts.

    Gaps between arrivals are exponential with mean 1/``requests_per_second``, in whole microseconds. A prompt is one of
    ``systems`` system prompts of ``system_tokens`` ids, all equally likely, and a part of its own. Lengths of that part and
    of the reply are 1 + the whole part of an exponential with mean ``own_tokens`` and ``reply_tokens``, and no more than
    their maximum: few are long, as in the Alpaca traces of the vLLM paper (arXiv:2309.06180, figure 11: means 19.31 and
    58.45). Ids are uniform below ``vocabulary``.
    """
    whole(0, count=count, system_tokens=system_tokens)
    whole(systems=systems, max_own_tokens=max_own_tokens, max_reply_tokens=max_reply_tokens, vocabulary=vocabulary)
    positive(requests_per_second=requests_per_second, own_tokens=own_tokens, reply_tokens=reply_tokens)
    positive(vocabulary=vocabulary)  # it is multiplied by a float
    if requests_per_second < SLOWEST:
        raise ValueError(f"requests_per_second: expected at least {SLOWEST}, got {requests_per_second!r}.")
    if type(seed) is not int:
        raise ValueError(f"seed: expected a whole number, got {short(seed)}.")
    draw = Random(seed)

    def ids(length: int) -> tuple[int, ...]:
        return tuple(int(draw.random() * vocabulary) for _ in range(length))

    def length(mean: int | float, most: int) -> int:
        return min(1 + int(min(mean * exponential(draw), most)), most)

    prefixes = [ids(system_tokens) for _ in range(systems)]
    requests, clock_us = [], 0
    for number in range(count):
        clock_us += int(1e6 / requests_per_second * exponential(draw))
        prompt = prefixes[int(draw.random() * systems)] + ids(length(own_tokens, max_own_tokens))
        reply = length(reply_tokens, max_reply_tokens)
        requests.append(Request(f"r{number:05d}", prompt, reply, arrival_ms=clock_us / 1000))
    return tuple(requests)


def exponential(draw: Random) -> float:
    """One draw from the exponential distribution of mean 1, by comparisons alone (von Neumann, 1951).

    A logarithm may differ in its last digit from one machine to the next; this cannot.
    """
    whole_part = 0
    while True:
        first = last = draw.random()
        falling = 1
        while (following := draw.random()) < last:
            last, falling = following, falling + 1
        if falling % 2:
            return whole_part + first
        whole_part += 1
