"""Pool and index kept in step: rows of a table take a block, hold one together with others, give one up.

A block that nobody holds is idle if the index knows its content, else free; idle blocks are evicted only once no free one is
left. Rows are released from the tail, so that a block that precedes an idle one is held or goes later: what stands in the
index can be found. Only a write into a block that could be found (copy-on-write, by its one holder) can leave what follows
it out of reach until that content is computed again. Every step is written to the log. Knows nothing about what a request
is allowed to do.
"""

from collections import deque
from collections.abc import Sequence

from kvref.plan.blocks import BlockPool
from kvref.plan.events import Allocated, Copied, Event, Evicted, Hit, Indexed, Released, Shared, Unindexed
from kvref.plan.prefix import PrefixIndex
from kvref.plan.tables import Copy, Table

Log = list[Event] | deque[Event]


class BlockStore:
    """One pool, one index and the log of what happened to them."""

    def __init__(self, pool: BlockPool, index: PrefixIndex, log: Log) -> None:
        self.pool, self.index, self.log = pool, index, log

    @property
    def available_blocks(self) -> int:
        """Blocks that can be taken: free ones and, by eviction, idle ones."""
        return self.pool.free_blocks + self.pool.idle_blocks

    def idle_among(self, blocks: Sequence[int]) -> int:
        """How many of these blocks nobody holds."""
        return sum(not self.pool.refs[block] for block in blocks)

    def must_copy(self, table: Table) -> bool:
        """Whether the next token goes into a block that others hold too."""
        return len(table.tokens) % table.block_tokens > 0 and self.pool.refs[table.blocks[-1]] > 1

    def take(self, request_id: str, row: int) -> int:
        """A block for that row, the least recently used idle one if none is free. Raises ``OutOfBlocks``."""
        if not self.pool.free_blocks and self.pool.idle_blocks:
            idle = self.index.evict()
            self.pool.reclaim(idle)
            self.log.append(Evicted(idle))
        block = self.pool.allocate()
        self.log.append(Allocated(request_id, block, row))
        return block

    def hit(self, request_id: str, row: int, block: int) -> None:
        """Hold a block that was found by its content."""
        if not self.pool.refs[block]:
            self.index.revive(block)
        self.log.append(Hit(request_id, block, row, self.pool.share(block)))

    def share(self, request_id: str, row: int, block: int) -> None:
        """Hold a block that another table holds."""
        self.log.append(Shared(request_id, block, row, self.pool.share(block)))

    def release(self, request_id: str, row: int, block: int) -> None:
        """Hold it no more."""
        known = block in self.index
        left = self.pool.release(block, keep=known)
        kept = known and not left
        if kept:
            self.index.retire(block)
        self.log.append(Released(request_id, block, row, left, kept))

    def release_rows(self, request_id: str, table: Table, keep: int = 0) -> None:
        """Release all rows past the first ``keep``, the tail first, so that a prefix outlives what follows it."""
        blocks = table.blocks
        while len(blocks) > keep:
            block = blocks.pop()
            self.release(request_id, len(blocks), block)
        table.indexed_rows = min(table.indexed_rows, keep)

    def make_writable(self, request_id: str, table: Table) -> tuple[Copy, ...]:
        """See to it that the last block, which is partly filled, has one holder and cannot be found."""
        filled = len(table.tokens) % table.block_tokens
        row, block = len(table.blocks) - 1, table.blocks[-1]
        if self.pool.refs[block] > 1:
            table.blocks[row] = self.take(request_id, row)
            self.log.append(Copied(request_id, block, table.blocks[row], row, filled))
            self.release(request_id, row, block)
            table.indexed_rows = min(table.indexed_rows, row)
            return (Copy(block, table.blocks[row], filled),)
        if block in self.index:
            self.index.forget(block)
            table.indexed_rows = min(table.indexed_rows, row)
            self.log.append(Unindexed(request_id, block, row))
        return ()

    def index_rows(self, request_id: str, table: Table) -> None:
        """Let the full, confirmed rows be found; one that another table of a group put in already stays as it is."""
        for row in range(table.indexed_rows, table.confirmed // table.block_tokens):
            block = table.blocks[row]
            if block not in self.index:
                parent = table.blocks[row - 1] if row else None
                key = self.index.insert(block, table.row_tokens(row), table.namespace, parent)
                self.log.append(Indexed(request_id, block, row, key))
            table.indexed_rows = row + 1
