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
    for temperature in (0.005, 1e-308, 5e-324):
        sampler = Sampler(temperature=temperature)
        assert {sampler(sharp) for _ in range(50)} == {1}


@pytest.mark.parametrize("sample", [greedy, Sampler(), Sampler(top_k=2), Sampler(top_p=0.5)])
@pytest.mark.parametrize("wrong", ["nan", "inf", "-inf"])
def test_logits_without_a_highest_are_refused(sample, wrong: str) -> None:
    logits = LOGITS.clone()
    logits[3 if wrong != "-inf" else slice(None)] = float(wrong)
    with pytest.raises(ValueError, match=f"logits: expected the highest to be a finite number, got {wrong}"):
        sample(logits)


def test_a_token_that_is_ruled_out_is_never_drawn() -> None:
    logits = LOGITS.clone()
    logits[1] = -torch.inf
    assert greedy(logits) == 4
    assert 1 not in {Sampler(temperature=9.0, seed=seed)(logits) for seed in range(60)}


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 0.0},
        {"temperature": float("nan")},
        {"temperature": float("inf")},
        {"top_k": 0},
        {"top_p": 0.0},
        {"top_p": 1.5},
        {"top_p": float("nan")},
        {"seed": -1},
        {"seed": 2**64},
    ],
)
def test_nonsense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected"):
        Sampler(**wrong)  # type: ignore[arg-type]
