"""What limits a pass, by closed forms: FLOPs and bytes on a grid of batches and contexts, and what devices allow at best.

Counts by `kvref.plan.cost` for the site's model and for one that is served on such devices; peaks and bandwidths from
docs/data/geometry/devices.json. Every time in it is a lower bound and every rate an upper one: nothing was measured.
"""

from fractions import Fraction
from typing import Any

from gen import geometry, io
from gen.errors import CheckFailed, UserError
from gen.experiments.context import FP16, Context
from gen.paths import PUBLISHED
from gen.records import Record
from kvref.config import ModelConfig
from kvref.plan import cost
from kvref.plan.cost import Cost, decode_cost, prefill_cost
from kvref.plan.memory import requests_that_fit

BATCHES = tuple(2**power for power in range(9))  # 1 to 256
CONTEXTS = tuple(2**power for power in range(4, 16))  # 16 to 32,768
TERA, GIGA = 1e12, 1e9
OWN = 8192  # the site's model is shown up to here
SERVED = "llama-3-8b"
# What its row of docs/data/geometry does not hold: sizes of the matrices, of the source that the row names.
SERVED_CONFIG = ModelConfig("llama", 128_256, 4096, 32, 32, 8, 128, 14_336, 8192, 1e-5, rope_theta=500_000.0, tied_head=False)
LEFT_EDGE, RIGHT_EDGE = 0.5, 65_536.0  # FLOPs per byte between which all passes of the grid lie
COUNTED = ("flops", "bytes", "intensity", "kv_bytes", "kv_share")
DEVICES = PUBLISHED.data / "geometry" / "devices.json"
EXAMPLE: dict[str, Any] = {"device": "h100-sxm", "context_tokens": 4096, "batch": 64, "short_tokens": 16, "long_tokens": 32_768}


def records(context: Context) -> list[Record]:
    """The record `bound`, in fp16."""
    devices = device_table()
    own = _model(context.config, context.facts.short_label, [tokens for tokens in CONTEXTS if tokens <= OWN], devices)
    served = _model(served_config(), geometry.find(SERVED)["name"], list(CONTEXTS), devices)
    values = {
        "bytes_per_number": FP16,
        "batches": list(BATCHES),
        "devices": {name: _device(row) for name, row in devices.items()},
        "models": {"own": own, SERVED: served},
        "example": _example(served, devices[EXAMPLE["device"]], geometry.find(SERVED)["name"]),
    }
    what = (
        "FLOPs, bytes and lower bounds on the time of prefills and decode steps on a grid, in fp16, by formula: only scores "
        "that the causal mask lets through count"
    )
    return [context.record("bound", "learn/bound", what, values)]


def device_table() -> dict[str, dict[str, Any]]:
    """The table of devices. Raises UserError if it is missing or damaged."""
    table = io.read(DEVICES)
    try:
        found: dict[str, dict[str, Any]] = table["values"]["devices"]
    except (KeyError, TypeError):
        raise UserError("docs/data/geometry/devices.json is not the table of devices; `git checkout` it.") from None
    return found


def served_config() -> ModelConfig:
    """The model of the example, once its sizes are seen to give the parameters of its row."""
    row = geometry.find(SERVED)
    found, expected = cost.parameters(SERVED_CONFIG), row["parameters"]["total"]
    if found != expected or cost.kv_bytes_per_token(SERVED_CONFIG, FP16) != row["stated"]["fp16_bytes_per_token"]:
        raise CheckFailed(f"{SERVED}: the matrices have {found:,} parameters, its row says {expected:,}.")
    return SERVED_CONFIG


def _device(row: dict[str, Any]) -> dict[str, Any]:
    """A device as two numbers, where its roof bends, and the roof itself from the left to the right edge of the picture."""
    peak, bandwidth = row["peak_flops"], row["bandwidth_bytes_per_second"]
    bend = cost.ridge(peak, bandwidth)
    edges = (LEFT_EDGE, bend, RIGHT_EDGE)
    return {
        **{name: row[name] for name in ("name", "peak_flops", "bandwidth_bytes_per_second", "memory_bytes", "sources")},
        "peak_tflops": peak / TERA,
        "bandwidth_gb_per_second": bandwidth / GIGA,
        "ridge": bend,
        "critical_batch": cost.critical_batch(peak, bandwidth, FP16),
        "roof": {"intensity": list(edges), "flops_per_second": [float(min(peak, edge * bandwidth)) for edge in edges]},
    }


