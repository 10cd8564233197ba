"""The block tables: which request has which blocks, what may be read from a table, and what a change asks of the memory.

A table's row i is the block with the tokens of positions i·B to (i + 1)·B − 1, where B is the block size; ``slot`` = block · B
+ offset is a place in memory. Knows nothing about the pool and the index, and changes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kvref.plan.prefix import NOBODY, Namespace


class Copy(NamedTuple):
    """K and V of the first ``tokens`` slots of block ``source`` go to block ``target``, on the device."""

    source: int
    target: int
    tokens: int


class Move(NamedTuple):
    """A whole block goes from the device to host memory, or back."""

    device_block: int
    host_block: int


class Grant(NamedTuple):
    """Where the K and V of appended tokens belong, one slot a token, and what must be copied before they are written."""

    slots: tuple[int, ...]
    copies: tuple[Copy, ...]


@dataclass(slots=True)
class Table:
    """What a request has: its tokens, the blocks that hold them, and how much of it is written and can be found."""

    block_tokens: int
    namespace: Namespace = NOBODY
    tokens: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    confirmed: int = 0  # tokens whose K and V are written
    indexed_rows: int = 0  # the first rows, which are in the index

    def rows_for(self, tokens: int) -> int:
        """Rows that hold so many tokens."""
        return -(-tokens // self.block_tokens)

    def row_tokens(self, row: int) -> list[int]:
        """The tokens of a row."""
        return self.tokens[row * self.block_tokens : (row + 1) * self.block_tokens]

    def slots(self, start: int, stop: int) -> tuple[int, ...]:
        """The slot of each position from ``start`` to before ``stop``."""
        size, blocks = self.block_tokens, self.blocks
        if stop - start == 1:  # as in every decode step
            return (blocks[start // size] * size + start % size,)
        return tuple([blocks[at // size] * size + at % size for at in range(start, stop)])

    def check_written(self, request_id: str) -> None:
        """Refuse a table with tokens whose K and V may not be there yet."""
        if self.confirmed < len(self.tokens):
            counts = f"{self.confirmed} of {len(self.tokens)}"
            raise ValueError(f"request {request_id!r}: expected all its tokens to be confirmed, got {counts}.")


class Tables:
    """Tables on the device and those whose blocks are in host memory, by the id of their request."""

    def __init__(self) -> None:
        self._tables: dict[str, Table] = {}
        self._swapped: dict[str, Table] = {}

    @property
    def requests(self) -> tuple[str, ...]:
        """Ids of the requests with a table on the device, in the order in which they came there."""
        return tuple(self._tables)

    @property
    def swapped(self) -> tuple[str, ...]:
        """Ids of the requests whose blocks are in host memory."""
        return tuple(self._swapped)

    def length(self, request_id: str) -> int:
        """Tokens that the request has slots for."""
        return len(self._any(request_id).tokens)

    def confirmed(self, request_id: str) -> int:
        """Tokens whose K and V are written."""
        return self._any(request_id).confirmed

    def tokens(self, request_id: str) -> tuple[int, ...]:
        """The tokens themselves."""
        return tuple(self._any(request_id).tokens)

    def table(self, request_id: str) -> tuple[int, ...]:
        """The blocks in the order of positions."""
        return tuple(self._table(request_id).blocks)

    def slots(self, request_id: str, start: int, stop: int) -> tuple[int, ...]:
        """The slot of each position from ``start`` to before ``stop``."""
        table = self._table(request_id)
        check_place("start", start, 0, len(table.tokens))
        check_place("stop", stop, start, len(table.tokens))
        return table.slots(start, stop)

    def _check_new(self, request_id: str, name: str) -> None:
        if not isinstance(request_id, str):
            raise ValueError(f"{name}: expected text, got {request_id!r}.")
        if request_id in self._tables or request_id in self._swapped:
            raise ValueError(f"{name}: expected a new id, got {request_id!r}, which has a table.")

    def _table(self, request_id: str, name: str = "request_id") -> Table:
        """The table of a request that is on the device."""
        table = self._tables.get(request_id) if isinstance(request_id, str) else None
        if table is None:
            swapped = ", which is swapped out" if _find(self._swapped, request_id) else ""
            raise ValueError(f"{name}: expected the id of a request with a table, got {request_id!r}{swapped}.")
        return table

    def _parked(self, request_id: str) -> Table:
        """The table of a request that is swapped out."""
        table = _find(self._swapped, request_id)
        if table is None:
            raise ValueError(f"request_ids: expected ids of requests that are swapped out, got {request_id!r}.")
        return table

    def _any(self, request_id: str) -> Table:
        return _find(self._swapped, request_id) or self._table(request_id)

    def _group(self, request_ids: Sequence[str], find: Callable[[str], Table]) -> list[tuple[str, Table]]:
        """Several tables at once; no id twice."""
        if isinstance(request_ids, str) or not isinstance(request_ids, Sequence) or not request_ids:
            raise ValueError(f"request_ids: expected a sequence of ids, got {request_ids!r}.")
        group = [(request_id, find(request_id)) for request_id in request_ids]
        if len(dict(group)) < len(group):
            raise ValueError(f"request_ids: expected each id once, got {list(request_ids)}.")
        return group


def check_place(name: str, value: int, least: int, most: int) -> None:
    """Refuse what is no whole number from ``least`` to ``most``."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name}: expected a whole number from {least} to {most}, got {value!r}.")


def _find(tables: dict[str, Table], request_id: str) -> Table | None:
    return tables.get(request_id) if isinstance(request_id, str) else None
