"""kvref against transformers: random models whose dimensions all differ, in float64, through checkpoints it saved.

transformers computes RMSNorm, the angles of rotary positions and eager softmax in float32 whatever the dtype, so a Llama
in float64 can agree to about 1e-5 only; a GPT-2 agrees to rounding.
"""

from pathlib import Path

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedModel

from kvref.cache.contiguous import ContiguousCache
from kvref.cache.nothing import NoCache
from kvref.generate import generate
from kvref.model.checkpoint import load_checkpoint

GPT2 = {"vocab_size": 61, "n_positions": 80, "n_embd": 48, "n_layer": 3, "n_head": 6, "n_inner": 100}
GPT2 |= {"bos_token_id": 60, "eos_token_id": 60}  # the defaults are ids of the published vocabulary
LLAMA = {
    "vocab_size": 61,
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 100,
    "max_position_embeddings": 80,
}
STRETCH = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
    "rope_theta": 500.0,
}


def gpt2(seed: int = 0, **changes: object) -> PreTrainedModel:
    torch.manual_seed(seed)
    return shaken(GPT2LMHeadModel(GPT2Config(**{**GPT2, **changes})))


def llama(seed: int = 0, **changes: object) -> PreTrainedModel:
    torch.manual_seed(seed)
    return shaken(LlamaForCausalLM(LlamaConfig(**{**LLAMA, **changes})))


def shaken(model: PreTrainedModel) -> PreTrainedModel:
    """Random everywhere, biases and norms too: what starts at 0 or 1 would hide a mistake."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape))
    return model.double().eval()


def ids(count: int) -> torch.Tensor:
    return torch.randint(61, (count,), generator=torch.Generator().manual_seed(7))


def theirs(model: PreTrainedModel, tokens: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return model(tokens[None]).logits[0]


def deviation(folder: Path, model: PreTrainedModel, tokens: torch.Tensor) -> float:
    """Largest difference of any logit, relative to the largest logit; kvref cached in three chunks."""
    model.save_pretrained(folder)
    ours = load_checkpoint(folder, dtype=torch.float64)
    cache = ContiguousCache(ours.config, len(tokens), dtype=torch.float64)
    logits = torch.cat([ours(chunk, cache) for chunk in tokens.split([5, 1, len(tokens) - 6])])
    itself = ours(tokens, NoCache(ours.config))
    torch.testing.assert_close(logits, itself, rtol=0, atol=1e-10)
    expected = theirs(model, tokens)
    return ((logits - expected).abs().max() / expected.abs().max()).item()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gpt2(tmp_path: Path, seed: int) -> None:
    assert deviation(tmp_path, gpt2(seed), ids(37)) < 1e-9


def test_gpt2_with_its_own_head(tmp_path: Path) -> None:
    assert deviation(tmp_path, gpt2(tie_word_embeddings=False), ids(37)) < 1e-9


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("tied", [True, False])
def test_llama(tmp_path: Path, seed: int, tied: bool) -> None:
    assert deviation(tmp_path, llama(seed, tie_word_embeddings=tied), ids(37)) < 1e-4


@pytest.mark.parametrize("heads", [(6, 6), (6, 1), (4, 2)])
def test_llama_with_other_groups(tmp_path: Path, heads: tuple[int, int]) -> None:
    model = llama(num_attention_heads=heads[0], num_key_value_heads=heads[1])
    assert deviation(tmp_path, model, ids(37)) < 1e-4


def test_llama_with_stretched_positions(tmp_path: Path) -> None:
    """Llama 3's scaling, far beyond the 32 positions of its first training."""
    assert deviation(tmp_path, llama(rope_parameters=STRETCH), ids(80)) < 1e-4
    plain = llama(rope_parameters={"rope_type": "default", "rope_theta": 500.0})
    assert (theirs(plain, ids(80)) - theirs(llama(rope_parameters=STRETCH), ids(80))).abs().max() > 0.01


def test_llama_with_another_base(tmp_path: Path) -> None:
    model = llama(rope_parameters={"rope_type": "default", "rope_theta": 300.0})
    assert deviation(tmp_path, model, ids(80)) < 1e-4


def test_a_model_in_many_shards(tmp_path: Path) -> None:
    llama().save_pretrained(tmp_path / "one")
    llama().save_pretrained(tmp_path / "many", max_shard_size="60KB")
    assert len(list((tmp_path / "many").glob("*.safetensors"))) > 3
    one, many = load_checkpoint(tmp_path / "one"), load_checkpoint(tmp_path / "many")
    assert torch.equal(one(ids(9), NoCache(one.config)), many(ids(9), NoCache(many.config)))


@pytest.mark.parametrize("make", [gpt2, llama])
def test_a_model_saved_without_its_head_has_no_prefix(tmp_path: Path, make) -> None:
    """The bare decoder is saved as `h.0…` or `layers.0…`; with a tied head it is the whole model."""
    model = make(tie_word_embeddings=True)
    model.base_model.save_pretrained(tmp_path)
    ours = load_checkpoint(tmp_path, dtype=torch.float64)
    assert (ours(ids(9), NoCache(ours.config)) - theirs(model, ids(9))).abs().max() < 1e-3


@pytest.mark.parametrize("make", [gpt2, llama])
def test_the_same_greedy_tokens(tmp_path: Path, make) -> None:
    model = make()
    model.save_pretrained(tmp_path)
    model.generation_config.eos_token_id = model.generation_config.pad_token_id = None
    expected = model.generate(ids(5)[None], max_new_tokens=30, do_sample=False)[0, 5:].tolist()
    ours = load_checkpoint(tmp_path, dtype=torch.float64)
    assert list(generate(ours, ids(5), 30, cache=ContiguousCache(ours.config, 34, dtype=torch.float64))) == expected
