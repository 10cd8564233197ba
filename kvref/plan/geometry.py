"""What a model's cache consists of: which layers keep rows, how many numbers stand in a row, how far back it reaches.

Most models have one group of like layers. A window, a latent (MLA), layers that read another layer's cache, and
layers with a state of fixed size instead of a cache are the exceptions described here. Counts only: knows no
bytes, no tensors and no files.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvref.checks import whole


@dataclass(frozen=True)
class Group:
    """Layers that keep the same cache.

    A row is what one token leaves in one layer: for each KV head a key and a value, or, where ``latent`` is not 0,
    that many numbers that all heads share (DeepSeek-V2, arXiv:2405.04434, section 2.1). With ``every`` above 1 that many
    tokens leave one row together.
    """

    layers: int
    kv_heads: int = 0
    key_dim: int = 0
    value_dim: int = 0
    latent: int = 0
    window: int | None = None  # rows further back than this are dropped; None: nothing is
    chunked: bool = False  # the window starts anew at each multiple of itself (Llama 4)
    every: int = 1

    def __post_init__(self) -> None:
        _whole("layers", self.layers, 1)
        _whole("every", self.every, 1)
        if self.window is not None:
            _whole("window", self.window, 1)
        if self.latent:
            _whole("latent", self.latent, 1)
        else:
            for name in ("kv_heads", "key_dim", "value_dim"):
                _whole(name, getattr(self, name), 1)

    @property
    def row_numbers(self) -> int:
        """Numbers in a row of one layer."""
        return self.latent or self.kv_heads * (self.key_dim + self.value_dim)

    def rows(self, tokens: int) -> int:
        """Rows that one layer keeps after ``tokens`` tokens. An unfinished row is not kept yet."""
        return (tokens if self.window is None else min(tokens, self.window)) // self.every


@dataclass(frozen=True)
class State:
    """Layers that keep a state whose size does not depend on the tokens (linear attention, Mamba)."""

    layers: int
    numbers: int  # in one layer
    bytes_per_number: int = 4
    kind: str = "state"

    def __post_init__(self) -> None:
        for name in ("layers", "numbers", "bytes_per_number"):
            _whole(f"state {name}", getattr(self, name), 1)

    @property
    def bytes(self) -> int:
        """Bytes of one sequence."""
        return self.layers * self.numbers * self.bytes_per_number


@dataclass(frozen=True)
class Geometry:
    """A model as its cache sees it. ``parameters`` and ``max_positions`` are None where nobody says."""

    name: str
    layers: int
    query_heads: int
    groups: tuple[Group, ...]
    state: State | None = None
    shared_layers: int = 0  # read the cache of an earlier layer and keep none
    parameters: int | None = None
    max_positions: int | None = None
    guessed: bool = False  # a file without a model_type, read as Llama: KV heads or their size are not stated

    def __post_init__(self) -> None:
        _whole("layers", self.layers, 1)
        _whole("query heads", self.query_heads, 1)
        for name in ("parameters", "max_positions"):
            if getattr(self, name) is not None:
                _whole(name, getattr(self, name), 1)
        if not self.groups and self.state is None:
            raise ValueError(f"{self.name}: no layer keeps anything.")

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Geometry":
        """A row of the project's table of models. Raises ValueError naming what does not fit."""
        try:
            return cls(
                name=row["name"],
                layers=row["layers"],
                query_heads=row["query_heads"],
                groups=tuple(Group(**group) for group in row["groups"]),
                state=State(**row["state"]) if row.get("state") else None,
                shared_layers=row.get("shared_layers", 0),
                parameters=row["parameters"]["total"],
                max_positions=row["max_positions"],
            )
        except (KeyError, TypeError) as wrong:
            raise ValueError(f"the row {row.get('id')!r} is not a geometry ({wrong}).") from wrong


def _whole(name: str, value: Any, least: int) -> None:
    whole(least, **{name: value})
