"""Costs against published arithmetic and against what torch counts in the code that runs."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from kvref.cache.contiguous import ContiguousCache
from kvref.config import ModelConfig
from kvref.generate import decode_step, prefill
from kvref.plan import cost
from tests.kvref import tiny

LLAMA3_8B = ModelConfig("llama", 128256, 4096, 32, 32, 8, 128, 14336, 8192, 1e-5, 5e5, None, False)
GPT2_SMALL = ModelConfig("gpt2", 50257, 768, 12, 12, 12, 64, 3072, 1024, 1e-5)


def test_published_parameter_counts() -> None:
    assert cost.parameters(LLAMA3_8B) == 8_030_261_248
    assert cost.parameters(GPT2_SMALL) == 124_439_808


def test_cache_bytes_of_one_token() -> None:
    assert cost.kv_bytes_per_token(GPT2_SMALL, 2) == 36 * 1024
    assert cost.kv_bytes_per_token(LLAMA3_8B, 2) == 128 * 1024


def test_llama_3_8b_at_4096_tokens() -> None:
    """15.01 GFLOP a token outside attention, 2.15 in it; 57.18 + 4.40 TFLOP for the prompt; 15.55 GB a step."""
    step = cost.decode_cost(LLAMA3_8B, 4096, 2)
    assert (round(step.matmul_flops / 1e9, 2), round(step.attention_flops / 1e9, 2)) == (15.01, 2.15)
    assert round(step.bytes / 1e9, 2) == 15.55
    prompt = cost.prefill_cost(LLAMA3_8B, 4096, 2)
    assert (round(prompt.matmul_flops / 1e12, 2), round(prompt.attention_flops / 1e12, 2)) == (57.18, 4.40)


def test_a_batch_shares_the_weights() -> None:
    one, many = cost.decode_cost(LLAMA3_8B, 1024, 2), cost.decode_cost(LLAMA3_8B, 1024, 2, batch=64)
    assert many.weight_bytes == one.weight_bytes
    assert many.flops == 64 * one.flops
    assert many.kv_read_bytes == 64 * one.kv_read_bytes
    assert many.intensity > 20 * one.intensity


def test_a_decode_step_reads_what_prefill_and_earlier_steps_wrote() -> None:
    written = cost.prefill_cost(GPT2_SMALL, 7, 4).kv_written_bytes
    step = cost.decode_cost(GPT2_SMALL, 8, 4)
    assert step.kv_read_bytes == written
    assert step.bytes == step.weight_bytes + written + step.kv_written_bytes


@pytest.mark.parametrize("config", tiny.BOTH)
def test_the_same_as_torch_counts(config: ModelConfig) -> None:
    """Under a tap attention is written out, so torch sees all of it; causal masking spares it no work there."""
    model, cache = tiny.model(config), ContiguousCache(config, 16, dtype=torch.float64)

    def counted(run, *arguments) -> int:
        with FlopCounterMode(display=False) as counter:
            run(model, cache, *arguments, tap=lambda name, layer, tensor: None)
        return counter.get_total_flops()

    n = 7
    expected = cost.prefill_cost(config, n, 8)
    assert counted(prefill, tiny.ids(config, n)) == expected.matmul_flops + expected.attention_flops * 2 * n // (n + 1)
    assert counted(decode_step, 1) == cost.decode_cost(config, n + 1, 8).flops


@pytest.mark.parametrize("make", [cost.prefill_cost, cost.decode_cost])
def test_nothing_to_do_is_refused(make) -> None:
    with pytest.raises(ValueError, match="expected at least 1, got 0"):
        make(GPT2_SMALL, 0, 2)
