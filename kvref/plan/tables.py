"""The block table of one request, and what a change of tables asks of the memory behind it.

A table's row i is the block with the tokens of positions i·B to (i + 1)·B − 1, where B is the block size; ``slot`` = block · B
+ offset is a place in memory. Knows nothing about the pool, the index or other requests.
"""

from dataclasses import dataclass, field

from kvref.plan.prefix import NOBODY, Namespace


@dataclass(frozen=True, slots=True)
class Copy:
    """K and V of the first ``tokens`` slots of block ``source`` go to block ``target``, on the device."""

    source: int
    target: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Move:
    """A whole block goes from the device to host memory, or back."""

    device_block: int
    host_block: int


@dataclass(frozen=True, slots=True)
class Grant:
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
        return tuple(blocks[position // size] * size + position % size for position in range(start, stop))
