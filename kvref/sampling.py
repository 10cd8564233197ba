"""From logits to the next token's id: the most likely one, or a seeded draw. Knows nothing about models or caches."""

from collections.abc import Sequence

import torch
from torch import Tensor

from kvref.checks import positive, whole
from kvref.shapes import Logits, NextLogits


def greedy(logits: NextLogits) -> int:
    """The most likely token; of equals, the lowest id."""
    best = int(logits.argmax())
    _check_highest(logits[best])
    return best


def logprobs(logits: Logits, token_ids: Sequence[int]) -> list[float]:
    """How likely each row makes its own id, as a natural logarithm; computed in float64. Raises ``ValueError`` for NaN."""
    every = logits.double().log_softmax(dim=-1)
    if every.isnan().any():  # as infinity makes it too
        raise ValueError("logits: expected finite numbers or minus infinity, got others.")
    return [float(row[token_id]) for row, token_id in zip(every, token_ids, strict=True)]


class Sampler:
    """Draws from the distribution, narrowed first by ``top_k`` and then by ``top_p``; the seed fixes every draw."""

    def __init__(self, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None, seed: int = 0) -> None:
        positive(temperature=temperature)  # greedy is what it tends to at 0
        whole(top_k=1 if top_k is None else top_k)
        if type(seed) is not int or not 0 <= seed < 2**64:
            raise ValueError(f"seed: expected a whole number from 0 to 2⁶⁴ − 1, got {seed!r}.")
        if top_p is not None and (type(top_p) not in (int, float) or not 0 < top_p <= 1):
            raise ValueError(f"top_p: expected more than 0 and at most 1, got {top_p!r}.")
        self.temperature, self.top_k, self.top_p = float(temperature), top_k, top_p
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, logits: NextLogits) -> int:
        """One draw."""
        ranked, ids = logits.detach().cpu().double().sort(descending=True, stable=True)
        _check_highest(ranked[0])
        scaled = (ranked - ranked[0]) / self.temperature  # at most 0: no temperature is too low
        probabilities = scaled[: self.top_k].softmax(dim=-1)
        if self.top_p is not None:
            # A token stays while the ones before it have not reached top_p together: the first always stays.
            before = probabilities.cumsum(dim=-1) - probabilities
            probabilities = probabilities[before < self.top_p]
        return int(ids[torch.multinomial(probabilities, 1, generator=self.generator)])


def _check_highest(logit: Tensor) -> None:
    """NaN and infinity rank before all numbers, so the highest logit tells of every wrong one there is."""
    if not logit.isfinite():
        raise ValueError(f"logits: expected the highest to be a finite number, got {logit.item()}.")
