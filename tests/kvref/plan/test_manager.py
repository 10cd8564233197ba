"""The manager in small cases whose right answer is known: block boundaries, cached prefixes, forks, eviction."""

import pytest

from kvref.errors import OutOfBlocks
from kvref.plan.manager import DESIGNS, Copy, KVManager
from kvref.plan.prefix import Namespace

FULL, COPY = DESIGNS
both = pytest.mark.parametrize("design", DESIGNS)


def run(manager: KVManager, name: str, token_ids, namespace: Namespace | None = None) -> int:
    """Admit a request and compute all of its prompt; how many tokens of it were cached."""
    cached = manager.admit(name, token_ids, *([namespace] if namespace else []))
    compute(manager, name, list(token_ids)[cached:])
    return cached


def compute(manager: KVManager, name: str, token_ids):
    grant = manager.append(name, token_ids)
    manager.confirm(name, manager.length(name))
    manager.check()
    return grant


def end(manager: KVManager, *names: str) -> None:
    for name in names:
        manager.free(name)
        manager.check()


def classes(manager: KVManager) -> tuple[int, int, int]:
    return manager.pool.free_blocks, manager.pool.idle_blocks, manager.pool.used_blocks


# https://github.com/GeeeekExplorer/nano-vllm/issues/150 https://arxiv.org/abs/2309.06180 (Fig. 6)
@both
def test_a_new_block_is_taken_when_the_last_one_is_full_and_not_before(design: str) -> None:
    manager = KVManager(8, 4, design=design)
    run(manager, "a", range(7))
    assert (manager.table("a"), manager.pool.free_blocks) == ((0, 1), 6)
    assert compute(manager, "a", [7]).slots == (7,)
    assert manager.pool.free_blocks == 6
    assert compute(manager, "a", [8]).slots == (8,)
    assert (manager.table("a"), manager.pool.free_blocks) == ((0, 1, 2), 5)


@both
@pytest.mark.parametrize("prompt_tokens", [4, 8])
def test_after_a_prompt_of_whole_blocks_the_first_token_takes_a_block(design: str, prompt_tokens: int) -> None:
    manager = KVManager(8, 4, design=design)
    run(manager, "a", range(prompt_tokens))
    assert all(block in manager.index for block in manager.table("a")), "full blocks can be found already"
    free = manager.pool.free_blocks
    assert manager.blocks_needed("a", 1) == 1
    assert compute(manager, "a", [99]).slots == (prompt_tokens,)
    assert manager.pool.free_blocks == free - 1


# https://github.com/GeeeekExplorer/nano-vllm/issues/144 https://github.com/vllm-project/vllm/issues/11186
@pytest.mark.parametrize(("design", "cached"), [(FULL, 4), (COPY, 7)])
@pytest.mark.parametrize("still_held", [True, False])
def test_of_a_prompt_that_is_all_cached_one_token_is_still_computed(design: str, cached: int, still_held: bool) -> None:
    manager = KVManager(8, 4, design=design)
    run(manager, "a", range(8))
    if not still_held:
        end(manager, "a")
    assert manager.cached_prefix(range(8)) == cached
    assert manager.admit("b", range(8)) == cached
    manager.check()
    grant = compute(manager, "b", list(range(8))[cached:])
    assert manager.tokens("b") == tuple(range(8))
    shared = still_held and design == COPY
    assert grant.copies == ((Copy(1, 2, 3),) if shared else ())
    assert manager.cached_prefix(range(9)) == 8


@both
@pytest.mark.parametrize(("prompt", "block_tokens"), [([5], 1), ([5], 4), ([5, 6], 1)])
def test_short_prompts_leave_one_token_to_compute(design: str, prompt: list[int], block_tokens: int) -> None:
    manager = KVManager(8, block_tokens, design=design)
    run(manager, "a", prompt)
    assert run(manager, "b", prompt) == (len(prompt) - 1 if block_tokens == 1 else 0)


