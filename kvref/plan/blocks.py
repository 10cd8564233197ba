"""The pool: fixed blocks of memory by number, who may take one, and how many hold each.

Every id is in exactly one class: *reserved* (the null block), *free*, *in use* (at least one holder) or *idle* (nobody
holds it, but what it contains is kept until the space is needed). Each operation takes a constant number of steps. Knows
nothing about tokens, requests or what is in a block.
"""

from collections import deque
from collections.abc import Sequence

from kvref.checks import truth, whole
from kvref.errors import OutOfBlocks


class BlockPool:
    """``total_blocks`` ids from 0; with ``reserve_null`` block 0 is set aside as a placeholder that is never handed out.

    Free blocks wait in line: taken from the head, given back at the tail, at first in the order 0, 1, 2, … ``refs`` are the
    counts of ``ref_count``, to be read by those who know that an id is right.
    """

    def __init__(self, total_blocks: int, *, reserve_null: bool = False) -> None:
        truth(reserve_null=reserve_null)
        whole(2 if reserve_null else 1, total_blocks=total_blocks)
        self.total_blocks = total_blocks
        self.reserved_blocks = int(reserve_null)
        self._free = deque(range(self.reserved_blocks, total_blocks))
        self._refs = [0] * total_blocks
        self.refs: Sequence[int] = self._refs
        self._is_idle = bytearray(total_blocks)
        self._idle_blocks = 0

    @property
    def capacity_blocks(self) -> int:
        """Blocks that can hold tokens: all but the reserved one."""
        return self.total_blocks - self.reserved_blocks

    @property
    def free_blocks(self) -> int:
        """Blocks that hold nothing."""
        return len(self._free)

    @property
    def idle_blocks(self) -> int:
        """Blocks that nobody holds but whose content is kept."""
        return self._idle_blocks

    @property
    def used_blocks(self) -> int:
        """Blocks that somebody holds."""
        return self.capacity_blocks - len(self._free) - self._idle_blocks

    def ref_count(self, block: int) -> int:
        """How many hold the block; 0 for a free, idle or reserved one."""
        self._check_id(block)
        return self._refs[block]

    def state(self, block: int) -> str:
        """``"reserved"``, ``"free"``, ``"idle"`` or ``"in use"``."""
        self._check_id(block)
        if block < self.reserved_blocks:
            return "reserved"
        if self._refs[block]:
            return "in use"
        return "idle" if self._is_idle[block] else "free"

    def can_allocate(self, count: int) -> bool:
        """Whether that many blocks are free."""
        whole(0, count=count)
        return count <= len(self._free)

    def allocate(self) -> int:
        """The block at the head of the free list, with one holder. Raises ``OutOfBlocks`` if none is free."""
        if not self._free:
            raise OutOfBlocks(1, 0)
        block = self._free.popleft()
        self._refs[block] = 1
        return block

    def share(self, block: int) -> int:
        """One more holder of a block in use, or the first one of an idle block; how many there are now."""
        self._check_id(block)
        if self._is_idle[block]:
            self._is_idle[block] = 0
            self._idle_blocks -= 1
        elif not self._refs[block]:
            raise ValueError(f"block: expected one in use or idle, got {block}, which is {self.state(block)}.")
        self._refs[block] += 1
        return self._refs[block]

    def release(self, block: int, *, keep: bool = False) -> int:
        """One holder fewer; how many are left. The last one leaves the block free, or with ``keep`` idle."""
        self._check_id(block)
        if not self._refs[block]:
            raise ValueError(f"block: expected one in use, got {block}, which is {self.state(block)}.")
        self._refs[block] -= 1
        left = self._refs[block]
        if not left and keep:
            self._is_idle[block] = 1
            self._idle_blocks += 1
        elif not left:
            self._free.append(block)
        return left

    def reclaim(self, block: int) -> None:
        """Give up what an idle block contains: it is free, at the tail of the line."""
        self._check_id(block)
        if not self._is_idle[block]:
            raise ValueError(f"block: expected an idle one, got {block}, which is {self.state(block)}.")
        self._is_idle[block] = 0
        self._idle_blocks -= 1
        self._free.append(block)

    def free_order(self) -> tuple[int, ...]:
        """The free blocks in the order in which they will be handed out."""
        return tuple(self._free)

    def check(self) -> None:
        """Assert that every id is in exactly one class and that the counts add up; takes a step for every block."""
        free = set(self._free)
        assert len(free) == len(self._free), f"{len(self._free)} places in the free list, {len(free)} distinct blocks."
        for block in range(self.total_blocks):
            classes = (block < self.reserved_blocks) + (block in free) + self._is_idle[block] + (self._refs[block] > 0)
            assert classes == 1, f"block {block}: expected in 1 class, is in {classes}."
        idle, used = sum(self._is_idle), sum(refs > 0 for refs in self._refs)
        assert idle == self._idle_blocks, f"idle: {idle} marked, {self._idle_blocks} counted."
        assert used == self.used_blocks, f"in use: {used} have holders, {self.used_blocks} counted."

    def _check_id(self, block: int) -> None:
        if type(block) is not int or not 0 <= block < self.total_blocks:
            raise ValueError(f"block: expected a whole number from 0 to {self.total_blocks - 1}, got {block!r}.")
