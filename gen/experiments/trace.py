"""One prompt and the model's greedy reply, step by step with a cache, everything observed.

Step 0 is the prefill; step s feeds the s-th token of the reply. Each fed token leaves a row everywhere, so row i of a
tensor belongs to the token at position i. Knows token ids only.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from kvref import ContiguousCache, Recorder, Transformer, decode_step, greedy, prefill


@dataclass(frozen=True)
class Trace:
    """What was seen. `ids` are the fed tokens: the prompt, then the reply."""

    ids: list[int]
    prompt_tokens: int
    logits: list[Tensor]  # one a step, [vocab]
    cache: ContiguousCache
    recorder: Recorder

    @property
    def total_tokens(self) -> int:
        """Tokens whose keys and values were computed."""
        return len(self.ids)

    @property
    def reply(self) -> list[int]:
        """The tokens that the model wrote and read again."""
        return self.ids[self.prompt_tokens :]

    @property
    def steps(self) -> int:
        """Passes through the model: the prefill and one a reply token."""
        return len(self.logits)

    def rows(self, name: str, layer: int) -> Tensor:
        """q or head_output of a layer, [position, query_heads, head_dim]."""
        return torch.cat(self.recorder[name, layer])

    def keys(self, layer: int) -> Tensor:
        """The layer's keys as the cache holds them, [position, kv_heads, head_dim]."""
        return self.cache.k[layer, : self.total_tokens]

    def values(self, layer: int) -> Tensor:
        """The layer's values as the cache holds them, [position, kv_heads, head_dim]."""
        return self.cache.v[layer, : self.total_tokens]

    def seen(self, name: str, layer: int) -> list[Tensor]:
        """Scores or weights: for each position [query_heads, keys it may see]; masked cells are left out."""
        rows = [row for one_pass in self.recorder[name, layer] for row in one_pass]
        return [row[:, : position + 1] for position, row in enumerate(rows)]


def trace(transformer: Transformer, prompt_ids: list[int], total_tokens: int) -> Trace:
    """Run the prompt and up to `total_tokens` positions of the greedy reply; stops early at an end token."""
    config = transformer.config
    cache = ContiguousCache(config, max(total_tokens, len(prompt_ids)))
    recorder, ids = Recorder(), list(prompt_ids)
    logits = [prefill(transformer, cache, prompt_ids, recorder)]
    while len(ids) < total_tokens and (chosen := greedy(logits[-1])) not in config.eos_token_ids:
        ids.append(chosen)
        logits.append(decode_step(transformer, cache, chosen, recorder))
    return Trace(ids, len(prompt_ids), [row.clone() for row in logits], cache, recorder)
