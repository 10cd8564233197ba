"""From a ``config.json`` to the geometry of a cache, for more families than this project can run.

What is stated is taken as it stands: an explicit ``head_dim`` is never replaced by hidden size over heads; what is left
out is what the family fills in. What would change the cache and is not understood is refused in one sentence. Field names and
layer rules are those of the configuration classes of transformers. Knows no files and no bytes.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kvref.plan.fields import filled, flag
from kvref.plan.geometry import Geometry, Group, State
from kvref.plan.layer_kinds import MOST_LAYERS, kinds, linear_state, ssm_state

Raw = Mapping[str, Any]

LLAMA_LIKE = ("llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "gemma", "gemma2", "gemma3_text")
LATENT = ("deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2")
ELSEWHERE = ("phi3", "gpt_oss", "qwen3_next", "llama4_text")  # Llama's names with layer rules of their own
NESTED = {"gemma3": "gemma3_text", "llama4": "llama4_text"}  # what the sizes in text_config are then
KNOWN = ("gpt2", *LLAMA_LIKE, *LATENT, *ELSEWHERE, "falcon", "nemotron_h", "kimi_linear")


def from_config(raw: Any, name: str = "config.json") -> Geometry:
    """The geometry that a ``config.json`` describes. Raises ValueError: one sentence, naming the entry."""
    if not isinstance(raw, Mapping):
        raise ValueError(f"{name}: expected an object with a model's sizes, got {type(raw).__name__}.")
    if isinstance(inner := raw.get("text_config"), Mapping):
        outer = raw.get("model_type")
        return from_config({"model_type": NESTED.get(outer, outer) if isinstance(outer, str) else outer, **inner}, name)
    family = _family(raw, name)
    try:
        return _READERS.get(family, _latent if family in LATENT else _llama)(filled(raw, family), family, name)
    except ValueError as wrong:
        raise ValueError(wrong.args[0] if str(wrong).startswith(name) else f"{name}: {wrong}") from None


def _family(raw: Raw, name: str) -> str:
    """``model_type``; a file without one is told by its fields."""
    family = raw.get("model_type")
    if family is None:
        return "gpt2" if "n_head" in raw else "deepseek_v3" if "kv_lora_rank" in raw else "llama"
    if family not in KNOWN:
        raise ValueError(f"{name}: model_type {family!r} is not known; known: {', '.join(KNOWN)}.")
    return str(family)


def _gpt2(raw: Raw, family: str, name: str) -> Geometry:
    layers, heads, hidden = size(raw, "n_layer", most=MOST_LAYERS), size(raw, "n_head"), size(raw, "n_embd")
    head_dim = _divided("n_embd", hidden, heads)
    vocab, positions = optional(raw, "vocab_size"), optional(raw, "n_positions")
    inner = optional(raw, "n_inner") or 4 * hidden
    each = 4 * hidden * hidden + 2 * hidden * inner + 9 * hidden + inner
    head = 0 if flag(raw, "tie_word_embeddings", True) else vocab or 0
    total = (vocab + head + positions) * hidden + layers * each + 2 * hidden if vocab and positions else None
    groups = (Group(layers, heads, head_dim, head_dim),)
    return Geometry(name, layers, heads, groups, parameters=total, max_positions=positions)


def _llama(raw: Raw, family: str, name: str) -> Geometry:
    layers, heads = size(raw, "num_hidden_layers", most=MOST_LAYERS), size(raw, "num_attention_heads")
    kv_heads = size(raw, "num_key_value_heads", heads)
    if heads % kv_heads:
        raise ValueError(f"{heads} query heads cannot share {kv_heads} KV heads evenly.")
    head_dim = _head_dim(raw, heads)
    window, which = kinds(raw, family, layers)
    return Geometry(
        name,
        layers,
        heads,
        _groups(which, window, kv_heads, head_dim),
        linear_state(raw, which.count("linear")),
        parameters=dense_parameters(raw, family, layers, heads, kv_heads, head_dim),
        max_positions=optional(raw, "max_position_embeddings"),
        guessed=raw.get("model_type") is None and (raw.get("num_key_value_heads") is None or raw.get("head_dim") is None),
    )


def _latent(raw: Raw, family: str, name: str) -> Geometry:
    """MLA keeps a latent and one rotated key for all heads; DeepSeek-V3.2 an indexer's key beside them."""
    layers, heads = size(raw, "num_hidden_layers", most=MOST_LAYERS), size(raw, "num_attention_heads")
    row = size(raw, "kv_lora_rank") + size(raw, "qk_rope_head_dim") + (optional(raw, "index_head_dim") or 0)
    positions = optional(raw, "max_position_embeddings")
    return Geometry(name, layers, heads, (Group(layers, latent=row),), max_positions=positions)


def _falcon(raw: Raw, family: str, name: str) -> Geometry:
    """``multi_query`` means one KV head, unless the newer architecture gives their number."""
    layers, heads = size(raw, "num_hidden_layers", most=MOST_LAYERS), size(raw, "num_attention_heads")
    multi_query = flag(raw, "multi_query", True)
    kv_heads = 1 if multi_query else heads
    if flag(raw, "new_decoder_architecture"):
        kv_heads = size(raw, "num_kv_heads", heads)
    head_dim = _head_dim(raw, heads)
    positions = optional(raw, "max_position_embeddings")
    return Geometry(name, layers, heads, (Group(layers, kv_heads, head_dim, head_dim),), max_positions=positions)


