"""The cache as it is first written: every step concatenates the old rows and the new ones.

Kept because its cost is a lesson: a step copies all earlier rows, so ``copied_bytes`` grows with the square
of the length. Knows nothing about models.
"""

import torch

from kvref.cache.view import DenseView, check_commit, check_length, check_rows, following
from kvref.config import ModelConfig
from kvref.shapes import NewKeys, NewValues, Positions, TokenIds


class ConcatCache:
    """No capacity: each layer's keys and values are replaced by a longer tensor at every append."""

    def __init__(self, config: ModelConfig, *, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> None:
        empty = torch.empty(0, config.kv_heads, config.head_dim, dtype=dtype, device=device)
        self.config = config
        self.k, self.v = [empty] * config.layers, [empty] * config.layers
        self.length = 0
        self.copied_bytes = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all layers' rows; those of a pass that failed are not counted."""
        return sum(rows[: self.length].nbytes for rows in (*self.k, *self.v))

    def begin(self, token_ids: TokenIds) -> Positions:
        """Right behind the tokens that are there."""
        return following(self.length, token_ids)

    def append(self, layer: int, k: NewKeys, v: NewValues) -> DenseView:
        """Copy the old rows and the new ones into tensors one pass longer."""
        check_rows(self.config, layer, k, v, self.k[0].dtype)
        # Rows past the length are those of a pass that failed: they are left behind here.
        old_k, old_v = self.k[layer][: self.length], self.v[layer][: self.length]
        self.k[layer], self.v[layer] = torch.cat((old_k, k)), torch.cat((old_v, v))
        return DenseView(self.k[layer], self.v[layer], self.config.softmax_scale, layer)

    def commit(self, tokens: int) -> None:
        """Count in the tokens that every layer has appended."""
        check_commit(tokens, [len(rows) - self.length for rows in self.k])
        self.copied_bytes += self.nbytes  # the old rows, once each
        self.length += tokens

    def truncate(self, length: int) -> None:
        """Copies what is kept, so that the memory of the rest is given back."""
        check_length(length, self.length)
        self.k, self.v = ([rows[:length].clone() for rows in side] for side in (self.k, self.v))
        self.length = length
