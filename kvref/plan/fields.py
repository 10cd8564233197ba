"""What a ``config.json`` leaves out and its family fills in, and what is true or false in it.

The hub's files list only what differs from the family's class in transformers; these are the values of those classes
(5.24) where a field decides what the cache consists of. Absent and null differ: null is what the file says, no default.
"""

from collections.abc import Mapping
from typing import Any

Raw = Mapping[str, Any]

_QWEN = {"num_key_value_heads": 32, "sliding_window": 4096, "max_window_layers": 28}
DEFAULTS: dict[str, dict[str, int]] = {  # for the other families what is absent follows from the heads and hidden size
    "mistral": {"num_key_value_heads": 8, "sliding_window": 4096},
    "mixtral": {"num_key_value_heads": 8},
    "qwen2": _QWEN,
    "qwen2_moe": _QWEN | {"num_key_value_heads": 16},
    "qwen3": _QWEN | {"head_dim": 128},
    "qwen3_moe": {"num_key_value_heads": 4, "sliding_window": 4096},
    "qwen3_next": {"num_key_value_heads": 2, "head_dim": 256},
    "gemma": {"num_key_value_heads": 16, "head_dim": 256},
    "gemma2": {"num_key_value_heads": 4, "head_dim": 256, "sliding_window": 4096},
    "gemma3_text": {"num_key_value_heads": 4, "head_dim": 256, "sliding_window": 4096},
    "gpt_oss": {"num_key_value_heads": 8, "head_dim": 64, "sliding_window": 128},
    "llama4_text": {"num_key_value_heads": 8, "head_dim": 128, "attention_chunk_size": 8192},
    "nemotron_h": {"num_key_value_heads": 8},
}


def filled(raw: Raw, family: str) -> Raw:
    """The file with what its family fills in."""
    return DEFAULTS.get(family, {}) | dict(raw)


def flag(raw: Raw, key: str, default: bool = False) -> bool:
    """True or false; absent and null mean the default. Raises ValueError for anything else, "false" too."""
    value = default if raw.get(key) is None else raw[key]
    if not isinstance(value, bool):
        raise ValueError(f"{key}: expected true or false, got {value!r}.")
    return value
