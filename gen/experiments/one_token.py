"""The same request without a cache and with one: what each lane computes, counted while it runs.

Rows and score cells are the shapes that a tap sees, FLOPs are counted by torch, and both are compared with the formulas
of `kvref.plan.cost`. The lanes must write the same tokens; how far their logits differ is recorded as a bound.
"""

from dataclasses import dataclass
from math import ceil
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from gen.errors import CheckFailed
from gen.experiments.context import FLOAT32, FP16, Context
from gen.experiments.trace import Trace
from gen.records import Bound, Record
from kvref import ContiguousCache, NoCache, Transformer, decode_step, greedy, prefill
from kvref.plan.cost import kv_bytes_per_token, prefill_cost

BLOCK_TOKENS = 4
SEED_STEP = 4  # the state that the first sketch of this page showed
COUNTS = ("kv_rows", "query_rows", "score_cells", "flops")


class Shapes:
    """A tap that keeps sizes only. Every layer must agree: the counts are per layer, and score cells per head."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}

    def __call__(self, name: str, layer: int | None, tensor: Tensor) -> None:
        """Note the size of one observed tensor."""
        if layer is None:
            return
        size = tensor.shape[0] * tensor.shape[-1] if name == "scores" else tensor.shape[0]
        if self.rows.setdefault(name, size) != size:
            raise AssertionError(f"{name}: layer {layer} computed {size}, earlier layers {self.rows[name]}")


@dataclass(frozen=True)
class Pass:
    """What one pass through the model computed and predicted."""

    counts: dict[str, int]
    logits: Tensor


def _counted(run: Any) -> Pass:
    """Run one pass with a tap for the shapes and torch's counter for the FLOPs."""
    shapes = Shapes()
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        logits = run(shapes).clone()
    rows = shapes.rows
    if rows["k"] != rows["v"]:
        raise AssertionError(f"{rows['k']} rows of K but {rows['v']} of V")
    sizes = (rows["k"], rows["q"], rows["scores"], counter.get_total_flops())
    return Pass(dict(zip(COUNTS, sizes, strict=True)), logits)


def lanes(transformer: Transformer, trace: Trace) -> tuple[list[Pass], list[Pass]]:
    """The request of `trace`, run again in both lanes, one pass a step."""
    ids, prompt_tokens = trace.ids, trace.prompt_tokens
    cache = ContiguousCache(transformer.config, len(ids))
    with_cache = [_counted(lambda tap: prefill(transformer, cache, ids[:prompt_tokens], tap))]
    for token in trace.fed:
        with_cache.append(_counted(lambda tap, token=token: decode_step(transformer, cache, token, tap)))
    nothing = NoCache(transformer.config)
    ends = range(prompt_tokens, len(ids) + 1)
    without = [_counted(lambda tap, end=end: prefill(transformer, nothing, ids[:end], tap)) for end in ends]
    return without, with_cache


def records(context: Context) -> list[Record]:
    """The record `one-token`."""
    trace = context.main
    without, with_cache = lanes(context.transformer, trace)
    _same_tokens(trace, without, with_cache)
    _as_predicted(context, without)
    difference = max(float((a.logits - b.logits).abs().max()) for a, b in zip(without, with_cache, strict=True))
    n, p = trace.total_tokens, trace.prompt_tokens
    passes: list[dict[str, Any]] = [
        {"step": step, "fed_text": _fed_text(context, trace, step), "without": a.counts, "with": b.counts}
        for step, (a, b) in enumerate(zip(without, with_cache, strict=True))
    ]
    for step, entry in enumerate(passes):
        entry["so_far"] = _totals(passes[: step + 1])
    steps = [entry for entry in passes if entry["step"] > 0] or passes
    seed_step = min(SEED_STEP, len(passes) - 1)
    values: dict[str, Any] = {
        "prompt_tokens": p,
        "total_tokens": n,
        "passes": passes,
        "first_step": steps[0],
        "last_step": steps[-1],
        "total": _totals(passes),
        "after_step_4": {"step": seed_step, **_sums(passes[: seed_step + 1])},
        "general": _general(n, p),
        "logit_difference_bound": Bound(difference),
        "prefill_row_bound": Bound(_row_difference(context.transformer, trace)),
        "cache_bytes_after": {
            "fp16": n * kv_bytes_per_token(context.config, FP16),
            "float32": n * kv_bytes_per_token(context.config, FLOAT32),
        },
        "blocks": _blocks(n),
    }
    if values["total"]["without"]["kv_rows"] != values["general"]["without"]:
        raise AssertionError(f"counted {values['total']['without']['kv_rows']} rows, the formula says {values['general']}")
    what = (
        "The request without and with a cache, pass by pass: K,V rows, query rows and score cells (rows × keys, one head) "
        "of one layer, FLOPs of the whole model, counted while it ran: masked scores are computed too, and count"
    )
    return [context.record("one-token", "learn/one-token", what, values)]


