"""How long a scheduled step takes at least: the closed forms of `kvref.plan.cost` for a model that is served, on one device.

A step reads the weights once and the cached rows of every request in it, and does the operations of all its tokens; the slower
of the two decides. What is swapped crosses the link to the host before that. Every time is a lower bound.
"""

from collections.abc import Callable
from typing import Any

from gen import geometry
from gen.experiments import bound
from gen.experiments.context import FP16
from kvref.plan import cost
from kvref.plan.step import Step

DEVICE = "h100-sxm"
# PCIe 5.0, 16 lanes, one direction: https://developer.nvidia.com/blog/nvidia-hopper-architecture-in-depth/
LINK_BYTES_PER_SECOND = 64_000_000_000


def step_ms(block_tokens: int) -> Callable[[Step], float]:
    """The clock of a simulation: a step to its least time in milliseconds, in fp16."""
    config, device = bound.served_config(), bound.device_table()[DEVICE]
    row_bytes = cost.kv_bytes_per_token(config, FP16)

    def least(step: Step) -> float:
        one = cost.step_cost(config, [(work.start, len(work.token_ids), work.samples) for work in step.work], FP16)
        passing = cost.least_seconds(one, device["peak_flops"], device["bandwidth_bytes_per_second"])
        moved = (len(step.swapped_out) + len(step.swapped_in)) * block_tokens
        return 1000 * (passing + (cost.link_seconds(moved, row_bytes, LINK_BYTES_PER_SECOND) if moved else 0.0))

    return least


def sides_ms(start: int, tokens: int, samples: bool) -> dict[str, float]:
    """The two times of a step with one piece of one request, of which the longer counts: computing and moving bytes."""
    device = bound.device_table()[DEVICE]
    one = cost.step_cost(bound.served_config(), [(start, tokens, samples)], FP16)
    return {
        "compute_ms": 1000 * one.flops / device["peak_flops"],
        "read_ms": 1000 * one.bytes / device["bandwidth_bytes_per_second"],
    }


def facts() -> dict[str, Any]:
    """What the times are of, as pages name it."""
    return {
        "model": geometry.find(bound.SERVED)["name"],
        "device": bound.device_table()[DEVICE]["name"],
        "bytes_per_number": FP16,
        "kv_bytes_per_token": cost.kv_bytes_per_token(bound.served_config(), FP16),
        "link_gb_per_second": LINK_BYTES_PER_SECOND / bound.GIGA,
    }
