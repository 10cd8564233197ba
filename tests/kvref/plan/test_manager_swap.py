"""Tables that leave the device and come back: each block once, sharing kept, all or nothing."""

import pytest

from kvref.errors import OutOfBlocks
from kvref.plan.manager import DESIGNS, KVManager, Move
from tests.kvref.plan.test_manager import both, classes, compute, end, run


def forks(design: str, total_blocks: int = 8, **settings) -> KVManager:
    """Two sequences that share two blocks and have one each."""
    manager = KVManager(total_blocks, 4, design=design, **{"host_blocks": 8, **settings})
    run(manager, "a", range(8))
    manager.fork("a", "b")
    for token, name in enumerate(("a", "b")):
        compute(manager, name, [token])
    return manager


# https://github.com/vllm-project/vllm/issues/6849 https://github.com/vllm-project/vllm/issues/3834
@both
def test_shared_blocks_are_moved_once_and_stay_shared(design: str) -> None:
    manager = forks(design)
    out = manager.swap_out(("a", "b"))
    manager.check()
    assert out == tuple(Move(block, block) for block in range(4))
    assert (manager.requests, manager.swapped, manager.pool.used_blocks) == ((), ("a", "b"), 0)
    assert (manager.tokens("a"), manager.length("b"), manager.confirmed("b")) == ((*range(8), 0), 9, 9)
    back = manager.swap_in(("a", "b"))
    manager.check()
    assert sorted(move.host_block for move in back) == [0, 1, 2, 3]
    refs = [manager.pool.ref_count(block) for block in dict.fromkeys(manager.table("a") + manager.table("b"))]
    assert refs == [2, 2, 1, 1]
    assert manager.host.free_blocks == 8
    moved = {move.host_block: move.device_block for move in back}
    assert manager.table("b") == (moved[0], moved[1], moved[3])


# https://github.com/vllm-project/vllm/issues/6849 https://github.com/vllm-project/vllm/issues/8824
@both
def test_idle_blocks_count_as_room_and_the_next_token_is_thought_of(design: str) -> None:
    manager = KVManager(10, 4, design=design, host_blocks=10)
    run(manager, "big", range(40))
    manager.swap_out(("big",))
    run(manager, "small", range(100, 105))
    assert classes(manager) == (0, 8, 2)
    assert (manager.swap_in_needed(("big",)), manager.swap_in_needed(("big",), 1)) == (10, 11)
    with pytest.raises(OutOfBlocks) as raised:
        manager.swap_in(("big",))
    assert (raised.value.needed_blocks, raised.value.available_blocks) == (10, 8)
    assert (classes(manager), manager.swapped) == ((0, 8, 2), ("big",))
    end(manager, "small")
    manager.swap_in(("big",))
    manager.check()
    assert classes(manager) == (0, 0, 10)


@both
@pytest.mark.parametrize(("tokens", "branches"), [(7, 3), (8, 3), (6, 1)])
def test_what_coming_back_and_going_on_needs_is_exact(design: str, tokens: int, branches: int) -> None:
    manager = KVManager(12, 4, design=design, host_blocks=12)
    run(manager, "0", range(tokens))
    names = [str(number) for number in range(branches)]
    for name in names[1:]:
        manager.fork("0", name)
    manager.swap_out(names)
    needed, before = manager.swap_in_needed(names, 2), manager.available_blocks
    manager.swap_in(names)
    for name in names:
        compute(manager, name, [1, 2])
    assert before - manager.available_blocks == needed


@both
def test_a_full_host_changes_nothing(design: str) -> None:
    for blocks in (0, 3):
        manager = forks(design, host_blocks=blocks)
        before = classes(manager), manager.table("a"), len(manager.log)
        with pytest.raises(OutOfBlocks, match=rf"^Blocks needed: 4; the host memory can give {blocks}\.$"):
            manager.swap_out(("a", "b"))
        assert (classes(manager), manager.table("a"), len(manager.log)) == before
        manager.check()


@both
def test_a_block_that_stays_in_use_is_only_copied_out(design: str) -> None:
    manager = forks(design)
    assert len(manager.swap_out(("b",))) == 3
    manager.check()
    assert manager.table("a") == (0, 1, 2)
    assert [manager.pool.ref_count(block) for block in range(3)] == [1, 1, 1]
    manager.swap_in(("b",))
    manager.check()
    assert not set(manager.table("b")) & {0, 1, 2}


@both
def test_a_swapped_request_can_be_freed(design: str) -> None:
    manager = forks(design)
    manager.swap_out(("a", "b"))
    end(manager, "a")
    assert manager.host.free_blocks == 8 - 3
    end(manager, "b")
    assert manager.host.free_blocks == 8
    assert manager.swapped == ()


@both
def test_what_comes_back_can_be_found_again(design: str) -> None:
    manager = forks(design, total_blocks=4)
    manager.swap_out(("a", "b"))
    run(manager, "other", range(50, 66))
    assert manager.cached_prefix(range(9)) == 0
    end(manager, "other")
    manager.swap_in(("b", "a"))
    assert manager.cached_prefix(range(9)) == 8


@both
def test_a_swapped_request_can_do_nothing_else(design: str) -> None:
    manager = forks(design)
    manager.swap_out(("b",))
    refused = r"expected the id of a request with a table, got 'b', which is swapped out\.$"
    for ask in (
        lambda: manager.append("b", [1]),
        lambda: manager.confirm("b", 9),
        lambda: manager.truncate("b", 1),
        lambda: manager.fork("b", "c"),
        lambda: manager.table("b"),
        lambda: manager.swap_out(("b",)),
    ):
        with pytest.raises(ValueError, match=refused):
            ask()
    with pytest.raises(ValueError, match="expected a new id, got 'b', which has a table"):
        manager.admit("b", [1])
    with pytest.raises(ValueError, match="expected ids of requests that are swapped out, got 'a'"):
        manager.swap_in(("b", "a"))
    manager.check()
    assert manager.swapped == ("b",)


def test_tokens_that_are_not_written_cannot_be_moved() -> None:
    for design in DESIGNS:
        manager = forks(design)
        manager.append("b", [1])
        with pytest.raises(ValueError, match=r"^request 'b': expected all its tokens to be confirmed, got 9 of 10\.$"):
            manager.swap_out(("a", "b"))
        assert manager.requests == ("a", "b")
        manager.check()
