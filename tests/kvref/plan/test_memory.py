"""Bytes against published arithmetic: every anchor is named after what states it."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from kvref.plan import memory
from kvref.plan.geometry import Geometry, Group, State
from kvref.plan.memory import FORMATS, GIB, Format, bytes_per_token, cache_size, requests_that_fit, weight_bytes

MIB, KIB = 2**20, 2**10
TABLE = Path(__file__).parents[3] / "docs" / "data" / "geometry" / "models.json"
ROWS: dict[str, dict[str, Any]] = json.loads(TABLE.read_bytes())["values"]["models"]
MODELS = {name: Geometry.from_row(row) for name, row in ROWS.items()}
LLAMA3_8B, LLAMA2_7B, LLAMA2_13B = MODELS["llama-3-8b"], MODELS["llama-2-7b"], MODELS["llama-2-13b"]


def like(layers: int, kv_heads: int, head_dim: int = 128) -> Geometry:
    return Geometry("a model", layers, kv_heads, (Group(layers, kv_heads, head_dim, head_dim),))


# --- the project's table of models -------------------------------------------------------------------------------------


def test_the_table_has_53_models() -> None:
    assert len(MODELS) == 53
    assert all(name == row["id"] for name, row in ROWS.items())


@pytest.mark.parametrize("name", ROWS)
def test_groups_give_the_stated_bytes(name: str) -> None:
    geometry, stated = MODELS[name], ROWS[name]["stated"]
    assert bytes_per_token(geometry) == stated["fp16_bytes_per_token"]
    assert bytes_per_token(geometry, windows_full=True) == stated["fp16_bytes_per_further_token"]
    for tokens, expected in stated["fp16_bytes_at"].items():
        size = cache_size(geometry, int(tokens))
        assert size.bytes - size.state_bytes == expected


@pytest.mark.parametrize("name", ROWS)
def test_each_row_says_where_it_comes_from(name: str) -> None:
    row = ROWS[name]
    assert row["source"]
    assert row["evidence"] in json.loads(TABLE.read_bytes())["identity"]["evidence"]
    assert row["verified"] is (row["evidence"] != "secondary")
    assert row["verified"] or row["unverified_fields"]
    assert (row["parameters"]["total"] is None) == (row["parameters"]["kind"] == "unknown")


# --- bytes of a token --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("geometry", "expected"),
    [
        (MODELS["gpt-2-small"], 36_864),
        (MODELS["gpt-2-xl"], 307_200),
        (MODELS["opt-13b"], 819_200),
        (LLAMA2_7B, 524_288),
        (LLAMA2_13B, 819_200),
        (MODELS["llama-2-70b"], 327_680),
        (MODELS["llama-3-70b"], 327_680),
        (LLAMA3_8B, 131_072),
        (MODELS["mistral-7b-v0-1"], 131_072),
        (MODELS["llama-3-1-405b"], 516_096),
        (MODELS["falcon-7b"], 8 * KIB),
        (like(22, 4, 64), 22_528),  # TinyLlama-1.1B
        (like(16, 8, 64), 32_768),  # Llama-3.2-1B
        (MODELS["deepseek-v2"], 69_120),
        (MODELS["deepseek-v3"], 70_272),
        (Geometry("V2-Lite", 27, 16, (Group(27, latent=576),)), 31_104),
        (Geometry("V2-Lite, materialised", 27, 16, (Group(27, 16, 192, 128),)), 276_480),
    ],
)
def test_fp16_bytes_of_a_token(geometry: Geometry, expected: int) -> None:
    assert bytes_per_token(geometry) == expected


def test_latent_against_keys_and_values_of_all_heads() -> None:
    """Materialised V2-Lite is 8.889 times its latent; 128 heads of 192 + 128 against 576 are 71.1, of 2 × 128 are 56.9."""
    assert round(276_480 / 31_104, 3) == 8.889
    assert round(Group(1, 128, 192, 128).row_numbers / 576, 1) == 71.1
    assert round(Group(1, 128, 128, 128).row_numbers / 576, 1) == 56.9


@pytest.mark.parametrize(
    ("name", "first", "later"),
    [("gpt-oss-120b", 73_728, 36_864), ("gemma-3-27b", 496 * KIB, 80 * KIB), ("llama-4-scout", 192 * KIB, 48 * KIB)],
)
def test_a_token_is_cheaper_once_windows_are_full(name: str, first: int, later: int) -> None:
    geometry = MODELS[name]
    assert bytes_per_token(geometry) == first
    assert bytes_per_token(geometry, windows_full=True) == later
    window = max(group.window for group in geometry.groups if group.window)
    assert cache_size(geometry, window).bytes - cache_size(geometry, window - 1).bytes == first
    assert cache_size(geometry, window + 1).bytes - cache_size(geometry, window).bytes == later


@pytest.mark.parametrize(
    ("stored", "bits", "llama_2_7b_kib"),
    [
        (FORMATS["fp8"], 8, 256),
        (FORMATS["q8_0"], Fraction(17, 2), 272),
        (FORMATS["q4_0"], Fraction(9, 2), 144),
        (FORMATS["q4_1"], 5, 160),
        (FORMATS["q5_0"], Fraction(11, 2), 176),
        (FORMATS["mxfp4"], Fraction(17, 4), 136),
        (FORMATS["nvfp4"], Fraction(9, 2), 144),
        (Format(2, 32, 32), 3, 96),
        (Format(2, 64, 32), Fraction(5, 2), 80),
        (Format(8, 128, 16), Fraction(65, 8), 260),
        (Format(4, 64, 32), Fraction(9, 2), 144),
        (Format(4, 32, 32), 5, 160),
    ],
)
def test_scales_and_zero_points_count(stored: Format, bits: Fraction, llama_2_7b_kib: int) -> None:
    assert stored.bits_per_number == bits
    assert bytes_per_token(LLAMA2_7B, stored) == llama_2_7b_kib * KIB


def test_two_bits_with_128_recent_tokens_in_fp16() -> None:
    old, recent = cache_size(LLAMA2_7B, 4096 - 128, stored=Format(2, 32, 32)).bytes, cache_size(LLAMA2_7B, 128).bytes
    assert (old + recent) / MIB == 436
    assert round(2 * GIB / (old + recent), 1) == 4.7


# --- whole caches ------------------------------------------------------------------------------------------------------


def test_totals_of_the_four_models_at_4096_tokens() -> None:
    totals = [cache_size(MODELS[name], 4096).bytes for name in ("gpt-2-small", "llama-2-7b", "llama-3-8b", "llama-2-70b")]
    assert totals == [144 * MIB, 2 * GIB, 512 * MIB, 1280 * MIB]
    assert totals[3] / GIB == 1.25


def test_sixteen_requests_of_llama_2_7b_beside_its_weights() -> None:
    assert cache_size(LLAMA2_7B, 4096, batch=16).bytes == 32 * GIB
    assert weight_bytes(6_738_415_616) == 13_476_831_232
    assert round(13_476_831_232 / GIB, 2) == 12.55


def test_opt_13b_at_2048_tokens_as_the_vllm_paper_prints_it() -> None:
    assert cache_size(MODELS["opt-13b"], 2048).bytes == 1_677_721_600


def test_llama_3_8b_at_8192_and_131072_tokens() -> None:
    assert cache_size(LLAMA3_8B, 8192).bytes == GIB
    assert cache_size(LLAMA3_8B, 131_072).bytes == 16 * GIB


def test_gemma_3_27b_at_131072_tokens() -> None:
    geometry = MODELS["gemma-3-27b"]
    assert round(cache_size(geometry, 131_072).bytes / GIB, 2) == 10.41
    assert cache_size(like(62, 16), 131_072).bytes == 62 * GIB


def test_deepseek_v4_at_1048576_tokens() -> None:
    """9.62 GiB, against 83.9 GiB for its layers with the rows of V3.2."""
    assert round(cache_size(MODELS["deepseek-v4-pro"], 1_048_576).bytes / GIB, 2) == 9.62
    assert round(cache_size(MODELS["deepseek-v3-2"], 1_048_576).bytes / GIB, 1) == 83.9


def test_sinks_and_a_window_keep_as_much_at_any_length() -> None:
    kept = Geometry("4 sinks + 1,020", 32, 32, (Group(32, 8, 128, 128, window=4 + 1020),))
    assert {cache_size(kept, tokens).bytes for tokens in (1024, 5000, 10**6)} == {128 * MIB}


@pytest.mark.parametrize(
    ("name", "megabytes", "tokens"),
    [
        ("qwen3-next-80b-a3b", 75.5, 3072),
        ("qwen3-5-27b", 151.0, 2304),
        ("nemotron-3-nano-30b-a3b", 48.2, 7851),
        ("kimi-linear-48b-a3b", 41.9, 5201),
        ("kimi-k3", 434.1, 15701),
    ],
)
def test_a_state_of_fixed_size_in_tokens_of_cache(name: str, megabytes: float, tokens: int) -> None:
    geometry = MODELS[name]
    assert geometry.state is not None
    assert round(geometry.state.bytes / 1e6, 1) == megabytes
    assert round(geometry.state.bytes / bytes_per_token(geometry)) == tokens
    one, two = cache_size(geometry, 1), cache_size(geometry, 2)
    assert one.state_bytes == two.state_bytes == geometry.state.bytes


def test_layers_that_share_a_cache_keep_none() -> None:
    geometry = MODELS["gemma-4-e2b"]
    assert sum(group.layers for group in geometry.groups) + geometry.shared_layers == geometry.layers == 35


# --- blocks ------------------------------------------------------------------------------------------------------------


def test_blocks_are_whole() -> None:
    assert cache_size(LLAMA3_8B, 4097, block_tokens=16).bytes == 131_072 * 4112
    assert cache_size(LLAMA3_8B, 4096, block_tokens=16).bytes == 512 * MIB
    assert cache_size(LLAMA3_8B, 1, block_tokens=256).bytes == 131_072 * 256


def test_a_window_between_blocks_lies_in_one_block_more() -> None:
    group = Group(1, 1, 8, 8, window=8)
    assert [memory.slots(group, tokens, 4) for tokens in (1, 4, 5, 8, 9, 11, 12, 13)] == [4, 4, 8, 8, 12, 12, 8, 12]
    chunk = Group(1, 1, 8, 8, window=8, chunked=True)
    assert [memory.slots(chunk, tokens, 4) for tokens in (1, 8, 9, 13)] == [4, 8, 8, 8]


def test_blocks_needed_for_a_prefix_hit_in_a_window() -> None:
    assert memory.hit_blocks(4096, 16) == 256


@pytest.mark.parametrize(
    ("mean", "percent"),
    [(499.3, {16: 1.5, 32: 3.0, 64: 5.9, 128: 11.3, 256: 20.3}), (77.76, {16: 8.8, 32: 16.6, 64: 28.8, 128: 45.0, 256: 62.1})],
)
def test_expected_waste_of_half_a_block(mean: float, percent: dict[int, float]) -> None:
    assert {block: round(100 * memory.expected_waste(mean, block), 1) for block in percent} == percent


def test_waste_of_reserving_the_longest_request() -> None:
    """ShareGPT's means, 161.31 in and 337.99 out, in 2,048 slots: at the end of a request, and over its life."""
    asked, answered = 161.31, 337.99
    assert round(100 * memory.reserved_waste(asked + answered, 2048), 1) == 75.6
    assert round(100 * memory.reserved_waste(asked + answered / 2, 2048), 1) == 83.9


