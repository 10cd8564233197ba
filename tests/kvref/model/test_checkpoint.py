"""Loading folders: what is accepted, what is dropped, and one clear sentence for everything else."""

import json
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import save, save_file

from kvref.cache.nothing import NoCache
from kvref.config import ModelConfig
from kvref.errors import CheckpointError
from kvref.model.checkpoint import INDEX_FILE, canonical, load_checkpoint, read_folder
from tests.kvref import tiny

PREFIX = {"gpt2": "transformer.", "llama": "model."}


def saved(folder: Path, config: ModelConfig, tensors: dict[str, torch.Tensor] | None = None) -> Path:
    (folder / "config.json").write_text(json.dumps(tiny.hf_json(config)))
    save_file(tiny.weights(config, dtype=torch.float32) if tensors is None else tensors, folder / "model.safetensors")
    return folder


def logits(model) -> torch.Tensor:
    return model(tiny.ids(model.config, 7), NoCache(model.config))


def expected(config: ModelConfig) -> torch.Tensor:
    return logits(tiny.model(config, dtype=torch.float32))


@pytest.mark.parametrize("config", tiny.BOTH)
@pytest.mark.parametrize("prefixed", [True, False])
def test_with_and_without_the_prefix(tmp_path: Path, config: ModelConfig, prefixed: bool) -> None:
    """Pitfall 87."""
    prefix = PREFIX[config.architecture] if prefixed else ""
    tensors = {
        name if name == "lm_head.weight" else prefix + name: tensor
        for name, tensor in tiny.weights(config, dtype=torch.float32).items()
    }
    assert torch.equal(logits(load_checkpoint(saved(tmp_path, config, tensors))), expected(config))


def test_masks_of_older_writers_are_dropped_and_biases_are_not(tmp_path: Path) -> None:
    """Pitfall 87: `attn.bias` is a triangular mask, `attn.c_attn.bias` is a bias."""
    tensors = tiny.weights(tiny.GPT2, dtype=torch.float32)
    for layer in range(3):
        tensors[f"h.{layer}.attn.bias"] = torch.ones(1, 1, 80, 80, dtype=torch.uint8).tril()
        tensors[f"h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
    assert torch.equal(logits(load_checkpoint(saved(tmp_path, tiny.GPT2, tensors))), expected(tiny.GPT2))
    del tensors["h.1.attn.c_attn.bias"]
    with pytest.raises(CheckpointError, match=r"'h.1.attn.c_attn.bias' is missing \(1 of "):
        load_checkpoint(saved(tmp_path, tiny.GPT2, tensors))


def test_frequencies_of_older_llama_writers_are_dropped() -> None:
    tensors = tiny.weights(tiny.LLAMA)
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(5)
    assert "layers.0.self_attn.rotary_emb.inv_freq" not in canonical(tiny.LLAMA, tensors)


@pytest.mark.parametrize("config", tiny.BOTH)
@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("tied", [True, False])
def test_tied_and_untied_heads(tmp_path: Path, config: ModelConfig, tied: bool, present: bool) -> None:
    """Pitfall 91: tied, the embedding is the head whether or not another is in the file; untied, there must be one."""
    config = tiny.variant(config, tied_head=tied)
    tensors = tiny.weights(tiny.variant(config, tied_head=False), dtype=torch.float32)
    if not present:
        del tensors["lm_head.weight"]
    saved(tmp_path, config, tensors)
    if not tied and not present:
        with pytest.raises(CheckpointError, match=r"'lm_head.weight' is missing"):
            load_checkpoint(tmp_path)
        return
    parts = load_checkpoint(tmp_path).parts
    assert (parts.head.weight.data_ptr() == parts.embedding.data_ptr()) == tied
    wanted = tensors[("wte.weight" if config.architecture == "gpt2" else "embed_tokens.weight") if tied else "lm_head.weight"]
    assert torch.equal(parts.head.weight, wanted.T)


def test_square_conv1d_weights_are_not_transposed() -> None:
    """GPT-2's attn.c_proj is square: only values can tell which way round it is."""
    tensors = tiny.weights(tiny.GPT2)
    parts = tiny.model(tiny.GPT2).parts
    assert torch.equal(parts.layers[0].attention.output.weight, tensors["h.0.attn.c_proj.weight"])


def shards(folder: Path, config: ModelConfig) -> None:
    (folder / "config.json").write_text(json.dumps(tiny.hf_json(config)))
    tensors = tiny.weights(config, dtype=torch.float32)
    names = {f"model-0000{i + 1}-of-00002.safetensors": sorted(tensors)[i::2] for i in range(2)}
    for file, part in names.items():
        save_file({name: tensors[name] for name in part}, folder / file)
    weight_map = {name: file for file, part in names.items() for name in part}
    (folder / INDEX_FILE).write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": weight_map}))


def test_two_shards_and_an_index(tmp_path: Path) -> None:
    """Pitfall 95."""
    shards(tmp_path, tiny.LLAMA)
    assert torch.equal(logits(load_checkpoint(tmp_path)), expected(tiny.LLAMA))


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    """Pitfall 95."""
    shards(tmp_path, tiny.LLAMA)
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"model-00002-of-00002\.safetensors does not exist\."):
        load_checkpoint(tmp_path)


