"""A model laid out for a GPU: matrices the way round that this device multiplies one row by faster, norms as one kernel.

`kvref` keeps q, k and v in one matrix and gate and up in another, so a step reads every weight once in four products a
layer; only how a matrix lies in memory is chosen here, by timing both ways on the largest one.
"""

from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gen.measure.bench import Bench, Work
from gen.measure.clock import Lane
from gen.measure.work import noise
from kvref.model.families import Parts
from kvref.model.layers import GeluMLP, Layer, Linear, RMSNorm, SwiGLU
from kvref.model.transformer import Transformer


class FusedNorm(RMSNorm):
    """RMSNorm in torch's one kernel; `kvref`'s own takes five, which is quicker on a CPU and slower here."""

    def __init__(self, norm: RMSNorm, eps: float, dtype: torch.dtype) -> None:
        self.gain, self.eps = (norm.gain / len(norm.gain) ** 0.5).to(dtype), eps

    def __call__(self, x: Tensor) -> Tensor:
        """Normalise each token's row."""
        return F.rms_norm(x, self.gain.shape, self.gain, self.eps)


def choose(bench: Bench) -> dict[str, Any]:
    """Time one row times the head both ways, and lay the model out the faster way. What was found, for the record."""
    model = bench.model
    weight = model.parts.head.weight
    row, turned = noise(model, 1, weight.shape[0]), _turned(weight)
    taken = bench.compare("layout", {"in-out": Lane(_product(row, weight)), "out-in": Lane(_product(row, turned))})
    faster = min(taken, key=lambda name: taken[name].least)
    apply(model, turn=faster == "out-in")
    bench.layout = faster
    return {"chosen": faster, **{name: one.timing() for name, one in taken.items()}}


def _product(row: Tensor, weight: Tensor) -> Work:
    return torch.inference_mode()(lambda: row @ weight)


def _turned(weight: Tensor) -> Tensor:
    """The same matrix, [in, out], lying in memory as [out, in]."""
    return weight.T.contiguous().T


def apply(model: Transformer, *, turn: bool) -> None:
    """Change the model's parts in place, one matrix at a time."""
    parts = model.parts
    head, embedding = parts.head, parts.embedding
    if turn:
        tied = head.weight.data_ptr() == embedding.data_ptr()
        head = Linear(_turned(head.weight), head.bias)
        embedding = head.weight if tied else embedding
    layers = tuple(_layer(model, layer, turn) for layer in parts.layers)
    model.parts = Parts(embedding, parts.positional, layers, _norm(model, parts.norm), head)


def _layer(model: Transformer, layer: Layer, turn: bool) -> Layer:
    """The layer with its four matrices turned, each old one given back before the next is copied."""
    if turn:
        matrices = (layer.attention.qkv, layer.attention.output, *_mlp_matrices(layer))
        for linear in matrices:
            linear.weight = _turned(linear.weight)
            linear.halves = None  # for one row on two cores of a CPU
    return replace(layer, attention_norm=_norm(model, layer.attention_norm), mlp_norm=_norm(model, layer.mlp_norm))


def _mlp_matrices(layer: Layer) -> tuple[Linear, Linear]:
    assert isinstance(layer.mlp, GeluMLP | SwiGLU)
    return (layer.mlp.up if isinstance(layer.mlp, GeluMLP) else layer.mlp.gate_up, layer.mlp.down)


def _norm(model: Transformer, norm: Any) -> Any:
    if not isinstance(norm, RMSNorm) or isinstance(norm, FusedNorm):
        return norm
    return FusedNorm(norm, model.config.norm_eps, model.dtype)
