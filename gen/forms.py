"""From a number to the words a page shows: formats, units, signs, spaces that hold together. Knows no records.

Halves go up and thousands are separated; what is not zero is never written as zero.
"""

import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from gen.errors import UserError

STEPS = {"B": 1, "bytes": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NO_BREAK, NARROW = "\u00a0", "\u202f"  # spaces at which a line is never broken
ROUNDING = Context(prec=400, rounding=ROUND_HALF_UP)
RATES = {"GB/s": 1e9, "GFLOP/s": 1e9, "TFLOP/s": 1e12}
FORMATS = "none, B, bytes, KiB, MiB, GiB, %, sci, text, x, ms, percent, GB/s, GFLOP/s, TFLOP/s, .0f to .9f"


class UnknownKey(UserError):
    """A page asks for a number that no record holds, or in a form that does not fit."""


def shown_as(value: Any, form: str, key: str = "value") -> str:
    """`value` in the words of a page. Raises UnknownKey for an unknown format, or one that does not fit."""
    if form == "text" or (form == "" and isinstance(value, str)):
        return str(value).strip()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UnknownKey(f"key {key!r} holds {value!r}, which is no number: write `{key}|text`.")
    if re.fullmatch(r"\.\df", form):
        return _sign(_fixed(value, int(form[1])))
    if form in STEPS:
        return f"{_short(value / STEPS[form])}{NO_BREAK}{'B' if form == 'bytes' else form}"
    if form in RATES:
        return f"{_three(value / RATES[form])}{NO_BREAK}{form}"
    forms: dict[str, Callable[[float], str]] = {
        "": _short,
        "%": _percent,
        "sci": scientific,
        "x": _ratio,
        "ms": lambda ms: f"{_three(ms)}{NO_BREAK}ms",
        "percent": lambda hundredths: f"{_three(hundredths, 2)}{NARROW}%",
    }
    if form not in forms:
        raise UnknownKey(f"unknown format {form!r} of key {key!r}; known: {FORMATS}.")
    return forms[form](value)


def _short(number: float) -> str:
    """A whole number in full, any other with 4 significant digits; thousands separated."""
    if number == int(number) or abs(number) >= 1000:
        return _sign(f"{number:,.0f}")
    return _sign(f"{number:.4g}") if abs(number) >= 1e-3 else scientific(number)


def _fixed(number: float | Decimal, decimals: int) -> str:
    """With so many decimals, thousands separated. Halves go up, as they are written: what is recorded as 0.125 is 0.13."""
    return f"{ROUNDING.quantize(Decimal(str(number)), Decimal(1).scaleb(-decimals)):,}"


def _three(number: float, digits: int = 3) -> str:
    """With 3 significant digits or as many, a whole number in full; thousands separated."""
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(number)))) if number else 0
    text = _fixed(number, min(decimals, 9))
    return _sign(text.rstrip("0").removesuffix(".") if "." in text else text)


def _percent(share: float) -> str:
    """36.7 %, as in pictures; whole percents without a decimal, and what is not zero never as zero."""
    if 0 < share < 0.0005:
        return f"<{NARROW}0.1{NARROW}%"
    hundredths = Decimal(str(share)).scaleb(2)
    whole = hundredths == hundredths.to_integral_value() or share > 0.9995
    return f"{_sign(_fixed(hundredths, 0 if whole else 1))}{NARROW}%"


def _ratio(number: float) -> str:
    """7.8×, 120×, 0.062×."""
    if abs(number) >= 100:
        return f"{_fixed(number, 0)}×"
    return f"{_sign(_fixed(number, 1).removesuffix('.0') if abs(number) >= 1 else f'{number:.2g}')}×"


def scientific(number: float) -> str:
    """1.2 × 10⁻⁵, in one piece; a power of ten alone as 10⁻⁵."""
    mantissa, _, exponent = f"{number:.1e}".partition("e")
    mantissa = mantissa.removesuffix(".0")
    power = f"10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    return power if mantissa == "1" else f"{_sign(mantissa)}{NO_BREAK}×{NO_BREAK}{power}"


def _sign(digits: str) -> str:
    """A minus sign instead of a hyphen."""
    return digits.replace("-", "\u2212", 1) if digits.startswith("-") else digits
