"""Both forms of attention against each other and against values worked out by hand."""

import pytest
import torch

from kvref.ops.attention import attend, causal_mask, fused, written_out
from kvref.ops.tap import Recorder

CPU = torch.device("cpu")
SHAPES = [(1, 1), (1, 7), (3, 7), (7, 7), (5, 2), (2, 5)]


def inputs(q_len: int, kv_len: int, query_heads: int = 6, kv_heads: int = 2, head_dim: int = 5):
    generator = torch.Generator().manual_seed(0)
    sizes = ((q_len, query_heads, head_dim), (kv_len, kv_heads, head_dim), (kv_len, kv_heads, head_dim))
    return tuple(torch.randn(size, generator=generator, dtype=torch.float64) for size in sizes)


def both(q, k, v, causal: bool = True) -> list[torch.Tensor]:
    return [attend(q, k, v, 0.4, causal), attend(q, k, v, 0.4, causal, tap=Recorder(), layer=0)]


@pytest.mark.parametrize(("q_len", "kv_len"), SHAPES)
@pytest.mark.parametrize("causal", [True, False])
def test_fused_and_written_out_agree(q_len: int, kv_len: int, causal: bool) -> None:
    one, other = both(*inputs(q_len, kv_len), causal)
    torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_against_a_loop_over_scalars() -> None:
    """The definition, one query head and one key at a time."""
    q, k, v = inputs(3, 7)
    expected = torch.zeros_like(q)
    for i in range(3):
        for h in range(6):
            visible = range(7 - 3 + i + 1)
            e = torch.stack([(q[i, h] @ k[j, h // 3] * 0.4).exp() for j in visible])
            expected[i, h] = sum(e[j] / e.sum() * v[j, h // 3] for j in visible)
    for output in both(q, k, v):
        torch.testing.assert_close(output, expected, rtol=0, atol=1e-12)


def test_causal_mask_is_aligned_at_the_bottom_right() -> None:
    """Pitfall 41: torch's own flag is aligned at the top left."""
    assert causal_mask(2, 5, CPU).int().tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    assert causal_mask(1, 4, CPU).all()


@pytest.mark.parametrize(("q_len", "sees"), [(1, [5]), (2, [4, 5]), (5, [1, 2, 3, 4, 5])])
def test_each_query_sees_all_earlier_keys(q_len: int, sees: list[int]) -> None:
    """Pitfall 41 at the output: with equal keys the output is the mean of the values seen."""
    q, k = torch.ones(q_len, 2, 4), torch.ones(5, 1, 4)
    v = torch.arange(5.0).view(5, 1, 1).expand(5, 1, 4)
    means = [sum(range(n)) / n for n in sees]
    for output in both(q, k, v):
        assert output[:, 0, 0].tolist() == pytest.approx(means)


def test_a_later_token_of_the_same_pass_is_not_seen() -> None:
    """Pitfall 42: three new tokens on four cached ones; changing the last must not touch the first two."""
    q, k, v = inputs(3, 7)
    changed_k, changed_v = k.clone(), v.clone()
    changed_k[-1] += 3
    changed_v[-1] -= 5
    for before, after in zip(both(q, k, v), both(q, changed_k, changed_v), strict=True):
        assert torch.equal(before[:2], after[:2])
        assert (before[2] - after[2]).abs().max() > 0.1


def test_a_query_without_keys_gives_zero() -> None:
    """Pitfall 43: five queries on two keys; the first three see none. NaN is wrong, and so is a uniform mean."""
    q, k, v = inputs(5, 2)
    for output in both(q, k, v + 10):
        assert torch.equal(output[:3], torch.zeros_like(output[:3]))
        assert output.isfinite().all()
        assert (output[3:] > 5).all()
    _, weights, _ = written_out(q, k, v, causal_mask(5, 2, CPU), 0.4)
    assert weights.sum(-1)[:, 0].tolist() == pytest.approx([0, 0, 0, 1, 1])


def test_query_heads_read_their_group_s_kv_head() -> None:
    """Pitfall 44: 8 query heads on 2 KV heads read 0 0 0 0 1 1 1 1; dividing by 2 or taking the rest is wrong."""
    q, k = torch.randn(1, 8, 4, generator=torch.Generator().manual_seed(0)), torch.ones(3, 2, 4)
    v = torch.tensor([0.0, 1.0]).view(1, 2, 1).expand(3, 2, 4)
    for output in both(q, k, v):
        assert output[0, :, 0].tolist() == pytest.approx([0, 0, 0, 0, 1, 1, 1, 1])


def test_the_tap_sees_scores_before_the_mask_and_weights_after_it() -> None:
    q, k, v = inputs(3, 7)
    recorder = Recorder()
    output = attend(q, k, v, 0.4, tap=recorder, layer=2)
    (scores,), (weights,) = recorder["scores", 2], recorder["weights", 2]
    assert scores.shape == weights.shape == (3, 6, 7)
    assert scores[1, 4, 6].item() == pytest.approx(0.4 * (q[1, 4] @ k[6, 1]).item())
    assert (weights[0, :, 5:] == 0).all()
    assert weights.sum(-1).flatten().tolist() == pytest.approx([1] * 18)
    assert torch.equal(recorder["head_output", 2][0], output)


def test_scale_is_applied_once() -> None:
    """One key hides any scale: two are needed."""
    q, k, v = inputs(1, 2)
    plain = fused(q, k, v, 1.0, True)
    assert (plain - fused(q, k, v, 0.2, True)).abs().max() > 0.01
    torch.testing.assert_close(fused(q * 0.2, k, v, 1.0, True), fused(q, k, v, 0.2, True))


def test_the_recorder_keeps_copies() -> None:
    recorder, tensor = Recorder(), torch.zeros(2)
    recorder("q", 0, tensor)
    tensor += 1
    recorder("q", 0, tensor)
    assert [t.tolist() for t in recorder["q", 0]] == [[0, 0], [1, 1]]
