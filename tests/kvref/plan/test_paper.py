"""The small traces of the vLLM paper (arXiv:2309.06180, figures 3, 6, 8 and 9), block by block."""

from kvref.plan.manager import Copy, KVManager
from tests.kvref.plan.test_manager import compute, end, run


def test_figure_3_what_is_reserved_for_the_longest_answer_and_what_blocks_take() -> None:
    """Two requests with room for 2,048 and 512 tokens; the paper's slots: in use now, later, never."""
    assert 7 + 1 + 2 + 2038 == 2048
    assert 3 + 1 + 1 + 507 == 512
    manager = KVManager(8, 4, design="copy-on-write")
    for name, prompt, reply in (("a", range(7), 3), ("b", range(20, 23), 2)):
        run(manager, name, prompt)
        for token in range(reply):
            compute(manager, name, [token])
            slots = len(manager.table(name)) * manager.block_tokens
            assert 0 <= slots - manager.length(name) <= manager.block_tokens - 1
    assert [manager.length(name) for name in ("a", "b")] == [10, 5]
    assert manager.pool.used_blocks == 3 + 2


def test_figure_6_a_prompt_of_seven_and_two_steps() -> None:
    manager = KVManager(9, 4, design="copy-on-write")
    fills = []
    run(manager, "a", range(7))
    for token in (None, 7, 8):
        if token is not None:
            compute(manager, "a", [token])
        length = manager.length("a")
        fills.append([min(4, length - 4 * row) for row in range(len(manager.table("a")))])
    assert fills == [[4, 3], [4, 4], [4, 4, 1]]


def test_figure_8_two_samples_and_one_copy() -> None:
    manager = KVManager(9, 4, design="copy-on-write")
    run(manager, "a1", range(7))
    manager.fork("a1", "a2")
    first, last = manager.table("a1")
    assert [manager.pool.ref_count(block) for block in (first, last)] == [2, 2]
    assert compute(manager, "a1", [100]).copies == (Copy(last, 2, 3),)
    assert manager.pool.ref_count(last) == 1
    assert compute(manager, "a2", [200]).copies == ()
    assert (manager.table("a1"), manager.table("a2")) == ((first, 2), (first, last))


def test_figure_9_a_step_of_beam_search() -> None:
    """Beam 4 over blocks of one token, so that every token is a block of the figure."""
    manager = KVManager(13, 1, design="copy-on-write", prefix_caching=False)
    run(manager, "0", [0])
    manager.fork("0", "3")
    for name in ("0", "3", "0", "3"):  # blocks 1, 2, 3, 4
        compute(manager, name, [1])
    for name in ("1", "2"):
        manager.fork("0", name)
    for token in range(4):
        compute(manager, str(token), [token])
    assert [manager.table(name) for name in "0123"] == [(0, 1, 3, 5), (0, 1, 3, 6), (0, 1, 3, 7), (0, 2, 4, 8)]
    # The four best continuations are two of candidate 1 and two of candidate 2.
    manager.fork("1", "1b")
    manager.fork("2", "2b")
    end(manager, "0", "3")
    assert set(manager.pool.free_order()[-4:]) == {2, 4, 5, 8}
    beams = ("1", "1b", "2", "2b")
    for token, name in enumerate(beams):
        assert compute(manager, name, [token]).copies == ()
    assert [manager.table(name)[-1] for name in beams] == [9, 10, 11, 12]
    assert [manager.pool.ref_count(block) for block in (0, 1, 3, 6, 7)] == [4, 4, 4, 2, 2]
