"""The engine in float64 over a tiny model: every logit and every row of K and V is that of the request alone.

Before each step every slot that holds no confirmed token is filled with NaN, on the device and on the host, so that a row
that was read without having been written, or multiplied by a weight of zero, shows at once.
"""

import itertools
from collections import Counter

import pytest
import torch

from kvref.cache.contiguous import ContiguousCache
from kvref.cache.paged import PagedCache
from kvref.cache.paged_pass import PackedCache
from kvref.config import ModelConfig
from kvref.engine import Engine
from kvref.generate import generate
from kvref.model.transformer import Transformer
from kvref.plan.manager import DESIGNS, KVManager
from kvref.plan.request import Request
from kvref.plan.scheduler import Scheduler
from kvref.sampling import greedy
from tests.kvref import serving, tiny

TOLERANCE = 1e-10


class Watched(Transformer):
    """The tiny model, comparing what it does in a packed pass with what it did for each request alone."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, tiny.weights(config))
        self.logits: dict[tuple[str, int], torch.Tensor] = {}  # by request and position
        self.rows: dict[str, ContiguousCache] = {}
        self.seen: Counter[str] = Counter()

    def alone(self, request: Request) -> list[int]:
        cache = ContiguousCache(self.config, request.rows, dtype=torch.float64)
        chosen: list[torch.Tensor] = []
        sampler = lambda logits: chosen.append(logits) or greedy(logits)  # noqa: E731
        reply = list(generate(self, list(request.prompt_ids), request.max_new_tokens, cache=cache, sampler=sampler))
        for position, logits in enumerate(chosen, len(request.prompt_ids)):
            self.logits[request.id, position] = logits
        self.rows[request.id] = cache
        return reply

    def __call__(self, token_ids, cache, *, tap=None, rows=None) -> torch.Tensor:
        logits = super().__call__(token_ids, cache, tap=tap, rows=rows)
        if isinstance(cache, PackedCache):
            self.compare(cache, logits)
        return logits

    def compare(self, packed: PackedCache, logits: torch.Tensor) -> None:
        size = packed.cache.manager.block_tokens
        self.seen["copies"] += len(packed.step.copies)
        self.seen["swaps"] += len(packed.step.swapped_in)
        sampled = iter(logits)
        for work in packed.step.work:
            stop, plain = work.start + len(work.token_ids), self.rows[work.request_id]
            slots = [work.table[position // size] * size + position % size for position in range(stop)]
            for ours, theirs in ((packed.cache.k, plain.k), (packed.cache.v, plain.v)):
                torch.testing.assert_close(ours[:, slots], theirs[:, :stop], rtol=0, atol=TOLERANCE)
            self.seen["rows"] += stop
            if work.samples:
                torch.testing.assert_close(next(sampled), self.logits[work.request_id, stop], rtol=0, atol=TOLERANCE)
                self.seen["logits"] += 1
        assert next(sampled, None) is None


def serve(engine: Engine, preempt: bool = False) -> dict[str, list[int]]:
    """To the end, with poison before each step and every invariant checked after it.

    ``preempt``: in every third step the request that came last steps back too, wherever it is then.
    """
    came: dict[str, list[int]] = {}
    manager = engine.cache.manager
    for step in itertools.count():
        if not engine.busy:
            return came
        if preempt and step % 3 == 2 and len(engine.scheduler.running) > 1:
            serving.preempt(engine, engine.scheduler.running[-1])
        serving.poison(engine.cache)
        for output in engine.step():
            came.setdefault(output.request_id, []).append(output.token_id)
        manager.check()
        pool = manager.pool
        assert pool.free_blocks + pool.idle_blocks + pool.used_blocks + pool.reserved_blocks == pool.total_blocks
    raise AssertionError


def some(config: ModelConfig) -> list[Request]:
    """Mixed requests, and a long reply to a prompt of whole blocks whose equals come later, while it still runs."""
    prompt = tuple(tiny.ids(config, 8).tolist())
    mixed = serving.mixed(7, config.vocab_size, seed=4)
    return [Request("first", prompt, 24), *mixed[:3], Request("same", prompt, 9), *mixed[3:], Request("again", prompt, 3)]


PRESSURE = {"roomy": (60, "recompute"), "recompute": (11, "recompute"), "swap": (11, "swap")}
CASES = [(tiny.LLAMA, design, chunk, how) for design in DESIGNS for chunk in (1, 3, 16, None) for how in PRESSURE]
CASES += [(tiny.GPT2, design, 3, how) for design in DESIGNS for how in ("recompute", "swap")]


@pytest.mark.parametrize(("config", "design", "chunk", "how"), CASES)
def test_every_logit_and_every_row(config: ModelConfig, design: str, chunk: int | None, how: str) -> None:
    model = Watched(config)
    requests = some(config)
    expected = {request.id: model.alone(request) for request in requests}
    blocks, preemption = PRESSURE[how]
    engine = serving.engine(model, requests, design=design, chunk=chunk, blocks=blocks, preemption=preemption, many=4)
    assert serve(engine, preempt=how != "roomy") == expected
    assert model.seen["logits"] == sum(len(reply) for reply in expected.values())
    preemptions = sum(engine.reply(request.id).preemptions for request in requests)
    print(f"hit rate {engine.hit_rate:.2f}, {preemptions} preemptions, {dict(model.seen)}")
    assert engine.hit_rate > 0
    assert preemptions > 4 if how != "roomy" else preemptions == 0
    if design == "full-blocks":
        assert model.seen["copies"] == 0
    elif (chunk, how) != (1, "swap"):  # there the equal prompts do not meet
        assert model.seen["copies"] > 0
    assert (model.seen["swaps"] > 4) == (how == "swap")


@pytest.mark.parametrize("size", [1, 2, 5, 16])
def test_other_sizes_of_blocks(size: int) -> None:
    model = Watched(tiny.LLAMA)
    requests = serving.mixed(8, tiny.LLAMA.vocab_size, seed=5)
    expected = {request.id: model.alone(request) for request in requests}
    engine = serving.engine(model, requests, blocks=-(-50 // size), block_tokens=size, design="copy-on-write", chunk=5)
    assert serve(engine) == expected
    assert model.seen["rows"] > 0


def test_a_constant_hash_changes_nothing() -> None:
    """Blocks are found by what they hold: with one hash for all contents the replies and the hits are the same."""
    model = Watched(tiny.LLAMA)
    requests = serving.mixed(8, tiny.LLAMA.vocab_size, seed=6)
    expected = {request.id: model.alone(request) for request in requests}
    rates = []
    for settings in ({}, {"hash_function": lambda *content: 0}):
        manager = KVManager(40, 4, **settings)
        scheduler = Scheduler(manager, token_budget=16, max_requests=3)
        engine = Engine(model, scheduler, PagedCache(tiny.LLAMA, manager, dtype=torch.float64))
        for request in requests:
            engine.submit(request)
        assert serve(engine) == expected
        rates.append(engine.hit_rate)
    assert rates[0] == rates[1] > 0