def _fed_text(context: Context, trace: Trace, step: int) -> str:
    if step == 0:
        return context.text.decode(trace.ids[: trace.prompt_tokens])
    return context.text.piece(trace.ids[trace.prompt_tokens + step - 1])


def _same_tokens(trace: Trace, without: list[Pass], with_cache: list[Pass]) -> None:
    """Both lanes must choose what the trace chose, or the comparison is of two different texts."""
    for step, token in enumerate(trace.written):
        chosen = greedy(without[step].logits), greedy(with_cache[step].logits)
        if chosen != (token, token):
            raise CheckFailed(f"After step {step} the lanes wrote tokens {chosen}, the recording {token}.")


def _as_predicted(context: Context, without: list[Pass]) -> None:
    """The counted FLOPs of a pass without a cache must be those of the formula, but for the masked score cells."""
    for run in without:
        tokens = run.counts["kv_rows"]
        cost = prefill_cost(context.config, tokens, FLOAT32)
        allowed = tokens * (tokens + 1) // 2
        expected = cost.matmul_flops + cost.attention_flops * tokens * tokens // allowed
        # One query and one key are multiplied number by number, not as matrices, and torch counts matrices only.
        least = cost.matmul_flops if tokens == 1 else expected
        if not least <= run.counts["flops"] <= expected:
            raise AssertionError(f"{tokens} tokens: torch counted {run.counts['flops']} FLOPs, the formula {expected}")


def _sums(passes: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    return {lane: {name: sum(entry[lane][name] for entry in passes) for name in COUNTS} for lane in ("without", "with")}


def _totals(passes: list[dict[str, Any]]) -> dict[str, Any]:
    sums = _sums(passes)
    ratio = {name: sums["without"][name] / sums["with"][name] for name in COUNTS}
    return {**sums, "ratio": ratio}


def _general(n: int, p: int) -> dict[str, int]:
    """n tokens, the first p of them in one pass."""
    without = n * (n + 1) // 2 - p * (p - 1) // 2
    return {"n": n, "p": p, "n_plus_1": n + 1, "p_minus_1": p - 1, "without": without, "with": n}


def _blocks(tokens: int) -> dict[str, int]:
    blocks = ceil(tokens / BLOCK_TOKENS)
    return {"block_tokens": BLOCK_TOKENS, "blocks": blocks, "slots": blocks * BLOCK_TOKENS, "used": tokens}


def _row_difference(transformer: Transformer, trace: Trace) -> float:
    """Largest difference of any K or V of the prompt between one pass over it and one pass a token."""
    prompt = trace.ids[: trace.prompt_tokens]
    cache = ContiguousCache(transformer.config, len(prompt))
    with torch.inference_mode():
        for token in prompt:
            decode_step(transformer, cache, token)
    pairs = ((cache.k, trace.cache.k), (cache.v, trace.cache.v))
    return max(float((one - other[:, : len(prompt)]).abs().max()) for one, other in pairs)
