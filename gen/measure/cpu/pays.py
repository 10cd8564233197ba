"""Where a cache starts to pay, and where it does not: a step with it against the whole sequence once more.

A pass over a few tokens reads the same weights as a pass over one, and reading them is what takes the time; so the first
tokens of a sequence cost nearly nothing to compute again.
"""

from typing import Any

import torch

from gen.measure import work
from gen.measure.bench import Bench
from gen.measure.clock import Lane
from gen.measure.cpu.decode import recompute_lane, step_lane
from gen.measure.samples import ratio
from kvref.cache.contiguous import ContiguousCache
from kvref.cache.nothing import NoCache
from kvref.generate import prefill

PAYS = 1.1  # how many times longer the recomputation must take


def measure(bench: Bench) -> dict[str, Any]:
    """Values of the record `pays`."""
    contexts = bench.within(bench.sizes.first_contexts)
    at = {str(context): _at(bench, context) for context in contexts}
    return {
        **bench.facts,
        "contexts": contexts,
        "at": at,
        "pays_from_ratio": PAYS,
        "from_tokens": first_that_pays([(context, at[str(context)]["ratio"]) for context in contexts]),
        "one_token": _one_token(bench),
    }


def first_that_pays(ratios: list[tuple[int, dict[str, Any]]]) -> int | None:
    """The shortest context from which on every one measured takes `PAYS` times as long without a cache.

    None where there is none, or where minimum and median of the deciding ratios disagree.
    """
    found = None
    for context, one in reversed(ratios):
        if one["lopsided"]:
            return None
        if min(one["of_minima"], one["median_of_pairs"]) < PAYS:
            break
        found = context
    return found


def _at(bench: Bench, context: int) -> dict[str, Any]:
    cache = ContiguousCache(bench.config, context, dtype=bench.model.dtype)
    lanes = {"with": step_lane(bench, cache, context, steps=1), "without": recompute_lane(bench, context)}
    taken = bench.compare(f"first contexts, {context}", lanes)
    return {**{name: one.timing() for name, one in taken.items()}, "ratio": ratio(taken["without"], taken["with"])}


def _one_token(bench: Bench) -> dict[str, Any]:
    """A reply of one token: what was put into the cache is never read."""
    model = bench.model
    (tokens,) = bench.within((min(bench.sizes.one_token_prompt, bench.config.max_positions),))
    ids = work.some_ids(bench.config, tokens)
    lanes = {
        "with": Lane(lambda: prefill(model, ContiguousCache(model.config, tokens, dtype=model.dtype), ids)),
        "without": Lane(lambda: prefill(model, NoCache(model.config), ids)),
    }
    with torch.inference_mode():
        taken = bench.compare("a reply of one token", lanes)
    times = {name: one.timing() for name, one in taken.items()}
    return {"prompt_tokens": tokens, **times, "ratio": ratio(taken["without"], taken["with"])}
