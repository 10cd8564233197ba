"""What is asked of a server: a prompt, how long the reply may become, and how its tokens are drawn.

A request never changes; what became of it is the scheduler's. Knows nothing about blocks, time or models.
"""

import sys
from dataclasses import dataclass, field
from typing import Any

from kvref.checks import ids, positive, short, truth, whole
from kvref.plan.prefix import Namespace


@dataclass(frozen=True)
class Request:
    """One prompt and what its reply is allowed to be.

    ``max_new_tokens`` counts every token of the reply once, however often the request is preempted. ``temperature`` None is
    greedy. ``namespace`` keeps caches apart: only requests of the same one share blocks. With ``prompt_logprobs`` the whole
    prompt is computed, whatever is cached, so that every position has its logits. Raises ``ValueError`` naming the field.
    """

    id: str
    prompt_ids: tuple[int, ...]
    max_new_tokens: int
    arrival_ms: int | float = 0.0
    stop_ids: tuple[int, ...] = ()
    stop_texts: tuple[str, ...] = ()
    temperature: int | float | None = None
    top_k: int | None = None
    top_p: int | float | None = None
    seed: int | None = None
    namespace: Namespace = field(default_factory=Namespace)
    prompt_logprobs: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise ValueError(f"id: expected a name, got {short(self.id)}.")
        _id_tuple("prompt_ids", self.prompt_ids, 1)
        whole(max_new_tokens=self.max_new_tokens)
        arrival(self.arrival_ms)
        _id_tuple("stop_ids", self.stop_ids, 0)
        if not isinstance(self.stop_texts, tuple) or any(not isinstance(one, str) or not one for one in self.stop_texts):
            raise ValueError(f"stop_texts: expected a tuple of texts that are not empty, got {short(self.stop_texts)}.")
        self._check_sampling()

    def _check_sampling(self) -> None:
        if self.temperature is not None:
            positive(temperature=self.temperature)
        if self.top_k is not None:
            whole(top_k=self.top_k)
        if self.top_p is not None and (type(self.top_p) not in (int, float) or not 0 < self.top_p <= 1):
            raise ValueError(f"top_p: expected more than 0 and at most 1, got {short(self.top_p)}.")
        if self.seed is not None and (type(self.seed) is not int or not 0 <= self.seed < 2**64):
            raise ValueError(f"seed: expected a whole number from 0 to 2⁶⁴ − 1, got {short(self.seed)}.")
        if not isinstance(self.namespace, Namespace):
            raise ValueError(f"namespace: expected a Namespace, got {short(self.namespace)}.")
        truth(prompt_logprobs=self.prompt_logprobs)

    @property
    def rows(self) -> int:
        """Tokens whose keys and values are stored when the reply is complete: all but its last, which nothing reads."""
        return len(self.prompt_ids) + self.max_new_tokens - 1


def arrival(arrival_ms: Any) -> None:
    """Refuse what is no time since the start of the trace."""
    if type(arrival_ms) not in (int, float) or not 0 <= arrival_ms <= sys.float_info.max:
        raise ValueError(f"arrival_ms: expected a finite number of at least 0, got {short(arrival_ms)}.")


def _id_tuple(name: str, values: Any, least: int) -> None:
    if not isinstance(values, tuple):
        raise ValueError(f"{name}: expected a tuple of token ids, got {short(values)}.")
    ids(least, **{name: values})
