"""What a number must be before anything is computed from it: one sentence with its name, what was expected, what came.

Called by keyword, so that the name in the sentence is the argument's own. Knows nothing about tensors.
"""

import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

_SEQUENCES = (list, tuple, Sequence)  # a list is seen at once
_TEXTS = (str, bytes)


def whole(least: int = 1, /, **values: Any) -> None:
    """Refuse what is no whole number of at least ``least``; True and 2.0 are none."""
    for name, value in values.items():
        if type(value) is not int or value < least:
            raise ValueError(f"{name}: expected a whole number of at least {least}, got {short(value)}.")


def positive(**values: Any) -> None:
    """Refuse what is no finite number above 0, or none that a float can be."""
    for name, value in values.items():
        number = isinstance(value, int | float | Fraction) and not isinstance(value, bool)
        if not (number and 0 < value <= sys.float_info.max and float(value) > 0):
            raise ValueError(f"{name}: expected a finite number above 0, got {short(value)}.")


def truth(**values: Any) -> None:
    """Refuse what is neither True nor False."""
    for name, value in values.items():
        if not isinstance(value, bool):
            raise ValueError(f"{name}: expected true or false, got {short(value)}.")


def ids(least: int = 0, /, **values: Any) -> None:
    """Refuse what is no sequence of at least ``least`` token ids, each a whole number of at least 0."""
    for name, value in values.items():
        if not isinstance(value, _SEQUENCES) or isinstance(value, _TEXTS):
            raise ValueError(f"{name}: expected a sequence of token ids, got {short(value)}.")
        if len(value) < least:
            raise ValueError(f"{name}: expected at least {least} token ids, got {len(value)}.")
        for one in value:
            if type(one) is not int or one < 0:
                raise ValueError(f"{name}: expected whole numbers of at least 0, got {short(one)}.")


def short(value: Any) -> str:
    """A value as a sentence can show it: at most 80 characters of it."""
    try:
        text = repr(value)
    except ValueError:  # Python writes out no whole number of more than 4300 digits
        text = f"one {type(value).__name__} that is too long to show"
    return text if len(text) <= 80 else text[:77] + "..."
