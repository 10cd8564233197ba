"""A whole reply by kvref, by transformers and by the matrix products alone: the budget of a decode step.

From the first token of the reply to the last, without the prefill: greedy, float32, batch 1. The products must take at
least 0.8 of a kvref step, which bounds what everything else may cost, and transformers at least 1.4 times as long.
"""

import time
from typing import Any

import torch

from gen.measure import work as pieces
from gen.measure.bench import Bench, Work
from gen.measure.clock import ROUNDS, ClockFault, Lane, Timer, in_turns
from gen.measure.samples import ratio
from kvref.cache.contiguous import ContiguousCache
from kvref.generate import generate

PRODUCTS_SHARE = 0.8
SPEEDUP = 1.4
PROMPT_TOKENS = 5


class Streamer:
    """What transformers tells of the prompt, then of every token: when each came."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def put(self, value: torch.Tensor) -> None:
        """A token, or the prompt."""
        self.times.append(time.perf_counter())

    def end(self) -> None:
        """The reply is complete."""


def measure(bench: Bench, oracle: Any) -> dict[str, Any]:
    """Values of the record `budget`. `oracle` is the same model in transformers."""
    count = bench.sizes.reply_tokens
    prompt = pieces.some_ids(bench.config, PROMPT_TOKENS)
    products = pieces.products(bench.model, 1)
    lanes = {
        "products": Lane(lambda: [products() for _ in range(count)], times=count),
        "kvref": Lane(_kvref(bench, prompt, count)),
        "transformers": Lane(_transformers(oracle, prompt, count)),
    }
    taken = in_turns(
        lanes,
        SelfTimed(bench.timer),
        rounds=max(bench.sizes.reply_rounds, ROUNDS),
        keep=lambda samples: bench.note("a reply", samples),
    )
    return {
        **bench.facts,
        "prompt_tokens": PROMPT_TOKENS,
        "reply_tokens": count,
        **{name: one.timing() for name, one in taken.items()},
        "products_share": ratio(taken["products"], taken["kvref"], least=PRODUCTS_SHARE),
        "speedup": ratio(taken["transformers"], taken["kvref"], least=SPEEDUP),
    }


class SelfTimed:
    """For work that says itself which part of it counts: it returns the seconds a token; the clock watches the whole."""

    def __init__(self, timer: Timer) -> None:
        self.timer = timer

    def __call__(self, work: Work) -> float:
        """Milliseconds: what the work says, or how long it took if it says nothing."""
        said: list[object] = []
        whole = self.timer(lambda: said.append(work()))
        if not isinstance(said[0], float):
            return whole
        part = 1e3 * said[0]
        if not 0 < part <= whole:
            raise ClockFault(f"The clock said that {part:.4g} ms of {whole:.4g} ms went by")
        return part


def _kvref(bench: Bench, prompt: torch.Tensor, count: int) -> Work:
    cache = ContiguousCache(bench.config, len(prompt) + count, dtype=bench.model.dtype)

    def run() -> float:
        cache.truncate(0)
        times = [time.perf_counter() for _ in generate(bench.model, prompt, count + 1, cache=cache)]
        return (times[-1] - times[0]) / count

    return run


def _transformers(oracle: Any, prompt: torch.Tensor, count: int) -> Work:
    oracle.generation_config.eos_token_id = oracle.generation_config.pad_token_id = None
    ids = prompt[None]

    def run() -> float:
        clock = Streamer()
        mask = torch.ones_like(ids)
        oracle.generate(ids, attention_mask=mask, max_new_tokens=count + 1, do_sample=False, streamer=clock)
        return (clock.times[-1] - clock.times[1]) / count

    return run
