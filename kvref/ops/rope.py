"""Rotary position embedding: dimension i and dimension i + head_dim/2 turn together, by an angle of position
× frequency.

The layout is Llama's in Hugging Face files ("half split"); GGUF's interleaved rows are put back when a file
is read. RoFormer (arXiv 2104.09864) section 3.2.2; Llama 3's scaling after the Llama 3.1 model card. Knows
nothing about layers or caches.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from kvref.config import RopeScaling
from kvref.shapes import Positions, RopeRow


def frequencies(head_dim: int, theta: float, scaling: RopeScaling | None = None) -> Float[Tensor, " pairs"]:
    """Radians a token for each pair of dimensions, in float64: theta^(-2i / head_dim)."""
    pairs = torch.arange(0, head_dim, 2, dtype=torch.float64)
    inverse = theta ** (-pairs / head_dim)
    return inverse if scaling is None else _stretched(inverse, scaling)


def _stretched(inverse: Float[Tensor, " pairs"], scaling: RopeScaling) -> Float[Tensor, " pairs"]:
    """Divide slow rotations by ``factor``, leave fast ones alone, and blend between the two.

    Fast and slow are told by how many turns fit into the positions the model was first trained on.
    """
    turns = scaling.original_max_positions * inverse / (2 * math.pi)
    kept = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor)
    kept = kept.clamp(0, 1)
    return kept * inverse + (1 - kept) * inverse / scaling.factor


def turns(positions: Positions, inverse: Float[Tensor, " pairs"], dtype: torch.dtype) -> tuple[RopeRow, RopeRow]:
    """cos and signed sin for tokens at these positions, in ``dtype`` but never in less than float32.

    Angles are multiplied out in float64 whatever the model's dtype: in bfloat16 the positions 256 and 257 are one
    number. The sine of the first half is negative, so that ``rotate`` needs no negation.
    """
    angles = torch.outer(positions.double(), inverse).unsqueeze(1)
    cos, sin = angles.cos(), angles.sin()
    wide = torch.promote_types(dtype, torch.float32)
    return torch.cat((cos, cos), dim=-1).to(wide), torch.cat((-sin, sin), dim=-1).to(wide)


def rotate(x: Float[Tensor, "q_len heads head_dim"], cos: RopeRow, sin: RopeRow) -> Float[Tensor, "q_len heads head_dim"]:
    """Turn every head's pairs by the angle of its token; ``sin`` is the signed one.

    Rolling by half a head puts each dimension's partner in its place: x·cos + partner·(∓sin).
    """
    partner = x.roll(x.shape[-1] // 2, dims=-1)
    return torch.addcmul(x * cos, partner, sin).to(x.dtype)
