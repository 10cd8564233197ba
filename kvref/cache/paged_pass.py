"""A pass over a paged cache: where its rows are written, and what each request in it reads.

Two kinds, the same inside: one request that grows as any cache does, and a step's work for many requests, planned
elsewhere. Knows nothing about models; views do the reading.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from kvref.cache.paged_view import GatheredView, Place, Span, place, span
from kvref.cache.view import check_commit, check_length, check_rows, following
from kvref.config import ModelConfig
from kvref.errors import OutOfBlocks
from kvref.plan.manager import Copy
from kvref.plan.step import Step
from kvref.shapes import NewKeys, NewValues, Positions, TokenIds

if TYPE_CHECKING:
    from kvref.cache.paged import PagedCache


class _Pass:
    """What is the same for both: rows go to their slots, layer by layer, and are seen through the tables."""

    def __init__(self, cache: "PagedCache") -> None:
        self.cache = cache
        self._device = cache.blocks.device
        self._close()

    @property
    def config(self) -> ModelConfig:
        """Of the model it was made for."""
        return self.cache.config

    @property
    def nbytes(self) -> int:
        """Bytes of the whole paged cache: it is not held a second time."""
        return self.cache.nbytes

    def _open(self, slots: tuple[int, ...], spans: list[Span]) -> None:
        self._close()
        self._expected = len(slots)
        self._slots: Place = place(slots, self._device)
        self._spans = spans
        tiles = [len(tile.blocks) for one in spans for tile in one.tiles if isinstance(tile.blocks, Tensor)]
        blocks = self.cache.blocks
        self._scratch = torch.empty(max(tiles, default=0), *blocks.shape[2:], dtype=blocks.dtype, device=self._device)

    def _close(self) -> None:
        self._expected = 0
        self._appended = [0] * self.config.layers

    def append(self, layer: int, k: NewKeys, v: NewValues) -> GatheredView:
        """Write the rows of one layer into their slots; see what each request may read."""
        check_rows(self.config, layer, k, v, self.cache.blocks.dtype)
        if len(k) != self._expected:
            raise ValueError(f"k, v: expected {self._expected} rows, as many tokens as the pass began with, got {len(k)}.")
        blocks = self.cache.layers[layer]
        rows = blocks.flatten(0, 1)
        rows[self._slots, 0], rows[self._slots, 1] = k, v
        self._appended[layer] = len(k)
        return self.cache.view_class(blocks, self._spans, k, v, self.config.softmax_scale, layer, self._scratch)


class SequenceCache(_Pass):
    """One request of a paged cache. Its tokens are known to the manager, so others can find its full blocks."""

    def __init__(self, cache: "PagedCache", request_id: str) -> None:
        super().__init__(cache)
        self.request_id, self.manager = request_id, cache.manager

    @property
    def length(self) -> int:
        """Tokens whose keys and values are kept; the next token's position."""
        return self.manager.confirmed(self.request_id)

    def begin(self, token_ids: TokenIds) -> Positions:
        """Take slots for these tokens. Raises ``OutOfBlocks`` with nothing changed."""
        self._forget_unfinished()
        name, start = self.request_id, self.length
        grant = self.manager.append(name, token_ids.tolist())
        self.cache.copy(grant.copies)
        table, size = self.manager.table(name), self.manager.block_tokens
        self._open(grant.slots, [span(0, start, len(token_ids), table, size, self._device)])
        return following(start, token_ids)

    def commit(self, tokens: int) -> None:
        """Count in the tokens that every layer has appended; the full blocks can be found by others now."""
        check_commit(tokens, self._appended)
        self._close()
        self.manager.confirm(self.request_id, self.length + tokens)

    def truncate(self, length: int) -> None:
        """Give back the blocks behind ``length``.

        In the full-blocks design the block that is cut may be known to others. It stays theirs: its first rows are copied
        into a block of this request's own. Raises ``OutOfBlocks``, with nothing changed, if there is none.
        """
        check_length(length, self.length)
        self._forget_unfinished()
        manager, name, size = self.manager, self.request_id, self.manager.block_tokens
        tokens, behind = manager.tokens(name)[:length], manager.table(name)[length // size :]
        copies = manager.design == "full-blocks" and length % size and length < self.length
        if copies and not manager.available_blocks and all(manager.pool.ref_count(block) > 1 for block in behind):
            raise OutOfBlocks(1, 0)  # the cut would free none either
        kept = manager.truncate(name, length)
        if kept < length:
            manager.append(name, tokens[kept:])
            self.cache.copy([Copy(behind[0], manager.table(name)[-1], length - kept)])
            manager.confirm(name, length)

    def _forget_unfinished(self) -> None:
        """Give back what a pass that did not end has taken."""
        self._close()
        if self.manager.length(self.request_id) > self.length:
            self.manager.truncate(self.request_id, self.length)


class PackedCache(_Pass):
    """The work of a step: tokens of many requests on one axis. What is kept of it is for the scheduler to say."""

    def __init__(self, cache: "PagedCache", step: Step) -> None:
        super().__init__(cache)
        self.step = step

    @property
    def length(self) -> int:
        """Tokens of these requests that earlier passes computed; this pass never adds to them."""
        return sum(work.start for work in self.step.work)

    def begin(self, token_ids: TokenIds) -> Positions:
        """The tokens of the step, in order; each stands where its own request says."""
        work = self.step.work
        expected = [token for one in work for token in one.token_ids]
        if token_ids.tolist() != expected:
            raise ValueError(f"token_ids: expected the {len(expected)} tokens of step {self.step.number}, got others.")
        spans: list[Span] = []
        positions: list[int] = []
        for one in work:
            tokens = len(one.token_ids)
            spans.append(span(len(positions), one.start, tokens, one.table, self.cache.manager.block_tokens, self._device))
            positions += range(one.start, one.start + tokens)
        self._open(tuple(slot for one in work for slot in one.slots), spans)
        return torch.tensor(positions, device=self._device)

    def commit(self, tokens: int) -> None:
        """Every layer has appended its rows; the scheduler counts them in."""
        check_commit(tokens, self._appended)
        self._close()

    def truncate(self, length: int) -> None:
        """Forget an unfinished pass, and nothing else: the tables are the scheduler's."""
        if length != self.length:
            raise ValueError(f"length: expected {self.length}, as a step's work is not cut, got {length!r}.")
        self._close()