def _model(config: ModelConfig, name: str, contexts: list[int], devices: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """One model on the grid: lists by context, and of these lists by batch for decode steps."""
    prefills = [prefill_cost(config, tokens, FP16) for tokens in contexts]
    steps = [[decode_cost(config, tokens, FP16, batch=batch) for batch in BATCHES] for tokens in contexts]
    return {
        "name": name,
        "contexts": contexts,
        "max_positions": config.max_positions,
        "parameters": cost.parameters(config),
        "kv_bytes_per_token": cost.kv_bytes_per_token(config, FP16),
        "weight_bytes_read": prefills[0].weight_bytes,
        "prefill": _counts(prefills),
        "decode": {key: [_counts(row)[key] for row in steps] for key in COUNTED},
        "intensity_limit": [_marginal(config, tokens) for tokens in contexts],
        "on": {name: _on(row, config, contexts, prefills, steps) for name, row in devices.items()},
    }


def _counts(costs: list[Cost]) -> dict[str, list[Any]]:
    cached = [one.kv_read_bytes + one.kv_written_bytes for one in costs]
    return {
        "flops": [one.flops for one in costs],
        "bytes": [one.bytes for one in costs],
        "intensity": [float(one.intensity) for one in costs],
        "kv_bytes": cached,
        "kv_share": [part / one.bytes for part, one in zip(cached, costs, strict=True)],
    }


def _marginal(config: ModelConfig, tokens: int) -> float:
    """FLOPs for each byte of one more sequence in the batch: what no batch, however large, exceeds."""
    one, two = (decode_cost(config, tokens, FP16, batch=batch) for batch in (1, 2))
    return (two.flops - one.flops) / (two.bytes - one.bytes)


def _on(
    row: dict[str, Any], config: ModelConfig, contexts: list[int], prefills: list[Cost], steps: list[list[Cost]]
) -> dict[str, Any]:
    """What a device allows at best, and how many requests its memory holds beside the weights."""
    weights, token = cost.parameters(config) * FP16, cost.kv_bytes_per_token(config, FP16)
    fit = [requests_that_fit(row["memory_bytes"], weights, Fraction(tokens * token)) for tokens in contexts]
    return {
        "prefill": _limits(row, prefills),
        "decode": {key: [_limits(row, list_of)[key] for list_of in steps] for key in ("flops_per_second", "limited_by", "ms")},
        "tokens_per_second": [
            [batch / _seconds(row, step) for batch, step in zip(BATCHES, list_of, strict=True)] for list_of in steps
        ],
        "requests_that_fit": fit,
    }


def _seconds(row: dict[str, Any], one: Cost) -> float:
    return cost.least_seconds(one, row["peak_flops"], row["bandwidth_bytes_per_second"])


def _limits(row: dict[str, Any], costs: list[Cost]) -> dict[str, list[Any]]:
    """The highest rate, what limits it, and the least time of each pass."""
    bend = cost.ridge(row["peak_flops"], row["bandwidth_bytes_per_second"])
    seconds = [_seconds(row, one) for one in costs]
    return {
        "flops_per_second": [one.flops / least for one, least in zip(costs, seconds, strict=True)],
        "limited_by": ["compute" if one.intensity >= bend else "memory" for one in costs],
        "ms": [1000 * least for least in seconds],
    }


def _example(model: dict[str, Any], device: dict[str, Any], name: str) -> dict[str, Any]:
    """The cells of the grid that the page speaks of."""
    batch, row = BATCHES.index(EXAMPLE["batch"]), model["contexts"].index(EXAMPLE["context_tokens"])
    where = model["on"][EXAMPLE["device"]]
    step = {"one": (row, 0), "batched": (row, batch)}
    step |= {size: (model["contexts"].index(EXAMPLE[f"{size}_tokens"]), 0) for size in ("short", "long")}
    return {
        **EXAMPLE,
        "model": name,
        "device": device["name"],
        "prefill": {
            "intensity": model["prefill"]["intensity"][row],
            "flops": model["prefill"]["flops"][row],
            "tflop": model["prefill"]["flops"][row] / TERA,
            "ttft_ms": where["prefill"]["ms"][row],
        },
        **{size: _step(model, where, *at) for size, at in step.items()},
        "gain": {
            "tokens": where["tokens_per_second"][row][batch] / where["tokens_per_second"][row][0],
            "ms": where["decode"]["ms"][row][batch] / where["decode"]["ms"][row][0],
        },
        "intensity_limit": model["intensity_limit"][row],
        "requests_that_fit": where["requests_that_fit"][row],
    }


def _step(model: dict[str, Any], where: dict[str, Any], row: int, batch: int) -> dict[str, Any]:
    return {
        **{key: model["decode"][key][row][batch] for key in COUNTED},
        "gigabytes": model["decode"]["bytes"][row][batch] / GIGA,
        "itl_ms": where["decode"]["ms"][row][batch],
        "tokens_per_second": where["tokens_per_second"][row][batch],
    }
