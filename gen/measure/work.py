"""Pieces of a pass that can be timed alone: its matrix products, its attention, the copies of a cache that grows.

They run on the model's own weights and on random rows: how long a product takes does not depend on the numbers in it.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from gen.measure.bench import Work
from kvref.cache.view import KVCache
from kvref.config import ModelConfig
from kvref.model.layers import GeluMLP, Linear, SwiGLU
from kvref.model.transformer import Transformer
from kvref.ops.attention import attend


def linears(model: Transformer) -> Iterator[Linear]:
    """The matrices of all layers, in the order in which a pass multiplies by them; without the head."""
    for layer in model.parts.layers:
        assert isinstance(layer.mlp, GeluMLP | SwiGLU)
        up = layer.mlp.up if isinstance(layer.mlp, GeluMLP) else layer.mlp.gate_up
        yield from (layer.attention.qkv, layer.attention.output, up, layer.mlp.down)


def products(model: Transformer, rows: int, head_rows: int | None = None) -> Work:
    """Every matrix once, with as many rows; the head with `head_rows` (a prefill asks for one)."""
    inner, head = list(linears(model)), model.parts.head
    sizes = {linear.weight.shape[0] for linear in inner}
    rows_of = {size: noise(model, rows, size) for size in sizes}
    last = noise(model, head_rows or rows, head.weight.shape[0])

    @torch.inference_mode()
    def run() -> None:
        for linear in inner:
            linear(rows_of[linear.weight.shape[0]])
        head(last)

    return run


def step_attention(model: Transformer, k: Tensor, v: Tensor) -> Work:
    """The attention of one decode step in all layers, over [layers, tokens, kv_heads, head_dim]."""
    config = model.config
    q = noise(model, 1, config.query_heads, config.head_dim)

    @torch.inference_mode()
    def run() -> None:
        for keys, values in zip(k, v, strict=True):
            attend(q, keys, values, config.softmax_scale)

    return run


def prompt_attention(model: Transformer, tokens: int) -> Work:
    """The attention of a prefill in all layers: in each, what was just computed is still at hand."""
    config = model.config
    q = noise(model, tokens, config.query_heads, config.head_dim)
    k, v = (noise(model, tokens, config.kv_heads, config.head_dim) for _ in range(2))

    @torch.inference_mode()
    def run() -> None:
        for _ in range(config.layers):
            attend(q, k, v, config.softmax_scale)

    return run


def copies(k: Tensor, v: Tensor) -> Work:
    """What a cache that concatenates does in one step, and nothing else."""
    new = k[0, :1]

    @torch.inference_mode()
    def run() -> None:
        for keys, values in zip(k, v, strict=True):
            torch.cat((keys, new)), torch.cat((values, new))

    return run


@torch.inference_mode()
def fill(cache: KVCache, model: Transformer, tokens: int) -> None:
    """Append random rows: how long a step takes does not depend on the keys it reads."""
    cache.begin(torch.zeros(tokens, dtype=torch.int64, device=model.device))
    config = model.config
    for layer in range(config.layers):
        cache.append(layer, *(noise(model, tokens, config.kv_heads, config.head_dim) for _ in range(2)))
    cache.commit(tokens)


def some_ids(config: ModelConfig, count: int, device: torch.device | str = "cpu") -> Tensor:
    """Ids that are the same every time."""
    return torch.randint(config.vocab_size, (count,), generator=torch.Generator().manual_seed(count)).to(device)


def noise(model: Transformer, *shape: int) -> Tensor:
    """Random numbers of the model's kind, where the model is."""
    return torch.randn(shape, dtype=model.dtype, device=model.device)
