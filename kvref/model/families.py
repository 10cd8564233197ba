"""GPT-2 and Llama, each described by the parts it is made of.

A family says how tokens and positions become hidden states, what a layer consists of, and how hidden states
become logits. Tensors that are used together are stored together: one matrix for q, k and v, one for gate and
up, one for embedding and tied head. Everything is copied: the tensors given may be views of a file. Knows
nothing about files; names are those of ``kvref.layout``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from kvref.config import ModelConfig
from kvref.layout import EMBEDDING, HEAD
from kvref.model.layers import Attention, GeluMLP, Layer, LayerNorm, Linear, RMSNorm, Rope, SwiGLU
from kvref.ops.rope import frequencies, turns
from kvref.shapes import Hidden, Positions, TokenIds

Weights = Mapping[str, Tensor]


@runtime_checkable
class Positional(Protocol):
    """How a family tells positions apart: something added to hidden states, or a rotation of q and k."""

    def embed(self, x: Hidden, positions: Positions) -> Hidden:
        """Hidden states of tokens at these positions."""
        ...

    def rope(self, positions: Positions) -> Rope:
        """cos and sin of these positions' rotation, or None where nothing rotates."""
        ...


@dataclass(frozen=True)
class LearnedPositions:
    """GPT-2: one learned vector a position is added to the token's."""

    table: Float[Tensor, "positions hidden"]

    def embed(self, x: Hidden, positions: Positions) -> Hidden:
        """Add each position's vector."""
        return x + self.table[positions]

    def rope(self, positions: Positions) -> Rope:
        """No rotation."""
        return None


@dataclass(frozen=True)
class RotaryPositions:
    """Llama: nothing is added; q and k are rotated in every layer, so the cache holds rotated keys."""

    frequencies: Float[Tensor, " pairs"]
    dtype: torch.dtype

    def embed(self, x: Hidden, positions: Positions) -> Hidden:
        """Unchanged."""
        return x

    def rope(self, positions: Positions) -> Rope:
        """One row of cos and of signed sin a token, the same for every head."""
        return turns(positions, self.frequencies, self.dtype)


@dataclass(frozen=True)
class Parts:
    """Everything a forward pass walks through, in order."""

    embedding: Float[Tensor, "hidden vocab"]
    positional: Positional
    layers: tuple[Layer, ...]
    norm: LayerNorm | RMSNorm
    head: Linear

    def embed(self, token_ids: TokenIds, positions: Positions) -> Hidden:
        """The column of each token: the table lies as [hidden, vocab], the way round that makes the head fast."""
        return self.positional.embed(self.embedding[:, token_ids].T.contiguous(), positions)


def gpt2(config: ModelConfig, weights: Weights) -> Parts:
    """Learned positions, LayerNorm, biases everywhere, GELU (Radford et al. 2019)."""

    def linear(name: str) -> Linear:
        return Linear(weights[f"{name}.weight"].clone(memory_format=torch.contiguous_format), weights[f"{name}.bias"].clone())

    def norm(name: str) -> LayerNorm:
        return LayerNorm(weights[f"{name}.weight"].clone(), weights[f"{name}.bias"].clone(), config.norm_eps)

    def layer(number: int) -> Layer:
        name = f"h.{number}"
        qkv, output = linear(f"{name}.attn.c_attn"), linear(f"{name}.attn.c_proj")
        return Layer(
            attention_norm=norm(f"{name}.ln_1"),
            attention=Attention(number, qkv, output, config.query_heads, config.kv_heads),
            mlp_norm=norm(f"{name}.ln_2"),
            mlp=GeluMLP(up=linear(f"{name}.mlp.c_fc"), down=linear(f"{name}.mlp.c_proj")),
        )

    positional = LearnedPositions(weights["wpe.weight"].clone())
    return _parts(config, weights, positional, layer, norm("ln_f"))


def llama(config: ModelConfig, weights: Weights) -> Parts:
    """Rotary positions, RMSNorm, grouped-query attention, SwiGLU, no biases (arXiv 2302.13971, 2407.21783)."""

    def linear(*names: str) -> Linear:
        return Linear(torch.cat([weights[f"{name}.weight"].T for name in names], dim=1))

    def norm(name: str) -> RMSNorm:
        return RMSNorm(weights[f"{name}.weight"], config.norm_eps)

    def layer(number: int) -> Layer:
        attn, mlp = f"layers.{number}.self_attn", f"layers.{number}.mlp"
        qkv, output = linear(f"{attn}.q_proj", f"{attn}.k_proj", f"{attn}.v_proj"), linear(f"{attn}.o_proj")
        return Layer(
            attention_norm=norm(f"layers.{number}.input_layernorm"),
            attention=Attention(number, qkv, output, config.query_heads, config.kv_heads),
            mlp_norm=norm(f"layers.{number}.post_attention_layernorm"),
            mlp=SwiGLU(gate_up=linear(f"{mlp}.gate_proj", f"{mlp}.up_proj"), down=linear(f"{mlp}.down_proj")),
        )

    assert config.rope_theta is not None
    like = weights["norm.weight"]
    inverse = frequencies(config.head_dim, config.rope_theta, config.rope_scaling).to(like.device)
    positional = RotaryPositions(inverse, like.dtype)
    return _parts(config, weights, positional, layer, norm("norm"))


FAMILIES = {"gpt2": gpt2, "llama": llama}


def _parts(
    config: ModelConfig,
    weights: Weights,
    positional: Positional,
    layer: Callable[[int], Layer],
    norm: LayerNorm | RMSNorm,
) -> Parts:
    embedding = weights[EMBEDDING[config.architecture]].T.contiguous()
    head = Linear(embedding if config.tied_head else weights[HEAD].T.contiguous())
    return Parts(embedding, positional, tuple(layer(number) for number in range(config.layers)), norm, head)
