"""What happens to blocks and tables, one event each: enough to rebuild every table and every ref count from nothing.

``as_dict`` is the form in which a log is recorded and in which JavaScript compares its own. ``request`` is the request's
id, ``row`` its row in that request's table, ``refs`` how many table rows hold the block afterwards. Knows no rules: the
manager decides, this says what it did.
"""

import re
from dataclasses import dataclass, fields
from typing import Any, TypeVar, dataclass_transform

Kind = TypeVar("Kind")


@dataclass_transform(frozen_default=True)
def _event(kind: type[Kind]) -> type[Kind]:
    """A dataclass whose values cannot be changed, as far as types are checked.

    At run time nothing guards them: two events are made for every token, and that would be a tenth of all that it costs.
    """
    return dataclass(slots=True)(kind)


class Event:
    """One thing that happened."""

    __slots__ = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data: the event's name in lower case and its fields; tuples become lists."""
        named: dict[str, Any] = {"event": _name(type(self).__name__)}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            named[field.name] = list(value) if isinstance(value, tuple) else value
        return named


@_event
class Admitted(Event):
    """A request has a table; ``cached_tokens`` of its prompt need not be computed. The rows follow as hits."""

    request: str
    cached_tokens: int


@_event
class Hit(Event):
    """A block that already contains what the request asks for is now in its table; an idle one is in use again."""

    request: str
    block: int
    row: int
    refs: int


@_event
class Evicted(Event):
    """An idle block was given up: its content can no longer be found, and it is free."""

    block: int


@_event
class Allocated(Event):
    """A block was taken from the head of the free list and is in that row: a new last row, or in the place of a copied one."""

    request: str
    block: int
    row: int


@_event
class Shared(Event):
    """A block that another table holds is now a further row of this one."""

    request: str
    block: int
    row: int
    refs: int


@_event
class Copied(Event):
    """Before a write into a shared block: its first ``tokens`` slots go to ``target``, which takes its row."""

    request: str
    source: int
    target: int
    row: int
    tokens: int


@_event
class Appended(Event):
    """Slots for these tokens are granted, from position ``start``; their K and V are not written yet."""

    request: str
    start: int
    token_ids: tuple[int, ...]


@_event
class Confirmed(Event):
    """K and V of the first ``length`` tokens are written."""

    request: str
    length: int


@_event
class Indexed(Event):
    """A full, confirmed block can be found from now on; ``key`` is its chained hash."""

    request: str
    block: int
    row: int
    key: str | int


@_event
class Unindexed(Event):
    """The only holder of a block is about to write into it, so that it can no longer be found."""

    request: str
    block: int
    row: int


@_event
class Released(Event):
    """A table holds the block no more. With ``refs`` 0 it is free, or idle if it was ``kept``."""

    request: str
    block: int
    row: int
    refs: int
    kept: bool


@_event
class Forked(Event):
    """``child`` has a table with the first ``tokens`` tokens of ``parent``. The rows follow as shared."""

    parent: str
    child: str
    tokens: int


@_event
class Truncated(Event):
    """The first ``length`` tokens are kept; rows that are needed no more were released before."""

    request: str
    length: int


@_event
class Freed(Event):
    """The request has no table any more; its rows were released before."""

    request: str


@_event
class SwappedOut(Event):
    """The content of a row is moved to host memory. The device block follows as released."""

    request: str
    block: int
    row: int
    host_block: int


@_event
class SwappedIn(Event):
    """The content of a row is back on the device, in a block that was allocated or shared before."""

    request: str
    block: int
    row: int
    host_block: int


def _name(class_name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", class_name).lower()
