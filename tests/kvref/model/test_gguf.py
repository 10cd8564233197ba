"""GGUF files made here with the standard writer, the way llama.cpp's converter makes them."""

from pathlib import Path

import gguf
import numpy as np
import pytest
import torch

from kvref.cache.nothing import NoCache
from kvref.config import ModelConfig
from kvref.errors import CheckpointError
from kvref.model.checkpoint import canonical, load_checkpoint
from kvref.model.gguf import read, undo_interleave
from tests.kvref import tiny

LLAMA = tiny.variant(tied_head=True, query_heads=8, kv_heads=2, head_dim=8, hidden_size=48)
NAMES = {
    "llama": {
        "embed_tokens.": "token_embd.",
        "input_layernorm": "attn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
        "layers.": "blk.",
        "lm_head.": "output.",
    },
    "gpt2": {
        "wte.": "token_embd.",
        "wpe.": "position_embd.",
        "ln_f.": "output_norm.",
        "ln_1": "attn_norm",
        "attn.c_attn": "attn_qkv",
        "attn.c_proj": "attn_output",
        "ln_2": "ffn_norm",
        "mlp.c_fc": "ffn_up",
        "mlp.c_proj": "ffn_down",
        "h.": "blk.",
    },
}


def theirs(name: str, architecture: str) -> str:
    if name == "norm.weight":
        return "output_norm.weight"
    for ours, other in NAMES[architecture].items():
        name = name.replace(ours, other)
    return name


