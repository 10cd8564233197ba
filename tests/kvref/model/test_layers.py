"""The parts one by one, against torch's own or against the formula."""

import pytest
import torch
import torch.nn.functional as F

from kvref.model.layers import GeluMLP, LayerNorm, Linear, RMSNorm, SwiGLU


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_rms_norm_is_torch_s(size: float) -> None:
    """Small rows too: there the epsilon is what counts."""
    x, weight = size * random(3, 40), random(40, seed=1)
    torch.testing.assert_close(RMSNorm(weight, 1e-5)(x), F.rms_norm(x, (40,), weight, 1e-5), rtol=1e-12, atol=0)
    assert RMSNorm(weight, 1e-5)(torch.zeros(1, 40, dtype=torch.float64)).eq(0).all()


def test_rms_norm_of_bfloat16_is_computed_wide() -> None:
    x, weight = random(3, 40).to(torch.bfloat16), random(40, seed=1).to(torch.bfloat16)
    exact = RMSNorm(weight.double(), 1e-5)(x.double())
    narrow = RMSNorm(weight, 1e-5)(x)
    assert narrow.dtype == torch.bfloat16
    assert torch.equal(narrow, exact.to(torch.bfloat16))


def test_layer_norm_by_formula() -> None:
    x, weight, bias = random(3, 42), random(42, seed=1), random(42, seed=2)
    centred = x - x.mean(-1, keepdim=True)
    expected = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight + bias
    torch.testing.assert_close(LayerNorm(weight, bias, 1e-5)(x), expected, rtol=0, atol=1e-12)


def test_swiglu_gates_with_its_first_half() -> None:
    x, gate, up, down = random(3, 6), random(6, 8, seed=1), random(6, 8, seed=2), random(8, 6, seed=3)
    mlp = SwiGLU(Linear(torch.cat((gate, up), dim=1)), Linear(down))
    expected = (x @ gate / (1 + (-(x @ gate)).exp()) * (x @ up)) @ down
    torch.testing.assert_close(mlp(x), expected, rtol=0, atol=1e-12)


def test_gelu_is_the_tanh_form() -> None:
    """OpenAI's approximation, which is what GPT-2 was trained with."""
    x, up, down = random(3, 6), random(6, 8, seed=1), random(8, 6, seed=2)
    h = x @ up
    gelu = 0.5 * h * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (h + 0.044715 * h**3)))
    torch.testing.assert_close(GeluMLP(Linear(up), Linear(down))(x), gelu @ down, rtol=0, atol=1e-12)


@pytest.mark.parametrize("inputs", [6, 7])
@pytest.mark.parametrize("biased", [True, False])
def test_the_product_of_one_row_is_the_product(inputs: int, biased: bool) -> None:
    """One row goes through two halves; an odd length cannot be halved."""
    weight, bias, x = random(inputs, 5), random(5, seed=1) if biased else None, random(3, inputs, seed=2)
    linear = Linear(weight, bias)
    for rows in (x, x[:1], x[1:2]):
        expected = rows @ weight + (0 if bias is None else bias)
        torch.testing.assert_close(linear(rows), expected, rtol=0, atol=1e-12)
    assert (linear.halves is None) == (inputs == 7)
