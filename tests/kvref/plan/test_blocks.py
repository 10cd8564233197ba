"""The pool: which class each block is in, in which order blocks come back, and what is refused."""

import pytest

from kvref.errors import OutOfBlocks, OutOfCapacity
from kvref.plan.blocks import BlockPool


def counts(pool: BlockPool) -> tuple[int, int, int, int]:
    pool.check()
    return pool.reserved_blocks, pool.free_blocks, pool.idle_blocks, pool.used_blocks


def test_blocks_are_taken_from_the_head_and_come_back_at_the_tail() -> None:
    pool = BlockPool(4)
    assert [pool.allocate() for _ in range(3)] == [0, 1, 2]
    for block in (1, 0):
        pool.release(block)
    assert pool.free_order() == (3, 1, 0)
    assert [pool.allocate() for _ in range(3)] == [3, 1, 0]


def test_every_block_is_in_one_class() -> None:
    pool = BlockPool(5, reserve_null=True)
    assert counts(pool) == (1, 4, 0, 0)
    one, two = pool.allocate(), pool.allocate()
    pool.release(one, keep=True)
    assert counts(pool) == (1, 2, 1, 1)
    assert [pool.state(block) for block in range(5)] == ["reserved", "idle", "in use", "free", "free"]
    assert (pool.total_blocks, pool.capacity_blocks) == (5, 4)
    pool.release(two)
    pool.reclaim(one)
    assert counts(pool) == (1, 4, 0, 0)
    assert pool.free_order() == (3, 4, two, one)


def test_ref_counts_follow_the_holders() -> None:
    pool = BlockPool(2)
    block = pool.allocate()
    assert (pool.share(block), pool.share(block), pool.ref_count(block)) == (2, 3, 3)
    assert [pool.release(block, keep=True) for _ in range(3)] == [2, 1, 0]
    assert pool.state(block) == "idle"
    assert pool.share(block) == 1
    assert pool.release(block) == 0
    assert pool.state(block) == "free"


# https://github.com/vllm-project/vllm/issues/47272 https://github.com/RBLN-SW/vllm-rbln/issues/957
def test_the_null_block_is_no_room_and_cannot_be_held_or_freed() -> None:
    pool = BlockPool(3, reserve_null=True)
    assert [pool.allocate(), pool.allocate()] == [1, 2]
    with pytest.raises(OutOfBlocks):
        pool.allocate()
    assert pool.ref_count(0) == 0
    for touch in (pool.share, pool.release, pool.reclaim):
        with pytest.raises(ValueError, match=r"got 0, which is reserved\.$"):
            touch(0)
    assert counts(pool) == (1, 0, 0, 2)


def test_running_out_says_how_many_blocks_there_are() -> None:
    pool = BlockPool(1)
    pool.allocate()
    with pytest.raises(OutOfBlocks, match=r"^Blocks needed: 1; the pool can give 0\.$") as raised:
        pool.allocate()
    assert (raised.value.needed_blocks, raised.value.available_blocks) == (1, 0)
    assert isinstance(raised.value, OutOfCapacity)


def test_idle_blocks_are_not_free() -> None:
    pool = BlockPool(2)
    pool.release(pool.allocate(), keep=True)
    assert [pool.can_allocate(count) for count in (0, 1, 2)] == [True, True, False]


# https://github.com/ModelEngine-Group/unified-cache-management/issues/1053 https://github.com/vllm-project/vllm/issues/1556
def test_a_block_cannot_be_released_twice() -> None:
    pool = BlockPool(3)
    block = pool.allocate()
    pool.release(block)
    before = pool.free_order()
    with pytest.raises(ValueError, match=r"^block: expected one in use, got 0, which is free\.$"):
        pool.release(block)
    assert pool.free_order() == before == (1, 2, 0)
    assert len(set(before)) == 3


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda pool: BlockPool(0), "total_blocks: expected a whole number of at least 1, got 0."),
        (lambda pool: BlockPool(-1), "total_blocks: expected a whole number of at least 1, got -1."),
        (lambda pool: BlockPool(1, reserve_null=True), "total_blocks: expected a whole number of at least 2, got 1."),
        (lambda pool: pool.can_allocate(-1), "count: expected a whole number of at least 0, got -1."),
        (lambda pool: pool.ref_count(3), "block: expected a whole number from 0 to 2, got 3."),
        (lambda pool: pool.state(-1), "block: expected a whole number from 0 to 2, got -1."),
        (lambda pool: pool.share(2), "block: expected one in use or idle, got 2, which is free."),
        (lambda pool: pool.release(1), "block: expected one in use, got 1, which is idle."),
        (lambda pool: pool.reclaim(0), "block: expected an idle one, got 0, which is in use."),
        (lambda pool: pool.reclaim(99), "block: expected a whole number from 0 to 2, got 99."),
    ],
)
def test_mistakes_change_nothing(ask, sentence: str) -> None:
    pool = BlockPool(3)
    pool.allocate()
    pool.release(pool.allocate(), keep=True)
    with pytest.raises(ValueError) as raised:  # noqa: PT011 (the whole sentence is compared)
        ask(pool)
    assert str(raised.value) == sentence
    assert counts(pool) == (0, 1, 1, 1)
    assert [pool.ref_count(block) for block in range(3)] == [1, 0, 0]
