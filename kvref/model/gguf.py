"""Reading a GGUF file: dequantised weights under Hugging Face names, ``config.json``, the tokenizer's metadata.

GGUF files of the architecture "llama" keep the rows of q and k interleaved, for another form of RoPE; they are put back
here. Files of other architectures are not permuted. Knows nothing about models or text.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from gguf import GGUFReader, ReaderTensor
from gguf.quants import dequantize
from torch import Tensor

from kvref.config import ModelConfig
from kvref.errors import CheckpointError
from kvref.model import gguf_names


class Contents(NamedTuple):
    """What is in the file: ``config`` as in config.json, ``weights`` by Hugging Face name, ``tokenizer`` metadata."""

    config: dict[str, Any]
    weights: dict[str, Tensor]
    tokenizer: dict[str, Any]


def read(path: str | Path) -> Contents:
    """Read a GGUF file of the GPT-2 or Llama family. Raises ``CheckpointError`` for what it cannot use."""
    fields, tensors = _opened(path)
    architecture = fields.get("general.architecture")
    if architecture not in _FAMILIES:
        known = ", ".join(sorted(_FAMILIES))
        raise CheckpointError(f"{path}: unknown architecture {architecture!r}; known: {known}.")
    family = _FAMILIES[architecture]
    config = family.config(_Metadata(path, fields, architecture))
    config["tie_word_embeddings"] = "output.weight" not in tensors
    sizes = ModelConfig.from_dict(config)  # refuses sizes that no model has before anything is sized by them
    names = family.names.of(sizes.layers)
    weights = {}
    for name, tensor in tensors.items():
        if name not in names:
            raise CheckpointError(f"{path}: unknown tensor {name!r} for the architecture {architecture}.")
        weights[names[name]] = family.put_back(name, _dequantised(path, tensor), sizes)
    return Contents(config, weights, {key: value for key, value in fields.items() if key.startswith("tokenizer.")})


def undo_interleave(weight: Tensor, heads: int) -> Tensor:
    """Rows 0, 1, 2, 3, … of each head hold dimensions 0, d/2, 1, d/2 + 1, …: sort them back.

    ``heads`` is the number of heads of this very matrix, KV heads for k.
    """
    if weight.ndim != 2 or len(weight) % (2 * heads):
        raise CheckpointError(f"{list(weight.shape)} is not the shape of a projection to {heads} rotated heads.")
    rows = weight.reshape(heads, -1, 2, weight.shape[1])
    return rows.transpose(1, 2).reshape(weight.shape)


def _opened(path: str | Path) -> tuple[dict[str, Any], dict[str, ReaderTensor]]:
    try:
        reader = GGUFReader(path)
        fields = {name: field.contents() for name, field in reader.fields.items()}
        return fields, {tensor.name: tensor for tensor in reader.tensors}
    except Exception as damaged:  # the reader has no error of its own: a damaged file fails anywhere inside it
        reason = " ".join(str(damaged).split()) or type(damaged).__name__
        raise CheckpointError(f"{path} is not a whole GGUF file ({reason}).") from damaged


def _dequantised(path: str | Path, tensor: ReaderTensor) -> Tensor:
    """float32 values, the fastest axis last (the header lists it first, the reader's array does not)."""
    try:
        return torch.tensor(dequantize(tensor.data, tensor.tensor_type), dtype=torch.float32)
    except (NotImplementedError, ValueError) as unknown:
        kind = tensor.tensor_type.name
        raise CheckpointError(f"{path}: {tensor.name}, stored as {kind}, cannot be read.") from unknown


class _Metadata:
    """The file's own numbers, by their name without the architecture's prefix."""

    def __init__(self, path: str | Path, fields: dict[str, Any], architecture: str) -> None:
        self.path, self.fields, self.architecture = path, fields, architecture

    def __call__(self, name: str, default: int | float | None = None) -> Any:
        value = self.fields.get(f"{self.architecture}.{name}", default)
        if not isinstance(value, int | float):
            raise CheckpointError(f"{self.path}: {self.architecture}.{name} must be a number, got {value!r}.")
        return value

    def vocab_size(self) -> int:
        return int(self("vocab_size", len(self.fields.get("tokenizer.ggml.tokens", ()))))

    def token_ids(self) -> dict[str, Any]:
        keys = {"bos_token_id": "tokenizer.ggml.bos_token_id", "eos_token_id": "tokenizer.ggml.eos_token_id"}
        return {name: self.fields[key] for name, key in keys.items() if key in self.fields}


def _llama_config(entry: _Metadata) -> dict[str, Any]:
    width, heads = entry("embedding_length"), entry("attention.head_count")
    head_dim = entry("attention.key_length", width // max(heads, 1))
    scaled = entry.fields.get("llama.rope.scaling.type", "none") != "none"
    if scaled or entry("rope.dimension_count", head_dim) != head_dim:
        raise CheckpointError(f"{entry.path}: partial or scaled rotary positions are not read from GGUF files.")
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": entry.vocab_size(),
        "hidden_size": width,
        "num_hidden_layers": entry("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": entry("attention.head_count_kv", heads),
        "head_dim": head_dim,
        "intermediate_size": entry("feed_forward_length"),
        "max_position_embeddings": entry("context_length"),
        "rms_norm_eps": entry("attention.layer_norm_rms_epsilon"),
        "rope_theta": entry("rope.freq_base", 10_000.0),
        "hidden_act": "silu",
        "attention_bias": False,
        **entry.token_ids(),
    }


def _gpt2_config(entry: _Metadata) -> dict[str, Any]:
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": entry.vocab_size(),
        "n_embd": entry("embedding_length"),
        "n_layer": entry("block_count"),
        "n_head": entry("attention.head_count"),
        "n_inner": entry("feed_forward_length"),
        "n_positions": entry("context_length"),
        "layer_norm_epsilon": entry("attention.layer_norm_epsilon"),
        "activation_function": "gelu_new",
        **entry.token_ids(),
    }


def _sorted_rows(name: str, weight: Tensor, config: ModelConfig) -> Tensor:
    """Llama: q and k back from interleaved to half-split order."""
    heads = {"attn_q.weight": config.query_heads, "attn_k.weight": config.kv_heads}.get(name.split(".", 2)[-1])
    return weight if heads is None else undo_interleave(weight, heads)


def _as_conv1d(name: str, weight: Tensor, config: ModelConfig) -> Tensor:
    """GPT-2: matrices of the layers back to [in, out]."""
    return weight.T.contiguous() if name.startswith("blk.") and weight.ndim == 2 else weight


class _Family(NamedTuple):
    """How the files of an architecture become what Hugging Face has."""

    config: Callable[[_Metadata], dict[str, Any]]
    put_back: Callable[[str, Tensor, ModelConfig], Tensor]
    names: gguf_names.Names


_FAMILIES = {
    "llama": _Family(_llama_config, _sorted_rows, gguf_names.LLAMA),
    "gpt2": _Family(_gpt2_config, _as_conv1d, gguf_names.GPT2),
}
