"""Attention over keys that lie in several places: each part by itself, then all of them together.

A part gives its output and, for each query and head, the logarithm of the sum of its exponentiated scores. Softmax over
all keys weights a part by its share of the whole sum, so the parts add up to what one pass over all keys gives
(arXiv:1805.02867; arXiv:2205.14135). Knows nothing about where keys are kept.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from kvref.ops.attention import causal_mask, dots, masked_softmax, mix
from kvref.shapes import Keys, LogSums, Queries, Values

Part = tuple[Queries, LogSums]
# What torch's public function calls on a CPU. It throws away the sums, which are needed here.
_cpu_kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu


def part(q: Queries, k: Keys, v: Values, scale: float, causal: bool = False) -> Part:
    """Attention over these keys alone: (output, log of the sum). Causal: query i sees the keys up to i, as many as queries."""
    if q.device.type != "cpu":
        return written_out_part(q, k, v, scale, causal)
    heads_first = [x.transpose(0, 1).unsqueeze(0) for x in (q, k, v)]  # torch wants [batch, heads, tokens, head_dim]
    output, sums = _cpu_kernel(*heads_first, 0.0, causal, scale=scale)
    return output.squeeze(0).transpose(0, 1), sums.squeeze(0).T


def written_out_part(q: Queries, k: Keys, v: Values, scale: float, causal: bool = False) -> Part:
    """The same step by step, on any device."""
    allowed = causal_mask(len(q), len(k), q.device) if causal else torch.ones(len(q), len(k), dtype=torch.bool, device=q.device)
    scores = dots(q, k) * scale
    sums = scores.masked_fill(~allowed[:, None, :], -torch.inf).logsumexp(dim=-1)
    return mix(masked_softmax(scores, allowed), v), sums


def together(parts: Sequence[Part]) -> Queries:
    """The output over the keys of all parts; each query sees a key in at least one of them."""
    if len(parts) == 1:
        return parts[0][0]
    outputs, sums = (torch.stack(side) for side in zip(*parts, strict=True))
    shares: Tensor = sums.softmax(dim=0).unsqueeze(-1)
    return (outputs * shares).sum(dim=0).to(outputs.dtype)
