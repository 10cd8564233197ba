"""The one owner of pool, prefix index, block tables and the event log: what a request may hold, and what is copied.

Two designs of sharing. ``full-blocks`` (vLLM today): tables only grow at their end, and only whole, confirmed blocks are
shared, so nothing is ever copied. ``copy-on-write`` (the 2023 paper, arXiv:2309.06180): a partly filled block may be shared
too; who writes into it first gets a copy, and the last holder writes in place. Knows nothing about tensors: it says which
slots, copies and moves there are, and another part carries them out.
"""

from collections.abc import Sequence

from kvref.checks import ids, whole
from kvref.errors import OutOfBlocks
from kvref.plan import audit
from kvref.plan.blocks import BlockPool
from kvref.plan.events import Admitted, Appended, Confirmed, Forked, Freed, Truncated
from kvref.plan.forecast import DESIGNS, Forecast
from kvref.plan.prefix import NOBODY, HashFunction, Namespace, PrefixIndex, chain_hash
from kvref.plan.store import BlockStore, Log
from kvref.plan.swap import Host
from kvref.plan.tables import Copy, Grant, Move, Table, check_place

__all__ = ["DESIGNS", "Copy", "Grant", "KVManager", "Move"]


class KVManager(Forecast):
    """Tables of requests over ``total_blocks`` blocks of ``block_tokens`` tokens.

    An operation that raises leaves everything as it was: ``ValueError`` for a caller's mistake, ``OutOfBlocks`` if there is
    no room. ``log`` takes the events; a bounded deque keeps only the last ones.
    """

    def __init__(
        self,
        total_blocks: int,
        block_tokens: int,
        *,
        design: str = "full-blocks",
        prefix_caching: bool = True,
        reserve_null: bool = False,
        host_blocks: int = 0,
        max_blocks_per_table: int | None = None,
        hash_function: HashFunction = chain_hash,
        log: Log | None = None,
    ) -> None:
        whole(0, host_blocks=host_blocks)
        pool, index = BlockPool(total_blocks, reserve_null=reserve_null), PrefixIndex(block_tokens, hash_function)
        store = BlockStore(pool, index, [] if log is None else log)
        super().__init__(store, Host(host_blocks), design, prefix_caching, max_blocks_per_table)

    def admit(self, request_id: str, token_ids: Sequence[int], namespace: Namespace = NOBODY) -> int:
        """Make a table that begins with the longest cached prefix; how many tokens that is.

        It is always fewer than ``token_ids``, so that at least one is computed and there are logits to sample from:
        full-blocks leaves out the last block, copy-on-write the last token only. The others are to be appended.
        """
        self._check_new(request_id, "request_id")
        ids(token_ids=token_ids)
        table = Table(self.block_tokens, namespace)
        self._check_limit(len(token_ids))
        blocks, cached = self._prefix(token_ids, namespace)
        self.log.append(Admitted(request_id, cached))
        for row, block in enumerate(blocks):
            self._store.hit(request_id, row, block)
        table.blocks, table.indexed_rows = list(blocks), len(blocks)
        table.tokens, table.confirmed = list(token_ids[:cached]), cached
        self._tables[request_id] = table
        return cached

    def append(self, request_id: str, token_ids: Sequence[int]) -> Grant:
        """Slots for these tokens, all or none. Raises ``OutOfBlocks``; idle blocks are evicted as needed."""
        table = self._table(request_id)
        ids(1, token_ids=token_ids)
        start, stop = len(table.tokens), len(table.tokens) + len(token_ids)
        self._check_limit(stop)
        rows = table.rows_for(stop)
        cut = self._shares_parts and start % self.block_tokens > 0  # only then may others have the block that is written first
        needed = rows - len(table.blocks) + (cut and self._store.must_copy(table))
        if needed and needed > self.available_blocks:
            raise OutOfBlocks(needed, self.available_blocks)
        copies = self._store.make_writable(request_id, table) if cut else ()
        table.tokens += token_ids
        while len(table.blocks) < rows:
            table.blocks.append(self._store.take(request_id, len(table.blocks)))
        self.log.append(Appended(request_id, start, tuple(token_ids)))
        return Grant(table.slots(start, stop), copies)

    def confirm(self, request_id: str, length: int) -> None:
        """K and V of the first ``length`` tokens are written: only now can others find the blocks that they fill."""
        table = self._table(request_id)
        check_place("length", length, table.confirmed, len(table.tokens))
        if length > table.confirmed:
            table.confirmed = length
            self.log.append(Confirmed(request_id, length))
            if length // self.block_tokens > table.indexed_rows:
                self._let_find(request_id, table)

    def fork(self, parent: str, child: str) -> int:
        """A table for ``child`` that shares the blocks of ``parent``; how many tokens it has.

        copy-on-write: all, full-blocks: those in whole blocks. All tokens of the parent must be confirmed.
        """
        source = self._table(parent, "parent")
        self._check_new(child, "child")
        source.check_written(parent)
        length = len(source.tokens)
        if self.design == "full-blocks":
            length -= length % self.block_tokens
        rows = source.rows_for(length)
        self.log.append(Forked(parent, child, length))
        for row, block in enumerate(source.blocks[:rows]):
            self._store.share(child, row, block)
        indexed = min(source.indexed_rows, rows)
        table = Table(self.block_tokens, source.namespace, source.tokens[:length], source.blocks[:rows], length, indexed)
        self._tables[child] = table
        return length

    def truncate(self, request_id: str, length: int) -> int:
        """Drop the tokens past ``length`` and the rows that they alone filled; how many tokens are kept.

        In full-blocks the cut goes down to a whole number of blocks if it is in a block that is shared or in the index.
        """
        table = self._table(request_id)
        check_place("length", length, 0, len(table.tokens))
        if length == len(table.tokens):
            return length
        if self.design == "full-blocks" and length % self.block_tokens:
            block = table.blocks[length // self.block_tokens]
            if block in self.index or self.pool.ref_count(block) > 1:
                length -= length % self.block_tokens
        self._store.release_rows(request_id, table, table.rows_for(length))
        del table.tokens[length:]
        table.confirmed = min(table.confirmed, length)
        self.log.append(Truncated(request_id, length))
        return length

    def free(self, request_id: str) -> None:
        """The request is done: release its rows from the tail, on the device or in host memory."""
        table = self._any(request_id)
        if request_id in self._swapped:
            del self._swapped[request_id]
            for block in reversed(table.blocks):
                self.host.release(block)
        else:
            self._store.release_rows(request_id, table)
            del self._tables[request_id]
        self.log.append(Freed(request_id))

    def swap_out(self, request_ids: Sequence[str]) -> tuple[Move, ...]:
        """Move these tables to host memory, all or none, each block once. Their tokens must be confirmed.

        The moves must be carried out before a device block is written again, and after the copies of earlier grants.
        """
        group = self._group(request_ids, self._table)
        for request_id, table in group:
            table.check_written(request_id)
        moves = self.host.take_out(group, self._store)
        for request_id, table in group:
            self._swapped[request_id] = table
            del self._tables[request_id]
        return moves

    def swap_in(self, request_ids: Sequence[str]) -> tuple[Move, ...]:
        """Bring these tables back, all or none, each block once; what they shared with each other they share again."""
        group = self._group(request_ids, self._parked)
        moves = self.host.bring_back(group, self._store)
        for request_id, table in group:
            self._tables[request_id] = table
            del self._swapped[request_id]
            self._let_find(request_id, table)
        return moves

    def check(self) -> None:
        """Assert every invariant; takes a step for every block."""
        audit.check(self.pool, self.index, self._tables)
        audit.check_host(self.host.pool, self._swapped)

    def _let_find(self, request_id: str, table: Table) -> None:
        if self.prefix_caching:
            self._store.index_rows(request_id, table)
