"""What every cache is to the model, and the view through which its keys and values are read.

A pass begins with its tokens, appends to each layer and reads through the view it gets back; ``commit`` at the end
makes the new tokens part of the cache. Until then ``length`` has not moved, so a pass that fails halfway leaves the cache
as it was. Knows nothing about models.
"""

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

import torch
from torch import Tensor

from kvref.checks import whole
from kvref.config import ModelConfig
from kvref.ops.attention import attend
from kvref.ops.tap import Tap
from kvref.shapes import Keys, NewKeys, NewValues, Positions, Queries, TokenIds, Values


@runtime_checkable
class View(Protocol):
    """The keys and values that one layer may read in this pass."""

    @property
    def positions(self) -> Tensor:
        """The position of each key, [kv_len]."""
        ...

    def attend(self, q: Queries, positions: Positions, tap: Tap | None = None) -> Queries:
        """Attention of queries at these positions over the keys of this view."""
        ...


@runtime_checkable
class KVCache(Protocol):
    """Keys and values of the tokens so far, for every layer."""

    @property
    def config(self) -> ModelConfig:
        """Of the model it was made for."""
        ...

    @property
    def length(self) -> int:
        """Tokens whose keys and values are kept; the next token's position."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of the tensors really held, used or not."""
        ...

    def begin(self, token_ids: TokenIds) -> Positions:
        """A pass over these tokens starts: see to room for them; the position of each."""
        ...

    def append(self, layer: int, k: NewKeys, v: NewValues) -> View:
        """Take this pass's keys (rotated) and values for one layer; see them and all earlier ones."""
        ...

    def commit(self, tokens: int) -> None:
        """Every layer has appended ``tokens`` rows: count them in."""
        ...

    def truncate(self, length: int) -> None:
        """Forget all tokens but the first ``length``, and those of a pass that did not end."""
        ...


class DenseView:
    """Rows 0, 1, 2, … of one layer in order, the last of them those of this pass."""

    causal: ClassVar[bool] = True

    def __init__(self, keys: Keys, values: Values, scale: float, layer: int) -> None:
        self.keys, self.values, self.scale, self.layer = keys, values, scale, layer

    @property
    def positions(self) -> Tensor:
        """0, 1, 2, … [kv_len]."""
        return torch.arange(len(self.keys), device=self.keys.device)

    def attend(self, q: Queries, positions: Positions, tap: Tap | None = None) -> Queries:
        """The rows are in order and end with this pass, so how many queries there are says where they stand."""
        return attend(q, self.keys, self.values, self.scale, self.causal, tap, self.layer)


def following(length: int, token_ids: Tensor) -> Tensor:
    """Positions of tokens that follow ``length`` others: one sequence, nothing left out."""
    return torch.arange(length, length + len(token_ids), device=token_ids.device)


def check_rows(config: ModelConfig, layer: int, k: Tensor, v: Tensor, kept: torch.dtype) -> None:
    """Refuse rows that do not belong to this model's cache."""
    if not 0 <= layer < config.layers:
        raise ValueError(f"layer: expected 0 to {config.layers - 1}, got {layer}.")
    expected = (len(k), config.kv_heads, config.head_dim)
    if k.shape != expected or v.shape != expected:
        raise ValueError(f"k, v: expected two tensors {expected}, got {tuple(k.shape)} and {tuple(v.shape)}.")
    if k.dtype != kept or v.dtype != kept:
        raise ValueError(f"k, v: expected {kept}, which this cache was made for, got {k.dtype} and {v.dtype}.")


def check_length(length: int, kept: int) -> None:
    """Refuse to truncate to more than there is."""
    if type(length) is not int or not 0 <= length <= kept:
        raise ValueError(f"length: expected a whole number from 0 to {kept} (the tokens kept), got {length!r}.")


def check_commit(tokens: int, appended: Sequence[int]) -> None:
    """Refuse to count in what not every layer has appended."""
    whole(tokens=tokens)
    for layer, rows in enumerate(appended):
        if rows != tokens:
            raise ValueError(f"tokens: expected as many as every layer has appended, got {tokens}; layer {layer} has {rows}.")