def test_a_table_of_blocks_is_small() -> None:
    assert memory.table_bytes(4096, 16) == KIB
    assert memory.table_bytes(1, 16) == 4


# --- several devices ---------------------------------------------------------------------------------------------------


def test_kv_heads_are_shared_out_until_each_device_has_one() -> None:
    sizes = [cache_size(LLAMA3_8B, 4096, ranks=ranks).bytes / MIB for ranks in (1, 2, 4, 8, 16, 32)]
    assert sizes == [512, 256, 128, 64, 64, 64]


def test_multi_query_and_latent_caches_are_copied_to_every_device() -> None:
    assert cache_size(MODELS["deepseek-v3"], 1000, ranks=8).bytes == cache_size(MODELS["deepseek-v3"], 1000).bytes
    assert cache_size(MODELS["gemma-3-270m"], 1000, ranks=4).bytes == cache_size(MODELS["gemma-3-270m"], 1000).bytes


@pytest.mark.parametrize(
    ("geometry", "ranks"), [(LLAMA3_8B, 3), (MODELS["falcon-7b"], 2), (Geometry("x", 1, 12, (Group(1, 4, 8, 8),)), 6)]
)
def test_heads_that_do_not_divide_are_refused(geometry: Geometry, ranks: int) -> None:
    with pytest.raises(ValueError, match=f"tensor parallel {ranks}: .* evenly"):
        cache_size(geometry, 1, ranks=ranks)


