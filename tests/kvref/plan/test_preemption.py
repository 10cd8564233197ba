"""A pool that runs out: who steps back, what is computed again, and that it ends. With public reports of each mistake."""

import pytest

from kvref.errors import OutOfBlocks
from kvref.plan.entry import Draft
from kvref.plan.step import Step
from tests.kvref.plan.fake import Bench, expected_reply
from tests.kvref.plan.test_scheduler import DESIGNS, bench, prompt

HOW = ("recompute", "swap")


def tight(blocks: int, how: str = "recompute", **more) -> Bench:
    """A bench that can swap if it is to."""
    return bench(blocks, preemption=how, host_blocks=16 if how == "swap" else 0, **more)


def preemptions(one: Bench) -> int:
    return sum(one.scheduler.report(name).preemptions for name in one.requests)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("design", DESIGNS)
def test_the_latest_steps_back_and_returns_first(how: str, design: str) -> None:
    one = tight(7, how, design=design)
    for number, name in enumerate("ab"):
        one.submit(name, prompt(8, 20 * number), 12)
    one.step()
    one.submit("c", prompt(2, 90), 2)
    one.drain()
    first = next(step for step in one.steps if step.preempted)
    assert first.preempted == ("b",)
    assert not first.admitted
    assert (first.swapped_out != ()) == (how == "swap")
    order = [name for step in one.steps for name in step.admitted]
    assert order.index("c") > max(index for index, name in enumerate(order) if name == "b")
    one.check_replies()


def test_swapped_blocks_come_back_and_nothing_is_computed_twice() -> None:
    one = tight(7, "swap")
    for number, name in enumerate("ab"):
        one.submit(name, prompt(8, 20 * number), 12)
    one.drain()
    assert one.scheduler.report("b").preemptions
    assert sum(size for _, size in one.work("b")) == 8 + 12 - 1
    one.check_replies()


def test_a_full_host_is_no_reason_to_stop() -> None:
    one = bench(7, preemption="swap", host_blocks=1)
    for number, name in enumerate("ab"):
        one.submit(name, prompt(8, 20 * number), 12)
    one.drain()
    assert one.scheduler.report("b").preemptions
    assert not any(step.swapped_out for step in one.steps)
    one.check_replies()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("after", range(1, 8))
def test_a_preempted_reply_is_replayed_and_counted_once(after: int, how: str) -> None:
    """github.com/vllm-project/vllm/issues/16832, github.com/vllm-project/vllm/issues/5349, vllm-gaudi/issues/524.

    Tokens came twice, or the reply was taken for new after its prompt's length.
    """
    one = tight(16, how, prefix_caching=False)
    one.submit("a", prompt(3), 8)
    for _ in range(after):
        one.step()
    step = force(one, "a")
    start, size = (0, 3 + after) if how == "recompute" else (3 + after - 1, 1)
    assert [(work.start, len(work.token_ids), work.samples) for work in step.work] == [(start, size, True)]
    assert step.work[0].token_ids == (*prompt(3), *expected_reply(one.requests["a"]))[start : start + size]
    one.drain()
    assert len(one.reply("a")) == 8
    one.check_replies()


def force(one: Bench, name: str) -> Step:
    """Preempt this request, as if older ones had taken the pool; the step in which it is back."""
    draft = Draft(0)
    scheduler = one.scheduler
    scheduler._preempt(scheduler._entries[name], draft)
    for move in draft.swapped_out:
        one.model.host[move.host_block] = one.model.block(move.device_block)[:]
    return one.step()


