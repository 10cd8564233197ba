"""Many requests through one model: what a scheduler plans, carried out in one forward pass a step.

Each request has its own sampler, so its tokens do not depend on who else is in the pass. A step whose pass fails stays
planned: no token is counted, no block can be found by others, no sampler has drawn twice, and the next call runs it again
without those that were aborted since. Knows nothing about how steps are planned or blocks are kept, and text only
through a function that is passed in.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from kvref.cache.paged import PagedCache
from kvref.checks import short
from kvref.model.transformer import Transformer
from kvref.plan.lifecycle import Lifecycle
from kvref.plan.request import Request
from kvref.plan.step import Step, Work
from kvref.reply import Growing, Output, Reply
from kvref.sampling import Sampler, greedy, logprobs

Detokenize = Callable[[Sequence[int]], str]


@dataclass
class _Planned:
    """A step that is not committed yet, and how far it got."""

    step: Step
    moved: bool = False
    sampled: dict[str, int] = field(default_factory=dict)


class Engine:
    """Submit requests at any time; every ``step`` is a pass that gives some of them a token.

    ``detokenize`` makes text of a reply's ids; more ids may only add to the text, but for replacement characters at its end.
    ``clock`` gives seconds.
    """

    def __init__(
        self,
        model: Transformer,
        scheduler: Lifecycle,
        cache: PagedCache,
        *,
        detokenize: Detokenize | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if cache.manager is not scheduler.manager:
            raise ValueError("cache: expected one over the blocks of the scheduler's manager, got one over others.")
        model.check_cache(cache.config)
        if cache.blocks.dtype != model.dtype:
            raise ValueError(f"cache: expected {model.dtype}, as the model's weights are, got {cache.blocks.dtype}.")
        self.model, self.scheduler, self.cache = model, scheduler, cache
        self.detokenize, self.clock = detokenize, clock
        self.prompt_tokens = self.cached_tokens = self.preemptions = 0  # of all requests that were ever admitted
        self._growing: dict[str, Growing] = {}
        self._samplers: dict[str, Callable[[Tensor], int]] = {}
        self._planned: _Planned | None = None

    def submit(self, request: Request) -> None:
        """Queue a request. Raises ``ValueError``, with nothing changed, for one that can never be served as it stands."""
        if not isinstance(request, Request):
            raise ValueError(f"request: expected a Request, got {short(request)}.")
        vocabulary, there = self.model.config.vocab_size, self.model.config.max_positions
        if max(request.prompt_ids) >= vocabulary:
            raise ValueError(f"prompt_ids: expected ids from 0 to {vocabulary - 1}, got {max(request.prompt_ids)}.")
        if request.rows > there:
            raise ValueError(f"request {request.id!r}: it needs {request.rows} positions; the model has {there}.")
        if request.stop_texts and self.detokenize is None:
            raise ValueError("stop_texts: expected none, as the engine was made without detokenize.")
        self.scheduler.submit(request)
        self._growing[request.id] = Growing(request, self.clock())
        self._samplers[request.id] = _sampler(request)

    def abort(self, request_id: str) -> None:
        """End a request wherever it is; its blocks are given back at once."""
        self.scheduler.abort(request_id)

    def run(self) -> Iterator[Output]:
        """Step until nobody waits or runs; each token as it comes. More may be submitted meanwhile."""
        while self.busy:
            yield from self.step()

    @property
    def busy(self) -> bool:
        """Whether a step is left to run."""
        counts = self.scheduler.counts
        return self._planned is not None or counts.waiting + counts.running + counts.swapped > 0

    def step(self) -> tuple[Output, ...]:
        """One pass; the tokens that it gave, in order of service. Nothing to do, or no prompt complete: no tokens."""
        planned = self._planned or self._plan()
        if planned is None:
            return ()
        running = set(self.scheduler.running)
        work = tuple(one for one in planned.step.work if one.request_id in running)
        if not planned.moved:
            self.cache.apply(planned.step)
            planned.moved = True
        logits = self._forward(replace(planned.step, work=work)) if work else {}
        for one in work:
            if one.samples and one.request_id not in planned.sampled:
                planned.sampled[one.request_id] = self._samplers[one.request_id](logits[one.request_id][-1])
        return self._finish(planned, work, logits)

    def reply(self, request_id: str) -> Reply:
        """What came of a request so far; of one that ended, until it is forgotten."""
        report, growing = self.scheduler.report(request_id), self._growing[request_id]
        return Reply(
            request_id,
            tuple(growing.token_ids),
            growing.text,
            "stop" if growing.stopped else report.finish_reason,
            growing.ttft_ms,
            growing.itl_ms,
            report.cached_tokens,
            report.preemptions,
            growing.prompt_logprobs,
        )

    def forget(self, request_id: str) -> Reply:
        """The reply of a request that ended, which is not kept any longer; its id can be used again."""
        reply = self.reply(request_id)
        self.scheduler.forget(request_id)
        del self._growing[request_id], self._samplers[request_id]
        return reply

    @property
    def occupancy(self) -> float:
        """The share of the pool's blocks that requests hold now."""
        pool = self.scheduler.manager.pool
        return pool.used_blocks / pool.capacity_blocks

    @property
    def hit_rate(self) -> float:
        """The share of all prompt tokens so far that were found in the cache when their request was first admitted."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    def _plan(self) -> _Planned | None:
        step = self.scheduler.step()
        if step is None:
            return None
        self._planned = _Planned(step)
        self.preemptions += len(step.preempted)
        for name in step.admitted:
            report = self.scheduler.report(name)
            if not report.preemptions:  # what a preempted request finds of its own is no hit
                self.prompt_tokens += len(self._growing[name].request.prompt_ids)
                self.cached_tokens += report.cached_tokens
        return self._planned

    def _forward(self, step: Step) -> dict[str, Tensor]:
        """The pass, and of each request the rows of logits that are needed of it."""
        tokens: list[int] = []
        rows: list[list[int]] = []
        for work in step.work:
            first, last = len(tokens), len(tokens) + len(work.token_ids) - 1
            rows.append([*range(first, first + len(self._scored(work))), *([last] if work.samples else [])])
            tokens += work.token_ids
        ids = torch.tensor(tokens, device=self.model.device)
        logits = self.model(ids, self.cache.packed(step), rows=[row for some in rows for row in some])
        parts = torch.split(logits, [len(some) for some in rows])
        return {work.request_id: part for work, part in zip(step.work, parts, strict=True)}

    def _scored(self, work: Work) -> tuple[int, ...]:
        return self._growing[work.request_id].scored(work.start, len(work.token_ids))

    def _finish(self, planned: _Planned, work: Sequence[Work], logits: dict[str, Tensor]) -> tuple[Output, ...]:
        """Count in what the pass gave. All that can fail comes before anything is changed."""
        sampled = {one.request_id: planned.sampled[one.request_id] for one in work if one.samples}
        texts = {name: self._text(name, token) for name, token in sampled.items()}
        scored = [(one, logprobs(logits[one.request_id][: len(ids)], ids)) for one in work if (ids := self._scored(one))]
        now = self.clock()
        ended = self.scheduler.commit(planned.step, sampled)
        self._planned = None
        for one, each in scored:
            self._growing[one.request_id].logprobs.update(enumerate(each, one.start + 1))
        return tuple(self._take(name, token, now, texts[name], name in ended) for name, token in sampled.items())

    def _text(self, name: str, token: int) -> str:
        text = "" if self.detokenize is None else self.detokenize(self._growing[name].spelled(token))
        if not isinstance(text, str):
            raise ValueError(f"detokenize: expected it to return text, got {short(text)}.")
        return text

    def _take(self, name: str, token: int, now: float, text: str, ended: bool) -> Output:
        growing = self._growing[name]
        new = growing.take(token, now, text, ended)
        if growing.stopped and not ended:
            self.scheduler.finish(name, "stop")
        reason = "stop" if growing.stopped else self.scheduler.report(name).finish_reason
        return Output(name, token, new, reason)


def _sampler(request: Request) -> Callable[[Tensor], int]:
    if request.temperature is None:
        return greedy
    seed = secrets.randbits(64) if request.seed is None else request.seed
    return Sampler(request.temperature, request.top_k, request.top_p, seed)
