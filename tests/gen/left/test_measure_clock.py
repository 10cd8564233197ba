"""Taking times: turns, warm-up, what the clock may not do, and when no verdict is given."""

import math
from collections.abc import Callable, Iterator

import pytest

from gen.errors import UserError
from gen.measure.clock import ClockFault, HostTimer, Lane, believed, in_turns
from gen.measure.cuda.events import surrounded
from gen.measure.samples import Series, ratio


class Scripted:
    """A timer that runs the work and says what it was told to say; an exception is raised instead."""

    def __init__(self, said: Iterator[float | BaseException]) -> None:
        self.said = said

    def __call__(self, work: Callable[[], object]) -> float:
        work()
        answer = next(self.said)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def forever(*answers: float | BaseException) -> Iterator[float | BaseException]:
    yield from answers
    while True:
        yield 2.0


def test_lanes_take_turns_in_both_orders_after_a_warm_up() -> None:
    log: list[str] = []
    lanes = {name: Lane(lambda name=name: log.append(name), before=lambda name=name: log.append(name.upper())) for name in "ab"}
    taken = in_turns(lanes, Scripted(forever()), rounds=8)
    assert log[:4] == ["A", "a", "B", "b"]  # warm-up
    assert log[4:12] == ["A", "a", "B", "b", "B", "b", "A", "a"]
    assert len(log) == 4 + 8 * 4
    assert taken["a"].samples == (2.0,) * 8


def test_work_that_does_it_several_times_is_divided() -> None:
    taken = in_turns({"a": Lane(lambda: None, times=4)}, Scripted(forever()), rounds=8)
    assert taken["a"].least == 0.5


@pytest.mark.parametrize(
    ("start_stop", "second", "words"),
    [
        ((1.0, 1.0), (1.0, 1.0), "0 ms went by"),
        ((2.0, 1.0), (1.0, 1.5), "-1000 ms went by"),
        ((1.0, math.nan), (1.0, 1.5), "nan ms went by"),
        ((1.0, 1.5), (1.0, 900.0), "jumped: it said 500 ms, a second clock"),
        ((1.0, 900.0), (1.0, 1.5), "jumped"),
    ],
)
def test_a_clock_that_cannot_be_believed(start_stop: tuple[float, float], second: tuple[float, float], words: str) -> None:
    timer = HostTimer(iter(start_stop).__next__, iter(second).__next__)
    with pytest.raises(ClockFault, match=words):
        timer(lambda: None)


def test_a_real_clock_is_believed() -> None:
    assert 0 < HostTimer()(lambda: sum(range(1000))) < 60_000
    assert believed(100.0, 101.0) == 100.0


def test_the_devices_clock_must_fit_into_the_hosts() -> None:
    assert surrounded(3.0, 3.1) == 3.0
    for ms, host in ((0.0, 1.0), (-1.0, 1.0), (50.0, 1.0), (math.nan, 1.0)):
        with pytest.raises(ClockFault):
            surrounded(ms, host)


def test_a_spoilt_round_is_dropped_whole_and_run_again(capsys: pytest.CaptureFixture[str]) -> None:
    said = forever(1.0, 1.0, ClockFault("The clock jumped"), 1.0, ClockFault("The clock said that 0 ms went by"))
    taken = in_turns({"a": Lane(lambda: None), "b": Lane(lambda: None)}, Scripted(said), rounds=8)
    assert [len(one.samples) for one in taken.values()] == [8, 8]
    assert {one.dropped for one in taken.values()} == {2}
    told = capsys.readouterr().err
    assert "The clock jumped: this round does not count." in told
    assert "0 ms went by: this round does not count." in told


def test_a_clock_that_keeps_jumping_ends_in_a_sentence_and_loses_nothing() -> None:
    kept: list[dict[str, list[float]]] = []
    said = iter([1.0, 3.0, *(ClockFault("The clock jumped") for _ in range(100))])
    with pytest.raises(UserError, match="The clock jumped; 9 rounds were lost to it"):
        in_turns({"a": Lane(lambda: None)}, Scripted(said), rounds=8, keep=lambda samples: kept.append(dict(samples)))
    assert kept == [{"a": [1.0, 3.0]}]


def test_samples_of_a_stopped_run_are_kept() -> None:
    kept: list[dict[str, list[float]]] = []
    said = iter([1.0, 3.0, KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt):
        in_turns({"a": Lane(lambda: None)}, Scripted(said), rounds=8, keep=lambda samples: kept.append(dict(samples)))
    assert kept == [{"a": [1.0, 3.0]}]


# --- verdicts ----------------------------------------------------------------------------------------------------------

EVEN = Series((10.0, 10.1, 10.2, 10.0, 10.3, 10.1, 10.0, 10.2))
HALF = Series((5.0, 5.1, 5.0, 5.2, 5.1, 5.0, 5.3, 5.0))
UNEVEN = Series((5.0, 9.0, 9.5, 9.2, 9.1, 9.3, 9.0, 9.4))


def test_a_ratio_keeps_to_its_bound_or_does_not() -> None:
    found = ratio(EVEN, HALF, least=1.4)
    assert found["of_minima"] == 2.0
    assert found["lowest"] <= found["median_of_pairs"] <= found["highest"]
    assert (found["verdict"], found["lopsided"]) == (True, False)
    assert ratio(EVEN, HALF, least=2.5)["verdict"] is False
    assert ratio(EVEN, HALF, most=1.15)["verdict"] is False
    assert ratio(HALF, EVEN, most=1.15)["verdict"] is True
    assert ratio(EVEN, HALF)["verdict"] is None


def test_no_verdict_where_minimum_and_median_disagree() -> None:
    assert UNEVEN.spread > 1.5
    for found in (ratio(EVEN, UNEVEN, least=1.0), ratio(UNEVEN, EVEN, most=1.0)):
        assert (found["verdict"], found["lopsided"]) == (None, True)


def test_a_timing_says_what_its_samples_say() -> None:
    timing = EVEN.timing()
    assert timing["samples_ms"] == list(EVEN.samples)
    assert (timing["min_ms"], timing["max_ms"], timing["dropped"]) == (10.0, 10.3, 0)
    assert timing["median_ms"] == pytest.approx(10.1)
    assert timing["spread"] == pytest.approx(1.01)
