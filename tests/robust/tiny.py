"""A small seeded model in the Hugging Face layout, for tests that break it in many ways."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from kvref import ModelConfig
from kvref.layout import weight_shapes

BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": len(BYTES),
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 40,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": True,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "seeded": 0,
}


def make(folder: Path) -> Path:
    """Write the model into `folder`: a token is a byte, the weights are random with seed 0."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    tokenizer = Tokenizer(models.BPE(vocab={byte: number for number, byte in enumerate(BYTES)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(folder / "tokenizer.json"))
    generator = torch.Generator().manual_seed(0)
    weights = {
        f"model.{name}": torch.ones(shape) if len(shape) == 1 else 0.3 * torch.randn(shape, generator=generator)
        for name, shape in weight_shapes(ModelConfig.from_dict(CONFIG)).items()
    }
    save_file(weights, folder / "model.safetensors")
    return folder
