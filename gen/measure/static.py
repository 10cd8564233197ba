"""A decode step of fixed shape for several sequences: what a CUDA graph can record, and what runs on a CPU as it is.

The layers are `kvref`'s; the cache is a buffer of fixed capacity a sequence, written at a position that is held in a
tensor. All sequences are of one length and the step is the one that fills the buffer, so attention reads every row of it
and needs no mask. A server would record a graph for each of some lengths. Knows nothing about prompts.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from gen.measure.work import noise, some_ids
from kvref.config import ModelConfig
from kvref.model.transformer import Transformer
from kvref.ops.tap import Tap


@dataclass(frozen=True)
class BatchView:
    """One layer's rows of every sequence, [batch, capacity, kv_heads, head_dim]."""

    keys: Tensor
    values: Tensor
    scale: float

    @property
    def positions(self) -> Tensor:
        """0, 1, 2, … of each sequence."""
        return torch.arange(self.keys.shape[1], device=self.keys.device)

    def attend(self, q: Tensor, positions: Tensor, tap: Tap | None = None) -> Tensor:
        """One query a sequence, [batch, query_heads, head_dim], over all rows of its own."""
        k, v = self.keys.transpose(1, 2), self.values.transpose(1, 2)
        return F.scaled_dot_product_attention(q.unsqueeze(2), k, v, scale=self.scale, enable_gqa=True).squeeze(2)


class BatchCache:
    """Buffers for ``batch`` sequences of ``capacity`` tokens; ``position`` says where the next row goes."""

    def __init__(self, model: Transformer, batch: int, capacity: int) -> None:
        self.config: ModelConfig = model.config
        shape = (self.config.layers, batch, capacity, self.config.kv_heads, self.config.head_dim)
        self.k, self.v = (torch.empty(shape, dtype=model.dtype, device=model.device).normal_() for _ in range(2))
        self.layer_k, self.layer_v = self.k.unbind(), self.v.unbind()
        self.length = capacity - 1
        self.position = torch.tensor([self.length], device=model.device)

    @property
    def nbytes(self) -> int:
        """Of both tensors."""
        return self.k.nbytes + self.v.nbytes

    def begin(self, token_ids: Tensor) -> Tensor:
        """The position of each sequence's token."""
        return self.position.expand(len(token_ids))

    def append(self, layer: int, k: Tensor, v: Tensor) -> BatchView:
        """One row for each sequence."""
        keys, values = self.layer_k[layer], self.layer_v[layer]
        keys.index_copy_(1, self.position, k.unsqueeze(1))
        values.index_copy_(1, self.position, v.unsqueeze(1))
        return BatchView(keys, values, self.config.softmax_scale)

    def commit(self, tokens: int) -> None:
        """The same step can be run again: nothing moves on."""

    def truncate(self, length: int) -> None:
        """Rows are written over."""


class DecodeStep:
    """Call it to run one step: a token for each sequence in, the likeliest next ones out, in tensors that stay."""

    def __init__(self, model: Transformer, batch: int, context_tokens: int) -> None:
        self.model, self.cache = model, BatchCache(model, batch, context_tokens)
        self.ids = some_ids(model.config, batch, model.device)
        self.positions = self.cache.position.expand(batch).contiguous()

    @torch.inference_mode()
    def __call__(self) -> None:
        """Nothing here waits for the device, and no shape depends on a value."""
        parts = self.model.parts
        x, rope = parts.embed(self.ids, self.positions), parts.positional.rope(self.positions)
        for layer in parts.layers:
            x = layer(x, self.positions, rope, self.cache, None)
        self.ids.copy_(parts.head(parts.norm(x)).argmax(-1))

    def attention(self) -> Callable[[], object]:
        """Its attention alone, over the same rows."""
        config = self.model.config
        q = noise(self.model, len(self.ids), config.query_heads, config.head_dim)
        views = [
            BatchView(keys, values, config.softmax_scale)
            for keys, values in zip(self.cache.layer_k, self.cache.layer_v, strict=True)
        ]

        @torch.inference_mode()
        def run() -> None:
            for view in views:
                view.attend(q, self.positions)

        return run