@pytest.mark.parametrize("how", HOW)
def test_twice_in_a_row_without_a_step_between(how: str) -> None:
    """github.com/GeeeekExplorer/nano-vllm/issues/217: prefill was told from decode by "no reply yet"; a token was lost."""
    one = tight(16, how)
    one.submit("a", prompt(3), 6)
    one.step()
    one.step()
    assert one.manager.length("a") == 4
    step = one.scheduler.step()  # the fifth token, in a second block
    one.scheduler.commit(step, one.model.run(step, one.requests))
    assert one.manager.length("a") == 5
    force(one, "a")
    assert (one.manager.length("a"), len(one.manager.table("a"))) == (6, 2)
    force(one, "a")
    assert (one.manager.length("a"), len(one.manager.table("a"))) == (7, 2)
    assert one.scheduler.report("a").preemptions == 2
    one.drain()
    one.check_replies()


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("length", [7, 8, 9])
def test_what_is_found_again_is_looked_up_before_it_is_counted(length: int, design: str) -> None:
    """github.com/GeeeekExplorer/nano-vllm/issues/207, …/211, …/233: start + scheduled ran past the end."""
    one = tight(16, design=design)
    one.submit("a", prompt(length), 6)
    one.step()
    step = force(one, "a")
    (work,) = step.work
    assert work.start >= length - length % 4 - 4
    assert work.start + len(work.token_ids) == length + 1
    one.drain()
    one.check_replies()


def test_a_step_that_has_no_tokens_left_attaches_no_blocks() -> None:
    """The other half of the same report: refused for the budget, but with blocks attached."""
    one = bench(16, budget=4, most=4)
    for number, name in enumerate("abcd"):
        one.submit(name, prompt(4, 20 * number), 9)
    one.step()
    assert one.manager.requests == one.scheduler.running == ("a",)
    one.drain()
    one.check_replies()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("design", DESIGNS)
def test_three_that_do_not_fit_together_do_not_thrash(design: str, how: str) -> None:
    """github.com/kekzl/imp/issues/1714, github.com/vllm-project/vllm/issues/25538: admitted for the prompt alone."""
    one = tight(8, how, design=design)
    for number, name in enumerate("abc"):
        one.submit(name, prompt(8, 20 * number), 24)
    steps = one.drain()
    assert preemptions(one) <= 3
    without = [not any(work.samples for work in step.work) for step in steps]
    assert not any(all(without[index : index + 3]) for index in range(len(without)))
    one.check_replies()


