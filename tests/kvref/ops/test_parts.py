"""Attention in parts is attention: any cut, any device's way, with scores of any size."""

import pytest
import torch

from kvref.ops.attention import attend
from kvref.ops.parts import part, together, written_out_part

SCALE = 0.4


def qkv(queries: int, keys: int, dtype: torch.dtype = torch.float64, size: float = 1.0) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(queries * 100 + keys)
    shapes = (queries, 6, 10), (keys, 2, 10), (keys, 2, 10)
    return tuple((size * torch.randn(shape, generator=generator, dtype=torch.float64)).to(dtype) for shape in shapes)


@pytest.mark.parametrize("way", [part, written_out_part])
@pytest.mark.parametrize("cuts", [[9], [1, 8], [8, 1], [2, 3, 4], [1] * 9])
def test_any_cut_of_the_keys_gives_the_same(way, cuts: list[int]) -> None:
    q, k, v = qkv(3, 9)
    whole = attend(q, k, v, SCALE, causal=False)
    parts = [way(q, *piece, SCALE) for piece in zip(k.split(cuts), v.split(cuts), strict=True)]
    torch.testing.assert_close(together(parts), whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize("way", [part, written_out_part])
@pytest.mark.parametrize(("queries", "earlier"), [(1, 8), (4, 5), (9, 3), (5, 1)])
def test_earlier_keys_and_those_of_the_pass(way, queries: int, earlier: int) -> None:
    """A chunk: what came before is seen by every query, its own keys up to itself."""
    q, k, v = qkv(queries, earlier + queries)
    parts = [way(q, k[:earlier], v[:earlier], SCALE), way(q, k[earlier:], v[earlier:], SCALE, causal=True)]
    torch.testing.assert_close(together(parts), attend(q, k, v, SCALE), rtol=0, atol=1e-12)


def test_both_ways_give_the_same_sums() -> None:
    q, k, v = qkv(5, 5)
    for causal in (False, True):
        (one, sums), (other, others) = part(q, k, v, SCALE, causal), written_out_part(q, k, v, SCALE, causal)
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
        torch.testing.assert_close(sums, others, rtol=0, atol=1e-12)
        assert sums.shape == (5, 6)


def test_the_sum_is_that_of_the_exponentials() -> None:
    """Scores 1, 2, 3, −1: the logarithm of their exponentials' sum is 3.4197166 (pitfall I 6)."""
    scores = torch.tensor([1.0, 2.0, 3.0, -1.0], dtype=torch.float64)
    q, k = torch.ones(1, 1, 1, dtype=torch.float64), scores.view(4, 1, 1)
    for way in (part, written_out_part):
        assert way(q, k, k, 1.0)[1].item() == pytest.approx(3.4197166, abs=1e-7)


def test_a_part_that_matters_much_more_than_another_overflows_nothing() -> None:
    q, k, v = qkv(2, 6, size=40.0)  # scores beyond 1000
    parts = [part(q, k[:3], v[:3], SCALE), part(q, k[3:], v[3:], SCALE)]
    torch.testing.assert_close(together(parts), attend(q, k, v, SCALE, causal=False), rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_narrow_numbers_stay_what_they_are(dtype: torch.dtype) -> None:
    q, k, v = qkv(2, 6, dtype)
    output = together([part(q, k[:2], v[:2], SCALE), part(q, k[2:], v[2:], SCALE)])
    assert output.dtype == dtype
    exact = attend(*(x.double() for x in (q, k, v)), SCALE, causal=False)
    assert (output.double() - exact).abs().max() < (1e-5 if dtype == torch.float32 else 0.03)
