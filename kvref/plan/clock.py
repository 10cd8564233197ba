"""How long a planned step takes on a device, as its cost says: the least time, so a bound and no measurement.

A pass takes as long as its operations at the peak or its bytes at full bandwidth, whichever is longer; copies of blocks move
over the same memory first, and blocks that are swapped move over the link to the host, one thing after the other. Knows no
tensors.
"""

from collections.abc import Callable

from kvref.checks import positive, whole
from kvref.config import ModelConfig
from kvref.plan.cost import kv_bytes_per_token, least_seconds, link_seconds, step_cost
from kvref.plan.step import Step


def step_clock(
    config: ModelConfig,
    *,
    peak_flops: int | float,
    bandwidth_bytes: int | float,
    bytes_per_number: int,
    block_tokens: int,
    link_bytes: int | float | None = None,
) -> Callable[[Step], float]:
    """A function from a step to its milliseconds, for a device with this peak and bandwidth, both per second.

    ``link_bytes``: bytes a second between host and device; a step that swaps needs it, ``ValueError`` otherwise. A copy is
    read and written. What a scheduler and a launch take is not counted.
    """
    whole(block_tokens=block_tokens)
    positive(peak_flops=peak_flops, bandwidth_bytes=bandwidth_bytes)
    if link_bytes is not None:
        positive(link_bytes=link_bytes)
    row_bytes = kv_bytes_per_token(config, bytes_per_number)

    def step_ms(step: Step) -> float:
        pieces = ((work.start, len(work.token_ids), work.samples) for work in step.work)
        seconds = least_seconds(step_cost(config, pieces, bytes_per_number), peak_flops, bandwidth_bytes)
        if copied := sum(copy.tokens for copy in step.copies):
            seconds += link_seconds(2 * copied, row_bytes, bandwidth_bytes)
        if moved := len(step.swapped_out) + len(step.swapped_in):
            if link_bytes is None:
                raise ValueError(f"link_bytes: expected a number, as step {step.number} swaps {moved} blocks, got None.")
            seconds += link_seconds(moved * block_tokens, row_bytes, link_bytes)
        return 1000 * seconds

    return step_ms
