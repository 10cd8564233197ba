"""The clock of a GPU, and work recorded once as a CUDA graph and replayed: no time goes into starting kernels."""

import time
from collections.abc import Callable

import torch

from gen.measure.bench import Work
from gen.measure.clock import SLACK, SLACK_MS, ClockFault

WARM = 3  # runs before a graph is recorded: libraries choose their kernels in these


class EventTimer:
    """Two events in the device's own queue. The host's clock, which surrounds them, must have seen at least as much."""

    def __call__(self, work: Callable[[], object]) -> float:
        """Milliseconds between the events. Raises ClockFault."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()
        before = time.perf_counter()
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        return surrounded(start.elapsed_time(end), 1e3 * (time.perf_counter() - before))


def surrounded(ms: float, host_ms: float) -> float:
    """`ms`, if it is a duration that fits into what the host saw. Raises ClockFault."""
    if not ms > 0:
        raise ClockFault(f"The device's clock said that {ms:.4g} ms went by")
    if ms > host_ms + SLACK_MS + SLACK * ms:
        raise ClockFault(f"The device's clock said {ms:.4g} ms where the host's said {host_ms:.4g} ms")
    return ms


def recorded(work: Work) -> Work:
    """The same work as one launch."""
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM):
            work()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay
