"""Seeded random models, small, with every dimension different so that a swapped axis cannot hide."""

from dataclasses import replace

import torch
from torch import Tensor

from kvref.config import ModelConfig
from kvref.layout import weight_shapes
from kvref.model.transformer import Transformer

LLAMA = ModelConfig(
    architecture="llama",
    vocab_size=53,
    hidden_size=40,
    layers=3,
    query_heads=6,
    kv_heads=2,
    head_dim=10,
    intermediate_size=68,
    max_positions=96,
    norm_eps=1e-5,
    rope_theta=10_000.0,
    tied_head=False,
)
GPT2 = ModelConfig(
    architecture="gpt2",
    vocab_size=59,
    hidden_size=42,
    layers=3,
    query_heads=3,
    kv_heads=3,
    head_dim=14,
    intermediate_size=100,
    max_positions=80,
    norm_eps=1e-5,
)
BOTH = (LLAMA, GPT2)


def weights(config: ModelConfig, seed: int = 0, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    """Random tensors of the right shapes; scales and biases are random too, so that a dropped one shows."""
    generator = torch.Generator().manual_seed(seed)
    made = {}
    for name, shape in weight_shapes(config).items():
        noise = torch.randn(shape, generator=generator, dtype=torch.float64)
        made[name] = (0.25 * noise if len(shape) == 2 else 0.5 * noise + name.endswith("weight")).to(dtype)
    return made


def model(config: ModelConfig = LLAMA, seed: int = 0, dtype: torch.dtype = torch.float64) -> Transformer:
    return Transformer(config, weights(config, seed, dtype))


def ids(config: ModelConfig, count: int, seed: int = 1) -> Tensor:
    return torch.randint(config.vocab_size, (count,), generator=torch.Generator().manual_seed(seed))


def variant(config: ModelConfig = LLAMA, **changes: object) -> ModelConfig:
    return replace(config, **changes)  # type: ignore[arg-type]


def hf_json(config: ModelConfig) -> dict[str, object]:
    """The config.json that a Hugging Face writer would make of a tiny config."""
    common = {"vocab_size": config.vocab_size, "tie_word_embeddings": config.tied_head, "eos_token_id": [3, 4]}
    if config.architecture == "gpt2":
        return common | {
            "model_type": "gpt2",
            "n_embd": config.hidden_size,
            "n_layer": config.layers,
            "n_head": config.query_heads,
            "n_inner": config.intermediate_size,
            "n_positions": config.max_positions,
            "layer_norm_epsilon": config.norm_eps,
            "activation_function": "gelu_new",
        }
    return common | {
        "model_type": "llama",
        "hidden_size": config.hidden_size,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.query_heads,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_dim,
        "intermediate_size": config.intermediate_size,
        "max_position_embeddings": config.max_positions,
        "rms_norm_eps": config.norm_eps,
        "rope_theta": config.rope_theta,
        "hidden_act": "silu",
    }