# https://github.com/vllm-project/vllm/issues/2614
@both
def test_nothing_is_found_across_namespaces(design: str) -> None:
    manager = KVManager(20, 4, design=design)
    run(manager, "a", range(9), Namespace(adapter="x"))
    for number, other in enumerate([Namespace(), Namespace(salt="x"), Namespace(adapter="y")]):
        assert run(manager, f"b{number}", range(9), other) == 0
    assert run(manager, "c", range(9), Namespace(adapter="x")) == 8


@both
def test_nothing_is_found_before_it_is_confirmed(design: str) -> None:
    manager = KVManager(8, 4, design=design)
    manager.admit("a", range(9))
    manager.append("a", range(9))
    assert manager.cached_prefix(range(9)) == 0
    manager.confirm("a", 7)
    assert manager.cached_prefix(range(9)) == 4
    manager.confirm("a", 8)
    assert manager.cached_prefix(range(9)) == 8
    end(manager, "a")


# https://github.com/GeeeekExplorer/nano-vllm/issues/163 https://github.com/vllm-project/vllm/issues/4764
@both
def test_a_block_that_was_used_again_is_not_found_as_what_it_was(design: str) -> None:
    manager = KVManager(2, 4, design=design)
    old, new = range(1, 9), range(11, 19)
    run(manager, "p", old)
    keys = [manager.index.key(block) for block in manager.table("p")]
    end(manager, "p")
    run(manager, "q", new)
    assert not set(keys) & {manager.index.key(block) for block in manager.table("q")}
    end(manager, "q")
    assert manager.cached_prefix([*old, 0]) == 0
    assert run(manager, "p", old) == 0


# https://github.com/llm-d/llm-d-inference-sim/issues/704 https://github.com/vllm-project/vllm/issues/2614
@both
def test_the_tail_of_a_sequence_is_evicted_first(design: str) -> None:
    manager = KVManager(3, 4, design=design)
    run(manager, "a", range(12))
    end(manager, "a")
    run(manager, "b", [99])
    assert manager.table("b") == (2,)
    assert manager.cached_prefix(range(12)) == 8


# https://github.com/novitalabs/pegaflow/issues/396
@both
def test_chunks_are_evicted_from_the_tail_too(design: str) -> None:
    manager = KVManager(4, 4, design=design)
    manager.admit("a", range(16))
    for chunk in (range(8), range(8, 16)):
        compute(manager, "a", chunk)
    end(manager, "a")
    assert manager.index.idle_order() == (3, 2, 1, 0)


# https://github.com/ModelEngine-Group/unified-cache-management/issues/1053 https://github.com/vllm-project/vllm/issues/1556
@both
def test_a_request_cannot_be_freed_twice(design: str) -> None:
    manager = KVManager(4, 4, design=design, prefix_caching=False)
    run(manager, "a", range(6))
    end(manager, "a")
    with pytest.raises(ValueError, match=r"^request_id: expected the id of a request with a table, got 'a'\.$"):
        manager.free("a")
    assert manager.pool.free_order() == (2, 3, 1, 0)


# https://github.com/jjang-ai/vmlx/issues/68
@both
def test_blocks_of_finished_requests_can_be_evicted(design: str) -> None:
    manager = KVManager(8, 4, design=design)
    for number in range(20):
        run(manager, str(number), range(100 * number, 100 * number + 8))
        end(manager, str(number))
    assert classes(manager) == (0, 8, 0)
    assert sum(event.as_dict()["event"] == "evicted" for event in manager.log) == 32


# https://github.com/Avarok-Cybersecurity/atlas/issues/373
@both
def test_a_block_that_a_request_holds_is_never_evicted(design: str) -> None:
    manager = KVManager(6, 4, design=design)
    run(manager, "a", range(8))
    run(manager, "done", range(50, 58))
    end(manager, "done")
    run(manager, "b", range(100, 116))
    assert classes(manager) == (0, 0, 6)
    with pytest.raises(OutOfBlocks) as raised:
        manager.append("b", [1])
    assert (raised.value.needed_blocks, raised.value.available_blocks) == (1, 0)
    assert manager.table("a") == (0, 1)
    assert not set(manager.table("a")) & set(manager.table("b"))
    assert manager.cached_prefix(range(9)) == 8