BAD_INDEXES = ["{", "[]", '{"weight_map": 3}', '{"weight_map": {"a": "../x.safetensors"}}', "{}", "[" * 100_000]


@pytest.mark.parametrize("content", BAD_INDEXES, ids=range(len(BAD_INDEXES)))
def test_a_bad_index_is_refused(tmp_path: Path, content: str) -> None:
    shards(tmp_path, tiny.LLAMA)
    (tmp_path / INDEX_FILE).write_text(content)
    with pytest.raises(CheckpointError, match=r"is not an index of shards|outside its folder"):
        load_checkpoint(tmp_path)


def test_a_header_of_odd_length_and_with_metadata(tmp_path: Path) -> None:
    """Pitfall 95: data need not start at a multiple of 8, and `__metadata__` is no tensor."""
    saved(tmp_path, tiny.LLAMA)
    file = tmp_path / "model.safetensors"
    raw = file.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length]) | {"__metadata__": {"format": "pt"}}
    text = json.dumps(header).encode()
    text += b" " * (1 - len(text) % 2)  # odd
    assert len(text) % 2 == 1
    file.write_bytes(struct.pack("<Q", len(text)) + text + raw[8 + length :])
    assert torch.equal(logits(load_checkpoint(tmp_path)), expected(tiny.LLAMA))


def test_bfloat16_is_decoded_exactly(tmp_path: Path) -> None:
    """Pitfall 95: 1.0078125 is the bfloat16 after 1."""
    tensors = tiny.weights(tiny.LLAMA, dtype=torch.bfloat16)
    tensors["norm.weight"][:] = 1.0078125
    model = load_checkpoint(saved(tmp_path, tiny.LLAMA, tensors))
    assert model.dtype == torch.float32
    exact = torch.full((40,), 1.0078125) * 40**0.5  # a norm keeps its weight times √hidden
    assert torch.equal(model.parts.norm.gain, exact)
    assert torch.equal(load_checkpoint(tmp_path, dtype=torch.bfloat16).parts.norm.gain, exact)


