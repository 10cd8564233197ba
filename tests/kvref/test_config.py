"""config.json of both families, and what is refused."""

import json
from pathlib import Path

import pytest
import torch

from kvref.config import ModelConfig, RopeScaling
from kvref.errors import CheckpointError
from kvref.layout import weight_shapes
from kvref.ops.rope import frequencies
from tests.kvref import tiny

LLAMA = tiny.hf_json(tiny.LLAMA)
GPT2 = tiny.hf_json(tiny.GPT2)
STRETCH = {
    "rope_type": "llama3",
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


@pytest.mark.parametrize("config", tiny.BOTH)
def test_every_size_is_read(config: ModelConfig) -> None:
    read = ModelConfig.from_dict(tiny.hf_json(config))
    assert read == tiny.variant(config, eos_token_ids=(3, 4))


def test_gpt2_as_published_leaves_out_what_has_a_default() -> None:
    published = {key: GPT2[key] for key in ("model_type", "vocab_size", "n_embd", "n_layer", "n_head", "n_positions")}
    config = ModelConfig.from_dict(published | {"vocab_size": 50257, "eos_token_id": 50256, "n_inner": None})
    assert (config.intermediate_size, config.tied_head, config.eos_token_ids) == (4 * 42, True, (50256,))
    assert config.rope_theta is None


@pytest.mark.parametrize(
    ("entries", "theta"),
    [
        ({"rope_theta": 500000.0}, 500000.0),
        ({"rope_theta": None, "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"}}, 500000.0),
        ({"rope_theta": 10000.0, "rope_parameters": {"rope_theta": 500000.0}}, 500000.0),
        ({"rope_theta": 500000.0, "rope_parameters": {"rope_theta": None}}, 500000.0),
        ({"rope_theta": None}, 10000.0),
    ],
)
def test_rope_base_at_top_level_nested_or_absent(entries: dict[str, object], theta: float) -> None:
    """Pitfall 92: a base that is not found leaves 10,000, which shows only far from position 0."""
    config = ModelConfig.from_dict({k: v for k, v in (LLAMA | entries).items() if v is not None})
    assert config.rope_theta == theta
    assert frequencies(64, theta)[1] == pytest.approx(theta ** (-1 / 32))


