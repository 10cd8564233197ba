"""transformers beside kvref: the same weights, numbers and threads, one step each in turns, as ratios.

`DynamicCache` concatenates, `StaticCache` fills buffers of a fixed capacity and reads all of it, masked. Its capacity is
the context, so that it reads no more rows than there are.
"""

from pathlib import Path
from typing import Any

import torch

from gen.errors import UserError, held_back
from gen.measure import work
from gen.measure.bench import Bench
from gen.measure.clock import Lane
from gen.measure.cpu.decode import step_lane
from gen.measure.device import first_line
from gen.measure.samples import ratio
from kvref.cache.contiguous import ContiguousCache
from kvref.generate import prefill

LANES = ("kvref", "dynamic", "static")


def oracle(folder: Path, bench: Bench) -> Any:
    """The model in transformers. Raises UserError where that is not installed or cannot read it."""
    try:
        with held_back():
            from transformers import AutoModelForCausalLM
            from transformers.utils import logging
    except ImportError:
        raise UserError("transformers is not installed: the records `others` and `budget` compare with it.") from None
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=bench.model.dtype, attn_implementation="sdpa")
    except (OSError, ValueError, RuntimeError) as problem:
        raise UserError(f"transformers cannot read {folder.name}: {first_line(problem)}") from None
    return model.eval()


def measure(bench: Bench, model: Any) -> dict[str, Any]:
    """Values of the record `others`."""
    contexts, prompts = bench.within(bench.sizes.others), bench.within(bench.sizes.other_prompts)
    return {
        **bench.facts,
        "contexts": contexts,
        "prompts": prompts,
        "lanes": list(LANES),
        "decode": {str(context): _step(bench, model, context) for context in contexts},
        "prefill": {str(tokens): _prefill(bench, model, tokens) for tokens in prompts},
    }


def _step(bench: Bench, model: Any, context: int) -> dict[str, Any]:
    from transformers import DynamicCache, StaticCache

    cache = ContiguousCache(bench.config, context, dtype=bench.model.dtype)
    lanes = {
        "kvref": step_lane(bench, cache, context),
        "dynamic": _their_steps(bench, model, DynamicCache(config=model.config), context),
        "static": _their_steps(bench, model, StaticCache(config=model.config, max_cache_len=context), context),
    }
    return _compared(bench, f"steps at {context}", lanes)


def _prefill(bench: Bench, model: Any, tokens: int) -> dict[str, Any]:
    from transformers import DynamicCache

    cache = ContiguousCache(bench.config, tokens, dtype=bench.model.dtype)
    ids = work.some_ids(bench.config, tokens)
    theirs = ids[None]

    def run() -> None:
        model(input_ids=theirs, cache=DynamicCache(config=model.config), use_cache=True, logits_to_keep=1)

    lanes = {
        "kvref": Lane(lambda: prefill(bench.model, cache, ids), before=lambda: cache.truncate(0)),
        "dynamic": Lane(run),
    }
    return _compared(bench, f"prefill of {tokens}", lanes)


def _their_steps(bench: Bench, model: Any, cache: Any, context: int) -> Lane:
    """As many steps as kvref takes, from the same length."""
    steps = min(bench.sizes.steps, context)
    start = context - steps
    if start:
        with torch.inference_mode():
            model(input_ids=work.some_ids(bench.config, start)[None], cache=cache, use_cache=True, logits_to_keep=1)
    token = torch.tensor([[1 % bench.config.vocab_size]])

    def run() -> None:
        for _ in range(steps):
            model(input_ids=token, cache=cache, use_cache=True)

    return Lane(run, times=steps, before=lambda: _back(cache, start))


def _back(cache: Any, start: int) -> None:
    """Forget the rows of the last sample."""
    surplus = int(cache.get_seq_length()) - start
    if surplus > 0:
        cache.crop(-surplus)


def _compared(bench: Bench, label: str, lanes: dict[str, Lane]) -> dict[str, Any]:
    with torch.inference_mode():
        taken = bench.compare(label, lanes)
    found = {name: one.timing() for name, one in taken.items()}
    return found | {f"{name}_ratio": ratio(one, taken["kvref"]) for name, one in taken.items() if name != "kvref"}
