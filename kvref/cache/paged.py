"""Keys and values in blocks: one memory for all requests, cut into blocks that a manager hands out.

A block has room for ``block_tokens`` tokens, K and V of a token side by side, so that to copy or to move a block is to copy
one piece of memory a layer. Which block is whose is the manager's to know; this part does as it says. Knows nothing about
models, prefixes or scheduling (Kwon et al. 2023, arXiv:2309.06180).
"""

from collections.abc import Iterable
from typing import ClassVar

import torch
from torch import Tensor

from kvref.cache.paged_pass import PackedCache, SequenceCache
from kvref.cache.paged_view import GatheredView, PagedView
from kvref.config import ModelConfig
from kvref.plan.manager import Copy, KVManager
from kvref.plan.step import Step


class PagedCache:
    """Memory for the blocks of ``manager``, on the device and on the host.

    A model is never given this, but one request of it (``sequence``) or all work of a step (``packed``).
    """

    view_class: ClassVar[type[GatheredView]] = PagedView

    def __init__(
        self,
        config: ModelConfig,
        manager: KVManager,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        block = (manager.block_tokens, 2, config.kv_heads, config.head_dim)
        on_host = manager.host.pool.total_blocks if manager.host.pool else 0
        self.config, self.manager = config, manager
        self.blocks = torch.empty(config.layers, manager.pool.total_blocks, *block, dtype=dtype, device=device)
        self.host = torch.empty(config.layers, on_host, *block, dtype=dtype)
        self.layers = self.blocks.unbind()

    @property
    def k(self) -> Tensor:
        """Keys by slot, [layers, slots, kv_heads, head_dim]: a view."""
        return self.blocks.flatten(1, 2)[:, :, 0]

    @property
    def v(self) -> Tensor:
        """Values by slot, as ``k``."""
        return self.blocks.flatten(1, 2)[:, :, 1]

    @property
    def nbytes(self) -> int:
        """Bytes of all blocks, used or not, those on the host included."""
        return self.blocks.nbytes + self.host.nbytes

    def sequence(self, request_id: str) -> SequenceCache:
        """One request as a cache like any other. A request that has no table yet gets an empty one."""
        if request_id not in self.manager.requests:
            self.manager.admit(request_id, ())
        return SequenceCache(self, request_id)

    def packed(self, step: Step) -> PackedCache:
        """All work of a step as one cache, for one pass over its tokens in order of the work."""
        return PackedCache(self, step)

    @torch.inference_mode()
    def apply(self, step: Step) -> None:
        """What has to move before the pass of this step, in the order that the step states."""
        for move in step.swapped_out:
            self.host[:, move.host_block] = self.blocks[:, move.device_block]
        for move in step.swapped_in:
            self.blocks[:, move.device_block] = self.host[:, move.host_block]
        self.copy(step.copies)

    def copy(self, copies: Iterable[Copy]) -> None:
        """The first tokens of a block into another."""
        for copy in copies:
            self.blocks[:, copy.target, : copy.tokens] = self.blocks[:, copy.source, : copy.tokens]
