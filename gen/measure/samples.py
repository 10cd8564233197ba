"""What is kept of repeated timings, and when two of them may be compared. Knows no clock and no torch.

The minimum is what the machine can do, the median what it usually did. Where they lie far apart something else was
running, and no verdict is given. A ratio of two things is taken twice, of the minima and within each round, where both
were timed one after the other.
"""

import statistics
from dataclasses import dataclass
from typing import Any

from gen.measured import LOPSIDED


@dataclass(frozen=True)
class Series:
    """Milliseconds, one a round."""

    samples: tuple[float, ...]
    dropped: int = 0  # rounds that the clock spoilt

    @property
    def least(self) -> float:
        """The fastest."""
        return min(self.samples)

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.samples)

    @property
    def spread(self) -> float:
        """How many times the minimum the median is."""
        return self.median / self.least

    def timing(self) -> dict[str, Any]:
        """As a record holds it."""
        return {
            "samples_ms": list(self.samples),
            "min_ms": self.least,
            "median_ms": self.median,
            "max_ms": max(self.samples),
            "spread": self.spread,
            "dropped": self.dropped,
        }


def ratio(over: Series, under: Series, *, least: float | None = None, most: float | None = None) -> dict[str, Any]:
    """How many times `under` takes `over` takes, and whether that keeps to a bound.

    The verdict is None without a bound, and where minimum and median disagree by more than half.
    """
    paired = [a / b for a, b in zip(over.samples, under.samples, strict=True)]
    best, middle = over.least / under.least, statistics.median(paired)
    lopsided = max(over.spread, under.spread, best / middle, middle / best) > LOPSIDED
    bound = least if least is not None else most
    holds = bound is not None and (best >= bound if least is not None else best <= bound)
    return {
        "of_minima": best,
        "median_of_pairs": middle,
        "lowest": min(paired),
        "highest": max(paired),
        "bound": bound,
        "verdict": None if bound is None or lopsided else holds,
        "lopsided": lopsided,
    }
