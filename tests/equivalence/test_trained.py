"""kvref against transformers on the default model's trained weights, float32, batch 1."""

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, PreTrainedModel

from kvref.cache.contiguous import ContiguousCache
from kvref.cache.nothing import NoCache
from kvref.generate import decode_step, generate, prefill
from kvref.model.checkpoint import load_checkpoint
from kvref.model.transformer import Transformer

pytestmark = pytest.mark.weights

TOLERANCE = 5e-4
NEW_TOKENS = 64
PROMPTS = (
    "the cat sat",
    "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n",
    "def fibonacci(n):\n    if n < 2:\n        return n\n",
    "In 1905 the 26-year-old clerk published 4 papers:\n\n5",
    "A key and a value are kept for every token. " * 24,
)


@pytest.fixture(scope="module")
def oracle(real_folder: Path) -> PreTrainedModel:
    model = AutoModelForCausalLM.from_pretrained(real_folder, dtype=torch.float32).eval()
    model.generation_config.eos_token_id = model.generation_config.pad_token_id = None
    return model


@pytest.fixture(scope="module")
def prompts(real_folder: Path) -> list[list[int]]:
    tokenizer = Tokenizer.from_file(str(real_folder / "tokenizer.json"))
    return [tokenizer.encode(text).ids for text in PROMPTS]


def expected(oracle: PreTrainedModel, prompt: list[int]) -> tuple[list[int], torch.Tensor]:
    """transformers' greedy tokens and the logits each was chosen from."""
    given = oracle.generate(
        torch.tensor([prompt]),
        attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
        max_new_tokens=NEW_TOKENS,
        do_sample=False,
        output_logits=True,
        return_dict_in_generate=True,
    )
    return given.sequences[0, len(prompt) :].tolist(), torch.cat(given.logits)


def along(model: Transformer, prompt: list[int], reply: list[int]) -> torch.Tensor:
    """Our logits when the same tokens are fed, so that one tie does not make all later rows differ."""
    cache = ContiguousCache(model.config, len(prompt) + len(reply))
    rows = [prefill(model, cache, prompt)]
    rows += [decode_step(model, cache, token_id) for token_id in reply[:-1]]
    return torch.stack(rows)


def test_logits_and_greedy_tokens(real_model: Transformer, oracle: PreTrainedModel, prompts: list[list[int]]) -> None:
    worst, compared, skipped = 0.0, 0, 0
    for prompt in prompts:
        reply, logits = expected(oracle, prompt)
        ours = along(real_model, prompt, reply)
        worst = max(worst, (ours - logits).abs().max().item())
        top = logits.topk(2).values
        clear = (top[:, 0] - top[:, 1]) > TOLERANCE
        assert torch.equal(ours.argmax(-1)[clear], torch.tensor(reply)[clear])
        compared, skipped = compared + len(reply), skipped + int((~clear).sum())
        if clear.all():
            assert list(generate(real_model, prompt, NEW_TOKENS)) == reply
    print(f"max |Δlogit| {worst:.1e} over {compared} steps; {skipped} too close to call ({skipped / compared:.1%})")
    assert worst <= TOLERANCE
    assert skipped <= 0.01 * compared


def test_all_rows_of_a_prompt(real_model: Transformer, oracle: PreTrainedModel, prompts: list[list[int]]) -> None:
    for prompt in prompts:
        tokens = torch.tensor(prompt)
        with torch.no_grad():
            logits = oracle(tokens[None]).logits[0]
        assert (real_model(tokens, NoCache(real_model.config)) - logits).abs().max().item() <= TOLERANCE


def test_cached_chunked_and_tapped_agree_in_float64(real_folder: Path, prompts: list[list[int]]) -> None:
    model = load_checkpoint(real_folder, dtype=torch.float64)
    tokens = torch.tensor(prompts[3])
    whole = model(tokens, NoCache(model.config))
    cache = ContiguousCache(model.config, len(tokens), dtype=torch.float64)
    parts = [model(chunk, cache) for chunk in (tokens[:4], tokens[4:5], tokens[5:])]
    scale = whole.abs().max().item()
    assert (torch.cat(parts) - whole).abs().max().item() <= 1e-10 * scale
    tapped = model(tokens, NoCache(model.config), tap=lambda name, layer, tensor: None)
    assert (tapped - whole).abs().max().item() <= 1e-10 * scale


def test_geometry(real_model: Transformer) -> None:
    config = real_model.config
    assert (config.layers, config.query_heads, config.kv_heads, config.head_dim) == (30, 9, 3, 64)
    assert ContiguousCache(config, 1).nbytes == 46_080
