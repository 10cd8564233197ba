"""What a prefill and a decode step cost at some lengths: arithmetic on the model's shape, by `kvref.plan.cost`."""

from typing import Any

from gen.experiments.context import FP16, Context
from gen.experiments.model import EXAMPLE_TOKENS
from gen.records import Record
from kvref.plan.cost import Cost, decode_cost, kv_bytes_per_token, parameters, prefill_cost

LENGTHS = (1, 4, 16, 64, 256, 1024)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def records(context: Context) -> list[Record]:
    """The record `cost`, for numbers of two bytes."""
    config = context.config
    longest = config.max_positions
    lengths = [*(tokens for tokens in LENGTHS if tokens < longest), longest]
    example = min(EXAMPLE_TOKENS, longest)
    token = kv_bytes_per_token(config, FP16)
    batched = [decode_cost(config, example, FP16, batch=batch) for batch in BATCHES]
    values = {
        "bytes_per_number": FP16,
        "tokens": lengths,
        "kv_bytes": [tokens * token for tokens in lengths],
        "weight_bytes": parameters(config) * FP16,
        "prefill": _columns([prefill_cost(config, tokens, FP16) for tokens in lengths]),
        "decode": _columns([decode_cost(config, tokens, FP16) for tokens in lengths]),
        "batch": {"context_tokens": example, "sequences": list(BATCHES), **_columns(batched)},
        "longest": {
            "tokens": longest,
            "kv_bytes_fp16": longest * token,
            "kv_to_weights": longest * token / (parameters(config) * FP16),
        },
        "intensity_example": {
            "tokens": example,
            "prefill": float(prefill_cost(config, example, FP16).intensity),
            "decode": float(decode_cost(config, example, FP16).intensity),
        },
    }
    what = (
        "FLOPs, bytes read and written, and FLOPs per byte of one prefill and one decode step, in fp16, by formula: "
        "only scores that the causal mask lets through count"
    )
    return [context.record("cost", "tour", what, values)]


def _columns(costs: list[Cost]) -> dict[str, list[Any]]:
    return {
        "flops": [cost.flops for cost in costs],
        "bytes": [cost.bytes for cost in costs],
        "intensity": [float(cost.intensity) for cost in costs],
    }