# --- what fits ---------------------------------------------------------------------------------------------------------


def test_requests_of_4096_tokens_in_nine_tenths_of_80_gib() -> None:
    room, reserve = 80 * GIB * 9 // 10, 10**9
    weights = weight_bytes(8_030_261_248)
    assert (room - weights - reserve) // 131_072 == 459_662
    fit = {
        model.name: requests_that_fit(room, weight_bytes(model.parameters or 0), cache_size(model, 4096).request_bytes, reserve)
        for model in (LLAMA3_8B, LLAMA2_7B, LLAMA2_13B)
    }
    assert fit == {"Llama-3-8B": 112, "Llama-2-7B": 29, "Llama-2-13B": 14}


def test_slots_in_the_servers_of_the_vllm_paper() -> None:
    assert 12 * GIB // bytes_per_token(MODELS["opt-13b"]) == 15_728


def test_nothing_fits_beside_weights_that_do_not() -> None:
    assert requests_that_fit(10 * GIB, weight_bytes(LLAMA2_7B.parameters or 0), cache_size(LLAMA2_7B, 1).request_bytes) == 0


@pytest.mark.parametrize("wrong", [{"tokens": 0}, {"tokens": -1}, {"tokens": True}, {"batch": 0}, {"block_tokens": 0}])
def test_counts_below_one_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected a whole number of at least 1, got"):
        cache_size(LLAMA3_8B, **{"tokens": 1, **wrong})


