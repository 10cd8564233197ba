"""The one reader of ``config.json``: a checkpoint's sizes under the names this project uses.

Two families are known, GPT-2 and Llama, in the layout of Hugging Face. What would change the numbers and is
not implemented is refused, never ignored. Knows nothing about weights or tensors; importing it loads no
torch.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvref.entries import above_zero, first, flag, mapping, number, require, size
from kvref.errors import CheckpointError

DEFAULT_ROPE_THETA = 10_000.0
MOST_LAYERS = 10_000  # a damaged file must not make us list millions of tensors


@dataclass(frozen=True)
class RopeScaling:
    """Llama 3's stretching of slow rotations (Llama 3.1 model card; ``rope_type: llama3``)."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_max_positions: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            above_zero(name, value)
        low, high = self.low_freq_factor, self.high_freq_factor
        if low >= high:
            raise CheckpointError(f"config: low_freq_factor must be below high_freq_factor, got {low} and {high}.")


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of one model. ``rope_theta`` is None where positions are learned (GPT-2)."""

    architecture: str
    vocab_size: int
    hidden_size: int
    layers: int
    query_heads: int
    kv_heads: int
    head_dim: int
    intermediate_size: int
    max_positions: int
    norm_eps: float
    rope_theta: float | None = None
    rope_scaling: RopeScaling | None = None
    tied_head: bool = True
    bos_token_id: int | None = None
    eos_token_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.query_heads % self.kv_heads:
            raise CheckpointError(
                f"config: {self.query_heads} query heads cannot share {self.kv_heads} key-value heads evenly."
            )
        if self.rope_theta is not None and self.head_dim % 2:
            raise CheckpointError(f"config: rotary positions need an even head_dim, got {self.head_dim}.")
        above_zero("norm_eps", self.norm_eps)
        if self.rope_theta is not None:
            above_zero("rope_theta", self.rope_theta)

    @property
    def group_size(self) -> int:
        """Query heads that read one KV head."""
        return self.query_heads // self.kv_heads

    @property
    def cached_shape(self) -> tuple[int, int, int]:
        """What caches of two models must share: layers, and heads and numbers of a key."""
        return self.layers, self.kv_heads, self.head_dim

    @property
    def softmax_scale(self) -> float:
        """What scores are multiplied by, 1/√head_dim."""
        return float(self.head_dim**-0.5)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> "ModelConfig":
        """Read the content of a ``config.json``. Raises ``CheckpointError`` for what is unknown or missing."""
        family = raw.get("model_type")
        if not isinstance(family, str) or family not in _FAMILIES:
            raise CheckpointError(f"config: unknown architecture {family!r}; known: {', '.join(sorted(_FAMILIES))}.")
        try:
            return cls(architecture=family, **_FAMILIES[family](raw), **_special_tokens(raw))
        except KeyError as missing:
            raise CheckpointError(f"config: the {family} entry {missing} is missing.") from missing

    @classmethod
    def from_folder(cls, folder: str | Path) -> "ModelConfig":
        """Read ``config.json`` in a folder."""
        path = Path(folder) / "config.json"
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as missing:
            raise CheckpointError(f"{path} does not exist.") from missing
        except (OSError, ValueError, RecursionError) as wrong:
            raise CheckpointError(f"{path} cannot be read as JSON ({wrong}).") from wrong
        if not isinstance(raw, dict):
            raise CheckpointError(f"{path} must hold an object, got {type(raw).__name__}.")
        return cls.from_dict(raw)


def _gpt2(raw: Mapping[str, Any]) -> dict[str, Any]:
    require(raw, "activation_function", "gelu_new", allowed=("gelu_new", "gelu_pytorch_tanh"))
    require(raw, "scale_attn_weights", True, allowed=(True,))
    require(raw, "scale_attn_by_inverse_layer_idx", False, allowed=(False,))
    heads, hidden = size(raw, "n_head"), size(raw, "n_embd")
    return {
        "vocab_size": size(raw, "vocab_size"),
        "hidden_size": hidden,
        "layers": size(raw, "n_layer", most=MOST_LAYERS),
        "query_heads": heads,
        "kv_heads": heads,
        "head_dim": _divided(hidden, heads),
        "intermediate_size": size(raw, "n_inner", 4 * hidden),
        "max_positions": size(raw, "n_positions"),
        "norm_eps": number(raw, "layer_norm_epsilon", 1e-5),
        "tied_head": flag(raw, "tie_word_embeddings", True),
    }


def _llama(raw: Mapping[str, Any]) -> dict[str, Any]:
    require(raw, "hidden_act", "silu", allowed=("silu",))
    require(raw, "attention_bias", False, allowed=(False,))
    require(raw, "mlp_bias", False, allowed=(False,))
    heads, hidden = size(raw, "num_attention_heads"), size(raw, "hidden_size")
    theta, scaling = _rope(raw)
    return {
        "vocab_size": size(raw, "vocab_size"),
        "hidden_size": hidden,
        "layers": size(raw, "num_hidden_layers", most=MOST_LAYERS),
        "query_heads": heads,
        "kv_heads": size(raw, "num_key_value_heads", heads),
        "head_dim": _divided(hidden, heads) if raw.get("head_dim") is None else size(raw, "head_dim"),
        "intermediate_size": size(raw, "intermediate_size"),
        "max_positions": size(raw, "max_position_embeddings"),
        "norm_eps": number(raw, "rms_norm_eps", 1e-6),
        "rope_theta": theta,
        "rope_scaling": scaling,
        "tied_head": flag(raw, "tie_word_embeddings", False),
    }


_FAMILIES = {"gpt2": _gpt2, "llama": _llama}


def _rope(raw: Mapping[str, Any]) -> tuple[float, RopeScaling | None]:
    """θ and scaling, wherever this file keeps them: at top level, or inside ``rope_parameters`` (newer writers)."""
    nested = {**mapping(raw, "rope_scaling"), **mapping(raw, "rope_parameters")}
    theta = number(raw if nested.get("rope_theta") is None else nested, "rope_theta", DEFAULT_ROPE_THETA)
    require(nested, "partial_rotary_factor", 1.0, allowed=(1.0, None))
    kind = first(nested.get("rope_type"), nested.get("type"), "default")
    if kind == "default":
        return theta, None
    if kind != "llama3":
        raise CheckpointError(f"config: rotary scaling {kind!r} is not implemented; known: default, llama3.")
    return theta, RopeScaling(
        factor=number(nested, "factor"),
        low_freq_factor=number(nested, "low_freq_factor"),
        high_freq_factor=number(nested, "high_freq_factor"),
        original_max_positions=size(nested, "original_max_position_embeddings"),
    )


def _special_tokens(raw: Mapping[str, Any]) -> dict[str, Any]:
    bos, eos = raw.get("bos_token_id"), raw.get("eos_token_id")
    listed = eos if isinstance(eos, list) else [] if eos is None else [eos]
    for name, token_id in (*(("eos_token_id", one) for one in listed), ("bos_token_id", bos)):
        if token_id is not None and (type(token_id) is not int or not 0 <= token_id < raw["vocab_size"]):
            raise CheckpointError(f"config: {name} must be an id from 0 to {raw['vocab_size'] - 1}, got {token_id!r}.")
    return {"bos_token_id": bos, "eos_token_ids": tuple(listed)}


def _divided(hidden: int, heads: int) -> int:
    if hidden % heads:
        raise CheckpointError(f"config: hidden size {hidden} does not divide into {heads} heads; give head_dim.")
    return hidden // heads
