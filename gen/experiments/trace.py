"""One prompt and the model's greedy reply, step by step with a cache, everything observed.

Step 0 is the prefill; step s feeds the s-th token of the reply. Each fed token leaves a row everywhere, so row i of a
tensor belongs to the token at position i. The last token of the reply is written and never fed: it has no row. Knows
token ids only.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from kvref import ContiguousCache, Recorder, Transformer, decode_step, greedy, prefill


@dataclass(frozen=True)
class Trace:
    """What was seen. `ids` are the fed tokens: the prompt, then the reply but for its last token."""

    ids: list[int]
    prompt_tokens: int
    logits: list[Tensor]  # one a step, [vocab]
    cache: ContiguousCache
    recorder: Recorder
    final: int  # what the last pass wrote
    stopped: bool  # `final` is an end token, which is no part of the text

    @property
    def total_tokens(self) -> int:
        """Tokens whose keys and values were computed."""
        return len(self.ids)

    @property
    def fed(self) -> list[int]:
        """The tokens of the reply that were read again: all but the last."""
        return self.ids[self.prompt_tokens :]

    @property
    def written(self) -> list[int]:
        """What each pass wrote, an end token included."""
        return [*self.fed, self.final]

    @property
    def reply(self) -> list[int]:
        """The tokens of the reply's text."""
        return self.fed if self.stopped else self.written

    @property
    def steps(self) -> int:
        """Passes through the model: the prefill and one a fed token of the reply."""
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
    """Run the prompt and the greedy reply until `total_tokens` were fed; stops early at an end token."""
    config = transformer.config
    cache = ContiguousCache(config, max(total_tokens, len(prompt_ids)))
    recorder, ids = Recorder(), list(prompt_ids)
    logits = [prefill(transformer, cache, prompt_ids, recorder)]
    while (chosen := greedy(logits[-1])) not in config.eos_token_ids and len(ids) < total_tokens:
        ids.append(chosen)
        logits.append(decode_step(transformer, cache, chosen, recorder))
    rows = [row.clone() for row in logits]
    return Trace(ids, len(prompt_ids), rows, cache, recorder, chosen, chosen in config.eos_token_ids)
