"""Which layers keep everything, which a window, which a state: the rules of the families, from a ``config.json``.

A list ``layer_types`` in the file wins; without one each family has a rule. Knows no bytes.
"""

from collections.abc import Mapping
from typing import Any

from kvref.plan.fields import flag
from kvref.plan.geometry import State

Raw = Mapping[str, Any]

MOST_LAYERS = 10_000  # a damaged file must not make us list millions of layers
TYPES = {
    "full_attention": "full",
    "attention": "full",
    "sliding_attention": "sliding",
    "chunked_attention": "chunked",
    "linear_attention": "linear",
}


def kinds(raw: Raw, family: str, layers: int) -> tuple[int | None, list[str]]:
    """The window, and for each layer ``full``, ``sliding``, ``chunked`` or ``linear``. Raises ValueError."""
    window = _count(raw, "attention_chunk_size" if family == "llama4_text" else "sliding_window")
    if family in ("llama", "gemma") or (family.startswith("qwen") and not flag(raw, "use_sliding_window")):
        window = None
    listed = raw.get("layer_types")
    if listed is not None:
        return window, _listed(listed, layers)
    if family == "qwen3_next":
        return window, _every(layers, _count(raw, "full_attention_interval") or 4, "linear")
    if family == "llama4_text":
        return window, _every(layers, _count(raw, "no_rope_layer_interval") or 4, "chunked")
    if window is None:
        return None, ["full"] * layers
    if family in ("qwen2", "qwen2_moe", "qwen3"):
        first = raw.get("max_window_layers")
        if type(first) is not int or first < 0:
            raise ValueError(f"max_window_layers: expected a whole number, got {first!r}.")
        if family == "qwen2_moe":  # every other layer of the first ones, where its brothers slide in the later ones
            return window, ["sliding" if layer < first and layer % 2 == 0 else "full" for layer in range(layers)]
        return window, ["full" if layer < first else "sliding" for layer in range(layers)]
    if family in ("gemma2", "gpt_oss"):
        return window, _every(layers, 2, "sliding")
    if family == "gemma3_text":
        return window, _every(layers, _count(raw, "sliding_window_pattern") or 6, "sliding")
    return window, ["sliding"] * layers  # Mistral, Mixtral, Phi-3, Qwen3-MoE


def linear_state(raw: Raw, layers: int) -> State | None:
    """The state of linear-attention layers: for each value head a matrix of key × value numbers, in four bytes each."""
    if not layers:
        return None
    names = ("linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim")
    heads, key, value = (_required(raw, name) for name in names)
    return State(layers, heads * key * value, kind="linear attention")


def ssm_state(raw: Raw, layers: int) -> State | None:
    """The state of Mamba-2 layers: heads × head size × state size, in four bytes each."""
    if not layers:
        return None
    heads, dim, size = (_required(raw, name) for name in ("mamba_num_heads", "mamba_head_dim", "ssm_state_size"))
    return State(layers, heads * dim * size, kind="Mamba-2")


def _listed(listed: Any, layers: int) -> list[str]:
    if not isinstance(listed, list) or len(listed) != layers:
        raise ValueError(f"layer_types: expected a list of {layers} names.")
    unknown = [one for one in listed if not isinstance(one, str) or one not in TYPES]
    if unknown:
        raise ValueError(f"layer_types: {unknown[0]!r} is not known; known: {', '.join(TYPES)}.")
    return [TYPES[one] for one in listed]


def _every(layers: int, interval: int, others: str) -> list[str]:
    """Each ``interval``-th layer looks back without end."""
    return ["full" if (layer + 1) % interval == 0 else others for layer in range(layers)]


def _count(raw: Raw, key: str) -> int | None:
    value = raw.get(key)
    if value is not None and (type(value) is not int or value < 1):
        raise ValueError(f"{key}: expected a whole number of at least 1, got {value!r}.")
    return value


def _required(raw: Raw, key: str) -> int:
    value = _count(raw, key)
    if value is None:
        raise ValueError(f"{key} is missing.")
    return value
