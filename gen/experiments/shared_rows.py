"""Rows of the real model through blocks that are shared or copied, and rows of prompts in which one token is another.

Through `kvref.cache.paged`, against contiguous caches of the same tokens. Knows nothing about texts but the pieces of tokens.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from gen.experiments.context import FLOAT32, FP16, Context
from gen.experiments.heads import page_head
from gen.experiments.trace import Trace
from gen.records import Bound
from kvref import ContiguousCache, PagedCache, decode_step, greedy, prefill
from kvref.config import ModelConfig
from kvref.plan.cost import kv_bytes_per_token
from kvref.plan.events import Copied
from kvref.plan.manager import KVManager

ROOM = 1024  # blocks: more than two prompts take


def size_bytes(config: ModelConfig, tokens: int) -> dict[str, int]:
    """Bytes of the rows of so many tokens, in fp16 and float32."""
    formats = (("fp16", FP16), ("float32", FLOAT32))
    return {name: tokens * kv_bytes_per_token(config, width) for name, width in formats}


def hit(context: Context, first: list[int], second: list[int], block_tokens: int) -> dict[str, Any]:
    """The second prompt, its beginning found in blocks that the first one wrote, against a pass over all of it."""
    manager = KVManager(ROOM, block_tokens)
    cache, own = PagedCache(context.config, manager), ContiguousCache(context.config, len(second))
    with torch.inference_mode():
        manager.admit("A", first)
        prefill(context.transformer, cache.sequence("A"), first)
        cached = manager.admit("B", second)
        with_hit, flops_with = _counted(lambda: prefill(context.transformer, cache.sequence("B"), second[cached:]))
        without, flops_without = _counted(lambda: prefill(context.transformer, own, second))
    if greedy(with_hit) != greedy(without):
        context.require_margin(0.0, "the first token after a prefix hit")
    slots = torch.tensor(manager.slots("B", 0, len(second)))
    rows = max(_largest(cache.k[:, slots], own.k), _largest(cache.v[:, slots], own.v))
    return {
        "prompt_tokens": len(second),
        "cached_tokens": cached,
        "computed_tokens": len(second) - cached,
        "first_text": context.text.piece(greedy(without)),
        "logit_difference_bound": Bound(_largest(with_hit, without)),
        "row_difference_bound": Bound(rows),
        "flops": {"without": flops_without, "with": flops_with, "ratio": flops_without / flops_with},
    }


def _counted(run: Callable[[], Tensor]) -> tuple[Tensor, int]:
    """What a pass returns, and its FLOPs by torch's counter."""
    with FlopCounterMode(display=False) as counter:
        logits = run().clone()
    return logits, counter.get_total_flops()


def _largest(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


def fork_after(trace: Trace, block_tokens: int, decoded: int) -> int:
    """After how many tokens to fork: so many decode steps, or fewer, so that the last block is not full."""
    held = min(trace.prompt_tokens + decoded, trace.total_tokens)
    return held if held % block_tokens else held - 1


def copied(context: Context, blocks: int, block_tokens: int, held: int) -> dict[str, Any]:
    """The main recording, forked after ``held`` tokens: A takes the token that followed, B the second best one.

    What was copied at A's write, what then differs, and that A goes on as if alone.
    """
    trace, (layer, head) = context.main, page_head(context)
    tokens, prompt = [*trace.ids, trace.final], min(trace.prompt_tokens, held)
    manager = KVManager(blocks, block_tokens, design="copy-on-write")
    cache, alone = PagedCache(context.config, manager), ContiguousCache(context.config, held + 1)
    with torch.inference_mode():
        logits = prefill(context.transformer, cache.sequence("A"), tokens[:prompt])
        for token in tokens[prompt:held]:
            logits = decode_step(context.transformer, cache.sequence("A"), token)
        other = next(one for one in torch.topk(logits, 2).indices.tolist() if one != tokens[held])
        manager.fork("A", "B")
        logits = decode_step(context.transformer, cache.sequence("A"), tokens[held])
        decode_step(context.transformer, cache.sequence("B"), other)
        unforked = prefill(context.transformer, alone, tokens[: held + 1])
    (event,) = [one for one in manager.log if isinstance(one, Copied)]
    start = held - event.tokens
    ids = {"A": tokens[start : held + 1], "B": [*tokens[start:held], other]}
    slots = {name: list(manager.slots(name, start, held + 1)) for name in ids}
    rows = {name: {"k": cache.k[:, at], "v": cache.v[:, at]} for name, at in slots.items()}
    a, b, kv_head = rows["A"], rows["B"], head // context.config.group_size
    if not all(torch.equal(a[part][:, :-1], b[part][:, :-1]) for part in a):
        raise AssertionError(f"{event.tokens} rows were copied, and they differ.")
    return {
        "source": event.source,
        "target": event.target,
        "tokens": event.tokens,
        "bytes": size_bytes(context.config, event.tokens),
        "layer": layer,
        "kv_head": kv_head,
        "first_position": start,
        "texts": {name: [context.text.piece(one) for one in of] for name, of in ids.items()},
        "slots": slots,
        "rows": {name: {part: found[layer, :, kv_head].tolist() for part, found in of.items()} for name, of in rows.items()},
        "differs": {part: _largest(a[part][:, -1], b[part][:, -1]) for part in a},
        "logit_difference_bound": Bound(_largest(logits, unforked)),
    }


def apart(context: Context, ids: Sequence[int], other: Sequence[int], words: str) -> dict[str, Any]:
    """How far the rows of two prompts are apart that differ in some tokens: layer by layer, position by position."""
    caches = [ContiguousCache(context.config, len(all_of)) for all_of in (ids, other)]
    with torch.inference_mode():
        for cache, all_of in zip(caches, (ids, other), strict=True):
            prefill(context.transformer, cache, all_of)
    common = min(len(ids), len(other))
    differ = [at for at in range(common) if ids[at] != other[at]]
    one, two = ([cache.k[:, :common], cache.v[:, :common]] for cache in caches)
    change = torch.stack([(a - b).abs().amax((2, 3)) for a, b in zip(one, two, strict=True)]).amax(0)  # [layer, position]
    first, same = differ[0], [at for at in range(differ[0], common) if at not in differ]
    return {
        "words": words,
        "first": first,
        "differ": differ,
        "tokens": [{"id": one, "text": context.text.piece(one)} for one in other[:common]],
        "change": change[:, first:].tolist(),
        "before_bound": Bound(float(change[:, :first].max()) if first else 0.0),
        "first_layer_bound": Bound(float(change[0, same].max()) if same else 0.0),
        "least_after": float(change[1:, first:].min()),
    }
