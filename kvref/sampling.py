"""From logits to the next token's id: the most likely one, or a seeded draw. Knows nothing about models or caches."""

import torch

from kvref.shapes import NextLogits


def greedy(logits: NextLogits) -> int:
    """The most likely token; of equals, the lowest id."""
    return int(logits.argmax())


class Sampler:
    """Draws from the distribution, narrowed first by ``top_k`` and then by ``top_p``; the seed fixes every draw."""

    def __init__(self, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None, seed: int = 0) -> None:
        if temperature <= 0:
            raise ValueError(f"temperature: expected more than 0 (greedy is its limit), got {temperature}.")
        if top_k is not None and top_k < 1:
            raise ValueError(f"top_k: expected at least 1, got {top_k}.")
        if top_p is not None and not 0 < top_p <= 1:
            raise ValueError(f"top_p: expected more than 0 and at most 1, got {top_p}.")
        self.temperature, self.top_k, self.top_p = temperature, top_k, top_p
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, logits: NextLogits) -> int:
        """One draw."""
        scaled = logits.detach().cpu().double() / self.temperature
        ranked, ids = scaled.sort(descending=True, stable=True)
        probabilities = ranked[: self.top_k].softmax(dim=-1)
        if self.top_p is not None:
            # A token stays while the ones before it have not reached top_p together: the first always stays.
            before = probabilities.cumsum(dim=-1) - probabilities
            probabilities = probabilities[before < self.top_p]
        return int(ids[torch.multinomial(probabilities, 1, generator=self.generator)])
