"""Static batching: a batch runs until its longest reply ends, at the greatest length for each of its requests."""

import pytest

from kvref.plan.manager import KVManager
from kvref.plan.static import StaticScheduler
from tests.kvref.plan.fake import Bench
from tests.kvref.plan.test_scheduler import DESIGNS, prompt


def bench(blocks: int = 16, *, most: int = 4, longest: int = 16, **of_manager) -> Bench:
    return Bench(StaticScheduler(KVManager(blocks, 4, **of_manager), max_requests=most, max_length=longest))


@pytest.mark.parametrize("design", DESIGNS)
def test_a_batch_runs_until_its_longest_reply_ends(design: str) -> None:
    one = bench(most=2, design=design)
    for name, new in (("a", 2), ("b", 6), ("c", 1)):
        one.submit(name, prompt(8), new)
    one.drain()
    named = [[work.request_id for work in step.work] for step in one.steps]
    assert named == [["a", "b"], ["a", "b"], ["b"], ["b"], ["b"], ["b"], ["c"]]
    assert [step.admitted for step in one.steps if step.admitted] == [("a", "b"), ("c",)]
    one.check_replies()


def test_nothing_is_shared() -> None:
    one = bench()
    for name in "ab":
        one.submit(name, prompt(8), 2)
        one.drain()
    assert one.scheduler.report("b").cached_tokens == 0
    assert one.work("b")[0] == (0, 8)


def test_places_are_of_the_greatest_length() -> None:
    """As in figure 3 of the vLLM paper: 2,048 slots for a prompt of 7 and a reply of 3, whose last is not stored."""
    one = bench(512, longest=2048)
    assert one.scheduler.places == 1
    one.submit("a", prompt(7), 3)
    one.submit("b", prompt(5), 1)
    one.step()
    assert (one.scheduler.reserved_tokens, one.scheduler.stored_tokens) == (2048, 7)
    assert one.scheduler.running == ("a",)
    one.drain()
    one.check_replies()


def test_the_places_of_replies_that_ended_are_kept() -> None:
    one = bench(most=2)
    one.submit("a", prompt(3), 1)
    one.submit("b", prompt(3, 20), 5)
    one.step()
    one.submit("c", prompt(3, 40), 1)
    one.step()
    assert one.scheduler.running == ("b",)
    assert one.scheduler.reserved_tokens == 2 * 16
    assert one.scheduler.waiting == ("c",)


def test_an_abort_ends_a_place_with_its_batch() -> None:
    one = bench(most=2)
    for name in "ab":
        one.submit(name, prompt(3), 5)
    one.step()
    one.scheduler.abort("a")
    one.scheduler.abort("b")
    assert one.scheduler.step() is None
    assert one.manager.pool.used_blocks == 0
    assert one.scheduler.reserved_tokens == 0


def test_what_does_not_fit_a_place_is_refused() -> None:
    one = bench()
    with pytest.raises(ValueError, match="request 'a': expected at most 16 tokens to store, got 17"):
        one.submit("a", prompt(10), 8)
    one.submit("b", prompt(10), 7)
    one.drain()
    one.check_replies()
    with pytest.raises(ValueError, match="max_length: expected at most 64 tokens, got 65"):
        bench(longest=65)
    with pytest.raises(ValueError, match="max_length: expected at most 8 tokens, got 9"):
        bench(longest=9, max_blocks_per_table=2)
    with pytest.raises(ValueError, match="max_length: expected a whole number of at least 1, got 0"):
        bench(longest=0)
