"""No cache at all, behind the same few calls: every pass is the whole sequence and nothing is kept.

This is the left lane of the comparison: the model is the same, only what it remembers differs.
"""

from typing import ClassVar

from kvref.cache.view import DenseView, check_length, check_rows, following
from kvref.config import ModelConfig
from kvref.shapes import NewKeys, NewValues, Positions, TokenIds


class NoCache:
    """Forgets each pass; its length is always 0."""

    view_class: ClassVar[type[DenseView]] = DenseView
    length = 0
    nbytes = 0

    def __init__(self, config: ModelConfig) -> None:
        self.config = config

    def begin(self, token_ids: TokenIds) -> Positions:
        """Every pass starts at position 0."""
        return following(0, token_ids)

    def append(self, layer: int, k: NewKeys, v: NewValues) -> DenseView:
        """See the rows of this pass, and only them."""
        check_rows(self.config, layer, k, v, k.dtype)
        return self.view_class(k, v, self.config.softmax_scale, layer)

    def commit(self, tokens: int) -> None:
        """Nothing to count: what was appended is gone when the pass ends."""

    def truncate(self, length: int) -> None:
        """Nothing to forget: the only length there is is 0."""
        check_length(length, 0)