def interleave(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """llama.cpp's permutation, written from its definition: row 2i of a head is dimension i, row 2i + 1 is i + d/2."""
    head_dim = len(weight) // heads
    order = [h * head_dim + i + side * head_dim // 2 for h in range(heads) for i in range(head_dim // 2) for side in (0, 1)]
    return weight[order]


def write(path: Path, config: ModelConfig, *, change=None, extra: dict[str, np.ndarray] | None = None) -> Path:
    writer = gguf.GGUFWriter(path, config.architecture)
    writer.add_block_count(config.layers)
    writer.add_context_length(config.max_positions)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.query_heads)
    writer.add_vocab_size(config.vocab_size)
    writer.add_eos_token_id(3)
    if config.architecture == "llama":
        writer.add_head_count_kv(config.kv_heads)
        writer.add_key_length(config.head_dim)
        writer.add_rope_freq_base(config.rope_theta)
        writer.add_layer_norm_rms_eps(config.norm_eps)
    else:
        writer.add_layer_norm_eps(config.norm_eps)
    if change is not None:
        change(writer)
    for name, tensor in tiny.weights(config, dtype=torch.float32).items():
        if name.endswith("q_proj.weight"):
            tensor = interleave(tensor, config.query_heads)
        if name.endswith("k_proj.weight"):
            tensor = interleave(tensor, config.kv_heads)
        if config.architecture == "gpt2" and name.startswith("h.") and tensor.ndim == 2:
            tensor = tensor.T
        writer.add_tensor(theirs(name, config.architecture), np.ascontiguousarray(tensor.numpy()))
    for name, array in (extra or {}).items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("config", [LLAMA, tiny.variant(LLAMA, tied_head=False), tiny.GPT2])
def test_every_tensor_comes_back_as_it_was(tmp_path: Path, config: ModelConfig) -> None:
    path = write(tmp_path / "m.gguf", config)
    contents = read(path)
    found = canonical(ModelConfig.from_dict(contents.config), contents.weights)
    for name, tensor in tiny.weights(config, dtype=torch.float32).items():
        assert torch.equal(found[name], tensor), name
    model = load_checkpoint(path)
    eps = float(np.float32(config.norm_eps))
    assert model.config == tiny.variant(config, eos_token_ids=(3,), norm_eps=eps)
    expected = tiny.model(tiny.variant(config, norm_eps=eps), dtype=torch.float32)
    ids = tiny.ids(config, 7)
    assert torch.equal(model(ids, NoCache(config)), expected(ids, NoCache(config)))


def test_row_order_of_one_head() -> None:
    """Pitfall 88: for d = 8 file rows are 0 4 1 5 2 6 3 7, undone by 0 2 4 6 1 3 5 7. d = 4 would hide the direction."""
    rows = torch.arange(8.0).view(8, 1)
    assert interleave(rows, 1).view(-1).tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    assert undo_interleave(rows, 1).view(-1).tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    assert torch.equal(undo_interleave(interleave(rows, 1), 1), rows)


def test_row_order_with_32_query_and_4_kv_heads() -> None:
    """Pitfall 88: k has its own number of heads; 32 // 4 = 8 heads would be a wrong and different answer."""
    k = torch.randn(4 * 64, 3, generator=torch.Generator().manual_seed(0))
    assert torch.equal(undo_interleave(interleave(k, 4), 4), k)
    assert not torch.equal(undo_interleave(interleave(k, 4), 8), k)
    assert not torch.equal(undo_interleave(interleave(k, 4), 32), k)


def test_only_llama_files_are_permuted(tmp_path: Path) -> None:
    """Pitfall 88: the metadata says which; GPT-2's q, k and v rows are left in place, another family is refused."""
    contents = read(write(tmp_path / "g.gguf", tiny.GPT2))
    wanted = tiny.weights(tiny.GPT2, dtype=torch.float32)["h.0.attn.c_attn.weight"]
    assert torch.equal(contents.weights["transformer.h.0.attn.c_attn.weight"], wanted)
    qwen = gguf.GGUFWriter(tmp_path / "q.gguf", "qwen2")
    qwen.add_block_count(1)
    qwen.add_tensor("blk.0.attn_q.weight", np.zeros((16, 4), dtype=np.float32))
    qwen.write_header_to_file()
    qwen.write_kv_data_to_file()
    qwen.write_tensors_to_file()
    qwen.close()
    with pytest.raises(CheckpointError, match="unknown architecture 'qwen2'; known: gpt2, llama"):
        read(tmp_path / "q.gguf")


def test_the_header_lists_the_fastest_axis_first(tmp_path: Path) -> None:
    """Pitfall 89: a matrix of 48 rows and 68 columns, down_proj, says [68, 48] and is read as 48 × 68."""
    path = write(tmp_path / "m.gguf", LLAMA)
    (header,) = [t for t in gguf.GGUFReader(path).tensors if t.name == "blk.0.ffn_down.weight"]
    assert header.shape.tolist() == [68, 48]
    down = read(path).weights["model.layers.0.mlp.down_proj.weight"]
    assert down.shape == (48, 68)
    assert down[1, 0] == tiny.weights(LLAMA, dtype=torch.float32)["layers.0.mlp.down_proj.weight"][1, 0]


def test_quantised_blocks_are_decoded(tmp_path: Path) -> None:
    """One block of Q4_1 by hand: 32 numbers are d × nibble + m, the low nibbles first."""
    nibbles = np.arange(32, dtype=np.uint8) % 16
    packed = (nibbles[:16] | nibbles[16:] << 4).tobytes()
    block = np.frombuffer(np.array([0.5, -2.0], dtype=np.float16).tobytes() + packed, dtype=np.uint8)
    values = gguf.quants.dequantize(block.reshape(1, -1), gguf.GGMLQuantizationType.Q4_1)
    assert values.tolist() == [[0.5 * n - 2.0 for n in nibbles]]


def test_tokenizer_metadata_is_handed_on_untouched(tmp_path: Path) -> None:
    def add(writer: gguf.GGUFWriter) -> None:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("smollm")
        writer.add_token_list(["a", "Ġb"])

    contents = read(write(tmp_path / "m.gguf", LLAMA, change=add))
    assert contents.tokenizer["tokenizer.ggml.pre"] == "smollm"
    assert contents.tokenizer["tokenizer.ggml.tokens"] == ["a", "Ġb"]
    assert contents.config["eos_token_id"] == 3


@pytest.mark.parametrize(
    ("change", "extra", "sentence"),
    [
        (lambda w: w.add_rope_scaling_type(gguf.RopeScalingType.YARN), {}, "scaled rotary positions are not read"),
        (lambda w: w.add_rope_dimension_count(4), {}, "partial or scaled rotary"),
        (None, {"rope_freqs.weight": np.ones(4, dtype=np.float32)}, "unknown tensor 'rope_freqs.weight'"),
        (None, {"blk.0.attn_q.bias": np.ones(64, dtype=np.float32)}, "unknown tensor 'blk.0.attn_q.bias'"),
        (None, {"blk.3.attn_q.weight": np.ones((64, 48), dtype=np.float32)}, "unknown tensor 'blk.3.attn_q.weight'"),
    ],
)
def test_what_would_change_the_numbers_is_refused(tmp_path: Path, change, extra, sentence: str) -> None:
    with pytest.raises(CheckpointError, match=sentence):
        read(write(tmp_path / "m.gguf", LLAMA, change=change, extra=extra))


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", LLAMA)
    whole = path.read_bytes()
    for size in (0, 3, 20, 300, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(CheckpointError, match=r"m\.gguf") as caught:
            load_checkpoint(path)
        assert "\n" not in str(caught.value)


def test_a_flipped_bit_in_the_header_gives_a_model_or_a_sentence(tmp_path: Path) -> None:
    """GGUF holds no hash of itself: a changed number can pass, but never as another kind of failure."""
    path = write(tmp_path / "m.gguf", LLAMA)
    whole, refused = path.read_bytes(), []
    for place in range(0, 2000, 7):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << (place % 8)
        path.write_bytes(flipped)
        try:
            load_checkpoint(path)
        except CheckpointError as error:
            refused.append(str(error))
    assert not any("\n" in sentence for sentence in refused)


def test_a_missing_entry_is_named(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_head_count(4)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(CheckpointError, match=r"llama\.embedding_length must be a number, got None"):
        read(tmp_path / "m.gguf")
