"""One written form for the same values, and files that are whole or not there."""

import errno
import math
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen import io
from gen.errors import UserError

FINITE = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12)


def test_the_same_values_give_the_same_bytes():
    one = io.canonical({"b": [1, 2.0, None, True], "a": {"y": "ü", "x": 0.1 + 0.2}})
    other = io.canonical({"a": {"x": 0.30000000000000004, "y": "ü"}, "b": [1, 2.0, None, True]})
    assert one == other == '{"a":{"x":0.3,"y":"ü"},"b":[1,2.0,null,true]}\n'.encode()


def test_floats_keep_four_significant_digits_and_integers_all_of_theirs():
    assert io.canonical([123456.0, 0.000123456, -0.0, 1 / 3, 123456]) == b"[123500.0,0.0001235,0.0,0.3333,123456]\n"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_is_refused_by_name(bad: float):
    with pytest.raises(ValueError, match=r"a\[1\]\.x"):
        io.canonical({"a": [{"x": 1.0}, {"x": bad}]})
    with pytest.raises(ValueError, match=r"a\[2\]"):
        io.canonical({"a": [1.0, 2.0, bad]})


def test_foreign_types_are_refused():
    with pytest.raises(ValueError, match="plain data, got set"):
        io.canonical({"a": {1, 2}})


@given(FINITE)
def test_a_number_lies_in_the_interval_of_its_rounding(number: float):
    low, high = io.interval(io.rounded(number))
    slack = 1e-9 * abs(number)
    assert low - slack <= number <= high + slack


@given(FINITE.filter(lambda number: abs(number) > 1e-9))
def test_the_interval_is_no_wider_than_the_rounding(number: float):
    stored = io.rounded(number)
    low, high = io.interval(stored)
    assert high - low <= 1.001 * 10.0 ** (math.floor(math.log10(abs(stored))) - 3)


def test_below_a_power_of_ten_numbers_lie_closer():
    assert io.interval(1.0) == (0.99995, 1.0005)
    assert io.interval(-1.0) == (-1.0005, -0.99995)
    assert io.interval(0.0) == (0.0, 0.0)


def test_a_file_is_written_only_if_its_bytes_change(tmp_path: Path):
    path = tmp_path / "deep" / "x.json"
    assert io.write(path, b"1\n")
    os.utime(path, (1, 1))
    assert not io.write(path, b"1\n")
    assert path.stat().st_mtime == 1
    assert io.write(path, b"2\n")
    assert path.read_bytes() == b"2\n"
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_full_disk_leaves_the_old_file_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "x.json"
    io.write(path, b"old\n")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("gen.io.os.replace", full)
    with pytest.raises(UserError, match="disk is full"):
        io.write(path, b"new\n")
    assert path.read_bytes() == b"old\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_or_broken_file_is_one_sentence(tmp_path: Path):
    with pytest.raises(UserError, match=r"x\.json is missing"):
        io.read(tmp_path / "x.json")
    (tmp_path / "x.json").write_text('{"a":')
    with pytest.raises(UserError, match="cannot be read as JSON"):
        io.read(tmp_path / "x.json")
