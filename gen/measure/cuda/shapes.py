"""Models as shapes: published geometries, and random weights that are made on the device.

How long a product takes does not depend on the numbers in it, so a shape is all that is needed. Sizes are those of each
model's config.json, checked against docs/data/geometry by a test.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from gen.measure.bench import Sizes
from kvref.config import ModelConfig
from kvref.layout import weight_shapes

SEED = 0
POWERS = tuple(2**power for power in range(9))  # 1 to 256


@dataclass(frozen=True)
class Shape:
    """One geometry, and how much of it is measured."""

    id: str
    name: str
    config: ModelConfig
    sizes: Sizes = field(default_factory=Sizes)


def _sizes(prompts: tuple[int, ...], batches: dict[int, tuple[int, ...]]) -> Sizes:
    return Sizes(moved_bytes=2**31, square=8192, rows=(1, 16, 256, 4096), prompts=prompts, batches=batches, held_tokens=4096)


SMOLLM2 = ModelConfig("llama", 49_152, 576, 30, 9, 3, 64, 1536, 8192, 1e-5, rope_theta=100_000.0)
GPT2 = ModelConfig("gpt2", 50_257, 768, 12, 12, 12, 64, 3072, 1024, 1e-5)
# More positions than Llama-3-8B was trained on: those of Llama-3.1-8B, which has its shape.
LLAMA3 = ModelConfig("llama", 128_256, 4096, 32, 32, 8, 128, 14_336, 131_072, 1e-5, rope_theta=500_000.0, tied_head=False)

SHAPES = (
    Shape("gpt-2-small", "GPT-2 small", GPT2, _sizes((128, 512, 1024), {128: POWERS, 1024: POWERS})),
    Shape("smollm2-135m", "SmolLM2-135M", SMOLLM2, _sizes((128, 512, 2048, 8192), {256: POWERS, 1024: POWERS, 8192: (1,)})),
    Shape(
        "llama-3-8b",
        "Llama-3-8B",
        LLAMA3,
        _sizes(
            (128, 512, 2048, 4096, 8192, 32_768),
            {128: (1,), 1024: POWERS, 4096: (1, 4, 16, 64), 8192: (1,), 16_384: (1, 16), 32_768: (1, 4, 16)},
        ),
    ),
)


class RandomWeights(Mapping[str, Tensor]):
    """Each tensor is made when it is asked for, the same one every time, so that no second copy of the model exists."""

    def __init__(self, config: ModelConfig, dtype: torch.dtype, device: torch.device, seed: int = SEED) -> None:
        self.shapes, self.dtype, self.device, self.seed = weight_shapes(config), dtype, device, seed
        self.numbers = {name: number for number, name in enumerate(self.shapes)}

    def __getitem__(self, name: str) -> Tensor:
        generator = torch.Generator(self.device).manual_seed(self.seed + self.numbers[name])
        made = torch.empty(self.shapes[name], dtype=self.dtype, device=self.device)
        made.normal_(0.0, 0.02, generator=generator)
        return made.add_(1) if made.ndim == 1 and name.endswith("weight") else made

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)
