"""The same small seeded model on the CPU and on the GPU: what is recorded of a prefill and of decode steps, compared.

Everything that a tap sees is compared, number by number, in float32 without TF32. The weights are made on the CPU, so
that both have the same ones.
"""

from typing import Any

import torch
from torch import Tensor

from gen.measure.cuda.shapes import SEED, RandomWeights
from gen.measure.work import some_ids
from kvref.cache.contiguous import ContiguousCache
from kvref.config import ModelConfig
from kvref.generate import decode_step, prefill
from kvref.model.transformer import Transformer
from kvref.ops.tap import Recorder

SMALL = ModelConfig("llama", 211, 96, 3, 6, 2, 16, 160, 64, 1e-5, rope_theta=10_000.0)
PROMPT_TOKENS, STEPS = 12, 4
SCALE = 10.0  # weights ten times those of the large shapes: differences show
TOLERANCE = 1e-4  # of the largest number of a tensor


def measure(device: torch.device) -> dict[str, Any]:
    """Values of the record `tensors`."""
    exact = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        here, there = (_record(torch.device("cpu")), _record(device))
    finally:
        torch.backends.cuda.matmul.allow_tf32 = exact
    names = sorted({name for name, _ in here})
    compared = {name: _difference([(here[key], there[key]) for key in here if key[0] == name]) for name in names}
    return {
        "layers": SMALL.layers,
        "prompt_tokens": PROMPT_TOKENS,
        "steps": STEPS,
        "dtype": "float32",
        "tolerance_of_largest": TOLERANCE,
        "compared": compared,
        "agree": all(one["of_largest"] <= TOLERANCE for one in compared.values()),
    }


def _record(device: torch.device) -> dict[tuple[str, int | None], Tensor]:
    """Everything that a tap sees, by (name, layer)."""
    made = RandomWeights(SMALL, torch.float32, torch.device("cpu"), SEED)
    weights = {name: (made[name] * SCALE if made[name].ndim == 2 else made[name]).to(device) for name in made}
    model, tap = Transformer(SMALL, weights), Recorder()
    cache = ContiguousCache(SMALL, PROMPT_TOKENS + STEPS, device=device)
    prefill(model, cache, some_ids(SMALL, PROMPT_TOKENS, device), tap)
    for token in some_ids(SMALL, STEPS).tolist():
        decode_step(model, cache, token, tap)
    return {key: torch.cat([one.flatten() for one in taken]).cpu() for key, taken in tap.recorded.items()}


def _difference(pairs: list[tuple[Tensor, Tensor]]) -> dict[str, Any]:
    """How many numbers, the largest of them, and the largest difference."""
    largest = max(float(one.abs().max()) for one, _ in pairs)
    difference = max(float((one - other).abs().max()) for one, other in pairs)
    return {
        "numbers": sum(one.numel() for one, _ in pairs),
        "largest": largest,
        "largest_difference": difference,
        "of_largest": difference / largest,
    }