@pytest.mark.parametrize("holder", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize("key", ["rope_type", "type"])
def test_llama3_scaling_under_either_key(holder: str, key: str) -> None:
    """Pitfall 55: writers call the kind `rope_type` or `type`."""
    nested = {key if name == "rope_type" else name: value for name, value in STRETCH.items()}
    config = ModelConfig.from_dict(LLAMA | {holder: nested})
    assert config.rope_scaling == RopeScaling(32.0, 1.0, 4.0, 8192)


def test_explicit_head_dim_shapes_every_projection() -> None:
    """Pitfall 93: head_dim is not hidden / heads in every model."""
    config = ModelConfig.from_dict(
        LLAMA | {"hidden_size": 40, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
    )
    shapes = weight_shapes(config)
    attention = {name: shapes[f"layers.0.self_attn.{name}_proj.weight"] for name in "qkvo"}
    assert attention == {"q": (64, 40), "k": (32, 40), "v": (32, 40), "o": (40, 64)}
    assert (config.head_dim, config.group_size, config.softmax_scale) == (16, 2, 16**-0.5)
    model = tiny.model(config)
    cos, sin = model.parts.positional.rope(torch.tensor([0, 1]))
    assert cos.shape == sin.shape == (2, 1, 16)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model_type": "mamba"}, "unknown architecture 'mamba'"),
        ({"model_type": None}, "unknown architecture None"),
        ({"hidden_size": "forty"}, "hidden_size must be a whole number"),
        ({"num_hidden_layers": 2**26}, "num_hidden_layers must be a whole number from 1 to 10,000, got 67108864"),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be a whole number from 1"),
        ({"num_key_value_heads": 4}, "6 query heads cannot share 4"),
        ({"head_dim": 7}, "even head_dim"),
        ({"head_dim": None, "hidden_size": 41}, "give head_dim"),
        ({"hidden_act": "gelu"}, "hidden_act = 'gelu' is not implemented"),
        ({"attention_bias": True}, "attention_bias = True"),
        ({"rope_scaling": {"type": "yarn", "factor": 2.0}}, "'yarn' is not implemented"),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, "partial_rotary_factor = 0.5"),
        ({"rope_scaling": {"type": "llama3", "factor": 2.0}}, "entry 'low_freq_factor' is missing"),
        ({"rope_theta": "big"}, "rope_theta must be a number, got 'big'"),
        ({"rope_theta": True}, "rope_theta must be a number, got True"),
        ({"rope_theta": float("inf")}, "rope_theta must be a number, got inf"),
        ({"rms_norm_eps": "1e-5"}, "rms_norm_eps must be a number, got '1e-5'"),
        ({"rope_theta": -1.0}, "rope_theta must be a number above 0"),
        ({"rms_norm_eps": float("nan")}, "norm_eps must be a number above 0"),
        ({"vocab_size": True}, "vocab_size must be a whole number"),
        ({"rope_scaling": "llama3"}, "rope_scaling must be an object, got 'llama3'"),
        ({"rope_parameters": []}, r"rope_parameters must be an object, got \[\]"),
        ({"rope_scaling": STRETCH | {"factor": 0}}, r"factor must be a number above 0, got 0\.0"),
        ({"rope_scaling": STRETCH | {"factor": float("nan")}}, "factor must be a number above 0, got nan"),
        ({"rope_scaling": STRETCH | {"factor": 10**400}}, "factor must be a number, got 1000"),
        ({"rope_scaling": STRETCH | {"low_freq_factor": -1}}, r"low_freq_factor must be a number above 0, got -1\.0"),
        (
            {"rope_scaling": STRETCH | {"high_freq_factor": 1.0}},
            r"low_freq_factor must be below high_freq_factor, got 1\.0 and 1\.0",
        ),
        (
            {"rope_scaling": STRETCH | {"original_max_position_embeddings": 0}},
            "original_max_position_embeddings must be a whole",
        ),
        ({"tie_word_embeddings": "false"}, "tie_word_embeddings must be true or false, got 'false'"),
        ({"eos_token_id": 1.7}, "eos_token_id must be an id from 0 to 52, got 1.7"),
        ({"eos_token_id": [3, -1]}, "eos_token_id must be an id from 0 to 52, got -1"),
        ({"eos_token_id": 10**40}, "eos_token_id must be an id from 0 to 52, got 1000"),
        ({"eos_token_id": float("inf")}, "eos_token_id must be an id from 0 to 52, got inf"),
        ({"bos_token_id": 53}, "bos_token_id must be an id from 0 to 52, got 53"),
    ],
)
def test_what_would_change_the_numbers_is_refused(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(CheckpointError, match=sentence) as caught:
        ModelConfig.from_dict(LLAMA | changes)
    assert "\n" not in str(caught.value)


def test_a_missing_size_is_named() -> None:
    for key in ("hidden_size", "num_attention_heads", "vocab_size", "max_position_embeddings"):
        with pytest.raises(CheckpointError, match=f"entry '{key}' is missing"):
            ModelConfig.from_dict({name: value for name, value in LLAMA.items() if name != key})


@pytest.mark.parametrize("changes", [{"activation_function": "relu"}, {"scale_attn_by_inverse_layer_idx": True}])
def test_gpt2_variants_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(CheckpointError, match="is not implemented"):
        ModelConfig.from_dict(GPT2 | changes)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "does not exist"),
        ("{", "cannot be read as JSON"),
        ("[" * 100_000, r"cannot be read as JSON \(maximum recursion"),
        ("[1]", "must hold an object"),
    ],
    ids=("none", "cut off", "too deep", "a list"),
)
def test_a_folder_without_a_readable_config(tmp_path: Path, text: str | None, sentence: str) -> None:
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(CheckpointError, match=sentence):
        ModelConfig.from_folder(tmp_path)


def test_from_folder_reads_what_was_written(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    assert ModelConfig.from_folder(tmp_path).query_heads == 6
