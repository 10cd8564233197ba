"""What is read from a config.json, and what is refused."""

import json
from typing import Any

import pytest

from kvref.plan.config_json import from_config
from kvref.plan.geometry import Geometry, Group, State
from kvref.plan.memory import bytes_per_token, cache_size
from tests import configs

LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
}
GPT2 = {"model_type": "gpt2", "n_layer": 12, "n_head": 12, "n_embd": 768, "n_positions": 1024, "vocab_size": 50257}
TINY = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "hidden_size": 128,
    "intermediate_size": 256,
    "vocab_size": 1000,
}
TINY_GPT2 = {"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 64, "n_positions": 128, "vocab_size": 1000}
QWEN3_4B = configs.QWEN3_4B | {"sliding_window": None, "max_window_layers": 36, "use_sliding_window": False}
GEMMA3_27B = {
    "model_type": "gemma3",
    "text_config": {
        "model_type": "gemma3_text",
        "num_hidden_layers": 62,
        "num_attention_heads": 32,
        "num_key_value_heads": 16,
        "head_dim": 128,
        "hidden_size": 5376,
        "sliding_window": 1024,
    },
}
DEEPSEEK_V3 = {
    "model_type": "deepseek_v3",
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "hidden_size": 7168,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
}
GPT_OSS_120B = {
    "model_type": "gpt_oss",
    "num_hidden_layers": 36,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "hidden_size": 2880,
    "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 18,
}
QWEN2_WINDOWS = LLAMA | {"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 8}
QWEN25_7B = LLAMA | {
    "model_type": "qwen2",
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "vocab_size": 152064,
}
QWEN3_8B = LLAMA | {
    "model_type": "qwen3",
    "num_hidden_layers": 36,
    "head_dim": 128,
    "intermediate_size": 12288,
    "vocab_size": 151936,
}
QWEN3_NEXT = {
    "model_type": "qwen3_next",
    "num_hidden_layers": 48,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "full_attention_interval": 4,
    "linear_num_value_heads": 32,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
}
NEMOTRON = {
    "model_type": "nemotron_h",
    "num_hidden_layers": 6,
    "num_attention_heads": 32,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "hybrid_override_pattern": "MEM*ME",
    "mamba_num_heads": 64,
    "mamba_head_dim": 64,
    "ssm_state_size": 128,
}
KIMI_LINEAR = {
    "model_type": "kimi_linear",
    "num_hidden_layers": 27,
    "num_attention_heads": 32,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "linear_attn_config": {"kda_layers": list(range(20)), "num_heads": 32, "head_dim": 128},
}
FALCON_7B = {
    "model_type": "falcon",
    "num_hidden_layers": 32,
    "num_attention_heads": 71,
    "hidden_size": 4544,
    "multi_query": True,
    "new_decoder_architecture": False,
}


@pytest.mark.parametrize(
    ("config", "one_token", "windows_full"),
    [
        (LLAMA, 131_072, 131_072),
        (GPT2, 36_864, 36_864),
        (QWEN3_4B, 147_456, 147_456),
        (GEMMA3_27B, 496 * 1024, 80 * 1024),
        (DEEPSEEK_V3, 70_272, 70_272),
        (DEEPSEEK_V3 | {"model_type": "deepseek_v32", "index_head_dim": 128}, 61 * 704 * 2, 61 * 704 * 2),
        (GPT_OSS_120B, 73_728, 36_864),
        ({**GPT_OSS_120B, "layer_types": None}, 73_728, 36_864),
        (QWEN3_NEXT, 24 * 1024, 24 * 1024),
        (FALCON_7B, 8 * 1024, 8 * 1024),
        (KIMI_LINEAR, 7 * 576 * 2, 7 * 576 * 2),
        (LLAMA | {"model_type": "mistral", "sliding_window": 4096}, 131_072, 0),
        (LLAMA | {"model_type": "phi3", "sliding_window": 2047}, 131_072, 0),
        (LLAMA | {"model_type": "gemma2", "head_dim": 128, "sliding_window": 4096}, 131_072, 65_536),
        (LLAMA | {"model_type": "qwen2", "sliding_window": 4096}, 131_072, 131_072),
        (QWEN2_WINDOWS, 131_072, 32_768),
        (LLAMA | {"model_type": "llama4_text", "attention_chunk_size": 8192}, 131_072, 32_768),
        ({key: value for key, value in LLAMA.items() if key != "model_type"}, 131_072, 131_072),
        ({key: value for key, value in GPT2.items() if key != "model_type"}, 36_864, 36_864),
    ],
)
def test_bytes_per_token_of_a_config(config: dict[str, Any], one_token: int, windows_full: int) -> None:
    geometry = from_config(json.loads(json.dumps(config)))
    assert bytes_per_token(geometry) == one_token
    assert bytes_per_token(geometry, windows_full=True) == windows_full


def test_an_explicit_head_dim_wins() -> None:
    """hidden / heads would give 80 numbers a head and 92,160 bytes a token for Qwen3-4B."""
    assert from_config(QWEN3_4B).groups == (Group(36, 8, 128, 128),)


def test_what_a_family_fills_in() -> None:
    """Gemma 3 12B as the hub has it: no head_dim, which 3,840 / 16 = 240 would not be."""
    sizes = {"num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 8, "hidden_size": 3840}
    for named in ({"model_type": "gemma3_text"}, {}):
        gemma3 = from_config({"model_type": "gemma3", "text_config": sizes | {"sliding_window": 1024} | named})
        assert gemma3.groups == (Group(8, 8, 256, 256), Group(40, 8, 256, 256, window=1024))
        assert cache_size(gemma3, 8192).bytes == 872_415_232
    small = {"num_hidden_layers": 4, "num_attention_heads": 64, "hidden_size": 2880}
    assert from_config(small | {"model_type": "gpt_oss"}).groups == (Group(2, 8, 64, 64), Group(2, 8, 64, 64, window=128))
    assert from_config(small | {"model_type": "phi3"}).groups == (Group(4, 64, 45, 45),)
    llama4 = from_config(small | {"model_type": "llama4", "text_config": small})
    assert llama4.groups == (Group(1, 8, 128, 128), Group(3, 8, 128, 128, window=8192, chunked=True))
    qwen2 = from_config(LLAMA | {"model_type": "qwen2", "use_sliding_window": True})
    assert qwen2.groups == (Group(28, 8, 128, 128), Group(4, 8, 128, 128, window=4096))


def test_absent_and_null_differ() -> None:
    mistral = LLAMA | {"model_type": "mistral"}
    assert from_config(mistral).groups == (Group(32, 8, 128, 128, window=4096),)
    assert from_config(mistral | {"sliding_window": None}).groups == (Group(32, 8, 128, 128),)


def test_a_guessed_family_is_said() -> None:
    bare = {key: value for key, value in LLAMA.items() if key != "model_type"}
    assert from_config(bare).guessed
    assert from_config({"text_config": bare}).guessed
    assert not from_config(bare | {"head_dim": 128}).guessed
    assert not from_config(LLAMA).guessed


def test_states_of_hybrids() -> None:
    assert from_config(QWEN3_NEXT).state == State(36, 32 * 128 * 128, kind="linear attention")
    assert from_config(NEMOTRON).state == State(3, 64 * 64 * 128, kind="Mamba-2")
    assert from_config(NEMOTRON).groups == (Group(1, 2, 128, 128),)
    assert from_config(KIMI_LINEAR).state == State(20, 32 * 128 * 128, kind="linear attention")


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        (LLAMA, 8_030_261_248),
        (GPT2, 124_439_808),
        (QWEN25_7B, 7_615_616_512),
        (QWEN3_8B, 8_190_735_360),
        (LLAMA | {"model_type": "mixtral"}, None),
        (TINY, 551_552),  # these as transformers counts the parameters of the same model
        (TINY | {"attention_bias": True}, 552_320),
        (TINY | {"mlp_bias": True}, 552_832),
        (TINY | {"attention_bias": True, "mlp_bias": True}, 553_600),
        (TINY | {"model_type": "mistral", "attention_bias": True, "mlp_bias": True}, 551_552),
        (TINY | {"model_type": "qwen2", "attention_bias": True}, 552_064),
        (TINY | {"model_type": "qwen3", "head_dim": 64}, 650_112),
        (TINY | {"model_type": "qwen3", "head_dim": 64, "attention_bias": True}, 651_392),
        (TINY | {"model_type": "qwen3", "head_dim": 64, "attention_bias": True, "tie_word_embeddings": True}, 523_392),
        (TINY_GPT2, 172_288),
        (TINY_GPT2 | {"tie_word_embeddings": False}, 236_288),
    ],
)
def test_parameters_of_dense_models(config: dict[str, Any], parameters: int | None) -> None:
    assert from_config(config).parameters == parameters


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ([], "expected an object with a model's sizes, got list"),
        ("llama", "got str"),
        (None, "got NoneType"),
        ({}, "num_hidden_layers is missing"),
        ({"model_type": "bert"}, "model_type 'bert' is not known; known: gpt2"),
        ({"model_type": ["llama"]}, "is not known"),
        (LLAMA | {"num_attention_heads": None}, "num_attention_heads is missing"),
        (LLAMA | {"num_attention_heads": -1}, "num_attention_heads: expected a whole number from 1"),
        (LLAMA | {"num_attention_heads": True}, "got True"),
        (LLAMA | {"num_attention_heads": "32"}, "got '32'"),
        (LLAMA | {"num_attention_heads": 24}, "hidden_size 4096 does not divide into 24 heads"),
        (LLAMA | {"num_key_value_heads": 6}, "32 query heads cannot share 6 KV heads"),
        (LLAMA | {"num_key_value_heads": 0}, "expected a whole number from 1"),
        (LLAMA | {"num_hidden_layers": 10**9}, "from 1 to 10,000"),
        (GPT2 | {"n_head": 7}, "n_embd 768 does not divide into 7 heads"),
        (DEEPSEEK_V3 | {"kv_lora_rank": None}, "kv_lora_rank is missing"),
        (GPT_OSS_120B | {"layer_types": ["full_attention"]}, "expected a list of 36 names"),
        (GPT_OSS_120B | {"layer_types": [{}] * 36}, "{} is not known"),
        (GPT_OSS_120B | {"sliding_window": None}, "18 layers are sliding, but no window is given"),
        (NEMOTRON | {"hybrid_override_pattern": "MM"}, "expected 6 of the letters"),
        (FALCON_7B | {"multi_query": "false"}, "multi_query: expected true or false, got 'false'"),
        (FALCON_7B | {"new_decoder_architecture": 0}, "new_decoder_architecture: expected true or false, got 0"),
        (LLAMA | {"tie_word_embeddings": "false"}, "tie_word_embeddings: expected true or false, got 'false'"),
        (GPT2 | {"tie_word_embeddings": 1}, "tie_word_embeddings: expected true or false, got 1"),
        (LLAMA | {"attention_bias": 1}, "attention_bias: expected true or false, got 1"),
        (LLAMA | {"mlp_bias": []}, "mlp_bias: expected true or false, got []"),
        (QWEN2_WINDOWS | {"use_sliding_window": 1}, "use_sliding_window: expected true or false, got 1"),
        (QWEN2_WINDOWS | {"max_window_layers": None}, "max_window_layers: expected a whole number, got None"),
        ({"model_type": "llava", "text_config": {"num_hidden_layers": 2}}, "model_type 'llava' is not known"),
        (KIMI_LINEAR | {"linear_attn_config": {"kda_layers": 3}}, "linear_attn_config"),
        (QWEN3_NEXT | {"linear_key_head_dim": None}, "linear_key_head_dim is missing"),
    ],
)
def test_what_does_not_fit_is_one_sentence(config: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"^config.json: [^\n]*\.$") as refused:
        from_config(config)
    assert sentence in str(refused.value)


def test_a_geometry_refuses_what_cannot_be() -> None:
    for wrong in ({"layers": 0}, {"kv_heads": 0}, {"window": 0}, {"key_dim": True}):
        with pytest.raises(ValueError, match="expected a whole number of at least 1"):
            Group(**{"layers": 2, "kv_heads": 1, "key_dim": 8, "value_dim": 8, **wrong})
    with pytest.raises(ValueError, match="no layer keeps anything"):
        Geometry("nothing", 2, 2, ())
    with pytest.raises(ValueError, match="the row 'x' is not a geometry"):
        Geometry.from_row({"id": "x", "name": "x"})
