"""A cut of a request in a paged cache takes a block only where it must, and only if the cut itself frees none."""

import pytest
import torch

from kvref.cache.paged import PagedCache
from kvref.errors import OutOfBlocks
from kvref.generate import prefill
from kvref.plan.manager import DESIGNS, KVManager
from tests.kvref import tiny

MODEL = tiny.model()


def made(design: str, blocks: int, tokens: int) -> PagedCache:
    """Request `a` with so many tokens in blocks of 4, and a fork `b` of it."""
    cache = PagedCache(MODEL.config, KVManager(blocks, 4, design=design), dtype=torch.float64)
    prefill(MODEL, cache.sequence("a"), list(range(1, tokens + 1)))
    cache.manager.fork("a", "b")
    return cache


def test_a_partial_block_that_is_shared_is_cut_without_a_copy() -> None:
    cache = made("copy-on-write", 1, 3)
    for length in (3, 2):
        cache.sequence("a").truncate(length)
        assert (cache.sequence("a").length, cache.manager.table("a")) == (length, (0,))
    cache.manager.check()


@pytest.mark.parametrize("design", DESIGNS)
def test_the_rows_behind_the_cut_make_room_for_its_copy(design: str) -> None:
    cache = made(design, 2, 4)
    prefill(MODEL, cache.sequence("b"), [9, 9, 9])  # the pool is full now
    before = cache.k[:, :2].clone()
    cache.sequence("b").truncate(2)
    slots = list(cache.manager.slots("b", 0, 2))
    assert slots == ([4, 5] if design == "full-blocks" else [0, 1])
    assert torch.equal(cache.k[:, slots], before)
    cache.manager.check()


def test_a_cut_is_refused_where_all_behind_it_is_shared() -> None:
    cache = made("full-blocks", 2, 8)
    for length in (2, 6):
        with pytest.raises(OutOfBlocks):
            cache.sequence("b").truncate(length)
    assert (cache.sequence("b").length, cache.manager.table("b")) == (8, (0, 1))
    for length in (8, 4):  # whole blocks need none
        cache.sequence("b").truncate(length)
        assert cache.sequence("b").length == length
    cache.manager.check()