# https://github.com/vllm-project/vllm/issues/417 https://arxiv.org/abs/2309.06180 (section 4.4)
def test_three_branches_make_two_copies_and_the_last_writes_in_place() -> None:
    manager = KVManager(8, 4, design=COPY)
    run(manager, "a", range(7))
    assert [manager.fork("a", child) for child in ("b", "c")] == [7, 7]
    assert [manager.pool.ref_count(block) for block in (0, 1)] == [3, 3]
    grants = [compute(manager, name, [token]) for name, token in (("a", 7), ("b", 8), ("c", 9))]
    assert [grant.copies for grant in grants] == [(Copy(1, 2, 3),), (Copy(1, 3, 3),), ()]
    assert [grant.slots for grant in grants] == [(11,), (15,), (7,)]
    assert [manager.pool.ref_count(block) for block in range(4)] == [3, 1, 1, 1]
    assert [compute(manager, name, [1]).copies for name in ("a", "b", "c")] == [(), (), ()]


@both
def test_branches_at_a_block_boundary_copy_nothing(design: str) -> None:
    manager = KVManager(8, 4, design=design)
    run(manager, "a", range(8))
    assert [manager.fork("a", child) for child in ("b", "c")] == [8, 8]
    for token, name in enumerate(("a", "b", "c")):
        assert compute(manager, name, [token]).copies == ()
    assert [manager.pool.ref_count(block) for block in range(5)] == [3, 3, 1, 1, 1]


def test_full_blocks_share_whole_blocks_only() -> None:
    manager = KVManager(8, 4, design=FULL)
    run(manager, "a", range(7))
    assert manager.fork("a", "b") == 4
    assert manager.table("b") == (0,)
    assert compute(manager, "b", [4, 5, 6]).copies == ()
    assert manager.table("b") == (0, 2)


# https://github.com/vllm-project/vllm/issues/10730
@both
def test_the_longest_table_asks_for_no_block_more(design: str) -> None:
    manager = KVManager(8, 4, design=design, max_blocks_per_table=4)
    run(manager, "a", range(14))
    assert manager.room("a") == 2
    assert [manager.can_append("a", count) for count in (2, 3)] == [True, False]
    compute(manager, "a", [14, 15])
    assert (len(manager.table("a")), manager.room("a")) == (4, 0)
    with pytest.raises(ValueError, match=r"^token_ids: expected a table of at most 16 tokens \(4 blocks\), got 17\.$"):
        manager.append("a", [16])
    with pytest.raises(ValueError, match=r"at most 16 tokens \(4 blocks\), got 17\.$"):
        manager.admit("b", range(17))
    assert manager.requests == ("a",)


# https://github.com/vllm-project/vllm/issues/47272
@both
def test_the_reserved_block_is_in_no_table(design: str) -> None:
    manager = KVManager(3, 4, design=design, reserve_null=True)
    with pytest.raises(OutOfBlocks) as raised:
        run(manager, "a", range(9))
    assert (raised.value.needed_blocks, raised.value.available_blocks) == (3, 2)
    end(manager, "a")
    run(manager, "a", range(8))
    assert manager.table("a") == (1, 2)


# https://github.com/GeeeekExplorer/nano-vllm/issues/243 https://docs.vllm.ai/en/latest/design/prefix_caching/
@both
def test_equal_prompts_in_one_step_have_blocks_of_their_own(design: str) -> None:
    manager = KVManager(4, 4, design=design)
    for name in ("a", "b"):
        assert manager.admit(name, range(8)) == 0
        manager.append(name, range(8))
    for name in ("a", "b"):
        manager.confirm(name, 8)
    assert (manager.table("a"), manager.table("b")) == ((0, 1), (2, 3))
    end(manager, "a")
    assert manager.cached_prefix(range(9)) == 8
    run(manager, "c", [50])
    assert 1 not in manager.index, "the tail of the first is evicted, its twin is not"
    assert manager.cached_prefix(range(9)) == 8


