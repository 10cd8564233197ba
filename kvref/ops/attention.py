"""Scaled dot-product attention over keys that may be older than the queries, twice: fused, and written out for a tap.

Query head h reads KV head h // group_size (grouped-query attention, arXiv 2305.13245). The causal mask is
aligned at the bottom right: the last query sees every key. A query that may see no key gives zero, not NaN.
Knows nothing about positions, layers or where keys are kept.
"""

import torch
import torch.nn.functional as F

from kvref.ops.tap import Tap, observe
from kvref.shapes import Allowed, Attended, Keys, Queries, Scores, Values


def attend(
    q: Queries, k: Keys, v: Values, scale: float, causal: bool = True, tap: Tap | None = None, layer: int | None = None
) -> Queries:
    """Mix the values by how well each query matches each key; the queries are those of the last ``q_len`` keys."""
    if tap is None:
        return fused(q, k, v, scale, causal)
    allowed = causal_mask(len(q), len(k), q.device)
    if not causal:
        allowed = torch.ones_like(allowed)
    scores, weights, output = written_out(q, k, v, allowed, scale)
    observe(tap, layer, scores=scores, weights=weights, head_output=output)
    return output


def written_out(q: Queries, k: Keys, v: Values, allowed: Allowed, scale: float) -> Attended:
    """Attention as on paper, every step kept: (scores before the mask, weights, output)."""
    scores = dots(q, k) * scale  # q · Kᵀ: for one new token, one row a head
    weights = masked_softmax(scores, allowed)
    return scores, weights, mix(weights, v)  # weights · V


def dots(q: Queries, k: Keys) -> Scores:
    """Each query head times the keys of the KV head it reads."""
    grouped = q.reshape(len(q), k.shape[1], -1, k.shape[2])
    return torch.einsum("qjgd,kjd->qjgk", grouped, k).flatten(1, 2)


def masked_softmax(scores: Scores, allowed: Allowed) -> Scores:
    """Softmax over the allowed keys. The second fill makes a row without any key zero; its softmax is NaN."""
    hidden = ~allowed[:, None, :]
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1).masked_fill(hidden, 0)


def mix(weights: Scores, v: Values) -> Queries:
    """Sum the values, each times its weight."""
    grouped = weights.reshape(len(weights), v.shape[1], -1, len(v))
    return torch.einsum("qjgk,kjd->qjgd", grouped, v).flatten(1, 2)


def fused(q: Queries, k: Keys, v: Values, scale: float, causal: bool) -> Queries:
    """The same through torch's kernel, which never stores the scores."""
    square = len(q) == len(k)
    # torch aligns its own causal flag at the top left, so it may be used for a square only; one query needs no mask.
    mask = causal_mask(len(q), len(k), q.device) if causal and not square and len(q) > 1 else None
    q, k, v = (x.transpose(0, 1).unsqueeze(0) for x in (q, k, v))  # torch wants [batch, heads, tokens, head_dim]
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal and square, scale=scale, enable_gqa=True)
    return output.squeeze(0).transpose(0, 1)


def causal_mask(q_len: int, kv_len: int, device: torch.device) -> Allowed:
    """Which keys each query may read when the queries are the last ``q_len`` of ``kv_len`` tokens."""
    return torch.ones(q_len, kv_len, dtype=torch.bool, device=device).tril(kv_len - q_len)