def test_the_model_does_not_change_with_its_file(tmp_path: Path) -> None:
    """Loaded tensors are views of the file; a model keeps copies."""
    model = load_checkpoint(saved(tmp_path, tiny.GPT2))
    before = logits(model)
    with (tmp_path / "model.safetensors").open("r+b") as file:
        file.write(b"\0" * (tmp_path / "model.safetensors").stat().st_size)
    assert torch.equal(logits(model), before)


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    file = saved(tmp_path, tiny.LLAMA) / "model.safetensors"
    whole = file.read_bytes()
    for size in (0, 7, 8, 200, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        with pytest.raises(CheckpointError, match=r"model\.safetensors is not a whole safetensors file") as caught:
            load_checkpoint(tmp_path)
        assert "\n" not in str(caught.value)


def test_a_flipped_bit_in_the_header_is_refused_or_harmless(tmp_path: Path) -> None:
    """Every byte of the header, one bit each: the model is the same or a sentence says what is wrong."""
    config = tiny.variant(layers=1, hidden_size=6, query_heads=2, kv_heads=1, head_dim=4, intermediate_size=8)
    file = saved(tmp_path, config) / "model.safetensors"
    whole, same = file.read_bytes(), read_folder(tmp_path)
    same = {name: tensor.clone() for name, tensor in same.items()}
    (length,) = struct.unpack("<Q", whole[:8])
    refused: list[str] = []
    for place in range(8 + length):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << (place % 7)
        file.write_bytes(flipped)
        try:
            read = canonical(config, read_folder(tmp_path))
        except CheckpointError as error:
            refused.append(str(error))
        else:
            assert all(torch.equal(read[name], same[name]) for name in same)
    assert len(refused) > 0.8 * length
    assert not any("\n" in sentence for sentence in refused)


def test_an_unknown_tensor_is_named(tmp_path: Path) -> None:
    tensors = tiny.weights(tiny.LLAMA) | {"model.layers.0.self_attn.q_proj.bias": torch.zeros(60)}
    with pytest.raises(CheckpointError, match=r"Unknown tensor 'model.layers.0.self_attn.q_proj.bias' for a llama of 3"):
        load_checkpoint(saved(tmp_path, tiny.LLAMA, tensors))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"norm.weight": torch.ones(41)}, r"'norm.weight' has the shape \[41\], expected \[40\]"),
        ({"norm.weight": torch.ones(40, dtype=torch.int32)}, "holds torch.int32, expected floating-point"),
        ({"model.norm.weight": torch.ones(40)}, "'norm.weight' is there twice"),
        ({"layers.3.mlp.up_proj.weight": torch.ones(1)}, "Unknown tensor 'layers.3.mlp.up_proj.weight'"),
    ],
)
def test_tensors_that_do_not_belong_are_refused(change: dict[str, torch.Tensor], sentence: str) -> None:
    with pytest.raises(CheckpointError, match=sentence):
        canonical(tiny.LLAMA, tiny.weights(tiny.LLAMA) | change)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nowhere does not exist"):
        load_checkpoint(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match=r"config\.json does not exist"):
        load_checkpoint(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(tiny.hf_json(tiny.LLAMA)))
    with pytest.raises(CheckpointError, match=r"model\.safetensors does not exist"):
        load_checkpoint(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(save({}))
    with pytest.raises(CheckpointError, match=r"is missing \(\d+ of \d+ are\)"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("wrong", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_weights_that_are_no_numbers_are_named(tmp_path: Path, wrong: float, dtype: torch.dtype) -> None:
    tensors = tiny.weights(tiny.LLAMA, dtype=dtype)
    tensors["layers.1.mlp.up_proj.weight"][3, 5] = wrong
    saved(tmp_path, tiny.LLAMA, tensors)
    with pytest.raises(CheckpointError, match=r"'layers.1.mlp.up_proj.weight' holds NaN or infinity, read as torch.float32"):
        load_checkpoint(tmp_path)


def test_a_sum_too_large_is_no_reason_to_refuse(tmp_path: Path) -> None:
    tensors = tiny.weights(tiny.LLAMA, dtype=torch.float32)
    tensors["norm.weight"][:] = 3e38
    load_checkpoint(saved(tmp_path, tiny.LLAMA, tensors))
    with pytest.raises(CheckpointError, match=r"'norm.weight' holds NaN or infinity, read as torch.float16"):
        load_checkpoint(tmp_path, dtype=torch.float16)
