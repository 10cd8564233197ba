"""What every experiment is given: one model, its tokenizer, one prompt, and the trace of the model's own reply to it.

The trace is made once and shared, so all pages speak of the same cache.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from gen.errors import CheckFailed, UserError
from gen.experiments.trace import Trace, trace
from gen.models import Described
from gen.records import TOLERANCE, Record
from gen.tokenizer import Text
from kvref.config import ModelConfig
from kvref.model.transformer import Transformer

PROMPT = "the cat sat"
TOTAL_TOKENS = 15  # fed; the reply has one more, which is written and never fed
FED_TOKENS = 12  # of the reply, for a prompt of the reader's own, which may be longer
MARGIN = 1e-3  # logits that lie closer than this may change places on another machine
FP16, FLOAT32 = 2, 4


@dataclass(frozen=True)
class Context:
    """One run of `gen run`."""

    facts: Described
    transformer: Transformer
    text: Text
    prompt: str = PROMPT
    flags: str = ""  # how the run was told apart from the default one
    warn: Callable[[str], None] | None = None  # where a close call is reported; None: it is an error

    @property
    def config(self) -> ModelConfig:
        """The model's shape."""
        return self.transformer.config

    @cached_property
    def main(self) -> Trace:
        """The prompt of every page, and the model's reply to it."""
        ids = self.text.encode(self.prompt)
        return self.follow(ids, TOTAL_TOKENS if self.prompt == PROMPT else len(ids) + FED_TOKENS)

    def follow(self, prompt_ids: list[int], total_tokens: int) -> Trace:
        """Run a prompt and the greedy reply to it, observed, until `total_tokens` were fed."""
        self._require_fit(prompt_ids)
        limit = min(max(total_tokens, len(prompt_ids)), self.config.max_positions)
        with torch.inference_mode():
            followed = trace(self.transformer, prompt_ids, limit)
        for step, logits in enumerate(followed.logits):
            top = torch.topk(logits, 2).values
            self.require_margin(float(top[0] - top[1]), f"the choice of the token after step {step}")
        return followed

    def _require_fit(self, prompt_ids: list[int]) -> None:
        """Refuse ids that this model cannot take: a tokenizer of another model, or more tokens than positions."""
        if max(prompt_ids) >= self.config.vocab_size:
            raise UserError(
                f"The tokenizer gives token {max(prompt_ids)}, the model has {self.config.vocab_size}: "
                "they do not belong together."
            )
        if len(prompt_ids) > self.config.max_positions:
            raise UserError(f"A prompt of {len(prompt_ids)} tokens: this model has {self.config.max_positions} positions.")

    def require_margin(self, margin: float, what: str, least: float = MARGIN) -> None:
        """Refuse what rounding could decide. Only a prompt of the reader's own is let through, with a warning."""
        if margin >= least:
            return
        sentence = f"{what} hangs on a difference of {margin:.2g} (at least {least:.2g} is wanted)"
        if self.warn is None:
            raise CheckFailed(f"{sentence}: another machine may choose otherwise, so it cannot be published.")
        self.warn(f"note: {sentence}; another machine may choose otherwise.")

    def record(self, id: str, page: str, what: str, values: dict[str, Any]) -> Record:
        """A record of this run, with its identity."""
        identity = {
            "what": what,
            "page": page,
            "command": f"python -m gen run {id.partition('/')[0]}{self.flags}",
            "model": self.facts.id,
            "revision": self.facts.revision,
            "weights_sha256": self.facts.weights_sha256,
            "seed": self.facts.seed,
            "tolerance": TOLERANCE,
        }
        return Record(id, identity, values)
