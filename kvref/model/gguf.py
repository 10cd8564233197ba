"""Reading a GGUF file: weights dequantised to float32 under Hugging Face names, ``config.json`` and the
tokenizer's metadata.

GGUF files of the architecture "llama" keep the rows of q and k interleaved for another form of RoPE; they are
put back here. Files of other architectures are not permuted. Knows nothing about models or text.
"""

from pathlib import Path
from typing import Any, NamedTuple

import torch
from gguf import GGUFReader, ReaderTensor
from gguf.quants import dequantize
from torch import Tensor

from kvref.errors import CheckpointError


class Contents(NamedTuple):
    """What is in the file: ``config`` as in config.json, ``weights`` by Hugging Face name, ``tokenizer`` metadata."""

    config: dict[str, Any]
    weights: dict[str, Tensor]
    tokenizer: dict[str, Any]


def read(path: str | Path) -> Contents:
    """Read a GGUF file of the GPT-2 or Llama family. Raises ``CheckpointError`` for what it cannot use."""
    try:
        reader = GGUFReader(path)
        fields = {name: field.contents() for name, field in reader.fields.items()}
        tensors = {tensor.name: tensor for tensor in reader.tensors}
    except Exception as damaged:  # the reader has no error of its own: a damaged file fails anywhere inside it
        raise CheckpointError(f"{path} is not a whole GGUF file ({damaged}).") from damaged
    architecture = fields.get("general.architecture")
    if architecture not in _FAMILIES:
        raise CheckpointError(f"{path}: unknown architecture {architecture!r}; known: {', '.join(sorted(_FAMILIES))}.")
    config, names = _FAMILIES[architecture](_Metadata(path, fields, architecture), tied="output.weight" not in tensors)
    weights = {}
    for name, tensor in tensors.items():
        if name not in names:
            raise CheckpointError(f"{path}: unknown tensor {name!r} for the architecture {architecture}.")
        weights[names[name]] = _layout(architecture, name, _dequantised(path, tensor), config)
    return Contents(config, weights, {key: value for key, value in fields.items() if key.startswith("tokenizer.")})


class _Metadata:
    """The file's own numbers, by their name without the architecture's prefix."""

    def __init__(self, path: str | Path, fields: dict[str, Any], architecture: str) -> None:
        self.path, self.fields, self.architecture = path, fields, architecture

    def __call__(self, name: str, default: Any = None) -> Any:
        value = self.fields.get(f"{self.architecture}.{name}", default)
        if value is None:
            raise CheckpointError(f"{self.path}: the entry {self.architecture}.{name} is missing.")
        return value

    def token_ids(self) -> dict[str, Any]:
        keys = {"bos_token_id": "tokenizer.ggml.bos_token_id", "eos_token_id": "tokenizer.ggml.eos_token_id"}
        return {name: self.fields[key] for name, key in keys.items() if key in self.fields}

    def vocab_size(self) -> int:
        tokens = self.fields.get("tokenizer.ggml.tokens", ())
        return int(self("vocab_size", len(tokens)))


def _llama(entry: _Metadata, tied: bool) -> tuple[dict[str, Any], dict[str, str]]:
    heads = entry("attention.head_count")
    head_dim = entry("attention.key_length", entry("embedding_length") // heads)
    if entry("rope.dimension_count", head_dim) != head_dim or entry("rope.scaling.type", "none") != "none":
        raise CheckpointError(f"{entry.path}: partial or scaled rotary positions are not read from GGUF files.")
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": entry.vocab_size(),
        "hidden_size": entry("embedding_length"),
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
        "tie_word_embeddings": tied,
        **entry.token_ids(),
    }
    outer = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
    inner = {
        "attn_norm": "input_layernorm",
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj",
        "ffn_norm": "post_attention_layernorm",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    }
    return config, _names(outer, inner, "model.layers", config["num_hidden_layers"], ("weight",))


def _gpt2(entry: _Metadata, tied: bool) -> tuple[dict[str, Any], dict[str, str]]:
    config = {
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
        "tie_word_embeddings": tied,
        **entry.token_ids(),
    }
    outer = {
        "token_embd": "transformer.wte",
        "position_embd": "transformer.wpe",
        "output_norm": "transformer.ln_f",
        "output": "lm_head",
    }
    inner = {
        "attn_norm": "ln_1",
        "attn_qkv": "attn.c_attn",
        "attn_output": "attn.c_proj",
        "ffn_norm": "ln_2",
        "ffn_up": "mlp.c_fc",
        "ffn_down": "mlp.c_proj",
    }
    return config, _names(outer, inner, "transformer.h", config["n_layer"], ("weight", "bias"))


_FAMILIES = {"llama": _llama, "gpt2": _gpt2}


def _names(outer: dict[str, str], inner: dict[str, str], stem: str, layers: int, kinds: tuple[str, ...]) -> dict[str, str]:
    names = {f"{ours}.{kind}": f"{theirs}.{kind}" for ours, theirs in outer.items() for kind in kinds}
    for layer in range(layers):
        for ours, theirs in inner.items():
            names |= {f"blk.{layer}.{ours}.{kind}": f"{stem}.{layer}.{theirs}.{kind}" for kind in kinds}
    return names


def _dequantised(path: str | Path, tensor: ReaderTensor) -> Tensor:
    """float32 values, the fastest axis last (the header lists it first, the reader's array does not)."""
    try:
        return torch.tensor(dequantize(tensor.data, tensor.tensor_type), dtype=torch.float32)
    except NotImplementedError as unknown:
        kind = tensor.tensor_type.name
        raise CheckpointError(f"{path}: {tensor.name} is stored as {kind}, which is not read.") from unknown


def _layout(architecture: str, name: str, weight: Tensor, config: dict[str, Any]) -> Tensor:
    """Undo what the converter to GGUF did to this tensor."""
    if architecture == "llama" and name.endswith("attn_q.weight"):
        return undo_interleave(weight, config["num_attention_heads"])
    if architecture == "llama" and name.endswith("attn_k.weight"):
        return undo_interleave(weight, config["num_key_value_heads"])
    if architecture == "gpt2" and name.startswith("blk.") and weight.ndim == 2:
        return weight.T.contiguous()  # Conv1D is [in, out]; GGUF keeps every matrix as [out, in]
    return weight


def undo_interleave(weight: Tensor, heads: int) -> Tensor:
    """Rows 0, 1, 2, 3, … of each head hold dimensions 0, d/2, 1, d/2 + 1, …: sort them back.

    ``heads`` is the number of heads of this very matrix, KV heads for k.
    """
    head_dim = len(weight) // heads
    rows = weight.reshape(heads, head_dim // 2, 2, weight.shape[1])
    return rows.transpose(1, 2).reshape(weight.shape)
