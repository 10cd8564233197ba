"""Time a decode step of the default model against its own matrix products and against transformers.

    python tests/speed/decode.py [--pairs 16] [--tokens 16]

Float32, CPU, batch 1, two threads, run alone. The three are interleaved: every round times each of them once, so that a
machine that slows down slows them all; minimum and median of the rounds are printed with both ratios. Where minimum and
median differ by more than half, the machine was busy and no verdict is given. Not part of the tests: a shared machine
cannot promise times. Exit code 0: both bounds hold; 1: one does not; 2: no verdict.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
from transformers import AutoModelForCausalLM

from gen.fetch import ensure
from kvref import ContiguousCache, Transformer, load_checkpoint
from kvref.generate import generate
from kvref.model.layers import Linear

PRODUCTS_SHARE = 0.8  # of a step's time, at least, must be its matrix products
SPEEDUP = 1.4  # over transformers.generate, at least
SPREAD = 1.5  # median over minimum; beyond it the machine was busy
PROMPT = [504, 2644, 3330, 418, 260]


def products(model: Transformer, count: int) -> Callable[[], float]:
    """The matrix products of a step and nothing else, by the same code and on the same weights."""
    linears: list[Linear] = []
    for layer in model.parts.layers:
        linears += [layer.attention.qkv, layer.attention.output, layer.mlp.gate_up, layer.mlp.down]
    linears.append(model.parts.head)
    inputs = {linear.weight.shape[0]: torch.randn(1, linear.weight.shape[0]) for linear in linears}

    @torch.inference_mode()
    def run() -> float:
        start = time.perf_counter()
        for _ in range(count):
            for linear in linears:
                linear(inputs[linear.weight.shape[0]])
        return (time.perf_counter() - start) / count

    return run


def kvref_tokens(model: Transformer, count: int) -> Callable[[], float]:
    """From the first token to the last: decode steps, without the prefill."""
    cache = ContiguousCache(model.config, len(PROMPT) + count)

    def run() -> float:
        cache.truncate(0)
        times = [time.perf_counter() for _ in generate(model, PROMPT, count + 1, cache=cache)]
        return (times[-1] - times[0]) / count

    return run


class Clock:
    """What transformers calls a streamer: told of the prompt, then of every token."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def put(self, value: torch.Tensor) -> None:
        self.times.append(time.perf_counter())

    def end(self) -> None:
        pass


def oracle_tokens(folder: Path, count: int) -> Callable[[], float]:
    """The same span of transformers.generate."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    model.generation_config.eos_token_id = model.generation_config.pad_token_id = None
    prompt = torch.tensor([PROMPT])

    def run() -> float:
        clock, mask = Clock(), torch.ones_like(prompt)
        model.generate(prompt, attention_mask=mask, max_new_tokens=count + 1, do_sample=False, streamer=clock)
        return (clock.times[-1] - clock.times[1]) / count

    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=16, help="rounds, at least 8")
    parser.add_argument("--tokens", type=int, default=16, help="tokens a round")
    options = parser.parse_args()
    torch.set_num_threads(2)
    folder = ensure("smollm2-135m-instruct")
    model = load_checkpoint(folder)
    runs = {
        "matrix products": products(model, options.tokens),
        "kvref": kvref_tokens(model, options.tokens),
        "transformers": oracle_tokens(folder, options.tokens),
    }
    for run in runs.values():
        run()  # warm up
    rounds = [{name: 1e3 * run() for name, run in runs.items()} for _ in range(options.pairs)]
    return report(rounds)


def report(rounds: list[dict[str, float]]) -> int:
    busy = False
    for name in rounds[0]:
        times = [each[name] for each in rounds]
        low, middle = min(times), statistics.median(times)
        busy |= middle > SPREAD * low
        print(f"{name:16} {low:7.2f} ms a token at least, {middle:7.2f} median, {max(times):7.2f} at most")
    verdicts = [
        ratio(rounds, "matrix products", "kvref", "the products are this share of a kvref token", PRODUCTS_SHARE),
        ratio(rounds, "transformers", "kvref", "kvref is faster than transformers by", SPEEDUP),
    ]
    if busy:
        print(f"no verdict: a median is more than {SPREAD} times its minimum, the machine was busy")
        return 2
    return 0 if all(verdicts) else 1


def ratio(rounds: list[dict[str, float]], over: str, under: str, words: str, bound: float) -> bool:
    """Of the minima, and the median of the rounds' own ratios; the minima decide."""
    best = min(each[over] for each in rounds) / min(each[under] for each in rounds)
    paired = [each[over] / each[under] for each in rounds]
    middle = statistics.median(paired)
    print(f"{words}: {best:.2f} (pairs {min(paired):.2f} to {max(paired):.2f}, median {middle:.2f}; bound {bound})")
    return best >= bound


if __name__ == "__main__":
    sys.exit(main())
