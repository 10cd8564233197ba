"""Pool and index kept in step: a table takes a block, holds one together with others, gives one up.

A block that nobody holds is idle if the index knows its content, else free; idle blocks are evicted only once no free one is
left. Every step is written to the log. Knows nothing about tokens' positions or what a table is allowed to do.
"""

from collections import deque
from collections.abc import Sequence

from kvref.plan.blocks import BlockPool
from kvref.plan.events import Allocated, Event, Evicted, Hit, Released, Shared, Unindexed
from kvref.plan.prefix import PrefixIndex

Log = list[Event] | deque[Event]


class BlockStore:
    """One pool, one index and the log of what happened to them."""

    def __init__(self, pool: BlockPool, index: PrefixIndex, log: Log) -> None:
        self.pool, self.index, self.log = pool, index, log

    @property
    def available_blocks(self) -> int:
        """Blocks that can be taken: free ones and, by eviction, idle ones."""
        return self.pool.free_blocks + self.pool.idle_blocks

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
        if not self.pool.ref_count(block):
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

    def release_rows(self, request_id: str, blocks: list[int], keep: int) -> None:
        """Release all rows past the first ``keep``, the tail first, so that a prefix outlives what follows it."""
        while len(blocks) > keep:
            block = blocks.pop()
            self.release(request_id, len(blocks), block)

    def unindex(self, request_id: str, row: int, block: int) -> None:
        """Its only holder will write into it."""
        self.index.forget(block)
        self.log.append(Unindexed(request_id, block, row))

    def idle_among(self, blocks: Sequence[int]) -> int:
        """How many of these blocks nobody holds."""
        return sum(not self.pool.ref_count(block) for block in blocks)
