"""Reading keys and values through block tables, for one request or for many in one pass, in two ways.

``GatheredView`` first copies what a request may read into one piece, as plain as can be: it is the oracle, and what a tap
looks at. ``PagedView`` makes no such copy. It reads a tile of a table at a time: neighbouring blocks where they lie, others
through a scratch of one tile, which is small enough to stay in the CPU's cache while it is used; the tiles' attentions are
put together at the end. In both, rows past a request's own are cut off before anything is computed from them, and each
request reads its own table only. Knows nothing about managers, models or how the rows came there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from kvref.ops.attention import attend
from kvref.ops.parts import part, together
from kvref.ops.tap import Tap
from kvref.shapes import Keys, NewKeys, NewValues, Positions, Queries, Values

TILE_TOKENS = 1024  # measured: with half as many a decode step's attention takes a tenth longer, with a quarter a third

Place = slice | Tensor


def place(numbers: Sequence[int], device: torch.device) -> Place:
    """An index for these rows: a slice, which copies nothing, if each follows the one before."""
    neighbours = range(numbers[0], numbers[0] + len(numbers))
    if tuple(numbers) == tuple(neighbours):
        return slice(neighbours.start, neighbours.stop)
    return torch.tensor(numbers, device=device)


@dataclass(frozen=True)
class Tile:
    """Blocks of a table, and how many tokens of them are read: all but the last block's rest."""

    blocks: Place
    tokens: int


@dataclass(frozen=True)
class Span:
    """One request in a pass: ``rows`` are its tokens of this pass, which stand behind ``start`` earlier ones."""

    rows: slice
    start: int
    table: tuple[int, ...]
    tiles: tuple[Tile, ...]  # of the tokens that every query of the span sees

    @property
    def tokens(self) -> int:
        """How many tokens of this pass are its own."""
        return int(self.rows.stop - self.rows.start)

    @property
    def length(self) -> int:
        """Tokens that it has, those of this pass included."""
        return self.start + self.tokens


def span(first_row: int, start: int, tokens: int, table: Sequence[int], block_tokens: int, device: torch.device) -> Span:
    """The plan of one request's reads. A single token sees all keys, its own too; of several, each sees the earlier ones."""
    seen = start + 1 if tokens == 1 else start
    size = max(1, TILE_TOKENS // block_tokens)
    table = tuple(table[: -(-(start + tokens) // block_tokens)])
    tiles = []
    for first in range(0, -(-seen // block_tokens), size):
        blocks = table[first : min(first + size, -(-seen // block_tokens))]
        held = min(len(blocks) * block_tokens, seen - first * block_tokens)
        tiles.append(Tile(place(blocks, device), held))
    return Span(slice(first_row, first_row + tokens), start, table, tuple(tiles))


class GatheredView:
    """One layer's blocks, [blocks, block_tokens, 2, kv_heads, head_dim], K and V of a token side by side."""

    def __init__(
        self, blocks: Tensor, spans: Sequence[Span], k: NewKeys, v: NewValues, scale: float, layer: int, scratch: Tensor
    ) -> None:
        self.blocks, self.spans, self.scale, self.layer = blocks, spans, scale, layer
        self.k, self.v = k, v  # of this pass; they are in the blocks already
        self.scratch = scratch

    @property
    def positions(self) -> Tensor:
        """0, 1, 2, … of each request, one after the other [kv_len]."""
        return torch.cat([torch.arange(span.length, device=self.blocks.device) for span in self.spans])

    def attend(self, q: Queries, positions: Positions, tap: Tap | None = None) -> Queries:
        """Each request's queries over a copy of its own rows."""
        return torch.cat([attend(q[span.rows], *self.gather(span), self.scale, True, tap, self.layer) for span in self.spans])

    def gather(self, span: Span) -> tuple[Keys, Values]:
        """A copy of the rows that a request may read, in the order of their positions."""
        rows = self.blocks[list(span.table)].flatten(0, 1)[: span.length]
        return rows[:, 0].contiguous(), rows[:, 1].contiguous()


class PagedView(GatheredView):
    """Reads through the tables, tile by tile. With a tap on, attention is written out over the gathered rows."""

    def attend(self, q: Queries, positions: Positions, tap: Tap | None = None) -> Queries:
        """Each request's queries over the rows that its table names."""
        if tap is not None:
            return super().attend(q, positions, tap)
        if len(self.spans) == 1:
            return self._read(q, self.spans[0])
        return torch.cat([self._read(q[span.rows], span) for span in self.spans])

    def _read(self, q: Queries, span: Span) -> Queries:
        parts = [part(q, *self._tile(tile), self.scale) for tile in span.tiles]
        if span.tokens > 1:  # the keys of this pass are still at hand, in order
            parts.append(part(q, self.k[span.rows], self.v[span.rows], self.scale, causal=True))
        return together(parts)

    def _tile(self, tile: Tile) -> tuple[Keys, Values]:
        if isinstance(tile.blocks, slice):
            rows = self.blocks[tile.blocks]
        else:
            rows = torch.index_select(self.blocks, 0, tile.blocks, out=self.scratch[: len(tile.blocks)])
        rows = rows.flatten(0, 1)[: tile.tokens]  # what is behind them was never written, or is not this request's
        return rows[:, 0], rows[:, 1]
