"""One sequence, token by token: the prompt in one pass, then a pass for each new token.

Speaks token ids only. Knows nothing about text, other requests or how a cache keeps its rows.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

import torch
from torch import Tensor

from kvref.cache.contiguous import ContiguousCache
from kvref.cache.nothing import NoCache
from kvref.cache.view import KVCache
from kvref.checks import whole
from kvref.model.transformer import Transformer
from kvref.ops.tap import Tap
from kvref.sampling import greedy
from kvref.shapes import NextLogits

Ids = Sequence[int] | Tensor
Sample = Callable[[Tensor], int]


def prefill(model: Transformer, cache: KVCache, prompt_ids: Ids, tap: Tap | None = None) -> NextLogits:
    """Every prompt token in one pass; the cache gains their rows. Returns the logits of the token that follows."""
    tokens = _tokens(prompt_ids, model.device)
    return model(tokens, cache, tap=tap, rows=(-1,))[-1]  # all tokens at once


def decode_step(model: Transformer, cache: KVCache, token_id: int, tap: Tap | None = None) -> NextLogits:
    """One token; the cache gains one row a layer. Returns the logits of the token that follows."""
    return model(torch.tensor([token_id], device=model.device), cache, tap=tap)[-1]


def generate(
    model: Transformer,
    prompt_ids: Ids,
    max_new_tokens: int,
    *,
    cache: KVCache | None = None,
    sampler: Sample = greedy,
    stop_ids: Collection[int] = (),
) -> Iterator[int]:
    """Continue the prompt, one id at a time, up to ``max_new_tokens`` or a stop id (which is given too).

    A cache with tokens in it is continued. The last id's own row is not computed: nothing reads it. Raises
    ``ValueError`` at the call when prompt and reply do not fit the model's positions or the cache.
    """
    if isinstance(cache, NoCache):
        raise ValueError("cache: expected one that keeps its rows, got NoCache; generate_uncached goes without.")
    held = NoCache(model.config) if cache is None else cache
    needed = _rows_needed(model, held, prompt_ids, max_new_tokens, stop_ids)
    if cache is None:
        cache = ContiguousCache(model.config, needed, dtype=model.dtype, device=model.device)
    return _decode_loop(model, cache, prompt_ids, max_new_tokens, sampler, stop_ids)


def _decode_loop(
    model: Transformer, cache: KVCache, prompt_ids: Ids, max_new_tokens: int, sampler: Sample, stop_ids: Collection[int]
) -> Iterator[int]:
    logits = prefill(model, cache, prompt_ids)
    for left in reversed(range(max_new_tokens)):
        token_id = sampler(logits)
        yield token_id
        if left == 0 or token_id in stop_ids:
            return
        logits = decode_step(model, cache, token_id)


def generate_uncached(
    model: Transformer,
    prompt_ids: Ids,
    max_new_tokens: int,
    *,
    sampler: Sample = greedy,
    stop_ids: Collection[int] = (),
) -> Iterator[int]:
    """The same without a cache: every step runs the whole sequence again, through the same model."""
    _rows_needed(model, NoCache(model.config), prompt_ids, max_new_tokens, stop_ids)
    return _recompute_loop(model, [int(i) for i in prompt_ids], max_new_tokens, sampler, stop_ids)


def _recompute_loop(
    model: Transformer, ids: list[int], max_new_tokens: int, sampler: Sample, stop_ids: Collection[int]
) -> Iterator[int]:
    for _ in range(max_new_tokens):
        token_id = sampler(prefill(model, NoCache(model.config), ids))
        yield token_id
        if token_id in stop_ids:
            return
        ids.append(token_id)


def _rows_needed(model: Transformer, cache: KVCache, prompt_ids: Ids, max_new_tokens: int, stop_ids: Collection[int]) -> int:
    """Rows of the cache when the reply is complete; refuses what will not fit before anything runs."""
    whole(max_new_tokens=max_new_tokens)
    if not isinstance(stop_ids, Collection) or any(type(one) is not int for one in stop_ids):
        raise ValueError(f"stop_ids: expected a collection of ids, got {stop_ids!r}.")
    tokens = _tokens(prompt_ids, model.device)
    if tokens.numel() == 0:
        raise ValueError("prompt_ids: expected at least one id, got none.")
    there, held = model.config.max_positions, cache.length + tokens.numel()
    needed = held + max_new_tokens - 1
    if needed > there:
        raise ValueError(
            f"prompt_ids: the model has {there} positions; {held} tokens and {max_new_tokens} new ones need {needed}."
        )
    if isinstance(cache, ContiguousCache) and needed > cache.capacity:
        raise ValueError(f"cache: expected room for {needed} tokens, the prompt and its reply, got {cache.capacity}.")
    model.check(tokens, cache)
    return needed


def _tokens(prompt_ids: Ids, device: torch.device) -> Tensor:
    """One row, of the type that the ids have: the model refuses what is no id."""
    try:
        return torch.as_tensor(prompt_ids, device=device)
    except (TypeError, ValueError, RuntimeError) as wrong:
        raise ValueError(f"prompt_ids: expected a sequence of ids, got {prompt_ids!r}.") from wrong