@pytest.mark.parametrize("how", HOW)
def test_the_admission_rule_is_held_by_every_admission(how: str) -> None:
    """Blocks for all tokens that they have and one more for each: also for those that come later or come back."""
    one = tight(13, how, budget=5, chunk_tokens=4)
    admissions = 0
    for number in range(12):
        one.submit(f"r{number}", prompt(3 + 5 * (number % 3), 9 * number), 14 + number % 7)
    while step := one.scheduler.step():
        if step.admitted:
            admissions += 1
            owed = 0
            for name in one.scheduler.running:
                request = one.requests[name]
                known = len(request.prompt_ids) + len(one.reply(name))
                goal = min(-(-known // 4) + 1, -(-(len(request.prompt_ids) + request.max_new_tokens - 1) // 4))
                owed += goal - len(one.manager.table(name))
            assert owed <= one.manager.available_blocks
        one.scheduler.commit(step, one.model.run(step, one.requests))
    assert admissions > 6
    assert preemptions(one) > 0
    one.check_replies()


def test_new_prompts_do_not_overtake_who_was_swapped_out() -> None:
    """github.com/vllm-project/vllm/issues/5578: short prompts kept coming, and the swapped request never came back."""
    one = tight(8, "swap")
    one.submit("a", prompt(8), 20)
    one.submit("b", prompt(8, 30), 20)
    streamed = 0
    while one.scheduler.report("b").status != "finished":
        was_out = one.scheduler.swapped == ("b",)
        one.submit(f"n{streamed}", [60 + streamed % 30], 2)
        streamed += 1
        step = one.step()
        if was_out:
            assert not step.admitted or step.admitted[0] == "b"
        assert streamed < 200
    assert one.scheduler.report("b").preemptions >= 1
    one.drain()
    one.check_replies()


def test_a_swapped_request_comes_back_only_with_the_block_of_its_next_token() -> None:
    """github.com/vllm-project/vllm/issues/8824: blocks for what was stored were counted, none for the token that waits."""
    one = tight(6, "swap", prefix_caching=False)
    one.submit("a", prompt(4), 17)
    one.submit("b", prompt(4, 30), 13)
    one.drain()
    back = next(index for index, step in enumerate(one.steps) if step.swapped_in)
    step = one.steps[back]
    (work,) = [work for work in step.work if work.request_id == "b"]
    assert len(work.table) >= len(step.swapped_in)
    assert not any("b" in later.preempted for later in one.steps[back : back + 4])
    one.check_replies()


def test_no_block_comes_back_after_a_copy_was_planned() -> None:
    """A step moves blocks first and copies then: what is swapped in must not take the block that a copy reads."""
    one = bench(16, preemption="swap", host_blocks=3, design="copy-on-write")
    for number, name in enumerate("abcd"):
        one.submit(name, prompt(8, 20 * number), 9)
    one.step()
    for name in "dcb":  # the host has room for one of them: "d"; "b" and "c" are to be computed again, and come first
        draft = Draft(0)
        one.scheduler._preempt(one.scheduler._entries[name], draft)
        for move in draft.swapped_out:
            one.model.host[move.host_block] = one.model.block(move.device_block)[:]
    assert one.scheduler.swapped == ("d",)
    assert one.step().admitted == ("b", "c")
    assert one.step().admitted == ("d",)
    one.drain()
    one.check_replies()


def test_what_a_preempted_request_finds_of_its_own_is_no_hit() -> None:
    """github.com/vllm-project/vllm/issues/25780, github.com/sgl-project/sglang/issues/5525: recompute counted as hits."""
    one = tight(16)
    one.submit("a", prompt(9), 4)
    one.step()
    assert force(one, "a").work[0].start == 8
    one.drain()
    report = one.scheduler.report("a")
    assert (report.cached_tokens, report.preemptions) == (0, 1)


def test_prompt_logprobs_are_computed_once() -> None:
    """While a prompt is computed nothing is read; once its logits were there, a preempted reply may be found."""
    one = tight(16, chunk_tokens=6)
    one.submit("a", prompt(9), 4, prompt_logprobs=True)
    one.step()
    assert force(one, "a").work[0].start == 0
    one.step()
    assert len(one.reply("a")) == 1
    assert force(one, "a").work[0].start == 8
    one.drain()
    one.check_replies()


@pytest.mark.parametrize("how", HOW)
def test_an_abort_of_who_is_out_gives_back_everything(how: str) -> None:
    one = tight(7, how)
    for number, name in enumerate("ab"):
        one.submit(name, prompt(8, 20 * number), 12)
    while not one.step().preempted:
        pass
    assert one.scheduler.report("b").status == ("swapped" if how == "swap" else "waiting")
    one.scheduler.abort("b")
    assert one.scheduler.counts.swapped == one.scheduler.counts.waiting == 0
    del one.requests["b"]
    one.drain()
    one.check_replies()
    assert one.manager.pool.used_blocks == 0
    assert how == "recompute" or one.manager.host.free_blocks == 16


@pytest.mark.parametrize("how", HOW)
def test_blocks_that_somebody_else_takes_lose_nothing(how: str) -> None:
    """A step without work still tells what moves; then there is an error, and once the blocks are back all goes on."""
    one = tight(7, how)
    one.submit("a", prompt(8), 9)
    one.step()
    one.manager.admit("theirs", list(prompt(20, 40)))
    one.manager.append("theirs", list(prompt(20, 40)))
    one.manager.confirm("theirs", 20)
    step = one.step()
    assert (step.work, step.preempted, len(step.swapped_out)) == ((), ("a",), 2 if how == "swap" else 0)
    with pytest.raises(OutOfBlocks):
        one.scheduler.step()
    one.manager.free("theirs")
    one.drain()
    one.check_replies()
