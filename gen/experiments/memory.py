"""How much memory a cache takes: arithmetic on published shapes, and the bytes of caches that were really allocated.

The four models are those of the table on the page; their shapes stand in docs/data/geometry with their sources. What
`kvref.plan.memory` predicts is compared with what every cache of `kvref` holds, exactly.
"""

from collections.abc import Callable
from typing import Any

import torch

from gen import geometry
from gen.errors import CheckFailed
from gen.experiments.context import Context
from gen.experiments.model import EXAMPLE_TOKENS
from gen.records import Record
from kvref import ConcatCache, ContiguousCache, KVManager, NoCache, PagedCache
from kvref.config import ModelConfig
from kvref.plan.geometry import Geometry, Group
from kvref.plan.memory import FORMATS, bytes_per_token, cache_size, weight_bytes

MODELS = ("gpt-2-small", "llama-2-7b", "llama-3-8b", "llama-2-70b")
TOKENS = 4096
REQUESTS = (1, 4, 16)
GROWTH = (0, 1, 2, 4, 8, 16)  # times TOKENS
BLOCK_TOKENS = 16  # so many blocks as make the room of the contiguous cache
DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}  # torch's names: those of kvref.plan.memory
# Llama-3.1-8B has the shape of Llama-3-8B and more positions: max_position_embeddings of its config.json, the "128k" of
# https://github.com/meta-llama/llama-models/blob/main/models/llama3_1/MODEL_CARD.md
LONG: dict[str, Any] = {"name": "Llama-3.1-8B", "shape_of": "llama-3-8b", "tokens": 131_072}


def records(context: Context) -> list[Record]:
    """The record `memory`, in fp16 where it says nothing else."""
    shapes = {name: geometry.geometry(geometry.find(name)) for name in MODELS}
    values = {
        "tokens": TOKENS,
        "bytes_per_number": 2,
        "requests": list(REQUESTS),
        "models": {name: _model(geometry.find(name), shape) for name, shape in shapes.items()},
        "sixteen_requests": _sixteen(shapes["llama-2-7b"]),
        "outgrows": _outgrows(shapes[LONG["shape_of"]]),
        "growth": {
            "tokens": [TOKENS * times for times in GROWTH],
            "bytes": {name: _line(shape) for name, shape in shapes.items()},
        },
        "allocated": _allocated(context),
    }
    what = "Bytes of the KV cache of four published models, by formula, and of caches of this model really allocated"
    return [context.record("memory", "learn/memory", what, values)]


