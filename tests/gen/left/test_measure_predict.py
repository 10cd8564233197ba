"""Predictions beside measurements: the error, and the reason for a large one by its rule."""

import pytest

from gen.measure.predict import Ceilings, point, why
from gen.measure.samples import Series
from kvref.plan.cost import Cost

# 100 ms of operations, 50 ms of bytes.
COST = Cost(80_000_000, 20_000_000, weight_bytes=4_000_000, kv_read_bytes=1_000_000, kv_written_bytes=0)
CEILINGS = Ceilings(flops_per_second=1e9, bytes_per_second=1e8, copied_bytes_per_second=2e8, cache_bytes=1_000_000)


def series(ms: float) -> Series:
    return Series((ms,) * 8)


def test_a_prediction_holds_its_inputs_and_its_error() -> None:
    found = point(series(110.0), COST, CEILINGS)
    assert found["predicted"]["ms"] == pytest.approx(100.0)
    assert found["predicted"]["limited_by"] == "compute"
    assert (found["predicted"]["flops"], found["predicted"]["bytes"]) == (100_000_000, 5_000_000)
    assert found["error_percent"] == pytest.approx(100 * (100 - 110) / 110)
    assert found["why"] is None
    assert found["flops_per_second"] == pytest.approx(1e8 / 0.110)
    assert found["intensity"] == pytest.approx(20.0)


def test_copies_come_on_top() -> None:
    found = point(series(150.0), COST, CEILINGS, copied_bytes=5_000_000)
    assert found["predicted"]["ms"] == pytest.approx(150.0)
    assert found["predicted"]["copied_bytes"] == 5_000_000


@pytest.mark.parametrize(
    ("ms", "parts", "copied", "reason"),
    [
        (124.0, {}, 0, None),
        (126.0, {}, 0, "not-taken-apart"),
        (300.0, {"products": 200.0, "attention": 40.0}, 0, "products"),
        (300.0, {"products": 90.0, "attention": 170.0}, 0, "attention"),
        (300.0, {"products": 90.0, "attention": 25.0}, 0, "rest"),
        (400.0, {"products": 90.0, "attention": 25.0, "copies": 280.0}, 5_000_000, "copies"),
        (70.0, {"products": 60.0}, 0, "above-ceiling"),
    ],
)
def test_a_large_error_has_a_reason_by_rule(ms: float, parts: dict[str, float], copied: int, reason: str | None) -> None:
    predicted = 100.0 + CEILINGS.copy_ms(copied)
    assert why(ms, predicted, COST, CEILINGS, {name: series(part) for name, part in parts.items()}, copied) == reason


def test_what_fits_in_the_caches_may_be_faster_than_memory() -> None:
    small = Cost(matmul_flops=0, attention_flops=0, weight_bytes=500_000, kv_read_bytes=0, kv_written_bytes=0)
    assert why(1.0, 5.0, small, CEILINGS, {}) == "held-in-caches"
    unknown = Ceilings(1e9, 1e8, 2e8, cache_bytes=None)
    assert why(1.0, 5.0, small, unknown, {}) == "above-ceiling"
