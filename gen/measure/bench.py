"""What every measurement is given: a device, its clock, a model, sizes, and the ceilings that predictions stand on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from gen.measure.clock import ROUNDS, Lane, Timer, in_turns, say
from gen.measure.predict import Ceilings
from gen.measure.samples import Series
from kvref.config import ModelConfig
from kvref.model.transformer import Transformer

Work = Callable[[], object]
Note = Callable[[str, Mapping[str, list[float]]], None]


@dataclass(frozen=True)
class Sizes:
    """How much is measured. Lengths that a model has no positions for are left out."""

    moved_bytes: int = 2**28  # read and copied for the bandwidth: far more than caches hold
    square: int = 2048
    rows: tuple[int, ...] = (1, 8, 64, 512)
    prompts: tuple[int, ...] = (16, 64, 256, 512, 1024, 2048)
    contexts: tuple[int, ...] = (16, 128, 512, 1024, 2048, 4096)
    recomputed: int = 1024  # the longest context that is also run without a cache
    first_contexts: tuple[int, ...] = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
    one_token_prompt: int = 256
    steps: int = 4  # decode steps in a sample
    batches: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: {256: (1, 2, 4, 8)})  # context -> sequences
    block_tokens: int = 16
    paged: tuple[int, ...] = (128, 1024, 4096)
    held_tokens: int = 4096  # of the caches whose memory is read
    others: tuple[int, ...] = (16, 512, 2048)  # contexts at which a step of transformers is timed too
    other_prompts: tuple[int, ...] = (16, 512)  # and prompts
    reply_tokens: int = 16
    reply_rounds: int = 16


QUICK = Sizes(
    moved_bytes=2**23,
    square=256,
    rows=(1, 16),
    prompts=(4, 32),
    contexts=(4, 64),
    recomputed=64,
    first_contexts=(1, 2, 4, 8),
    one_token_prompt=16,
    steps=2,
    batches={32: (1, 2)},
    paged=(64,),
    held_tokens=64,
    others=(8, 32),
    other_prompts=(8,),
    reply_tokens=4,
    reply_rounds=ROUNDS,
)


@dataclass
class Bench:
    """One run on one device."""

    device: torch.device
    timer: Timer
    sizes: Sizes
    cache_bytes: int | None = None
    note: Note = lambda label, samples: None
    loaded: Transformer | None = None
    found: Ceilings | None = None
    recorded: Callable[[Work], Work] = lambda run: run  # as one launch, where the device can
    launches: int = 1  # of what was recorded, in a sample: so many that starting the first does not count
    layout: str = "in-out"  # how the model's matrices lie in memory
    room: Callable[[int], bool] = lambda size: True  # whether so many bytes can be allocated
    late: Callable[[], bool] = lambda: False  # whether the time of the whole run is up

    @property
    def model(self) -> Transformer:
        """The model that is timed."""
        assert self.loaded is not None
        return self.loaded

    @property
    def config(self) -> ModelConfig:
        """Its shape."""
        return self.model.config

    @property
    def ceilings(self) -> Ceilings:
        """Of this device, for the model's kind of numbers."""
        assert self.found is not None
        return self.found

    @property
    def facts(self) -> dict[str, Any]:
        """The kind of numbers, as every record says it."""
        return {"dtype": name_of(self.model.dtype), "bytes_per_number": self.model.dtype.itemsize}

    def compare(self, label: str, lanes: Mapping[str, Lane], rounds: int = ROUNDS) -> dict[str, Series]:
        """Time the lanes in turns and keep their samples."""
        say(f"  {label}")
        return in_turns(lanes, self.timer, rounds=rounds, keep=lambda samples: self.note(label, samples))

    def obstacle(self, size: int) -> str | None:
        """Why something that takes so many bytes is left out: no room, or no time; None if it can be measured."""
        return "no-time" if self.late() else None if self.room(size) else "no-room"

    def launched(self, run: Work) -> Lane:
        """Work without a shape that changes, recorded where the device can, as often in a sample as it says."""
        once = self.recorded(run)
        if self.launches == 1:
            return Lane(once)
        return Lane(lambda: [once() for _ in range(self.launches)], times=self.launches)

    def within(self, lengths: tuple[int, ...]) -> list[int]:
        """Those that the model has positions for."""
        return [tokens for tokens in lengths if tokens <= self.config.max_positions]


def name_of(dtype: torch.dtype) -> str:
    """`float32`, `bfloat16`."""
    return str(dtype).removeprefix("torch.")
