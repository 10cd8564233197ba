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
    with pytest.raises(ValueError, match="expected a whole number of at least 1, got 0"):
        make(GPT2_SMALL, 0, 2)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: cost.full_logits_flops(GPT2_SMALL, 0), "prompt_tokens: expected a whole number of at least 1, got 0"),
        (lambda: cost.prefill_cost(GPT2_SMALL, 4, -1), "bytes_per_number: expected a whole number of at least 1, got -1"),
        (lambda: cost.decode_cost(GPT2_SMALL, 4, 2, batch=True), "batch: expected a whole number of at least 1, got True"),
        (lambda: cost.ridge(1e12, 0), "bandwidth_bytes: expected a finite number above 0, got 0"),
        (lambda: cost.ridge(float("nan"), 1), "peak_flops: expected a finite number above 0, got nan"),
        (lambda: cost.critical_batch(1e12, 1e9, 0), "bytes_per_weight: expected a finite number above 0, got 0"),
        (lambda: cost.linear_intensity(0, 2), "batch: expected a finite number above 0, got 0"),
        (lambda: cost.attention_intensity(8, 0, 2), "kv_heads: expected a finite number above 0, got 0"),
        (lambda: cost.latent_intensity(8, 0, 0, 2), "latent: expected a finite number above 0, got 0"),
        (lambda: cost.link_seconds(4, 0, 9), "bytes_per_token: expected a finite number above 0, got 0"),
        (lambda: cost.least_seconds(cost.decode_cost(GPT2_SMALL, 4, 2), 0, 1), "peak_flops: expected a finite number above 0"),
        (lambda: cost.reuse_bandwidth(1e12, 0, 8, 1, 2), "prefix_tokens: expected a whole number of at least 1, got 0"),
        (lambda: cost.rows_without_cache(-1), "tokens: expected a whole number of at least 0, got -1"),
    ],
)
def test_what_is_no_amount_is_refused(ask, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ask()


# --- the roofline ------------------------------------------------------------------------------------------------------

H100 = 989.5e12, 3.35e12  # dense bf16 FLOP/s, bytes/s


def test_ridge_points() -> None:
    """A100 with 40 and 80 GB, H100, H200: dense bf16 peak over bandwidth."""
    devices = [(312e12, 1.555e12), (312e12, 2.039e12), (989.4e12, 3.35e12), (989.4e12, 4.8e12)]
    assert [round(cost.ridge(*device), 1) for device in devices] == [200.6, 153.0, 295.3, 206.1]


def test_critical_batch_of_an_h100_and_of_an_a100() -> None:
    assert [round(cost.critical_batch(*H100, bytes_per_weight=width)) for width in (2, 1)] == [295, 148]
    assert round(cost.critical_batch(312e12, 1.5e12, 2)) == 208  # kipply's A100


def test_intensity_of_attention_in_a_decode_step() -> None:
    """Query heads over KV heads in two bytes; 242 for DeepSeek-V3's absorbed latent."""
    pairs = [(32, 32), (32, 8), (64, 8), (71, 1)]  # Llama-2-7B, Llama-3-8B, Llama-3-70B, Falcon-7B
    assert [cost.attention_intensity(query, kv, 2) for query, kv in pairs] == [1, 4, 8, 71]
    assert round(cost.latent_intensity(128, 512, 64, 2), 1) == 241.8
    assert cost.linear_intensity(16, 2) == 16


def test_intensity_of_attention_is_what_a_step_does() -> None:
    step = cost.decode_cost(LLAMA3_8B, 4096, 2, batch=3)
    read = step.kv_read_bytes + step.kv_written_bytes
    assert step.attention_flops / read == cost.attention_intensity(32, 8, 2)


@pytest.mark.parametrize(
    ("batch", "tokens", "gigabytes", "share"), [(1, 4096, 15.55, 3), (64, 4096, 49.4, 70), (64, 32_768, 289.9, 95)]
)
def test_bytes_of_a_decode_step(batch: int, tokens: int, gigabytes: float, share: int) -> None:
    step = cost.decode_cost(LLAMA3_8B, tokens, 2, batch=batch)
    assert round(step.bytes / 1e9, 1 if batch > 1 else 2) == gigabytes
    assert round(100 * (step.bytes - step.weight_bytes) / step.bytes) == share


@pytest.mark.parametrize(
    ("batch", "tokens", "milliseconds", "per_second"),
    [(1, 4096, 4.64, 215), (16, 4096, 7.04, 2271), (64, 4096, 14.7, 4343), (1, 131_072, 9.61, 104)],
)
def test_least_time_of_a_decode_step_on_an_h100(batch: int, tokens: int, milliseconds: float, per_second: int) -> None:
    seconds = cost.least_seconds(cost.decode_cost(LLAMA3_8B, tokens, 2, batch=batch), *H100)
    assert round(1000 * seconds, 1 if batch == 64 else 2) == milliseconds
    assert round(batch / seconds) == per_second


def test_prefill_of_4096_tokens_on_an_h100() -> None:
    """61.48 TFLOP in the matrices with all logits; 57.18 and 4.40 without, attention 7.1 %; at least 62 ms at the peak."""
    prompt = cost.prefill_cost(LLAMA3_8B, 4096, 2)
    every = cost.full_logits_flops(LLAMA3_8B, 4096)
    assert round((prompt.matmul_flops + every) / 1e12, 2) == 61.48
    assert (round(prompt.matmul_flops / 1e12, 2), round(prompt.attention_flops / 1e12, 2)) == (57.18, 4.40)
    assert round(100 * prompt.attention_flops / prompt.flops, 1) == 7.1
    assert round(1000 * cost.least_seconds(prompt, *H100)) == 62


def test_prompt_at_which_attention_takes_over() -> None:
    """57,258 if the norms' parameters are counted among those that multiply."""
    config, norms = LLAMA3_8B, (2 * 32 + 1) * 4096
    assert cost.attention_equals_matmuls(config) == 57_256
    assert (cost.parameters(config) - config.vocab_size * config.hidden_size) // (32 * 32 * 128) == 57_258
    assert cost.layer_matmul_parameters(config) + cost.head_parameters(config) + norms == 7_504_924_672


def test_attention_share_of_a_token_at_4096() -> None:
    step = cost.decode_cost(LLAMA3_8B, 4096, 2)
    assert step.attention_flops == 524_288 * 4096
    assert round(100 * step.attention_flops / step.matmul_flops) == 14


def test_moving_the_cache_of_llama_3_70b() -> None:
    """40 GB for 128k tokens, as Mooncake prints it, at 87 and 190 GB/s."""
    assert [round(tokens * 327_680 / 1e9, 1) for tokens in (131_072, 128_000)] == [42.9, 41.9]
    assert [round(cost.link_seconds(131_072, 327_680, speed), 2) for speed in (87e9, 190e9)] == [0.49, 0.23]


def test_rows_without_a_cache() -> None:
    assert cost.rows_without_cache(1024) == 524_800
    assert cost.rows_without_cache(7) - cost.rows_without_cache(2) == 25


def test_slopes_of_a_decode_step_over_context() -> None:
    """vLLM's study of fp8 caches on an H100: 3.91e-5 ms a token in bf16, half of it in fp8; weights 4.48 ms."""
    assert round(131_072 / H100[1] * 1e3, 7) == 3.91e-5
    assert round(cost.decode_cost(LLAMA3_8B, 1, 2).weight_bytes / H100[1] * 1e3, 2) == 4.48


def test_bandwidth_at_which_loading_a_prefix_pays() -> None:
    """LLaMA3-70B, 8,192 tokens: 6 GB/s for eight A800, 19 for eight H800, as Mooncake prints them."""
    bandwidths = [cost.reuse_bandwidth(8 * peak, 8192, 8192, 8, 2) / 1e9 for peak in (312e12, 989.5e12)]
    assert [round(one, 1) for one in bandwidths] == [5.9, 18.6]


# --- a pass with chunks and decode steps --------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [LLAMA3_8B, GPT2_SMALL])
def test_a_mixed_pass_is_its_parts_with_the_weights_read_once(config: ModelConfig) -> None:
    pieces = [(0, 100, True), (511, 1, True), (1023, 1, True)]
    mixed = cost.step_cost(config, pieces, 2)
    parts = [cost.prefill_cost(config, 100, 2), cost.decode_cost(config, 512, 2), cost.decode_cost(config, 1024, 2)]
    assert mixed.flops == sum(part.flops for part in parts)
    assert mixed.kv_read_bytes == sum(part.kv_read_bytes for part in parts)
    assert mixed.kv_written_bytes == sum(part.kv_written_bytes for part in parts)
    assert mixed.weight_bytes == parts[0].weight_bytes
    assert cost.step_cost(config, [(511, 1, True)] * 16, 2) == cost.decode_cost(config, 512, 2, batch=16)


def test_chunks_compute_what_the_prompt_computes_and_read_what_stands_before_them() -> None:
    whole = cost.prefill_cost(LLAMA3_8B, 1000, 2)
    chunks = [(0, 300, False), (300, 300, False), (600, 400, True)]
    parts = [cost.step_cost(LLAMA3_8B, [chunk], 2) for chunk in chunks]
    assert sum(part.attention_flops for part in parts) == whole.attention_flops
    assert sum(part.matmul_flops for part in parts) == whole.matmul_flops
    assert [part.kv_read_bytes for part in parts] == [131_072 * start for start in (0, 300, 600)]
    head = 2 * cost.head_parameters(LLAMA3_8B)
    assert [whole.weight_bytes - part.weight_bytes for part in parts] == [head, head, 0]  # no logits, no head


@pytest.mark.parametrize("config", tiny.BOTH)
def test_a_chunk_at_an_offset_is_what_torch_counts(config: ModelConfig) -> None:
    model, cache = tiny.model(config), ContiguousCache(config, 16, dtype=torch.float64)
    tokens = tiny.ids(config, 9)
    prefill(model, cache, tokens[:4])
    with FlopCounterMode(display=False) as counter:
        prefill(model, cache, tokens[4:], tap=lambda name, layer, tensor: None)
    expected = cost.step_cost(config, [(4, 5, True)], 8)
    written_out = expected.attention_flops * 5 * 9 // (4 * 5 + 15)  # every row over all 9 keys, masked or not
    assert counter.get_total_flops() == expected.matmul_flops + written_out


@pytest.mark.parametrize(
    ("pieces", "sentence"),
    [
        ([], "pieces: expected a whole number of at least 1, got 0"),
        ([(0, 0, True)], "tokens: expected a whole number of at least 1, got 0"),
        ([(-1, 1, True)], "start: expected a whole number of at least 0, got -1"),
    ],
)
def test_pieces_that_are_none(pieces: list, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        cost.step_cost(GPT2_SMALL, pieces, 2)