def _nemotron_h(raw: Raw, family: str, name: str) -> Geometry:
    """A letter a layer: ``*`` attends, ``M`` is Mamba-2, ``-`` and ``E`` keep nothing."""
    layers, heads = size(raw, "num_hidden_layers", most=MOST_LAYERS), size(raw, "num_attention_heads")
    pattern = raw.get("hybrid_override_pattern")
    if not isinstance(pattern, str) or len(pattern) != layers or set(pattern) - set("*M-E"):
        raise ValueError(f"hybrid_override_pattern: expected {layers} of the letters * M - E, got {pattern!r}.")
    head_dim = size(raw, "head_dim", optional(raw, "attention_head_dim"))
    kv_heads, attending = size(raw, "num_key_value_heads", heads), pattern.count("*")
    groups = (Group(attending, kv_heads, head_dim, head_dim),) if attending else ()
    state = ssm_state(raw, pattern.count("M"))
    return Geometry(name, layers, heads, groups, state, max_positions=optional(raw, "max_position_embeddings"))


def _kimi_linear(raw: Raw, family: str, name: str) -> Geometry:
    """Layers in ``kda_layers`` (counted from 1) keep a state, the others a latent."""
    layers, heads = size(raw, "num_hidden_layers", most=MOST_LAYERS), size(raw, "num_attention_heads")
    linear = raw.get("linear_attn_config")
    if not isinstance(linear, Mapping) or not isinstance(linear.get("kda_layers"), list):
        raise ValueError("linear_attn_config: expected an object with the list kda_layers.")
    states, dim = len(linear["kda_layers"]), size(linear, "head_dim")
    row = size(raw, "kv_lora_rank") + size(raw, "qk_rope_head_dim")
    groups = (Group(layers - states, latent=row),)
    state = State(states, size(linear, "num_heads") * dim * dim, kind="linear attention") if states else None
    return Geometry(name, layers, heads, groups, state, max_positions=optional(raw, "max_position_embeddings"))


_READERS: dict[str, Callable[[Raw, str, str], Geometry]] = {
    "gpt2": _gpt2,
    "falcon": _falcon,
    "nemotron_h": _nemotron_h,
    "kimi_linear": _kimi_linear,
}


def dense_parameters(raw: Raw, family: str, layers: int, heads: int, kv_heads: int, head_dim: int) -> int | None:
    """All parameters of a dense Llama, Mistral or Qwen; None for other families, or if a size is missing."""
    hidden, inner, vocab = (optional(raw, key) for key in ("hidden_size", "intermediate_size", "vocab_size"))
    attention_bias, mlp_bias, tied = (flag(raw, key) for key in ("attention_bias", "mlp_bias", "tie_word_embeddings"))
    if family not in ("llama", "mistral", "qwen2", "qwen3") or not (hidden and inner and vocab):
        return None
    query, key = heads * head_dim, kv_heads * head_dim
    each = 2 * hidden * query + 2 * hidden * key + 3 * hidden * inner + 2 * hidden
    each += {"qwen2": query + 2 * key, "qwen3": 2 * head_dim}.get(family, 0)  # biases of its own; norms of q and k
    if family in ("llama", "qwen3") and attention_bias:
        each += query + 2 * key + hidden
    if family == "llama" and mlp_bias:
        each += 2 * inner + hidden
    return (1 if tied else 2) * vocab * hidden + layers * each + hidden


def size(raw: Raw, key: str, default: int | None = None, most: int = 2**40) -> int:
    """A whole number of at least 1; absent and null mean the default. Raises ValueError."""
    value = default if raw.get(key) is None else raw[key]
    if value is None:
        raise ValueError(f"{key} is missing.")
    if type(value) is not int or not 1 <= value <= most:
        raise ValueError(f"{key}: expected a whole number from 1 to {most:,}, got {value!r}.")
    return value


def optional(raw: Raw, key: str) -> int | None:
    """The same for what may be missing."""
    return None if raw.get(key) is None else size(raw, key)


def _head_dim(raw: Raw, heads: int) -> int:
    if raw.get("head_dim") is not None:
        return size(raw, "head_dim")
    return _divided("hidden_size", size(raw, "hidden_size"), heads)


def _divided(key: str, hidden: int, heads: int) -> int:
    if hidden % heads:
        raise ValueError(f"{key} {hidden} does not divide into {heads} heads, and no head_dim is given.")
    return hidden // heads


def _groups(which: list[str], window: int | None, kv_heads: int, head_dim: int) -> tuple[Group, ...]:
    """Layers that look back without end, then those with a window."""
    groups = []
    if whole := which.count("full"):
        groups.append(Group(whole, kv_heads, head_dim, head_dim))
    for kind in ("sliding", "chunked"):
        if some := which.count(kind):
            if window is None:
                raise ValueError(f"{some} layers are {kind}, but no window is given.")
            groups.append(Group(some, kv_heads, head_dim, head_dim, window=window, chunked=kind == "chunked"))
    return tuple(groups)
