"""The forward pass: token ids and a cache in, logits out.

There is one model for every kind of cache and no branch on the kind: the cache says where the tokens stand, a layer
appends its keys and values and attends through the view it gets back. Whether the tokens are of one sequence or of many is
the cache's to know. Knows nothing about text, files or sampling.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from kvref.cache.view import KVCache
from kvref.config import ModelConfig
from kvref.model.families import FAMILIES, Weights
from kvref.ops.tap import Tap, observe
from kvref.shapes import Logits, Positions, TokenIds


class Transformer:
    """A decoder with its weights, laid out once for fast products. It has no state of its own between passes."""

    def __init__(self, config: ModelConfig, weights: Weights) -> None:
        """``weights``: exactly the tensors of ``kvref.layout.weight_shapes(config)``, all of one dtype."""
        self.config = config
        self.parts = FAMILIES[config.architecture](config, weights)

    @property
    def dtype(self) -> torch.dtype:
        """Of weights and logits."""
        return self.parts.embedding.dtype

    @property
    def device(self) -> torch.device:
        """Where the weights are; token ids go there."""
        return self.parts.embedding.device

    @torch.inference_mode()
    def __call__(
        self, token_ids: TokenIds, cache: KVCache, *, tap: Tap | None = None, rows: Sequence[int] | None = None
    ) -> Logits:
        """Run the tokens that follow those in ``cache`` and keep their keys and values there.

        Returns one row of logits a token, or only those of ``rows``, counted among these tokens. Raises ``ValueError``
        for no tokens, ids outside the vocabulary, positions the model does not have or a cache made for another model;
        the cache is then as it was, as after any other failure.
        """
        self.check(token_ids, cache)
        try:
            positions = cache.begin(token_ids)
            self._check_positions(positions)
            logits = self._forward(token_ids, positions, cache, tap, rows)
            cache.commit(len(token_ids))
        except BaseException:
            cache.truncate(cache.length)  # what the pass has reserved is given back
            raise
        return logits

    def _forward(
        self, token_ids: TokenIds, positions: Positions, cache: KVCache, tap: Tap | None, rows: Sequence[int] | None
    ) -> Logits:
        x, rope = self.parts.embed(token_ids, positions), self.parts.positional.rope(positions)
        for layer in self.parts.layers:
            x = layer(x, positions, rope, cache, tap)
        logits = self.parts.head(self.parts.norm(x if rows is None else x[list(rows)]))
        observe(tap, None, logits=logits)
        return logits

    def check(self, token_ids: Tensor, cache: KVCache) -> None:
        """Refuse what this model cannot read."""
        if token_ids.ndim != 1 or len(token_ids) == 0:
            raise ValueError(f"token_ids: expected one row of at least one id, got shape {tuple(token_ids.shape)}.")
        if token_ids.dtype not in (torch.int64, torch.int32):
            raise ValueError(f"token_ids: expected whole numbers (int64 or int32), got {token_ids.dtype}.")
        lowest, highest = (int(edge) for edge in token_ids.aminmax())
        if lowest < 0 or highest >= self.config.vocab_size:
            wrong = lowest if lowest < 0 else highest
            raise ValueError(f"token_ids: expected ids from 0 to {self.config.vocab_size - 1}, got {wrong}.")
        self.check_cache(cache.config)

    def check_cache(self, config: ModelConfig) -> None:
        """Refuse a cache that was made for another model, whose config this is."""
        expected, got = self.config.cached_shape, config.cached_shape
        if got != expected:
            raise ValueError(f"cache: expected one for {expected} layers, KV heads and head_dim, got one for {got}.")

    def _check_positions(self, positions: Positions) -> None:
        needed, there = int(positions.max()) + 1, self.config.max_positions
        if needed > there:
            raise ValueError(f"token_ids: the model has {there} positions, {needed} tokens do not fit.")