def test_a_part_of_a_byte_is_a_byte() -> None:
    odd = Geometry("odd", 1, 1, (Group(1, 1, 3, 3),), State(1, 1))
    assert cache_size(odd, 1, stored=Format(4)).request_bytes == 3 + 4
    assert cache_size(odd, 1, stored=Format(1)).bytes == 5
    assert cache_size(odd, 1, batch=4, stored=Format(1)).bytes == 19


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: weight_bytes(-1), "parameters: expected a whole number of at least 1, got -1"),
        (lambda: weight_bytes(8, ranks=0), "ranks: expected a whole number of at least 1, got 0"),
        (lambda: memory.expected_waste(-1, 16), "mean_tokens: expected a finite number above 0, got -1"),
        (lambda: memory.reserved_waste(1e30, 16), r"mean_tokens: expected at most 16 \(the longest request\), got 1e\+30"),
        (lambda: bytes_per_token(LLAMA3_8B, ranks=0), "tensor parallel: expected a whole number of at least 1, got 0"),
        (lambda: memory.table_bytes(5, 0), "block_tokens: expected a whole number of at least 1, got 0"),
        (lambda: memory.hit_blocks(0, 16), "window: expected a whole number of at least 1, got 0"),
        (lambda: Format(4, 0, 16), "group: expected a whole number of at least 1, got 0"),
        (lambda: Format(4, 16, -1), "extra_bits: expected a whole number of at least 0, got -1"),
        (
            lambda: requests_that_fit(9, 1, Fraction(0)),
            r"request_bytes: expected a finite number above 0, got Fraction\(0, 1\)",
        ),
    ],
)
def test_what_is_no_amount_is_refused(ask: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ask()
