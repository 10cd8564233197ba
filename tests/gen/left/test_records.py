"""When two recordings agree."""

import copy
import json
from typing import Any

import pytest

from gen import io
from gen.compare import compare
from gen.records import TOLERANCE, Bound, Record, declared

FRESH: dict[str, Any] = {
    "k": [[0.123456, -1.75], [0.5, 2.0]],
    "steps": [{"id": 5, "p": 0.33333, "text": "a"}, {"id": 7, "p": 0.1, "text": "b"}],
    "ragged": [[1.0], [0.25, 0.75]],
    "name": "x",
    "nothing": None,
    "noise_bound": Bound(3e-5),
}
STORED = json.loads(io.canonical(declared(FRESH)))


def test_a_run_agrees_with_its_own_file():
    found = compare(STORED, FRESH, TOLERANCE)
    assert found.differences == []
    assert found.worst == 0.0
    assert found.numbers > 10


def test_rounding_is_no_deviation_and_what_lies_beyond_is_counted():
    fresh = copy.deepcopy(FRESH)
    fresh["k"][0][0] = 0.12354  # stored 0.1235 stands for 0.12345 to 0.12355
    assert compare(STORED, fresh, TOLERANCE).worst == 0.0
    fresh["k"][0][0] = 0.12357
    found = compare(STORED, fresh, TOLERANCE)
    assert found.worst == pytest.approx(2e-5)
    assert found.worst_key == "k[0][0]"
    assert found.differences == []


def test_a_shift_by_ten_tolerances_is_named():
    for at, key in (((0, 0), "k[0][0]"), ((1, 1), "k[1][1]")):
        fresh = copy.deepcopy(FRESH)
        fresh["k"][at[0]][at[1]] += 10 * min(TOLERANCE["absolute"], TOLERANCE["of_largest"] * 2.0)
        assert [entry[0] for entry in compare(STORED, fresh, TOLERANCE).differences] == [key]


def test_the_tolerance_shrinks_with_the_tensor():
    stored = {"small": [0.001, 0.002]}
    assert compare(stored, {"small": [0.001, 0.0021]}, TOLERANCE).differences
    assert not compare({"large": [9000.0]}, {"large": [9000.5001]}, TOLERANCE).differences
    assert compare({"large": [9000.0]}, {"large": [9000.6]}, TOLERANCE).differences


CHANGES: dict[str, tuple[Any, str]] = {
    "integer": (lambda v: v["steps"][1].update(id=8), "steps[1].id"),
    "text": (lambda v: v["steps"][0].update(text="c"), "steps[0].text"),
    "integer to float": (lambda v: v["steps"][0].update(id=5.0), "steps[0].id"),
    "text to truth": (lambda v: v.update(name=True), "name"),
    "nothing to zero": (lambda v: v.update(nothing=0), "nothing"),
    "longer": (lambda v: v["ragged"][1].append(0.5), "ragged"),
    "shorter": (lambda v: v["k"].pop(), "k"),
    "key gone": (lambda v: v.pop("name"), "name"),
    "key more": (lambda v: v.update(extra=1), "extra"),
    "no number": (lambda v: v["k"][0].__setitem__(0, float("nan")), "k[0][0]"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_everything_else_must_match(case: str):
    change, key = CHANGES[case]
    fresh = copy.deepcopy(FRESH)
    change(fresh)
    assert any(found.startswith(key) for found, _, _ in compare(STORED, fresh, TOLERANCE).differences)


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_a_stored_number_that_is_none_disagrees(number: float):
    assert [key for key, _, _ in compare({"a": [number]}, {"a": [1.0]}, TOLERANCE).differences] == ["a[0]"]


def test_a_bound_is_a_promise_about_the_measurement():
    assert STORED["noise_bound"] == 1e-4
    assert not compare({"a_bound": 1e-4}, {"a_bound": Bound(9.9e-5)}, TOLERANCE).differences
    ((key, expected, got),) = compare({"a_bound": 1e-4}, {"a_bound": Bound(1.1e-4)}, TOLERANCE).differences
    assert (key, expected) == ("a_bound", 1e-4)
    assert "measured" in got
    assert compare({"a_bound": 1e-4}, {"a_bound": Bound(float("nan"))}, TOLERANCE).differences


@pytest.mark.parametrize(("measured", "promised"), [(0.0, 1e-6), (1.1e-5, 5e-5), (2.5e-5, 5e-5), (6e-5, 2e-4), (2e-4, 5e-4)])
def test_promises_are_round_and_above_twice_the_measurement(measured: float, promised: float):
    assert Bound(measured).declared == promised


def test_an_identity_must_be_complete():
    with pytest.raises(ValueError, match="identity must have"):
        Record("x", {"what": "?"}, {}).document({})
