"""How each head spreads its attention, and which head the pages show.

The rule leaves out heads that put most of their weight on the first token (a habit with a page of its own), and of the
rest takes the one in the middle, neither looking at one token nor at all of them alike.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from gen.experiments.context import Context
from gen.experiments.trace import Trace
from gen.records import Record
from kvref.config import ModelConfig

MAX_WEIGHT_ON_FIRST = 0.3
LEAST_KEYS = 4  # rows with fewer keys say little about a head
SEED_HEAD = {"gpt2": (2, 11)}  # the head that the first sketch of the tour showed
HEAD_MARGIN = 1e-4


@dataclass(frozen=True)
class Spread:
    """Mean weight on position 0 and mean entropy of the rows, [layers, query_heads] each."""

    weight_on_first: Tensor
    entropy_bits: Tensor


def spread(trace: Trace, config: ModelConfig) -> Spread:
    """Averages over the rows with at least four keys (over all rows, if there are none)."""
    first, entropy = [], []
    for layer in range(config.layers):
        rows = trace.seen("weights", layer)
        rows = rows[LEAST_KEYS - 1 :] or rows
        first.append(torch.stack([row[:, 0] for row in rows]).mean(0))
        entropy.append(torch.stack([-(torch.special.xlogy(row, row)).sum(-1) for row in rows]).mean(0))
    return Spread(torch.stack(first), torch.stack(entropy) / torch.log(torch.tensor(2.0)))


def middle_head(context: Context, found: Spread) -> tuple[int, int]:
    """(layer, head) of middle entropy among the heads that are not left out; of all heads, if all are."""
    heads = found.weight_on_first.shape[1]
    kept = (found.weight_on_first <= MAX_WEIGHT_ON_FIRST).flatten()
    if not kept.any():
        kept = torch.ones_like(kept)
    entropy = found.entropy_bits.flatten()
    order = sorted(kept.nonzero().flatten().tolist(), key=lambda place: (float(entropy[place]), place))
    middle = (len(order) - 1) // 2
    chosen = order[middle]
    near = [abs(float(entropy[order[i]] - entropy[chosen])) for i in (middle - 1, middle + 1) if 0 <= i < len(order)]
    context.require_margin(min(near, default=1.0), "the head of middle entropy", HEAD_MARGIN)
    close = float((found.weight_on_first - MAX_WEIGHT_ON_FIRST).abs().min())
    context.require_margin(close, "which heads are left out", HEAD_MARGIN)
    return chosen // heads, chosen % heads


def page_head(context: Context) -> tuple[int, int]:
    """The head that the pages show for this model: by the rule, or as in the sketch the tour came from."""
    if context.facts.id in SEED_HEAD:
        return SEED_HEAD[context.facts.id]
    return middle_head(context, spread(context.main, context.config))


def induction_head(context: Context, trace: Trace) -> tuple[int, int, float]:
    """(layer, head, weight) of the head that looks most at what came after the last time: in rows whose token occurred
    before, the mean weight on the token that followed its latest earlier occurrence."""
    targets = following_tokens(trace.ids)
    if not targets:
        return (*page_head(context), 0.0)
    layers = []
    for layer in range(context.config.layers):
        rows = trace.seen("weights", layer)
        layers.append(torch.stack([rows[position][:, target] for position, target in targets.items()]).mean(0))
    weights = torch.stack(layers)
    best = torch.topk(weights.flatten(), min(2, weights.numel()))
    context.require_margin(float(best.values[0] - best.values[-1]), "the head that repeats", HEAD_MARGIN)
    place, heads = int(best.indices[0]), weights.shape[1]
    return place // heads, place % heads, float(best.values[0])


def following_tokens(ids: list[int]) -> dict[int, int]:
    """Position of a token that occurred before -> position after its latest earlier occurrence (never itself)."""
    last: dict[int, int] = {}
    found = {}
    for position, token in enumerate(ids):
        if token in last and last[token] + 1 < position:
            found[position] = last[token] + 1
        last[token] = position
    return found


def records(context: Context) -> list[Record]:
    """The record `heads`: every head of every layer."""
    found = spread(context.main, context.config)
    layers = [
        [
            {"weight_on_first": float(first), "entropy_bits": float(entropy)}
            for first, entropy in zip(firsts, entropies, strict=True)
        ]
        for firsts, entropies in zip(found.weight_on_first, found.entropy_bits, strict=True)
    ]
    what = (
        "For every query head: its weight on position 0 and the entropy of its weights in bits, "
        f"both as means over the rows with at least {LEAST_KEYS} keys"
    )
    return [context.record("heads", "learn/prefill", what, {"layers": layers})]
