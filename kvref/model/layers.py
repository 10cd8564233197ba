"""The parts of a transformer layer, as small objects that are called with rows of hidden states.

A family is a choice of parts, not a flag: ``kvref.model.families`` puts them together. Tokens are the first
axis throughout. Knows nothing about checkpoints, families or kinds of cache.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from kvref.cache.view import KVCache
from kvref.ops.rope import rotate
from kvref.ops.tap import Tap, observe
from kvref.shapes import Hidden, NewKeys, NewValues, Positions, Queries, RopeRow

Rope = tuple[RopeRow, RopeRow] | None


class Linear:
    """``x @ weight + bias`` with the weight kept as [in, out], the faster way round for few rows."""

    def __init__(self, weight: Float[Tensor, "inputs outputs"], bias: Float[Tensor, " outputs"] | None = None) -> None:
        self.weight, self.bias = weight, bias
        self.halves = _halves(weight)

    def __call__(self, x: Float[Tensor, "q_len inputs"]) -> Float[Tensor, "q_len outputs"]:
        """The product, and the bias where there is one."""
        if len(x) == 1 and self.halves is not None:
            product = torch.bmm(x.reshape(2, 1, -1), self.halves).sum(0)
        else:
            product = x @ self.weight
        return product if self.bias is None else product.add_(self.bias)


def _halves(weight: Tensor) -> Tensor | None:
    """The same memory as two matrices whose products add up to the whole.

    On a CPU the product of one row keeps a single core busy; two products of half the length keep two, in
    about half the time (measured: `tests/speed/decode.py`).
    """
    inputs, outputs = weight.shape
    return weight.view(2, inputs // 2, outputs) if weight.device.type == "cpu" and inputs % 2 == 0 else None


@dataclass(frozen=True)
class LayerNorm:
    """Mean 0, variance 1, then scale and shift (arXiv 1607.06450)."""

    weight: Float[Tensor, " hidden"]
    bias: Float[Tensor, " hidden"]
    eps: float

    def __call__(self, x: Hidden) -> Hidden:
        """Normalise each token's row."""
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class RMSNorm:
    """Root mean square 1, then scale (arXiv 1910.07467), in float32 at least.

    x · weight / √(Σx²/n + eps) is x · (√n · weight) / √(Σx² + n·eps), and that root is a hypotenuse: four small
    operations where torch's own takes a dozen, which shows in a step for one token.
    """

    def __init__(self, weight: Float[Tensor, " hidden"], eps: float) -> None:
        wide, size = torch.promote_types(weight.dtype, torch.float32), len(weight)
        self.gain = weight.to(wide) * math.sqrt(size)
        self.floor = torch.tensor(math.sqrt(size * eps), dtype=wide, device=weight.device)

    def __call__(self, x: Hidden) -> Hidden:
        """Normalise each token's row."""
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=self.gain.dtype)
        return (x / torch.hypot(length, self.floor) * self.gain).to(x.dtype)


@dataclass(frozen=True)
class GeluMLP:
    """Two matrices with the tanh form of GELU between them (GPT-2)."""

    up: Linear
    down: Linear

    def __call__(self, x: Hidden) -> Hidden:
        """down(gelu(up(x)))."""
        return self.down(F.gelu(self.up(x), approximate="tanh"))


@dataclass(frozen=True)
class SwiGLU:
    """The gate decides how much of each number passes (arXiv 2002.05202); both come from one product."""

    gate_up: Linear
    down: Linear

    def __call__(self, x: Hidden) -> Hidden:
        """down(silu(gate(x)) · up(x))."""
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * up)


@dataclass(frozen=True)
class Attention:
    """Project, remember, look back. The only place where a layer meets the cache."""

    layer: int
    qkv: Linear
    output: Linear
    query_heads: int
    kv_heads: int

    def __call__(self, x: Hidden, positions: Positions, rope: Rope, cache: KVCache, tap: Tap | None) -> Hidden:
        """The new rows join the old ones; each query then reads all that its token may see."""
        q, k, v = self.project(x, rope)  # of the whole prompt, or of one new token
        observe(tap, self.layer, q=q, k=k, v=v)
        view = cache.append(self.layer, k, v)  # old rows and new ones
        return self.output(view.attend(q, positions, tap).flatten(1))

    def project(self, x: Hidden, rope: Rope) -> tuple[Queries, NewKeys, NewValues]:
        """q, k and v of each token from one product; q and k are turned by position where the model rotates."""
        heads = self.qkv(x).view(len(x), self.query_heads + 2 * self.kv_heads, -1)
        qk, v = heads[:, : -self.kv_heads], heads[:, -self.kv_heads :]
        if rope is not None:
            qk = rotate(qk, *rope)
        return qk[:, : self.query_heads], qk[:, self.query_heads :], v


@dataclass(frozen=True)
class Layer:
    """Attention, then the MLP, each added to what came in (pre-norm)."""

    attention_norm: Callable[[Hidden], Hidden]
    attention: Attention
    mlp_norm: Callable[[Hidden], Hidden]
    mlp: Callable[[Hidden], Hidden]

    def __call__(self, x: Hidden, positions: Positions, rope: Rope, cache: KVCache, tap: Tap | None) -> Hidden:
        """Hidden states after this layer; the cache gains one row a token."""
        x = x + self.attention(self.attention_norm(x), positions, rope, cache, tap)
        return x + self.mlp(self.mlp_norm(x))
