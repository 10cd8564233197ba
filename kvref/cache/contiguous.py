"""The plain cache: one block of memory for keys and one for values, allocated once and filled from the front.

It is the oracle that every other cache is compared with. Knows nothing about models, blocks or other requests.
"""

from typing import ClassVar

import torch

from kvref.cache.view import DenseView, check_commit, check_length, check_rows, following
from kvref.checks import whole
from kvref.config import ModelConfig
from kvref.errors import OutOfCapacity
from kvref.shapes import NewKeys, NewValues, Positions, TokenIds


class ContiguousCache:
    """Room for ``capacity_tokens`` tokens; ``k`` and ``v`` are [layers, capacity, kv_heads, head_dim]."""

    view_class: ClassVar[type[DenseView]] = DenseView

    def __init__(
        self,
        config: ModelConfig,
        capacity_tokens: int,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        whole(capacity_tokens=capacity_tokens)
        shape = (config.layers, capacity_tokens, config.kv_heads, config.head_dim)
        self.config, self.capacity = config, capacity_tokens
        self.k = torch.empty(shape, dtype=dtype, device=device)
        self.v = torch.empty(shape, dtype=dtype, device=device)
        # Each layer's rows as tensors of their own: a step for one token does nothing that need not be done.
        self.layer_k, self.layer_v = self.k.unbind(), self.v.unbind()
        self.appended = [0] * config.layers  # rows of this pass
        self.length = 0

    @property
    def nbytes(self) -> int:
        """Bytes of both tensors, used or not."""
        return self.k.nbytes + self.v.nbytes

    def begin(self, token_ids: TokenIds) -> Positions:
        """Right behind the tokens that are there."""
        return following(self.length, token_ids)

    def append(self, layer: int, k: NewKeys, v: NewValues) -> DenseView:
        """Write the new rows behind the old ones; see all of them."""
        end = self.room_for(layer, k, v)
        keys, values = self.layer_k[layer][:end], self.layer_v[layer][:end]
        keys[self.length :], values[self.length :] = k, v  # append: the old rows stay
        return self.view_class(keys, values, self.config.softmax_scale, layer)

    def room_for(self, layer: int, k: NewKeys, v: NewValues) -> int:
        """The row after the last of these, if they fit. Raises ``OutOfCapacity`` before anything is written."""
        check_rows(self.config, layer, k, v, self.k.dtype)
        end = self.length + len(k)
        if end > self.capacity:
            raise OutOfCapacity(f"The cache holds {self.capacity} tokens; {end} do not fit.")
        self.appended[layer] = end - self.length
        return end

    def commit(self, tokens: int) -> None:
        """Count in the tokens that every layer has appended."""
        check_commit(tokens, self.appended)
        self.appended = [0] * self.config.layers
        self.length += tokens

    def truncate(self, length: int) -> None:
        """Constant time: rows past ``length`` stay in memory and are written over."""
        check_length(length, self.length)
        self.appended = [0] * self.config.layers
        self.length = length
