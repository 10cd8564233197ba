"""Laws of attention, rotary positions, GGUF rows and costs."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kvref.model.gguf import undo_interleave
from kvref.ops.attention import attend, causal_mask
from kvref.ops.rope import frequencies, rotate, turns
from kvref.plan.cost import decode_cost, prefill_cost
from tests.kvref import tiny
from tests.kvref.model.test_gguf import interleave

quick = settings(max_examples=40, deadline=None)
small = st.integers(1, 5)


def tensors(seed: int, *shapes: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


@quick
@given(small, small, small, small, st.booleans(), st.integers(0, 99))
def test_fused_is_written_out(q_len: int, kv_len: int, kv_heads: int, group: int, causal: bool, seed: int) -> None:
    q, k, v = tensors(seed, (q_len, kv_heads * group, 6), (kv_len, kv_heads, 6), (kv_len, kv_heads, 6))
    fused, written = (attend(q, k, v, 0.3, causal, tap) for tap in (None, lambda name, layer, tensor: None))
    torch.testing.assert_close(fused, written, rtol=0, atol=1e-12)


@quick
@given(small, small, small, st.integers(0, 99))
def test_sharing_kv_heads_is_repeating_them(q_len: int, kv_heads: int, group: int, seed: int) -> None:
    q, k, v = tensors(seed, (q_len, kv_heads * group, 6), (7, kv_heads, 6), (7, kv_heads, 6))
    repeated = attend(q, k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1), 0.3)
    torch.testing.assert_close(attend(q, k, v, 0.3), repeated, rtol=0, atol=1e-12)


@quick
@given(st.integers(1, 8), st.integers(1, 8))
def test_the_mask_counts_from_the_bottom_right(q_len: int, kv_len: int) -> None:
    mask = causal_mask(q_len, kv_len, torch.device("cpu"))
    expected = [[key <= kv_len - q_len + query for key in range(kv_len)] for query in range(q_len)]
    assert mask.tolist() == expected


@quick
@given(st.integers(0, 4000), st.integers(0, 4000), st.integers(0, 4000), st.integers(0, 99))
def test_rotation_keeps_lengths_and_depends_on_distance(i: int, j: int, shift: int, seed: int) -> None:
    q, k = tensors(seed, (1, 1, 16), (1, 1, 16))
    inverse = frequencies(16, 10_000.0)

    def at(x: torch.Tensor, position: int) -> torch.Tensor:
        return rotate(x, *turns(torch.tensor([position]), inverse, torch.float64)).view(-1)

    torch.testing.assert_close(at(q, i).norm(), q.norm(), rtol=1e-9, atol=0)
    torch.testing.assert_close(at(q, i) @ at(k, j), at(q, i + shift) @ at(k, j + shift), rtol=0, atol=1e-9)


@quick
@given(st.integers(1, 6), st.integers(1, 8), st.integers(1, 4))
def test_gguf_rows_come_back(heads: int, pairs: int, width: int) -> None:
    weight = torch.arange(float(heads * 2 * pairs * width)).view(-1, width)
    assert torch.equal(undo_interleave(interleave(weight, heads), heads), weight)


@quick
@given(st.integers(1, 90), st.sampled_from(tiny.BOTH))
def test_one_pass_and_one_by_one_do_the_same_work_in_attention(tokens: int, config) -> None:
    steps = [decode_cost(config, n, 2) for n in range(1, tokens + 1)]
    prompt = prefill_cost(config, tokens, 2)
    assert sum(step.attention_flops for step in steps) == prompt.attention_flops
    assert sum(step.kv_written_bytes for step in steps) == prompt.kv_written_bytes
