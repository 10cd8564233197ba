"""The idea itself, measured: does the key of an old token change when later tokens arrive?

The whole sequence is computed anew at every step, nothing kept, and each token's keys are compared with those of its
first computation. Then the same with the causal mask taken away, where they do change: except in the first layer, whose
keys depend on the token and its position alone.
"""

from typing import ClassVar

import torch
from torch import Tensor

from gen.experiments.context import Context
from gen.experiments.trace import Trace
from gen.records import Bound, Record
from kvref import NoCache, Recorder, Transformer, prefill
from kvref.cache.view import DenseView

WATCHED_POSITION = 2


class OpenView(DenseView):
    """Attention without the causal mask: every token sees all others, later ones too."""

    causal: ClassVar[bool] = False


class OpenNoCache(NoCache):
    """Computes the whole sequence in each pass, without the mask."""

    view_class: ClassVar[type[DenseView]] = OpenView


def keys_by_step(transformer: Transformer, trace: Trace, kind: type[NoCache]) -> list[Tensor]:
    """All keys of all layers at every step, each [layers, position, kv_heads, head_dim], computed anew each time."""
    found = []
    with torch.inference_mode():
        for end in range(trace.prompt_tokens, trace.total_tokens + 1):
            recorder = Recorder()
            prefill(transformer, kind(transformer.config), trace.ids[:end], recorder)
            found.append(torch.stack([recorder["k", layer][0] for layer in range(transformer.config.layers)]))
    return found


def changes(keys: list[Tensor], position: int) -> Tensor:
    """max |ΔK| of one token against its first computation, [layers, steps]; 0 until the token is there."""
    first = next(step for step, found in enumerate(keys) if found.shape[1] > position)
    rows = []
    for step, found in enumerate(keys):
        if step <= first:
            rows.append(torch.zeros(found.shape[0]))
        else:
            rows.append((found[:, position] - keys[first][:, position]).abs().amax(dim=(1, 2)))
    return torch.stack(rows, dim=1)


def records(context: Context) -> list[Record]:
    """The record `old-keys`."""
    trace = context.main
    watched = min(WATCHED_POSITION, trace.prompt_tokens - 1)
    causal = keys_by_step(context.transformer, trace, NoCache)
    unmasked = keys_by_step(context.transformer, trace, OpenNoCache)
    moved = changes(unmasked, watched)
    everywhere = max(float(changes(causal, position).max()) for position in range(trace.total_tokens))
    layers = list(range(context.config.layers))
    values = {
        "token_position": watched,
        "token_text": context.text.piece(trace.ids[watched]).strip(),
        "steps": list(range(trace.steps)),
        "layers": layers,
        "first_layer": layers[0],
        "causal_change_bound": Bound(float(changes(causal, watched).max())),
        "causal_change_all_bound": Bound(everywhere),
        "unmasked_change": moved.tolist(),
        "unmasked_max": float(moved.max()),
        "unmasked_layer0_bound": Bound(float(moved[0].max())),
    }
    what = (
        "max |ΔK| of one token between its first computation and every later step, whole sequence recomputed: "
        "with the causal mask (bounds) and without it ([layer][step])"
    )
    return [context.record("old-keys", "learn/one-token", what, values)]
