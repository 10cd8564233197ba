"""kvref: a small reference for caches of keys and values, written to be read.

Names are loaded when they are first used, so that ``kvref.config``, ``kvref.layout`` and ``kvref.plan`` stay
free of torch. The function ``generate`` is in the module of that name: ``from kvref.generate import
generate``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvref.cache.concat import ConcatCache
    from kvref.cache.contiguous import ContiguousCache
    from kvref.cache.nothing import NoCache
    from kvref.cache.paged import PagedCache
    from kvref.cache.view import DenseView, KVCache, View
    from kvref.config import ModelConfig
    from kvref.engine import Engine
    from kvref.errors import CheckpointError, OutOfBlocks, OutOfCapacity
    from kvref.generate import decode_step, generate_uncached, prefill
    from kvref.model.checkpoint import load_checkpoint
    from kvref.model.transformer import Transformer
    from kvref.ops.tap import Recorder, Tap
    from kvref.plan.blocks import BlockPool
    from kvref.plan.manager import KVManager
    from kvref.plan.prefix import Namespace, PrefixIndex
    from kvref.plan.request import Request
    from kvref.plan.scheduler import Scheduler
    from kvref.reply import Output, Reply
    from kvref.sampling import Sampler, greedy

_HOME = {
    "BlockPool": "kvref.plan.blocks",
    "CheckpointError": "kvref.errors",
    "ConcatCache": "kvref.cache.concat",
    "ContiguousCache": "kvref.cache.contiguous",
    "DenseView": "kvref.cache.view",
    "Engine": "kvref.engine",
    "KVCache": "kvref.cache.view",
    "KVManager": "kvref.plan.manager",
    "ModelConfig": "kvref.config",
    "Namespace": "kvref.plan.prefix",
    "NoCache": "kvref.cache.nothing",
    "OutOfBlocks": "kvref.errors",
    "OutOfCapacity": "kvref.errors",
    "Output": "kvref.reply",
    "PagedCache": "kvref.cache.paged",
    "PrefixIndex": "kvref.plan.prefix",
    "Recorder": "kvref.ops.tap",
    "Reply": "kvref.reply",
    "Request": "kvref.plan.request",
    "Sampler": "kvref.sampling",
    "Scheduler": "kvref.plan.scheduler",
    "Tap": "kvref.ops.tap",
    "Transformer": "kvref.model.transformer",
    "View": "kvref.cache.view",
    "decode_step": "kvref.generate",
    "generate_uncached": "kvref.generate",
    "greedy": "kvref.sampling",
    "load_checkpoint": "kvref.model.checkpoint",
    "prefill": "kvref.generate",
}

__all__ = [
    "BlockPool",
    "CheckpointError",
    "ConcatCache",
    "ContiguousCache",
    "DenseView",
    "Engine",
    "KVCache",
    "KVManager",
    "ModelConfig",
    "Namespace",
    "NoCache",
    "OutOfBlocks",
    "OutOfCapacity",
    "Output",
    "PagedCache",
    "PrefixIndex",
    "Recorder",
    "Reply",
    "Request",
    "Sampler",
    "Scheduler",
    "Tap",
    "Transformer",
    "View",
    "decode_step",
    "generate_uncached",
    "greedy",
    "load_checkpoint",
    "prefill",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'kvref' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
