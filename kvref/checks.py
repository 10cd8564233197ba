"""What a number must be before anything is computed from it: one sentence with its name, what was expected, what came.

Called by keyword, so that the name in the sentence is the argument's own. Knows nothing about tensors.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Any

_SEQUENCES = (list, tuple, Sequence)  # a list is seen at once
_TEXTS = (str, bytes)


def whole(least: int = 1, /, **values: Any) -> None:
    """Refuse what is no whole number of at least ``least``; True and 2.0 are none."""
    for name, value in values.items():
        if type(value) is not int or value < least:
            raise ValueError(f"{name}: expected a whole number of at least {least}, got {value!r}.")


def positive(**values: Any) -> None:
    """Refuse what is no finite number above 0."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or not 0 < value < inf:
            raise ValueError(f"{name}: expected a finite number above 0, got {value!r}.")


def ids(least: int = 0, /, **values: Any) -> None:
    """Refuse what is no sequence of at least ``least`` token ids, each a whole number of at least 0."""
    for name, value in values.items():
        if not isinstance(value, _SEQUENCES) or isinstance(value, _TEXTS):
            raise ValueError(f"{name}: expected a sequence of token ids, got {value!r}.")
        if len(value) < least:
            raise ValueError(f"{name}: expected at least {least} token ids, got {len(value)}.")
        for one in value:
            if type(one) is not int or one < 0:
                raise ValueError(f"{name}: expected whole numbers of at least 0, got {one!r}.")
