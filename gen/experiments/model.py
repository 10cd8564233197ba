"""What the model is: its shape, what its cache weighs, and the head that the pages show."""

from typing import Any

from gen.experiments.context import FLOAT32, FP16, Context
from gen.experiments.heads import MAX_WEIGHT_ON_FIRST, SEED_HEAD, page_head, spread
from gen.experiments.recording import head
from gen.records import Record
from kvref.plan.cost import kv_bytes_per_token, parameters

EXAMPLE_TOKENS = 1024


def records(context: Context) -> list[Record]:
    """The record `model`."""
    config = context.config
    count = parameters(config)
    token = {"fp16": kv_bytes_per_token(config, FP16), "float32": kv_bytes_per_token(config, FLOAT32)}
    values = {
        "id": context.facts.id,
        "label": context.facts.label,
        "short_label": context.facts.short_label,
        "licence": context.facts.licence,
        "seeded": context.facts.seeded,
        "architecture": config.architecture,
        "layers": config.layers,
        "query_heads": config.query_heads,
        "kv_heads": config.kv_heads,
        "head_dim": config.head_dim,
        "group_size": config.group_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "vocab_size": config.vocab_size,
        "max_positions": config.max_positions,
        "rope_theta": None if config.rope_theta is None else float(config.rope_theta),
        "parameters": count,
        "weight_bytes": {"fp16": count * FP16, "float32": count * FLOAT32},
        "kv_width": config.kv_heads * config.head_dim,
        "kv_numbers_per_layer": 2 * config.kv_heads * config.head_dim,
        "q_numbers_doubled": 2 * config.query_heads * config.head_dim,
        "kv_bytes_per_token": token,
        "kv_bytes_at_1024": {name: EXAMPLE_TOKENS * size for name, size in token.items()},
        "context_example_tokens": EXAMPLE_TOKENS,
        **_chosen(context),
    }
    what = "The model's shape, the size of its cache, and the head that the pages show"
    return [context.record("model", "tour", what, values)]


def _chosen(context: Context) -> dict[str, Any]:
    """The head, and the rule that chose it with what it left out."""
    found = spread(context.main, context.config)
    layer, number = page_head(context)
    left_out = int((found.weight_on_first > MAX_WEIGHT_ON_FIRST).sum())
    total = found.weight_on_first.numel()
    by_rule = "middle entropy among the heads that are not left out"
    why = "the head of the sketch this tour came from" if context.facts.id in SEED_HEAD else by_rule
    return {
        "chosen": {
            **head(context, layer, number, why),
            "weight_on_first": float(found.weight_on_first[layer, number]),
            "entropy_bits": float(found.entropy_bits[layer, number]),
        },
        "rule": {
            "max_weight_on_first": MAX_WEIGHT_ON_FIRST,
            "heads_total": total,
            "heads_left_out": left_out,
            "share_left_out": left_out / total,
        },
    }
