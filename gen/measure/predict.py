"""What a pass should have taken, beside what it took. Knows counts and rates; takes no times.

A prediction is `kvref.plan.cost` with two rates that were measured on the same device: the operations of a large matrix
product a second, and the bytes read or copied a second, whichever was more. It is a lower bound, so most errors are
below zero. Where one is beyond 20 %, the record says why, by this rule:

* Slower than predicted, and the pass was taken apart: its matrix products and its attention were timed alone in the same
  rounds, each is compared with its own prediction, and whatever is left is the rest. The largest excess is the reason:
  `products`, `attention`, `copies` (rows moved by a cache that grows) or `rest` (norms, rotations, activations and the
  cost of calling each operation).
* Faster than predicted: `held-in-caches` if the bytes counted fit in the processor's last cache, else `above-ceiling`.
* Not taken apart: `not-taken-apart`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gen.measure.samples import Series
from kvref.plan.cost import Cost, least_seconds

LARGE_PERCENT = 20.0


@dataclass(frozen=True)
class Ceilings:
    """The most that was measured on a device."""

    flops_per_second: float
    bytes_per_second: float
    copied_bytes_per_second: float  # read and written, both counted
    cache_bytes: int | None = None

    def ms(self, flops: int, moved: int) -> float:
        """The least time for so many operations and bytes."""
        return 1e3 * max(flops / self.flops_per_second, moved / self.bytes_per_second)

    def copy_ms(self, copied: int) -> float:
        """The least time for bytes that are read in one place and written in another."""
        return 1e3 * 2 * copied / self.copied_bytes_per_second


def point(
    taken: Series, cost: Cost, ceilings: Ceilings, parts: Mapping[str, Series] | None = None, copied_bytes: int = 0
) -> dict[str, Any]:
    """One measured pass with its prediction. `parts` are the times of `products`, `attention`, `copies` alone."""
    peak, bandwidth = ceilings.flops_per_second, ceilings.bytes_per_second
    copy_ms = ceilings.copy_ms(copied_bytes)
    predicted_ms = 1e3 * least_seconds(cost, peak, bandwidth) + copy_ms
    error = 100 * (predicted_ms - taken.least) / taken.least
    compute = cost.flops / peak > cost.bytes / bandwidth
    return {
        "measured": taken.timing(),
        "parts": {name: part.timing() for name, part in (parts or {}).items()},
        "predicted": {
            "ms": predicted_ms,
            "limited_by": "compute" if compute else "memory",
            "flops": cost.flops,
            "bytes": cost.bytes,
            "kv_bytes": cost.kv_read_bytes + cost.kv_written_bytes,
            "copied_bytes": copied_bytes,
            "flops_per_second": peak,
            "bytes_per_second": bandwidth,
            "copied_bytes_per_second": ceilings.copied_bytes_per_second,
        },
        "error_percent": error,
        "why": why(taken.least, predicted_ms, cost, ceilings, parts or {}, copied_bytes),
        "intensity": float(cost.intensity),
        "flops_per_second": 1e3 * cost.flops / taken.least,
        "bytes_per_second": 1e3 * cost.bytes / taken.least,
    }


def why(
    measured_ms: float,
    predicted_ms: float,
    cost: Cost,
    ceilings: Ceilings,
    parts: Mapping[str, Series],
    copied_bytes: int = 0,
) -> str | None:
    """The reason for an error beyond 20 %, by the rule above; None within it."""
    if abs(predicted_ms - measured_ms) <= LARGE_PERCENT / 100 * measured_ms:
        return None
    if measured_ms < predicted_ms:
        held = ceilings.cache_bytes is not None and cost.bytes <= ceilings.cache_bytes
        return "held-in-caches" if held else "above-ceiling"
    if not parts:
        return "not-taken-apart"
    kv_bytes = cost.kv_read_bytes + cost.kv_written_bytes
    expected = {
        "products": ceilings.ms(cost.matmul_flops, cost.weight_bytes),
        "attention": ceilings.ms(cost.attention_flops, kv_bytes),
        "copies": ceilings.copy_ms(copied_bytes),
    }
    excess = {name: part.least - expected[name] for name, part in parts.items()}
    excess["rest"] = measured_ms - sum(part.least for part in parts.values())
    return max(excess, key=lambda name: excess[name])
