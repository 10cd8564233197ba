"""When two recordings agree: stored values against those of a fresh run. Knows no files.

* Integers, strings and structure must match exactly.
* A stored float stands for every number that rounds to it. The deviation of a fresh float is its distance from that
  interval. It may be at most `absolute`, and at most `of_largest` times the largest value of its tensor: all the numbers
  under the same key, whatever their indices.
* Under a key that ends in `_bound`, the stored float is a declared limit and the fresh value is a measurement.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gen.io import interval, rounded
from gen.records import Bound


@dataclass
class Comparison:
    """The outcome of comparing stored with fresh values: how many numbers, the worst deviation, what disagrees."""

    numbers: int = 0
    worst: float = 0.0
    worst_key: str = ""
    differences: list[tuple[str, Any, Any]] = field(default_factory=list)  # key, expected, got

    def add(self, other: "Comparison", prefix: str) -> None:
        """Count `other` in, its keys below `prefix`."""
        self.numbers += other.numbers
        if other.worst > self.worst:
            self.worst, self.worst_key = other.worst, f"{prefix}: {other.worst_key}"
        self.differences += [(f"{prefix}: {key}", expected, got) for key, expected, got in other.differences]


def compare(stored: Any, fresh: Any, tolerance: dict[str, float]) -> Comparison:
    """Compare a file's values with a run's (which still holds its full digits and its Bounds)."""
    result = Comparison()
    old, new = _tensors(stored), _tensors(fresh)
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key, []), new.get(key, [])
        if len(before) != len(after):
            result.differences.append((_readable(key), f"{len(before)} entries", f"{len(after)} entries"))
            continue
        _compare_tensor(key, before, after, tolerance, result, stored)
    return result


def _compare_tensor(
    key: str, before: list[Any], after: list[Any], tolerance: dict[str, float], result: Comparison, stored: Any
) -> None:
    """Compare the numbers of one tensor; at most the first of its differences is kept."""
    allowed = -1.0
    for place, (expected, got) in enumerate(zip(before, after, strict=True)):
        if isinstance(expected, (int, float)) and not isinstance(expected, bool):
            result.numbers += 1
        if type(got) is float and type(expected) is float:
            deviation = _deviation(expected, got)
            if deviation == 0.0:
                continue
            if allowed < 0.0:
                allowed = _allowed(after, tolerance)
            if deviation > result.worst:
                result.worst, result.worst_key = deviation, _address(stored, key, place)
            agrees = deviation <= allowed
        elif isinstance(got, Bound):
            agrees = type(expected) is float and got.measured <= expected
            got = f"{got.measured:.4g} measured"
        else:
            agrees = type(expected) is type(got) and expected == got
        if not agrees:
            result.differences.append((_address(stored, key, place), expected, got))
            return


def _deviation(stored: float, fresh: float) -> float:
    """Distance of `fresh` from the numbers that `stored` stands for. What is no finite number is infinitely far."""
    if not (math.isfinite(stored) and math.isfinite(fresh)):
        return math.inf
    if rounded(fresh) == stored:
        return 0.0
    low, high = interval(stored)
    return max(low - fresh, fresh - high, 0.0)


def _allowed(tensor: list[Any], tolerance: dict[str, float]) -> float:
    largest = max((abs(number) for number in tensor if type(number) is float), default=0.0)
    return min(tolerance["absolute"], tolerance["of_largest"] * largest)


def _tensors(value: Any) -> dict[str, list[Any]]:
    """Every leaf, under its key with the indices left out; the length of every list is a leaf of its own."""
    found: dict[str, list[Any]] = {}
    _collect(value, "", found)
    return found


def _collect(value: Any, key: str, found: dict[str, list[Any]]) -> None:
    if isinstance(value, dict):
        found.setdefault(f"{key}{{}}", []).append(" ".join(sorted(value)))
        for name in sorted(value):
            _collect(value[name], f"{key}.{name}", found)
    elif isinstance(value, (list, tuple)):
        found.setdefault(f"{key}#", []).append(len(value))
        if value and type(value[0]) is float:
            found.setdefault(key, []).extend(value)
        else:
            for item in value:
                _collect(item, f"{key}[]", found)
    else:
        found.setdefault(key, []).append(value)


def _readable(key: str) -> str:
    kind = {"#": " (length of the list)", "}": " (keys)"}.get(key[-1:], "")
    return key.rstrip("#").removesuffix("{}").replace("[]", "").lstrip(".") + kind


def _address(stored: Any, wanted: str, place: int) -> str:
    """The full key, with indices, of the leaf that `_collect` put at `place` of `wanted`."""
    for count, address in enumerate(_addresses(stored, "", wanted, "")):
        if count == place:
            return address.lstrip(".") + {"#": " (length of the list)", "}": " (keys)"}.get(wanted[-1], "")
    return _readable(wanted)


def _addresses(value: Any, key: str, wanted: str, address: str) -> Iterator[str]:
    """Walks as `_collect` does."""
    if isinstance(value, dict):
        if f"{key}{{}}" == wanted:
            yield address
        for name in sorted(value):
            yield from _addresses(value[name], f"{key}.{name}", wanted, f"{address}.{name}")
    elif isinstance(value, (list, tuple)):
        if f"{key}#" == wanted:
            yield address
        flat = bool(value) and type(value[0]) is float
        for index, item in enumerate(value):
            yield from _addresses(item, key if flat else f"{key}[]", wanted, f"{address}[{index}]")
    elif key == wanted:
        yield address
