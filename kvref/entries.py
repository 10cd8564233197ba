"""One entry of a ``config.json`` at a time, each of its type or a sentence that names it. Knows no families."""

import math
import sys
from collections.abc import Mapping
from typing import Any

from kvref.errors import CheckpointError


def size(raw: Mapping[str, Any], key: str, default: int | None = None, most: int = 2**40) -> int:
    """A whole number of at least 1; absent and null mean the default."""
    value = first(raw.get(key), default)
    if value is None:
        raise KeyError(key)
    if type(value) is not int or not 1 <= value <= most:  # not isinstance: True is an int
        raise CheckpointError(f"config: {key} must be a whole number from 1 to {most:,}, got {value!r}.")
    return int(value)


def number(raw: Mapping[str, Any], key: str, default: float | None = None) -> float:
    """A number; absent and null mean the default. Whether it is above 0 is asked of the whole configuration."""
    value = first(raw.get(key), default)
    if value is None:
        raise KeyError(key)
    if type(value) not in (int, float) or abs(value) > sys.float_info.max:
        raise CheckpointError(f"config: {key} must be a number, got {value!r}.")
    return float(value)


def above_zero(name: str, number: int | float) -> None:
    """Refuse what is no size or rate."""
    if not 0 < number < math.inf:
        raise CheckpointError(f"config: {name} must be a number above 0, got {number!r}.")


def flag(raw: Mapping[str, Any], key: str, default: bool) -> bool:
    """True or false; absent and null mean the default."""
    value = first(raw.get(key), default)
    if type(value) is not bool:
        raise CheckpointError(f"config: {key} must be true or false, got {value!r}.")
    return value


def mapping(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Entries inside an entry; absent and null mean none."""
    found = first(raw.get(key), {})
    if not isinstance(found, Mapping):
        raise CheckpointError(f"config: {key} must be an object, got {found!r}.")
    return found


def require(raw: Mapping[str, Any], key: str, default: Any, *, allowed: tuple[Any, ...]) -> None:
    """Refuse a choice that is not implemented."""
    value = raw.get(key, default)
    if value not in allowed:
        raise CheckpointError(f"config: {key} = {value!r} is not implemented; known: {allowed[0]!r}.")


def first(*values: Any) -> Any:
    """The first that is not None."""
    return next((value for value in values if value is not None), None)
