"""Prefills, and the matrix products alone: measured on any device, with whatever model is given."""

from typing import Any

import torch

from gen.measure import work
from gen.measure.bench import Bench
from gen.measure.clock import Lane
from gen.measure.predict import point
from kvref.cache.contiguous import ContiguousCache
from kvref.generate import prefill
from kvref.plan import cost


def products(bench: Bench) -> dict[str, Any]:
    """Values of the record `products`: all matrices of the model once, for one row and for many."""
    model, config, size = bench.model, bench.config, bench.model.dtype.itemsize
    weights = cost.layer_matmul_parameters(config) + cost.head_parameters(config)
    at = {}
    for rows in bench.sizes.rows:
        taken = bench.compare(f"{rows} rows", {"products": bench.launched(work.products(model, rows))})["products"]
        flops, rate = 2 * rows * weights, 1e3 / taken.least
        at[str(rows)] = {
            "measured": taken.timing(),
            "flops": flops,
            "flops_per_second": flops * rate,
            "bytes_per_second": weights * size * rate,
            "of_peak": flops * rate / bench.ceilings.flops_per_second,
            "of_bandwidth": weights * size * rate / bench.ceilings.bytes_per_second,
        }
    matrices = 1 + sum(1 for _ in work.linears(model))
    about = {"matrices": matrices, "weight_bytes": weights * size, "layout": bench.layout}
    return {**bench.facts, **about, "rows": list(bench.sizes.rows), "at": at}


def prefills(bench: Bench) -> dict[str, Any]:
    """Values of the record `prefill`: a prompt in one pass, against its length."""
    at, left_out = {}, []
    for tokens in bench.within(bench.sizes.prompts):
        size = _needed_bytes(bench, tokens)
        if why := bench.obstacle(size):
            left_out.append({"tokens": tokens, "needed_bytes": size, "why": why})
            continue
        at[str(tokens)] = _prefill(bench, tokens)
    return {**bench.facts, "tokens": [int(tokens) for tokens in at], "at": at, "left_out": left_out}


def _needed_bytes(bench: Bench, tokens: int) -> int:
    """Of the cache and, about, of the widest rows while they are at hand: gate, up, their product and some more."""
    config, size = bench.config, bench.model.dtype.itemsize
    return tokens * (cost.kv_bytes_per_token(config, size) + size * (5 * config.intermediate_size + 8 * config.hidden_size))


def _prefill(bench: Bench, tokens: int) -> dict[str, Any]:
    model = bench.model
    cache = ContiguousCache(model.config, tokens, dtype=model.dtype, device=model.device)
    ids = work.some_ids(model.config, tokens, model.device)
    lanes = {
        "prefill": Lane(lambda: prefill(model, cache, ids), before=lambda: cache.truncate(0)),
        "products": bench.launched(work.products(model, tokens, head_rows=1)),
        "attention": bench.launched(work.prompt_attention(model, tokens)),
    }
    with torch.inference_mode():
        taken = bench.compare(f"{tokens} tokens", lanes)
    whole = taken.pop("prefill")
    counted = cost.prefill_cost(model.config, tokens, model.dtype.itemsize)
    measured = point(whole, counted, bench.ceilings, taken)
    return {**measured, "tokens_per_second": 1e3 * tokens / whole.least}
