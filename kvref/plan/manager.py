"""The one owner of pool, prefix index, block tables and the event log: what a request may hold, and what is copied.

Two designs of sharing. ``full-blocks`` (vLLM today): tables only grow at their end, and only whole, confirmed blocks are
shared, so nothing is ever copied. ``copy-on-write`` (the 2023 paper, arXiv:2309.06180): a partly filled block may be shared too; whoever
writes into it first gets a copy, and the last holder writes in place. Knows nothing about tensors: it says which slots,
copies and moves there are, and another part carries them out.
"""

from collections.abc import Callable, Sequence

from kvref.checks import ids, whole
from kvref.errors import OutOfBlocks
from kvref.plan import audit
from kvref.plan.blocks import BlockPool
from kvref.plan.events import Admitted, Appended, Confirmed, Copied, Forked, Freed, Indexed, Truncated
from kvref.plan.prefix import NOBODY, HashFunction, Namespace, PrefixIndex, chain_hash
from kvref.plan.store import BlockStore, Log
from kvref.plan.swap import Host, distinct
from kvref.plan.tables import Copy, Grant, Move, Table

__all__ = ["DESIGNS", "Copy", "Grant", "KVManager", "Move"]

DESIGNS = ("full-blocks", "copy-on-write")


class KVManager:
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
        if design not in DESIGNS:
            raise ValueError(f"design: expected {' or '.join(DESIGNS)}, got {design!r}.")
        whole(0, host_blocks=host_blocks)
        if max_blocks_per_table is not None:
            whole(max_blocks_per_table=max_blocks_per_table)
        self.pool = BlockPool(total_blocks, reserve_null=reserve_null)
        self.index = PrefixIndex(block_tokens, hash_function)
        self.log: Log = [] if log is None else log
        self.block_tokens, self.design, self.prefix_caching = block_tokens, design, prefix_caching
        self.max_blocks_per_table = max_blocks_per_table
        self.host = Host(host_blocks)
        self._store = BlockStore(self.pool, self.index, self.log)
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

    @property
    def available_blocks(self) -> int:
        """Blocks that can be taken: free ones and idle ones."""
        return self._store.available_blocks

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
        _check_place("start", start, 0, len(table.tokens))
        _check_place("stop", stop, start, len(table.tokens))
        return table.slots(start, stop)

    def cached_prefix(self, token_ids: Sequence[int], namespace: Namespace = NOBODY) -> int:
        """Tokens that ``admit`` would find, without taking them."""
        ids(token_ids=token_ids)
        return self._prefix(token_ids, namespace)[1]

    def blocks_to_admit(self, token_ids: Sequence[int], namespace: Namespace = NOBODY) -> int:
        """Available blocks that are gone once the request is admitted and all these tokens are appended."""
        ids(1, token_ids=token_ids)
        blocks, cached = self._prefix(token_ids, namespace)
        rows = -(-len(token_ids) // self.block_tokens)
        copied = cached % self.block_tokens and self.pool.ref_count(blocks[-1])
        return self._store.idle_among(blocks) + rows - len(blocks) + bool(copied)

    def admit(self, request_id: str, token_ids: Sequence[int], namespace: Namespace = NOBODY) -> int:
        """Make a table that begins with the longest cached prefix; how many tokens that is.

        It is always fewer than ``token_ids``, so that at least one is computed and there are logits to sample from:
        full-blocks leaves out the last block, copy-on-write the last token only. The others are to be appended.
        """
        self._check_new(request_id, "request_id")
        ids(token_ids=token_ids)
        table = Table(self.block_tokens, namespace)
        self._check_limit(table, len(token_ids))
        blocks, cached = self._prefix(token_ids, namespace)
        self.log.append(Admitted(request_id, cached))
        for row, block in enumerate(blocks):
            self._store.hit(request_id, row, block)
        table.blocks, table.indexed_rows = list(blocks), len(blocks)
        table.tokens, table.confirmed = list(token_ids[:cached]), cached
        self._tables[request_id] = table
        return cached

    def blocks_needed(self, request_id: str, count: int) -> int:
        """Blocks that ``count`` further tokens take, that of a copy included."""
        whole(0, count=count)
        return self._needed(self._table(request_id), count)

    def can_append(self, request_id: str, count: int) -> bool:
        """Whether that many tokens can be appended now."""
        room = self.room(request_id)
        return self.blocks_needed(request_id, count) <= self.available_blocks and (room is None or count <= room)

    def room(self, request_id: str) -> int | None:
        """Tokens that the longest table still has room for; None if tables have no limit."""
        limit = self.max_blocks_per_table
        return None if limit is None else limit * self.block_tokens - self.length(request_id)

    def append(self, request_id: str, token_ids: Sequence[int]) -> Grant:
        """Slots for these tokens, all or none. Raises ``OutOfBlocks``; idle blocks are evicted as needed."""
        table = self._table(request_id)
        ids(1, token_ids=token_ids)
        start, count = len(table.tokens), len(token_ids)
        self._check_limit(table, start + count)
        needed = self._needed(table, count)
        if needed > self.available_blocks:
            raise OutOfBlocks(needed, self.available_blocks)
        copies = self._make_writable(request_id, table)
        table.tokens.extend(token_ids)
        for row in range(len(table.blocks), table.rows_for(start + count)):
            table.blocks.append(self._store.take(request_id, row))
        self.log.append(Appended(request_id, start, tuple(token_ids)))
        return Grant(table.slots(start, start + count), copies)

    def confirm(self, request_id: str, length: int) -> None:
        """K and V of the first ``length`` tokens are written: only now can others find the blocks that they fill."""
        table = self._table(request_id)
        _check_place("length", length, table.confirmed, len(table.tokens))
        if length > table.confirmed:
            table.confirmed = length
            self.log.append(Confirmed(request_id, length))
            self._index_rows(request_id, table)

    def fork(self, parent: str, child: str) -> int:
        """A table for ``child`` that shares the blocks of ``parent``; how many tokens it has.

        copy-on-write: all, full-blocks: those in whole blocks. All tokens of the parent must be confirmed.
        """
        source = self._table(parent, "parent")
        self._check_new(child, "child")
        self._check_written(parent, source)
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
        _check_place("length", length, 0, len(table.tokens))
        if length == len(table.tokens):
            return length
        if self.design == "full-blocks" and length % self.block_tokens:
            block = table.blocks[length // self.block_tokens]
            if block in self.index or self.pool.ref_count(block) > 1:
                length -= length % self.block_tokens
        rows = table.rows_for(length)
        self._store.release_rows(request_id, table.blocks, rows)
        del table.tokens[length:]
        table.confirmed, table.indexed_rows = min(table.confirmed, length), min(table.indexed_rows, rows)
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
            self._store.release_rows(request_id, table.blocks, 0)
            del self._tables[request_id]
        self.log.append(Freed(request_id))

    def swap_out(self, request_ids: Sequence[str]) -> tuple[Move, ...]:
        """Move these tables to host memory, all or none, each block once. Their tokens must be confirmed.

        The moves must be carried out before a device block is written again, and after the copies of earlier grants.
        """
        group = self._group(request_ids, self._table)
        for request_id, table in group:
            self._check_written(request_id, table)
        moves = self.host.take_out(group, self._store)
        for request_id, table in group:
            self._swapped[request_id] = table
            del self._tables[request_id]
        return moves

    def swap_in_needed(self, request_ids: Sequence[str], count: int = 0) -> int:
        """Blocks that ``swap_in`` of these requests takes and ``count`` further tokens for each of them then take."""
        whole(0, count=count)
        group = self._group(request_ids, self._parked)
        needed = distinct(group)
        sharers: dict[int, int] = {}
        further = 0
        for _, table in group if count else ():
            length = len(table.tokens)
            further += table.rows_for(length + count) - len(table.blocks)
            if length % self.block_tokens:
                sharers[table.blocks[-1]] = sharers.get(table.blocks[-1], 0) + 1
        holders = {block: sum(block in table.blocks for _, table in group) for block in sharers}
        copies = sum(min(writers, holders[block] - 1) for block, writers in sharers.items())
        return len(needed) + further + copies

    def swap_in(self, request_ids: Sequence[str]) -> tuple[Move, ...]:
        """Bring these tables back, all or none, each block once; what they shared with each other they share again."""
        group = self._group(request_ids, self._parked)
        moves = self.host.bring_back(group, self._store)
        for request_id, table in group:
            self._tables[request_id] = table
            del self._swapped[request_id]
            self._index_rows(request_id, table)
        return moves

    def check(self) -> None:
        """Assert every invariant; takes a step for every block."""
        audit.check(self.pool, self.index, self._tables)
        audit.check_host(self.host.pool, self._swapped)

    def _prefix(self, token_ids: Sequence[int], namespace: Namespace) -> tuple[tuple[int, ...], int]:
        """The blocks to take and the tokens that count as cached: fewer than there are."""
        if not self.prefix_caching or not token_ids:
            return (), 0
        blocks = self.index.match(token_ids, namespace)
        cached = len(blocks) * self.block_tokens
        if cached < len(token_ids):
            return blocks, cached
        if self.design == "full-blocks":
            return blocks[:-1], cached - self.block_tokens
        cached -= 1
        return blocks[: -(-cached // self.block_tokens)], cached

    def _needed(self, table: Table, count: int) -> int:
        rows = table.rows_for(len(table.tokens) + count) - len(table.blocks)
        return rows + (count > 0 and self._must_copy(table))

    def _must_copy(self, table: Table) -> bool:
        """Whether the next token goes into a block that others hold too."""
        return len(table.tokens) % self.block_tokens > 0 and self.pool.ref_count(table.blocks[-1]) > 1

    def _make_writable(self, request_id: str, table: Table) -> tuple[Copy, ...]:
        """See to it that the block of the next token has one holder and is not in the index."""
        filled = len(table.tokens) % self.block_tokens
        if not filled:
            return ()
        row, block = len(table.blocks) - 1, table.blocks[-1]
        if self.pool.ref_count(block) > 1:
            assert self.design == "copy-on-write", f"block {block} is partly filled: expected 1 holder."
            target = table.blocks[row] = self._store.take(request_id, row)
            self.log.append(Copied(request_id, block, target, row, filled))
            self._store.release(request_id, row, block)
            table.indexed_rows = min(table.indexed_rows, row)
            return (Copy(block, target, filled),)
        if block in self.index:
            self._store.unindex(request_id, row, block)
            table.indexed_rows = row
        return ()

    def _index_rows(self, request_id: str, table: Table) -> None:
        """Let the full, confirmed rows be found; those that another table of a group put in already are left."""
        if not self.prefix_caching:
            return
        for row in range(table.indexed_rows, table.confirmed // self.block_tokens):
            block = table.blocks[row]
            if block not in self.index:
                parent = table.blocks[row - 1] if row else None
                key = self.index.insert(block, table.row_tokens(row), table.namespace, parent)
                self.log.append(Indexed(request_id, block, row, key))
            table.indexed_rows = row + 1

    def _check_limit(self, table: Table, tokens: int) -> None:
        limit = self.max_blocks_per_table
        if limit is not None and table.rows_for(tokens) > limit:
            most = limit * self.block_tokens
            raise ValueError(f"token_ids: expected a table of at most {most} tokens ({limit} blocks), got {tokens}.")

    def _check_new(self, request_id: str, name: str) -> None:
        if not isinstance(request_id, str):
            raise ValueError(f"{name}: expected text, got {request_id!r}.")
        if request_id in self._tables or request_id in self._swapped:
            raise ValueError(f"{name}: expected a new id, got {request_id!r}, which has a table.")

    def _check_written(self, request_id: str, table: Table) -> None:
        if table.confirmed < len(table.tokens):
            counts = f"{table.confirmed} of {len(table.tokens)}"
            raise ValueError(f"{request_id!r}: expected all its tokens to be confirmed, got {counts}.")

    def _any(self, request_id: str) -> Table:
        return self._swapped[request_id] if request_id in self._swapped else self._table(request_id)

    def _table(self, request_id: str, name: str = "request_id") -> Table:
        table = self._tables.get(request_id)
        if table is None:
            swapped = ", which is swapped out" if request_id in self._swapped else ""
            raise ValueError(f"{name}: expected the id of a request with a table, got {request_id!r}{swapped}.")
        return table

    def _parked(self, request_id: str) -> Table:
        if request_id not in self._swapped:
            raise ValueError(f"request_ids: expected ids of requests that are swapped out, got {request_id!r}.")
        return self._swapped[request_id]

    def _group(self, request_ids: Sequence[str], find: Callable[[str], Table]) -> list[tuple[str, Table]]:
        if isinstance(request_ids, str) or not request_ids or len(set(request_ids)) != len(request_ids):
            raise ValueError(f"request_ids: expected a sequence of different ids, got {request_ids!r}.")
        return [(request_id, find(request_id)) for request_id in request_ids]


def _check_place(name: str, value: int, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name}: expected a whole number from {least} to {most}, got {value!r}.")
