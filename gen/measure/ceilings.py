"""The most that a device does: bytes read and copied a second, and operations of a large matrix product.

Predictions are made with these, not with what a vendor states.
"""

from typing import Any

import torch

from gen.measure.bench import Bench, name_of
from gen.measure.clock import Lane
from gen.measure.predict import Ceilings
from gen.measure.samples import Series
from gen.measured import above_zero


def measure(bench: Bench, dtypes: tuple[torch.dtype, ...]) -> dict[str, Any]:
    """Values of the record `ceilings`."""
    moved, size = bench.sizes.moved_bytes, bench.sizes.square
    source = torch.ones(moved // 4, device=bench.device)
    target = torch.ones_like(source)
    lanes = {
        "sum": Lane(source.sum),
        "dot": Lane(lambda: torch.dot(source, target)),
        "copy": Lane(lambda: target.copy_(source)),
    }
    taken = bench.compare("bandwidth", lanes)
    products = [(name_of(dtype), _product(bench, size, dtype)) for dtype in dtypes]
    # A dot product reads twice the bytes of a sum; whichever reads faster is the ceiling.
    read = {"sum": moved, "dot": 2 * moved}
    rates = {name: 1e3 * count / taken[name].least for name, count in read.items()}
    return {
        "moved_bytes": moved,
        "read": {
            "by": max(rates, key=lambda name: rates[name]),
            "bytes_per_second": max(rates.values()),
            "sum": taken["sum"].timing(),
            "dot": taken["dot"].timing(),
        },
        "copy": {
            "bytes_per_second": 2e3 * moved / taken["copy"].least,
            "measured": taken["copy"].timing(),
        },
        "products": {name: _square(size, series) for name, series in products},
    }


def _product(bench: Bench, size: int, dtype: torch.dtype) -> Series:
    left, right = (torch.randn(size, size, device=bench.device).to(dtype) for _ in range(2))
    result = torch.empty_like(left)
    lane = Lane(lambda: torch.mm(left, right, out=result))
    return bench.compare(f"square {name_of(dtype)}", {"square": lane})["square"]


def _square(size: int, taken: Series) -> dict[str, Any]:
    """Two operations for each of size³ pairs of numbers."""
    return {"size": size, "flops_per_second": 2e3 * size**3 / taken.least, "measured": taken.timing()}


def of_record(values: dict[str, Any], dtype: torch.dtype, cache_bytes: int | None) -> Ceilings | None:
    """The ceilings that a record holds for one kind of numbers; None if it does not, as after an edit by hand."""
    try:
        rates = [values["read"]["bytes_per_second"], values["copy"]["bytes_per_second"]]
        rates.append(values["products"][name_of(dtype)]["flops_per_second"])
    except (KeyError, TypeError):
        return None
    if not all(above_zero(rate) for rate in rates):
        return None
    read, copied, flops = rates
    return Ceilings(
        flops_per_second=flops,
        bytes_per_second=max(read, copied),
        copied_bytes_per_second=copied,
        cache_bytes=cache_bytes,
    )
