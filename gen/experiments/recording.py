"""A whole request written down: tokens, each step's predictions, and the keys, values and attention of its layers.

`cat` is the request of every page, with all layers. `chat` and `repeat` show something else and keep only the layers
of the heads they are about.
"""

from typing import Any

import torch
from torch import Tensor

from gen.experiments.context import FLOAT32, FP16, Context
from gen.experiments.heads import induction_head, middle_head, page_head, spread
from gen.experiments.trace import Trace
from gen.records import Record
from kvref.plan.cost import kv_bytes_per_token

TOP = 5
TOP_MARGIN = 2e-4  # neighbours in the list of five; rounding moves the gap between two logits by about 1e-5
INSTRUCTION = "Answer in a few words."
QUESTION = "What is the capital of France?"
CHAT_TOKENS = 48
REPEAT_PROMPT = "the grey cat sat by the old door. the grey cat"
REPEAT_FED_TOKENS = 5  # the phrase has one more left, which is written and never fed

Heads = list[dict[str, Any]]


def cat(context: Context) -> list[Record]:
    """The request of every page, every layer and head."""
    heads = [head(context, *page_head(context), "the head of every page")]
    layers = list(range(context.config.layers))
    return recording(context, "cat", "tour", context.prompt, context.main, heads, layers)


def chat(context: Context) -> list[Record]:
    """A question in the model's chat format, and its short answer."""
    prompt = context.text.chat(QUESTION, INSTRUCTION) or f"Question: {QUESTION}\nAnswer:"
    trace = context.follow(context.text.encode(prompt), CHAT_TOKENS)
    middle = middle_head(context, spread(trace, context.config))
    heads = [head(context, *middle, "of middle entropy in this request"), *_page_head_unless(context, middle)]
    extra = {"question": QUESTION, "instruction": INSTRUCTION}
    return recording(context, "chat", "learn/decode", prompt, trace, heads, extra=extra)


def repeat(context: Context) -> list[Record]:
    """A phrase that begins again, and the head that finds where it stood before."""
    ids = context.text.encode(REPEAT_PROMPT)
    trace = context.follow(ids, len(ids) + REPEAT_FED_TOKENS)
    layer, number, weight = induction_head(context, trace)
    why = "puts most weight on the token that followed the last time"
    heads = [head(context, layer, number, why), *_page_head_unless(context, (layer, number))]
    extra = {"weight_on_what_followed": weight}
    return recording(context, "repeat", "learn/decode", REPEAT_PROMPT, trace, heads, extra=extra)


def _page_head_unless(context: Context, shown: tuple[int, int]) -> Heads:
    """The head of every page too, so that requests can be compared; none if it is the one already shown."""
    own = page_head(context)
    return [] if own == shown else [head(context, *own, "the head of every page")]


def head(context: Context, layer: int, number: int, why: str) -> dict[str, Any]:
    """A head that a page shows, and the KV head it reads."""
    return {"layer": layer, "head": number, "kv_head": number // context.config.group_size, "why": why}


def recording(
    context: Context,
    id: str,
    page: str,
    prompt: str,
    trace: Trace,
    heads: Heads,
    layers: list[int] | None = None,
    extra: dict[str, Any] | None = None,
) -> list[Record]:
    """The index of a request, then two shards for each recorded layer."""
    kept = sorted({entry["layer"] for entry in heads}) if layers is None else layers
    values = {
        **_tokens(context, prompt, trace),
        **(extra or {}),
        "layers": kept,
        "heads": heads,
        "steps": [_step(context, trace, step) for step in range(trace.steps)],
        "k_rms": [_rms(trace.keys(layer)) for layer in range(context.config.layers)],
        "v_rms": [_rms(trace.values(layer)) for layer in range(context.config.layers)],
    }
    records = [context.record(id, page, f"The request {id!r}: tokens, predictions, sizes of keys and values", values)]
    for layer in kept:
        what = f"Keys (as cached) and values of layer {layer}: [position][kv_head][dim]"
        records.append(context.record(f"{id}/kv-{layer:02d}", page, what, _keys_values(trace, layer)))
        what = f"Queries, scores, weights and outputs of layer {layer}: [position][query_head][dim or key]"
        records.append(context.record(f"{id}/attention-{layer:02d}", page, what, _attention(trace, layer)))
    return records


def _tokens(context: Context, prompt: str, trace: Trace) -> dict[str, Any]:
    """The request as text and as tokens (those that were fed, then the one that was not), and how many cells it fills."""
    prompt_tokens, total = trace.prompt_tokens, trace.total_tokens
    tokens = [
        {
            "id": token,
            "text": context.text.piece(token),
            "position": position,
            "role": "prompt" if position < prompt_tokens else "reply",
            "step": max(0, position - prompt_tokens + 1),
        }
        for position, token in enumerate(trace.ids)
    ]
    return {
        "prompt_text": prompt,
        "reply_text": context.text.decode(trace.reply),
        "prompt_tokens": prompt_tokens,
        "reply_tokens": len(trace.reply),
        "reply_tokens_fed": len(trace.fed),
        "tokens_total": total,
        "tokens": tokens,
        "final": {
            "id": trace.final,
            "text": context.text.piece(trace.final),
            "position": total,
            "stop": trace.stopped,
        },
        "prefill": {"cells": context.config.layers * prompt_tokens},
        "causal_cells": total * (total + 1) // 2,
    }


def _step(context: Context, trace: Trace, step: int) -> dict[str, Any]:
    """One pass: what went in, how large the cache is then, and what the model would write next."""
    cached = trace.prompt_tokens + step
    first = 0 if step == 0 else cached - 1
    logits = trace.logits[step]
    top = torch.topk(logits, TOP + 1)
    gaps = top.values[:-1] - top.values[1:]
    context.require_margin(float(gaps.min()), f"the order of the likeliest tokens after step {step}", TOP_MARGIN)
    probabilities = torch.softmax(logits, dim=-1)
    return {
        "step": step,
        "fed_tokens": list(range(first, cached)),
        "cache_tokens": cached,
        "cache_bytes": {
            "fp16": cached * kv_bytes_per_token(context.config, FP16),
            "float32": cached * kv_bytes_per_token(context.config, FLOAT32),
        },
        "top": [
            {
                "id": token,
                "text": context.text.piece(token),
                "probability": float(probabilities[token]),
                "logit": float(logits[token]),
            }
            for token in top.indices[:TOP].tolist()
        ],
        "chosen_id": int(top.indices[0]),
        "in_reply": step < len(trace.reply),
    }


def _rms(rows: Tensor) -> list[float]:
    """Root mean square over heads and dims, one number a position."""
    sizes: list[float] = rows.square().mean(dim=(1, 2)).sqrt().tolist()
    return sizes


def _keys_values(trace: Trace, layer: int) -> dict[str, Any]:
    return {"k": trace.keys(layer).tolist(), "v": trace.values(layer).tolist()}


def _attention(trace: Trace, layer: int) -> dict[str, Any]:
    return {
        "q": trace.rows("q", layer).tolist(),
        "scores": [row.tolist() for row in trace.seen("scores", layer)],
        "weights": [row.tolist() for row in trace.seen("weights", layer)],
        "output": trace.rows("head_output", layer).tolist(),
    }
