"""What a recording is, and when two of them agree. Knows no model, no page and no torch.

A record has an `identity` (what it is and how it was made: compared), `values` (the numbers: compared) and an
`environment` (versions, machine, date: kept, never compared). Comparing follows three rules:

* Integers, strings and structure must match exactly.
* A stored float stands for every number that rounds to it. The deviation of a fresh float is its distance from that
  interval. It may be at most `absolute`, and at most `of_largest` times the largest value of its tensor: all the numbers
  under the same key, whatever their indices.
* Under a key that ends in `_bound`, the stored float is a declared limit and the fresh value is a measurement.
"""

import math
import platform
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from os import environ
from typing import Any

from gen.io import canonical, interval, rounded

ROOM = 2.0  # between instruction sets of one machine these quantities vary by up to 1.8 times
TOLERANCE = {"absolute": 2e-4, "of_largest": 1e-4}
IDENTITY_KEYS = {"what", "page", "command", "model", "revision", "weights_sha256", "seed", "tolerance"}


@dataclass(frozen=True)
class Bound:
    """A quantity that is rounding noise, such as the largest difference between two ways to compute the same logits.

    What is written down is a promise that other machines keep too: the next of 1, 2, 5 × 10ⁿ above `ROOM` times what
    this run measured. A check compares its own measurement with the promise.
    """

    measured: float

    @property
    def declared(self) -> float:
        """The promise."""
        if not math.isfinite(self.measured):
            raise ValueError(f"a bound needs a finite measurement, got {self.measured}")
        least = max(ROOM * self.measured, 1e-6)
        power = math.floor(math.log10(least))
        return next(float(f"{digit}e{power}") for digit in (1, 2, 5, 10) if float(f"{digit}e{power}") >= least)


@dataclass(frozen=True)
class Record:
    """One file of recordings. `id` is its path below the model's folder, without the ending."""

    id: str
    identity: dict[str, Any]
    values: dict[str, Any]

    def document(self, environment: dict[str, Any]) -> bytes:
        """The bytes of the file. Raises ValueError for a NaN, or identity keys that are missing or unknown."""
        if set(self.identity) != IDENTITY_KEYS:
            raise ValueError(f"{self.id}: identity must have {sorted(IDENTITY_KEYS)}, got {sorted(self.identity)}")
        return canonical({"environment": environment, "identity": self.identity, "values": declared(self.values)})


def environment(packages: tuple[str, ...] = ("torch", "tokenizers", "safetensors")) -> dict[str, Any]:
    """Versions, kind of machine and date of this run."""
    epoch = environ.get("SOURCE_DATE_EPOCH")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch and epoch.isdecimal() else datetime.now(UTC)
    return {
        "date": now.date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: _version(name) for name in packages},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def declared(value: Any) -> Any:
    """`value` with every Bound replaced by the limit it declares."""
    if isinstance(value, Bound):
        return float(value.declared)
    if isinstance(value, dict):
        return {key: declared(item) for key, item in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], (dict, list, Bound)):
        return [declared(item) for item in value]
    return value


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
