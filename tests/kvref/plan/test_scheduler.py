"""What the scheduler promises, case by case; the addresses are of public reports of the mistake that each case looks for."""

import pytest

from kvref.errors import OutOfBlocks
from kvref.plan.manager import KVManager
from kvref.plan.prefix import Namespace
from kvref.plan.request import Request
from kvref.plan.scheduler import Scheduler
from tests.kvref.plan.fake import Bench

DESIGNS = ("full-blocks", "copy-on-write")


def bench(blocks: int = 16, block_tokens: int = 4, *, budget: int = 64, most: int = 8, **more) -> Bench:
    """A bench over a manager and a scheduler; options go where they belong."""
    of_manager = {"design", "prefix_caching", "reserve_null", "host_blocks", "max_blocks_per_table", "hash_function"}
    manager = KVManager(blocks, block_tokens, **{name: more.pop(name) for name in of_manager & set(more)})
    return Bench(Scheduler(manager, token_budget=budget, max_requests=most, **more))


def prompt(length: int, first: int = 0) -> range:
    return range(first, first + length)


# --- batches -----------------------------------------------------------------------------------------------------------


def test_a_step_holds_all_that_the_pass_needs() -> None:
    one = bench()
    one.submit("a", prompt(6), 3)
    step = one.scheduler.step()
    assert step.number == 1
    assert step.admitted == ("a",)
    (work,) = step.work
    assert (work.request_id, work.start, work.token_ids, work.samples) == ("a", 0, tuple(prompt(6)), True)
    assert (work.slots, work.table) == (tuple(range(6)), (0, 1))
    assert step.tokens == 6
    assert one.scheduler.commit(step, {"a": 40}) == ()
    second = one.scheduler.step()
    assert [(w.start, w.token_ids, w.slots) for w in second.work] == [(6, (40,), (6,))]
    assert not second.admitted


def test_nothing_to_do_is_none() -> None:
    assert bench().scheduler.step() is None


def test_requests_join_and_leave_between_steps() -> None:
    one = bench()
    one.submit("a", prompt(5), 2)
    one.step()
    one.submit("b", prompt(3, 50), 4)
    one.drain()
    named = [[work.request_id for work in step.work] for step in one.steps]
    assert named == [["a"], ["a", "b"], ["b"], ["b"], ["b"]]
    one.check_replies()


def test_the_token_budget_is_shared_in_order_of_service() -> None:
    one = bench(budget=10)
    one.submit("a", prompt(7), 3)
    one.submit("b", prompt(9, 50), 3)
    one.submit("c", prompt(2, 70), 3)
    one.drain()
    sizes = [[(work.request_id, len(work.token_ids)) for work in step.work] for step in one.steps]
    assert sizes[:3] == [[("a", 7), ("b", 3)], [("a", 1), ("b", 6), ("c", 2)], [("a", 1), ("b", 1), ("c", 1)]]
    one.check_replies()


def test_a_prompt_never_holds_up_a_reply() -> None:
    """ "a" is older and has a long prompt to compute; "b" still gets its token in every step (arXiv:2403.02310)."""
    one = bench(32, budget=8, chunk_tokens=6)
    one.submit("a", prompt(40), 2)
    one.submit("b", prompt(2, 60), 6)
    one.drain()
    assert one.work("b") == [(0, 2), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1)]
    assert one.work("a")[:3] == [(0, 6), (6, 6), (12, 6)]