def _model(row: dict[str, Any], shape: Geometry) -> dict[str, Any]:
    """One row of the table, and what it would be with a KV head for each query head."""
    (group,), longest, weights = shape.groups, shape.max_positions, _weights(shape)
    token, every = int(bytes_per_token(shape)), int(bytes_per_token(_ungrouped(shape)))
    assert longest is not None
    return {
        **{name: row[name] for name in ("name", "hf_id", "source", "evidence")},
        "layers": shape.layers,
        "query_heads": shape.query_heads,
        "kv_heads": group.kv_heads,
        "head_dim": group.key_dim,
        "group_size": shape.query_heads // group.kv_heads,
        "kv_bytes_per_token": token,
        "kv_bytes_at_4096": cache_size(shape, TOKENS).bytes,
        "kv_bytes_by_requests": [cache_size(shape, TOKENS, batch=requests).bytes for requests in REQUESTS],
        "beyond_positions": longest < TOKENS,
        "max_positions": longest,
        "kv_bytes_at_longest": cache_size(shape, longest).bytes,
        "kv_to_weights_at_longest": cache_size(shape, longest).bytes / weights,
        "parameters": shape.parameters,
        "weight_bytes_fp16": weights,
        "ungrouped": {
            "kv_bytes_per_token": every,
            "kv_bytes_at_4096": TOKENS * every,
            "kv_bytes_by_requests": [TOKENS * every * requests for requests in REQUESTS],
            "ratio": every // token,
        },
        # Held together by however many requests: the first whole token at which the cache is no smaller than the weights.
        "as_large_as_weights": {"tokens": -(-weights // token), "bytes": -(-weights // token) * token},
    }


def _line(shape: Geometry) -> list[int]:
    return [TOKENS * times * int(bytes_per_token(shape)) for times in GROWTH]


def _sixteen(shape: Geometry) -> dict[str, Any]:
    """Many requests beside the weights, and the first request whose cache no longer is the smaller part."""
    size, weights, requests = cache_size(shape, TOKENS, batch=REQUESTS[-1]), _weights(shape), REQUESTS[-1]
    return {
        "model": "llama-2-7b",
        "requests": requests,
        "tokens_of_each": TOKENS,
        "tokens": requests * TOKENS,
        "kv_bytes": size.bytes,
        "weight_bytes_fp16": weights,
        "kv_to_weights": size.bytes / weights,
        "outgrows_with_requests": int(weights // size.request_bytes) + 1,
    }


def _outgrows(shape: Geometry) -> dict[str, Any]:
    """One sequence that is longer than its model is large."""
    size, weights = cache_size(shape, LONG["tokens"]).bytes, _weights(shape)
    return {**LONG, "kv_bytes": size, "weight_bytes_fp16": weights, "kv_to_weights": size / weights}


def _weights(shape: Geometry) -> int:
    assert shape.parameters is not None
    return weight_bytes(shape.parameters)


def _ungrouped(shape: Geometry) -> Geometry:
    """The same model with a KV head for each query head."""
    (group,) = shape.groups
    return _plain(shape.name, shape.layers, shape.query_heads, shape.query_heads, group.key_dim)


def _plain(name: str, layers: int, query_heads: int, kv_heads: int, head_dim: int) -> Geometry:
    return Geometry(name, layers, query_heads, (Group(layers, kv_heads, head_dim, head_dim),))


# --- what is really allocated -------------------------------------------------------------------------------------------

Made = Callable[[ModelConfig, torch.dtype], Any]



def _paged(config: ModelConfig, dtype: torch.dtype) -> Any:
    manager = KVManager(EXAMPLE_TOKENS // BLOCK_TOKENS, BLOCK_TOKENS)
    return PagedCache(config, manager, dtype=dtype).sequence("the recording")


# Each way to keep rows: how it is made, and for how many tokens it then has room.
CACHES: dict[str, tuple[Made, Callable[[int], int]]] = {
    "contiguous": (lambda config, dtype: ContiguousCache(config, EXAMPLE_TOKENS, dtype=dtype), lambda _: EXAMPLE_TOKENS),
    "paged": (_paged, lambda _: EXAMPLE_TOKENS),
    "concat": (lambda config, dtype: ConcatCache(config, dtype=dtype), lambda tokens: tokens),
    "none": (lambda config, _: NoCache(config), lambda _: 0),
}


def _allocated(context: Context) -> dict[str, Any]:
    """Every cache in every number format, filled with the tokens of the main recording: bytes foretold and bytes held."""
    config, tokens = context.config, context.main.total_tokens
    shape = _plain(context.facts.id, config.layers, config.query_heads, config.kv_heads, config.head_dim)
    found: dict[str, Any] = {"tokens": tokens}
    for name, (make, room) in CACHES.items():
        slots = room(tokens)
        found[name] = {"slots": slots}
        for dtype, stored in DTYPES.items():
            predicted = cache_size(shape, slots, stored=FORMATS[stored]).bytes if slots else 0
            held = _filled(make(config, getattr(torch, dtype)), config, tokens, getattr(torch, dtype))
            if held != predicted:
                raise CheckFailed(f"the cache {name!r} in {dtype} holds {held:,} bytes; {predicted:,} were foretold.")
            found[name][dtype] = {"predicted_bytes": predicted, "allocated_bytes": held}
    return found


def _filled(cache: Any, config: ModelConfig, tokens: int, dtype: torch.dtype) -> int:
    """Bytes that a cache holds once `tokens` rows are in every layer. Their size does not depend on what stands in them."""
    cache.begin(torch.arange(tokens) % config.vocab_size)
    rows = torch.zeros(tokens, config.kv_heads, config.head_dim, dtype=dtype)
    for layer in range(config.layers):
        cache.append(layer, rows, rows)
    cache.commit(tokens)
    return int(cache.nbytes)