# https://github.com/Avarok-Cybersecurity/atlas/issues/373 https://github.com/sgl-project/sglang/issues/16067
@both
@pytest.mark.parametrize("stop", ["admitted", "appended", "in a chunk", "confirmed"])
def test_whenever_a_request_is_given_up_the_pool_is_as_before(design: str, stop: str) -> None:
    manager = KVManager(8, 4, design=design)
    run(manager, "other", range(8))
    before, free = classes(manager), set(manager.pool.free_order())
    manager.admit("a", range(14))
    if stop != "admitted":
        manager.append("a", [8, 9, 10])
    if stop in ("in a chunk", "confirmed"):
        manager.confirm("a", 11)
        manager.append("a", [21])
    if stop == "confirmed":
        manager.truncate("a", 11)
    end(manager, "a")
    assert classes(manager) == before
    assert set(manager.pool.free_order()) == free
    assert manager.table("other") == (0, 1)


# https://github.com/GeeeekExplorer/nano-vllm/issues/207
@both
def test_a_preempted_request_finds_what_it_had_and_computes_the_rest(design: str) -> None:
    manager = KVManager(8, 4, design=design)
    text = list(range(9))
    run(manager, "a", text[:8])
    compute(manager, "a", text[8:])
    end(manager, "a")
    cached = manager.admit("a", text)
    assert (cached, manager.length("a"), manager.blocks_needed("a", len(text) - cached)) == (8, 8, 1)
    end(manager, "a")
    assert classes(manager)[2] == 0


@both
def test_blocks_to_admit_is_what_admission_takes(design: str) -> None:
    manager = KVManager(12, 4, design=design)
    run(manager, "a", range(8))
    run(manager, "old", range(20, 32))
    end(manager, "old")
    for number, prompt in enumerate([range(8), range(9), range(3), range(20, 30), range(20, 28), range(20, 24)]):
        before, expected = manager.available_blocks, manager.blocks_to_admit(prompt)
        run(manager, f"b{number}", prompt)
        assert before - manager.available_blocks == expected, list(prompt)
        end(manager, f"b{number}")


@both
def test_truncate_keeps_blocks_that_others_look_for_as_they_are(design: str) -> None:
    manager = KVManager(8, 4, design=design)
    run(manager, "a", range(11))
    assert manager.truncate("a", 10) == 10, "a block that nobody else has can be cut anywhere"
    kept = manager.truncate("a", 6)
    assert kept == (4 if design == FULL else 6)
    assert manager.confirmed("a") == kept
    manager.check()
    assert manager.cached_prefix(range(9)) == 8, "what was written stays until it is written over"
    grant = compute(manager, "a", [50])
    assert grant.copies == ()
    assert manager.cached_prefix(range(9)) == (8 if design == FULL else 4)
    assert manager.tokens("a") == (*range(kept), 50)


def test_truncated_tokens_that_were_never_written_leave_no_trace() -> None:
    for design in DESIGNS:
        manager = KVManager(8, 4, design=design)
        run(manager, "a", range(6))
        before = classes(manager), manager.table("a")
        manager.append("a", range(6, 13))
        assert manager.truncate("a", 6) == 6
        manager.check()
        assert (classes(manager), manager.table("a")) == before


def test_without_prefix_caching_nothing_is_found_and_nothing_idle() -> None:
    for design in DESIGNS:
        manager = KVManager(8, 4, design=design, prefix_caching=False)
        run(manager, "a", range(8))
        assert run(manager, "b", range(8)) == 0
        end(manager, "a", "b")
        assert classes(manager) == (8, 0, 0)
        assert len(manager.index) == 0


def test_slots_of_positions() -> None:
    manager = KVManager(8, 4)
    run(manager, "x", range(5))
    run(manager, "a", range(10, 20))
    assert manager.table("a") == (2, 3, 4)
    assert manager.slots("a", 3, 9) == (11, 12, 13, 14, 15, 16)
    assert manager.slots("a", 4, 4) == ()
