"""Rotary positions: layout, precision, Llama 3's scaling."""

import math

import pytest
import torch

from kvref.config import RopeScaling
from kvref.ops.rope import frequencies, rotate, turns
from tests.kvref import tiny

DTYPES = (torch.bfloat16, torch.float32)


def rotated(x: torch.Tensor, position: int) -> torch.Tensor:
    """One head at one position."""
    cos, sin = turns(torch.tensor([position]), frequencies(len(x), 10_000.0), x.dtype)
    return rotate(x.view(1, 1, -1), cos, sin).view(-1)


def interleaved(x: torch.Tensor, position: int) -> torch.Tensor:
    """The other layout, by definition: neighbours turn together."""
    angles = position * frequencies(len(x), 10_000.0).to(x.dtype)
    even, odd = x[0::2], x[1::2]
    turned = torch.stack((even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()), dim=1)
    return turned.view(-1)


def test_half_split_layout_not_interleaved() -> None:
    """Pitfall 50: the layouts are each other's permutation, and the same at position 0."""
    x = torch.randn(8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    order = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7])
    torch.testing.assert_close(interleaved(x[order], 3), rotated(x, 3)[order], rtol=0, atol=1e-12)
    assert (interleaved(x, 3) - rotated(x, 3)).abs().max() > 0.1
    assert torch.equal(interleaved(x, 0), x)
    assert torch.equal(rotated(x, 0), x)


def test_a_quarter_turn_by_hand() -> None:
    """The pair (1, 0) at 90 degrees is (0, 1): the sign of the turn."""
    cos, sin = torch.tensor([[[0.0, 0.0]]]), torch.tensor([[[-1.0, 1.0]]])
    assert rotate(torch.tensor([[[1.0, 0.0]]]), cos, sin).tolist() == [[[0.0, 1.0]]]


def test_only_the_distance_counts() -> None:
    q, k = torch.randn(2, 10, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    near, far = rotated(q, 9) @ rotated(k, 4), rotated(q, 75) @ rotated(k, 70)
    assert near.item() == pytest.approx(far.item(), abs=1e-12)
    assert near.item() != pytest.approx((rotated(q, 9) @ rotated(k, 5)).item(), abs=1e-3)


def test_angles_survive_a_bfloat16_model() -> None:
    """Pitfall 51: in bfloat16 the integers 256 and 257 are one number, so angles are made in float64 and kept wide."""
    config, positions = tiny.variant(max_positions=4100, head_dim=64), torch.tensor([256, 257, 4095])
    low, wide = (tiny.model(config, dtype=dtype).parts.positional.rope(positions) for dtype in DTYPES)
    for one, other in zip(low, wide, strict=True):
        assert one.dtype == torch.float32
        assert torch.equal(one, other)
    assert not torch.equal(low[0][0], low[0][1])
    for row, position in enumerate(positions.tolist()):
        assert low[0][row, 0, 1].item() == pytest.approx(math.cos(position * 10_000 ** (-1 / 32)), abs=1e-6)


def test_rotation_itself_is_wide_and_cast_last() -> None:
    """Pitfall 51, second half: products in bfloat16 would round twice more."""
    x = torch.randn(5, 3, 64, generator=torch.Generator().manual_seed(2)).to(torch.bfloat16)
    cos, sin = turns(torch.arange(200, 205), frequencies(64, 10_000.0), torch.bfloat16)
    assert rotate(x, cos, sin).dtype == torch.bfloat16
    assert torch.equal(rotate(x, cos, sin), rotate(x.float(), cos, sin).to(torch.bfloat16))


@pytest.mark.parametrize(
    ("head_dim", "factor", "unchanged", "blended", "divided"), [(64, 32.0, 15, 3, 14), (128, 8.0, 29, 6, 29)]
)
def test_llama3_scaling_counts(head_dim: int, factor: float, unchanged: int, blended: int, divided: int) -> None:
    """Pitfall 55, with the published parameters of Llama 3.1 and 3.2."""
    ratio = frequencies(head_dim, 5e5, RopeScaling(factor, 1.0, 4.0, 8192)) / frequencies(head_dim, 5e5)
    same, full = torch.isclose(ratio, ratio.new_ones(())), torch.isclose(ratio, ratio.new_full((), 1 / factor))
    assert (int(same.sum()), int((~same & ~full).sum()), int(full.sum())) == (unchanged, blended, divided)


def test_llama3_scaling_blend() -> None:
    ratio = frequencies(128, 5e5, RopeScaling(8.0, 1.0, 4.0, 8192)) / frequencies(128, 5e5)
    expected = [0.82817, 0.64374, 0.49351, 0.37112, 0.27143, 0.19021]
    assert ratio[29:35].tolist() == pytest.approx(expected, abs=5e-6)
