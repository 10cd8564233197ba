"""Host memory for tables that had to leave the device: which host block has what, shared blocks once.

A group of tables goes out, or comes back, all or nothing: a block that several of them hold is moved once and stays
shared (vLLM, arXiv:2309.06180, section 4.5). Knows nothing about tokens or when to swap.
"""

from collections import Counter
from collections.abc import Sequence

from kvref.errors import OutOfBlocks
from kvref.plan.blocks import BlockPool
from kvref.plan.events import SwappedIn, SwappedOut
from kvref.plan.store import BlockStore
from kvref.plan.tables import Move, Table

Group = Sequence[tuple[str, Table]]


class Host:
    """``host_blocks`` blocks of host memory; 0 is none at all."""

    def __init__(self, host_blocks: int) -> None:
        self.pool = BlockPool(host_blocks) if host_blocks else None

    @property
    def free_blocks(self) -> int:
        """Host blocks that hold nothing."""
        return self.pool.free_blocks if self.pool else 0

    def take_out(self, group: Group, store: BlockStore) -> tuple[Move, ...]:
        """Rows of these tables become host blocks; their device blocks are released. Raises ``OutOfBlocks`` first."""
        needed = self.blocks_needed(group, 0)
        if needed > self.free_blocks:
            raise OutOfBlocks(needed, self.free_blocks, "host memory")
        host_block: dict[int, int] = {}
        for request_id, table in group:
            rows = []
            for row, block in enumerate(table.blocks):
                rows.append(self._hold(host_block, block))
                store.log.append(SwappedOut(request_id, block, row, rows[-1]))
            store.release_rows(request_id, table)
            table.blocks = rows
        return tuple(Move(device, host) for device, host in host_block.items())

    def bring_back(self, group: Group, store: BlockStore) -> tuple[Move, ...]:
        """The opposite, into whatever device blocks can be had. Raises ``OutOfBlocks`` before anything is changed."""
        needed = self.blocks_needed(group, 0)
        if needed > store.available_blocks:
            raise OutOfBlocks(needed, store.available_blocks)
        device_block: dict[int, int] = {}
        for request_id, table in group:
            for row, host in enumerate(table.blocks):
                if host in device_block:
                    store.share(request_id, row, device_block[host])
                else:
                    device_block[host] = store.take(request_id, row)
                table.blocks[row] = device_block[host]
                store.log.append(SwappedIn(request_id, table.blocks[row], row, host))
                self.release(host)
        return tuple(Move(device, host) for host, device in device_block.items())

    def blocks_needed(self, group: Group, count: int) -> int:
        """Device blocks for these tables, and for ``count`` further tokens of each, copies of shared blocks included."""
        blocks = Counter(block for _, table in group for block in table.blocks)
        if not count:
            return len(blocks)
        tables = [table for _, table in group]
        rows = sum(table.rows_for(len(table.tokens) + count) - len(table.blocks) for table in tables)
        writers = Counter(table.blocks[-1] for table in tables if len(table.tokens) % table.block_tokens)
        # Whoever writes while others hold the block copies it; if all holders write, the last one need not.
        copies = sum(min(many, blocks[block] - 1) for block, many in writers.items())
        return len(blocks) + rows + copies

    def release(self, host_block: int) -> None:
        """One table fewer needs this host block."""
        assert self.pool is not None
        self.pool.release(host_block)

    def _hold(self, host_block: dict[int, int], block: int) -> int:
        assert self.pool is not None
        if block in host_block:
            self.pool.share(host_block[block])
        else:
            host_block[block] = self.pool.allocate()
        return host_block[block]
