"""Time attention through block tables against the same attention over contiguous rows.

    python tests/speed/paged.py [--rounds 24] [--tokens 512 1024 2048 4096] [--threads 2]

The default model's shapes, float32, CPU, blocks of 16, all layers one after the other, run alone. Three are
interleaved, so that a machine that slows down slows them all: contiguous rows, a table as a fresh pool gives it (neighbouring
blocks), and a table in random order. A decode step's one query and a chunk's 128, attention alone; then whole decode steps
of the model. Minimum and median are printed, and the ratios of the minima. Where minimum and median differ by more than
half, the machine was busy and no verdict is given. Not part of the tests: a shared machine cannot promise times. Exit code
0: the bounds hold; 1: one does not; 2: no verdict.
"""

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

from gen.fetch import ensure
from kvref import ContiguousCache, KVCache, KVManager, ModelConfig, PagedCache, Transformer, decode_step, load_checkpoint

BOUND = 1.15  # paged over contiguous, at most
SPREAD = 1.5  # median over minimum; beyond it the machine was busy
BLOCK = 16
CHUNK = 128
# One query over few keys: what the call that fills the scratch takes is a quarter of the attention (measured: × 1.25).
BOUNDS = {"random order": {512: 1.4}}


def paged(config: ModelConfig, tokens: int, shuffled: bool) -> KVCache:
    """A request's cache in a pool just large enough; shuffled: its blocks in random order."""
    blocks = -(-(tokens + CHUNK) // BLOCK)
    manager = KVManager(blocks, BLOCK, prefix_caching=False)
    order = list(range(blocks))
    for block in order:
        manager.admit(str(block), ())
        manager.append(str(block), [0])
    if shuffled:
        random.Random(1).shuffle(order)
    for block in order:
        manager.free(str(block))  # joins the tail of the free list
    return PagedCache(config, manager).sequence("timed")


def filled(cache: KVCache, tokens: int, noise: Callable[..., torch.Tensor]) -> KVCache:
    """Random rows of so many tokens in every layer."""
    cache.begin(torch.zeros(tokens, dtype=torch.int64))
    for layer in range(cache.config.layers):
        cache.append(layer, *noise(2, tokens, cache.config.kv_heads, cache.config.head_dim))
    cache.commit(tokens)
    return cache


def attention(cache: KVCache, tokens: int, queries: int, noise: Callable[..., torch.Tensor]) -> Callable[[], None]:
    """All layers' attention of a pass that ends at ``tokens``; the rows were appended before."""
    config = cache.config
    cache.truncate(tokens - queries)
    positions = cache.begin(torch.zeros(queries, dtype=torch.int64))
    k, v = noise(2, queries, config.kv_heads, config.head_dim)
    q = noise(queries, config.query_heads, config.head_dim)
    views = [cache.append(layer, k, v) for layer in range(config.layers)]

    @torch.inference_mode()
    def run() -> None:
        for view in views:
            view.attend(q, positions)

    return run


def step(model: Transformer, cache: KVCache, tokens: int) -> Callable[[], None]:
    """A whole decode step whose query reads ``tokens`` keys."""

    def run() -> None:
        cache.truncate(tokens - 1)
        decode_step(model, cache, 1)

    return run


def compare(title: str, tokens: int, runs: dict[str, Callable[[], None]], rounds: int) -> tuple[bool, bool]:
    """Print a line; whether the bounds hold, and whether the machine was quiet."""
    for run in runs.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append(1e3 * (time.perf_counter() - start))
    held, quiet, words = True, True, []
    base = min(times["contiguous"])
    for name, taken in times.items():
        low, middle = min(taken), statistics.median(taken)
        paired = statistics.median(each / one for each, one in zip(taken, times["contiguous"], strict=True))
        bound = BOUNDS.get(name, {}).get(tokens, BOUND) if title == "one query" else BOUND
        held, quiet = held and low <= bound * base, quiet and middle <= SPREAD * low
        words.append(f"{name} {low:.2f} ms (median {middle:.2f}) × {low / base:.2f} (paired {paired:.2f})")
    print(f"{title:12} {tokens:5}: {'; '.join(words)}", flush=True)
    return held, quiet


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=24, help="rounds, at least 8")
    parser.add_argument("--tokens", type=int, nargs="+", default=[512, 1024, 2048, 4096], help="keys that are read")
    parser.add_argument("--threads", type=int, default=2, help="threads of torch")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model = load_checkpoint(ensure("smollm2-135m-instruct"))
    generator = torch.Generator().manual_seed(0)

    def noise(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    verdicts = []
    for tokens in options.tokens:
        caches = {
            "contiguous": ContiguousCache(model.config, tokens + CHUNK),
            "neighbours": paged(model.config, tokens, shuffled=False),
            "random order": paged(model.config, tokens, shuffled=True),
        }
        for cache in caches.values():
            filled(cache, tokens, noise)
        for title, queries in (("one query", 1), (f"{CHUNK} queries", CHUNK)):
            runs = {name: attention(cache, tokens, queries, noise) for name, cache in caches.items()}
            verdicts.append(compare(title, tokens, runs, options.rounds))
        for cache in caches.values():
            cache.truncate(tokens - CHUNK)
            filled(cache, CHUNK, noise)
        verdicts.append(
            compare("decode step", tokens, {name: step(model, cache, tokens) for name, cache in caches.items()}, options.rounds)
        )
    if not all(quiet for _, quiet in verdicts):
        print(f"no verdict: a median is more than {SPREAD} times its minimum, the machine was busy")
        return 2
    return 0 if all(held for held, _ in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
