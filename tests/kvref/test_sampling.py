"""Greedy and seeded sampling."""

import pytest
import torch

from kvref.sampling import Sampler, greedy

LOGITS = torch.tensor([0.1, 2.0, 1.0, -3.0, 2.0, 0.5])


def draws(sampler: Sampler, count: int = 300) -> list[int]:
    return [sampler(LOGITS) for _ in range(count)]


def test_greedy_takes_the_lowest_of_equals() -> None:
    assert greedy(LOGITS) == 1


def test_the_seed_fixes_every_draw() -> None:
    assert draws(Sampler(seed=3), 40) == draws(Sampler(seed=3), 40)
    assert draws(Sampler(seed=3), 40) != draws(Sampler(seed=4), 40)


def test_top_k_keeps_the_k_most_likely() -> None:
    assert set(draws(Sampler(top_k=3))) == {1, 4, 2}
    assert set(draws(Sampler(top_k=1), 20)) == {1}
    assert set(draws(Sampler(top_k=99, temperature=5.0))) == set(range(6))


def test_top_p_keeps_tokens_until_their_sum_reaches_p() -> None:
    p = LOGITS.softmax(0)
    assert p[1] < 0.5 < p[1] + p[4]
    assert set(draws(Sampler(top_p=0.5))) == {1, 4}
    assert set(draws(Sampler(top_p=1e-9), 20)) == {1}


def test_frequencies_follow_the_probabilities() -> None:
    drawn = torch.tensor(draws(Sampler(seed=1, temperature=2.0), 4000))
    expected = (LOGITS / 2).softmax(0)
    seen = torch.bincount(drawn, minlength=6) / len(drawn)
    assert (seen - expected).abs().max() < 0.03


def test_a_low_temperature_is_greedy() -> None:
    sharp = torch.tensor([0.0, 1.0, 0.9])
    sampler = Sampler(temperature=0.005)
    assert {sampler(sharp) for _ in range(50)} == {1}


@pytest.mark.parametrize("wrong", [{"temperature": 0.0}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}])
def test_nonsense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected"):
        Sampler(**wrong)  # type: ignore[arg-type]
