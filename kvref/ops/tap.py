"""Watching the inside of a forward pass from outside.

A tap is called with (name, layer, tensor) as values are made: ``q k v scores weights head_output`` in every
layer and ``logits`` at the end (layer None). With a tap on, attention is written out so that its scores
exist; without one it is fused. Knows nothing about models or caches.
"""

from typing import Protocol, runtime_checkable

from torch import Tensor


@runtime_checkable
class Tap(Protocol):
    """Anything that can be called like this. The tensor may be reused later: copy what is kept."""

    def __call__(self, name: str, layer: int | None, tensor: Tensor) -> None:
        """Look at one tensor of this pass."""
        ...


class Recorder:
    """A tap that keeps a copy of everything: ``recorder["q", 3]`` lists the queries of layer 3, one tensor a pass."""

    def __init__(self) -> None:
        self.recorded: dict[tuple[str, int | None], list[Tensor]] = {}

    def __call__(self, name: str, layer: int | None, tensor: Tensor) -> None:
        """Keep a copy."""
        self.recorded.setdefault((name, layer), []).append(tensor.clone())

    def __getitem__(self, key: tuple[str, int | None]) -> list[Tensor]:
        return self.recorded[key]


def observe(tap: Tap | None, layer: int | None, **tensors: Tensor) -> None:
    """Show each named tensor to the tap, if there is one."""
    if tap is not None:
        for name, tensor in tensors.items():
            tap(name, layer, tensor)