def test_more_requests_than_places_wait() -> None:
    one = bench(most=2)
    for name in "abc":
        one.submit(name, prompt(3, 10 * ord(name)), 2)
    one.step()
    assert one.scheduler.running == ("a", "b")
    assert one.scheduler.waiting == ("c",)
    one.drain()
    one.check_replies()


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 7, 11, None])
def test_chunks_compute_what_one_pass_computes(chunk: int | None, design: str) -> None:
    """github.com/vllm-project/vllm/issues/5952, github.com/vllm-project/vllm/issues/36580: resumed from a wrong place."""
    one = bench(chunk_tokens=chunk, design=design)
    one.submit("a", prompt(11), 3)
    one.submit("b", prompt(11), 3)
    one.drain()
    chunks = [size for start, size in one.work("a") if start < 11]
    assert chunks == [chunk or 11] * (11 // (chunk or 11)) + ([11 % chunk] if chunk and 11 % chunk else [])
    one.check_replies()


def test_chunks_may_differ_from_step_to_step() -> None:
    one = bench(budget=7, chunk_tokens=4)
    one.submit("a", prompt(3, 80), 4)
    one.submit("b", prompt(11), 3)
    one.drain()
    assert [size for start, size in one.work("b") if start < 11] == [4, 4, 3]
    one.check_replies()


def test_only_the_last_chunk_samples() -> None:
    one = bench(chunk_tokens=4)
    one.submit("a", prompt(11), 1)
    assert [step.work[0].samples for step in one.drain()] == [False, False, True]


# --- what is cached ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("design", "cached"), [("full-blocks", 4), ("copy-on-write", 7)])
def test_a_prompt_that_is_cached_as_a_whole_still_computes_a_token(design: str, cached: int) -> None:
    """github.com/vllm-project/vllm/issues/11186, github.com/GeeeekExplorer/nano-vllm/issues/144: no token, no logits."""
    one = bench(design=design)
    for name in "ab":
        one.submit(name, prompt(8), 3)
        one.drain()
    assert one.work("b")[0] == (cached, 8 - cached)
    assert (one.scheduler.report("a").cached_tokens, one.scheduler.report("b").cached_tokens) == (0, cached)
    assert one.reply("a") == one.reply("b")
    one.check_replies()


@pytest.mark.parametrize("design", DESIGNS)
def test_a_prompt_of_one_token_is_never_cached(design: str) -> None:
    one = bench(block_tokens=1, design=design)
    for name in "ab":
        one.submit(name, [5], 2)
        one.drain()
    assert one.scheduler.report("b").cached_tokens == 0
    one.check_replies()


def test_a_write_into_a_block_that_another_request_holds_is_copied_first() -> None:
    one = bench(design="copy-on-write")
    one.submit("a", prompt(8), 5)
    one.step()
    one.submit("b", prompt(8), 5)
    step = one.step()
    assert [(copy.source, copy.tokens) for copy in step.copies] == [(1, 3)]
    one.drain()
    one.check_replies()


def test_equal_prompts_of_another_namespace_share_nothing() -> None:
    one = bench()
    for name in ("x", "y"):
        one.submit(name, prompt(8), 2, namespace=Namespace(salt=name))
        one.drain()
    assert one.scheduler.report("y").cached_tokens == 0
    one.check_replies()


def test_prompt_logprobs_are_computed_for_every_position() -> None:
    """github.com/vllm-project/vllm/issues/3251, github.com/vllm-project/vllm/issues/17251: none for what was cached."""
    one = bench(chunk_tokens=5)
    for name in "ab":
        one.submit(name, prompt(12), 2, prompt_logprobs=True)
        one.drain()
    one.submit("c", prompt(12), 2)
    one.drain()
    assert one.work("b")[:3] == [(0, 5), (5, 5), (10, 2)]
    assert [one.scheduler.report(name).cached_tokens for name in "abc"] == [0, 0, 8]  # not read, but written
    one.check_replies()


# --- what can never fit ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", DESIGNS)
def test_what_can_never_fit_is_refused_when_it_is_submitted(design: str) -> None:
    """github.com/vllm-project/vllm/issues/35541, github.com/vllm-project/vllm/issues/56028: it preempts itself for ever."""
    one = bench(4, design=design)
    for length, new in ((20, 1), (12, 6), (1, 17)):
        with pytest.raises(ValueError, match=rf"request 'x': {length} prompt tokens and {new} new ones need \d blocks of 4"):
            one.submit("x", prompt(length), new)
    assert one.scheduler.waiting == ()
    one.submit("a", prompt(12), 5)  # 16 tokens are stored: the last one never is
    one.submit("b", prompt(12), 5)
    one.drain()
    assert one.scheduler.report("a").preemptions == one.scheduler.report("b").preemptions == 0
    one.check_replies()


def test_the_null_block_is_no_room_for_tokens() -> None:
    """github.com/vllm-project/vllm/issues/47272, github.com/RBLN-SW/vllm-rbln/issues/957: one block too many was promised."""
    one = bench(4, reserve_null=True)
    with pytest.raises(ValueError, match="need 4 blocks of 4 tokens; one request can have 3"):
        one.submit("a", prompt(12), 2)
    one.submit("b", prompt(12), 1)
    (step,) = one.drain()
    assert 0 not in step.work[0].table
    one.check_replies()


def test_a_table_ends_with_the_models_positions() -> None:
    """github.com/vllm-project/vllm/issues/10730, github.com/vllm-project/vllm-ascend/issues/9098: a row past the end."""
    one = bench(16, max_positions=16, max_blocks_per_table=4)
    with pytest.raises(ValueError, match="need 17 positions; the model has 16"):
        one.submit("a", prompt(10), 8)
    one.submit("b", prompt(10), 7)
    one.drain()
    assert len(one.steps[-1].work[0].table) == 4
    one.check_replies()
    narrow = bench(16, max_blocks_per_table=3)
    with pytest.raises(ValueError, match="need 4 blocks of 4 tokens; one request can have 3"):
        narrow.submit("a", prompt(10), 7)


def test_blocks_that_somebody_else_holds_are_an_error_not_a_standstill() -> None:
    one = bench(4)
    one.manager.admit("theirs", list(prompt(9)))
    one.manager.append("theirs", list(prompt(9)))
    one.submit("a", prompt(4), 6)
    with pytest.raises(OutOfBlocks, match="Blocks needed: 2; the pool can give 1"):
        one.scheduler.step()
    one.manager.free("theirs")
    one.drain()
    one.check_replies()


# --- ends --------------------------------------------------------------------------------------------------------------


def test_a_stop_id_ends_a_reply_and_is_its_last_token() -> None:
    one = bench()
    one.submit("a", prompt(5), 9)
    one.drain()
    third = one.reply("a")[2]
    one.submit("b", prompt(5), 9, stop_ids=(third,))
    one.drain()
    assert one.reply("b") == one.reply("a")[: one.reply("a").index(third) + 1]
    assert [one.scheduler.report(name).finish_reason for name in "ab"] == ["length", "stop"]


def test_a_caller_ends_a_reply_for_a_reason_of_its_own() -> None:
    one = bench()
    one.submit("a", prompt(5), 9)
    one.step()
    one.scheduler.finish("a", "stop text")
    assert one.scheduler.step() is None
    assert one.scheduler.report("a").finish_reason == "stop text"
    assert one.manager.pool.used_blocks == 0


def _abort(one: Bench, when: str) -> None:
    """Bring "x" to this point and abort it there."""
    one.submit("x", prompt(11, 30), 4)
    if when == "queued":
        one.scheduler.abort("x")
    elif when == "between step and commit":
        step = one.scheduler.step()
        one.scheduler.abort("x")
        assert one.scheduler.commit(step, one.model.run(step, one.requests) if one.manager.requests else {}) == ()
    else:
        for _ in range({"mid-chunk": 1, "first token": 3, "before the last token": 5}[when]):
            one.step()
        one.scheduler.abort("x")


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("when", ["queued", "between step and commit", "mid-chunk", "first token", "before the last token"])
def test_an_abort_gives_back_everything(when: str, design: str) -> None:
    """github.com/sgl-project/sglang/issues/16067, github.com/Avarok-Cybersecurity/atlas/issues/373: blocks stayed attached."""
    one = bench(design=design, chunk_tokens=4)
    _abort(one, when)
    pool = one.manager.pool
    assert (pool.used_blocks, pool.free_blocks + pool.idle_blocks) == (0, 16)
    assert one.manager.requests == ()
    assert one.scheduler.report("x").finish_reason == "abort"
    assert (one.scheduler.waiting, one.scheduler.running) == ((), ())
    one.submit("y", prompt(11, 30), 4)
    one.scheduler.forget("x")
    del one.requests["x"]
    one.drain()
    one.check_replies()


def test_an_id_is_free_again_once_it_is_forgotten_also_before_the_commit() -> None:
    """The token of the pass belongs to the request that ended, not to the one that has its name now."""
    one = bench()
    one.submit("x", prompt(5), 3)
    one.submit("y", prompt(5, 20), 3)
    step = one.scheduler.step()
    one.scheduler.abort("x")
    one.scheduler.forget("x")
    one.submit("x", prompt(4, 40), 2)
    one.scheduler.commit(step, {"x": 1, "y": 2})
    assert one.reply("x") == []
    assert one.scheduler.waiting == ("x",)


# --- mistakes of a caller ----------------------------------------------------------------------------------------------


def test_wrong_calls_are_one_sentence_and_change_nothing() -> None:
    one = bench()
    one.submit("a", prompt(5), 3)
    with pytest.raises(ValueError, match="id: expected one that is not known yet, got 'a'"):
        one.submit("a", prompt(5), 3)
    step = one.scheduler.step()
    with pytest.raises(ValueError, match="expected step 1 to be committed first"):
        one.scheduler.step()
    for sampled, sentence in (
        ({}, "sampled: expected a token for 'a', got none"),
        ({"a": -1}, "sampled: expected a token id for 'a', got -1"),
        ({"a": True}, "sampled: expected a token id for 'a', got True"),
        ({"a": 1, "b": 1}, "sampled: 'b' samples nothing in step 1"),
    ):
        with pytest.raises(ValueError, match=sentence):
            one.scheduler.commit(step, sampled)
        assert one.manager.confirmed("a") == 0
        assert one.reply("a") == []
    one.scheduler.commit(step, one.model.run(step, one.requests))
    with pytest.raises(ValueError, match="expected the one planned last and not committed, got number 1"):
        one.scheduler.commit(step, {"a": 1})
    with pytest.raises(ValueError, match="expected one that ended, got 'a', which is running"):
        one.scheduler.forget("a")
    for call in (one.scheduler.abort, one.scheduler.report, one.scheduler.forget):
        with pytest.raises(ValueError, match="request_id: 'z' is not known"):
            call("z")
    one.drain()
    with pytest.raises(ValueError, match=r"request_id: 'a' ended before \(length\)"):
        one.scheduler.abort("a")
    one.check_replies()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"budget": 0}, "token_budget: expected a whole number of at least 1, got 0"),
        ({"most": 0}, "max_requests: expected a whole number of at least 1, got 0"),
        ({"chunk_tokens": 0}, "chunk_tokens: expected a whole number of at least 1, got 0"),
        ({"max_positions": 0}, "max_positions: expected a whole number of at least 1, got 0"),
        ({"preemption": "swap"}, "preemption: expected a manager with host blocks for 'swap', got one with none"),
    ],
)
def test_settings_that_are_none(options: dict, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        bench(**options)


def test_the_same_calls_give_the_same_steps() -> None:
    runs = []
    for _ in range(2):
        one = bench(7, budget=6, chunk_tokens=3)
        for number, name in enumerate("abcd"):
            one.submit(name, prompt(5, 3 * number), 7)
        runs.append(one.drain())
    assert runs[0] == runs[1]


def test_counts_are_the_lengths() -> None:
    one = bench(8, most=2)
    for name in "abc":
        one.scheduler.submit(Request(name, tuple(prompt(4)), 2))
    one.scheduler.step()
    counts = one.scheduler.counts
    assert (counts.waiting, counts.running, counts.swapped) == (1, 2, 0)
