"""Paged caches and engines over tiny models, and the poison that shows a read of what was never written."""

import random
from collections.abc import Callable, Sequence

import torch

from kvref.cache.paged import PagedCache
from kvref.cache.paged_pass import SequenceCache
from kvref.config import ModelConfig
from kvref.engine import Engine
from kvref.model.transformer import Transformer
from kvref.plan.entry import Draft
from kvref.plan.manager import KVManager
from kvref.plan.request import Request
from kvref.plan.scheduler import Scheduler

BLOCK = 4


def shuffle(manager: KVManager, seed: int = 1) -> KVManager:
    """Bring the free blocks into a random order, as requests that came and went would."""
    order = list(range(manager.pool.free_blocks))
    for block in order:
        manager.admit(f"shuffle {block}", ())
        manager.append(f"shuffle {block}", [0])
    random.Random(seed).shuffle(order)
    for block in order:
        manager.free(f"shuffle {block}")
    return manager


def paged(config: ModelConfig, blocks: int = 12, dtype: torch.dtype = torch.float64, **manager: object) -> PagedCache:
    """A cache of ``blocks`` blocks in a random order, NaN in every slot."""
    cache = PagedCache(config, shuffle(KVManager(blocks, manager.pop("block_tokens", BLOCK), **manager)), dtype=dtype)
    poison(cache)
    return cache


def sequence(config: ModelConfig, design: str, **settings: object) -> SequenceCache:
    return paged(config, design=design, **settings).sequence("a")


def poison(cache: PagedCache) -> None:
    """NaN in every slot that holds no confirmed token: of free blocks, of partly filled ones, on the host."""
    manager = cache.manager
    kept = [slot for name in manager.requests for slot in manager.slots(name, 0, manager.confirmed(name))]
    size = manager.block_tokens
    for block in range(manager.pool.total_blocks):
        if block in manager.index:  # idle ones can be found still
            kept += range(block * size, (block + 1) * size)
    unused = torch.ones(manager.pool.total_blocks * size, dtype=torch.bool)
    unused[kept] = False
    cache.blocks.flatten(1, 2)[:, unused] = torch.nan
    if manager.host.pool:
        for block in range(manager.host.pool.total_blocks):
            if not manager.host.pool.ref_count(block):
                cache.host[:, block] = torch.nan


def engine(
    model: Transformer,
    requests: Sequence[Request] = (),
    *,
    blocks: int = 60,
    block_tokens: int = BLOCK,
    design: str = "full-blocks",
    chunk: int | None = None,
    preemption: str = "recompute",
    budget: int = 24,
    many: int = 6,
    prefix_caching: bool = True,
    detokenize: Callable[[Sequence[int]], str] | None = None,
    clock: Callable[[], float] | None = None,
) -> Engine:
    """An engine over a small pool, with these requests submitted."""
    manager = KVManager(blocks, block_tokens, design=design, host_blocks=blocks, prefix_caching=prefix_caching)
    cache = PagedCache(model.config, shuffle(manager), dtype=model.dtype)
    scheduler = Scheduler(manager, token_budget=budget, max_requests=many, chunk_tokens=chunk, preemption=preemption)
    made = Engine(model, scheduler, cache, detokenize=detokenize, **({} if clock is None else {"clock": clock}))
    for request in requests:
        made.submit(request)
    return made


def preempt(engine: Engine, name: str) -> None:
    """What the scheduler does with a running request when blocks run out."""
    draft = Draft(0)
    engine.scheduler._preempt(engine.scheduler._entries[name], draft)
    engine.cache.apply(draft.step(0))
    poison(engine.cache)


def mixed(count: int, vocabulary: int, seed: int = 0, prompt: int = 12, reply: int = 10) -> list[Request]:
    """Requests of different lengths; most prompts begin with part of one of two shared texts."""
    rng = random.Random(seed)
    shared = [[rng.randrange(vocabulary) for _ in range(prompt)] for _ in range(2)]
    made = []
    for number in range(count):
        begins = rng.choice(shared)[: rng.choice([0, 3, 8, prompt])]
        own = [rng.randrange(vocabulary) for _ in range(rng.randrange(0 if begins else 1, 6))]
        made.append(Request(str(number), tuple(begins + own), rng.randrange(1, reply + 1)))
    return made
