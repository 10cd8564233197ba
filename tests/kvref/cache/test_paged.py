"""One request in a paged cache: the same rows and logits as in the contiguous one, whatever its table looks like."""

import pytest
import torch

from kvref.cache import paged_view
from kvref.cache.contiguous import ContiguousCache
from kvref.cache.paged import PagedCache
from kvref.cache.paged_view import GatheredView, place
from kvref.config import ModelConfig
from kvref.errors import OutOfBlocks
from kvref.generate import decode_step, generate, prefill
from kvref.ops.tap import Recorder
from kvref.plan.cost import kv_bytes_per_token
from kvref.plan.manager import DESIGNS, KVManager
from tests.kvref import serving, tiny

CONFIG = tiny.LLAMA
MODELS = {config.architecture: tiny.model(config) for config in tiny.BOTH}


class GatheredCache(PagedCache):
    view_class = GatheredView


def contiguous(config: ModelConfig = CONFIG) -> ContiguousCache:
    return ContiguousCache(config, 96, dtype=torch.float64)


def held(cache: PagedCache, name: str, start: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows of a request in order of their positions, [layers, tokens, kv_heads, head_dim]."""
    slots = list(cache.manager.slots(name, start, cache.manager.confirmed(name)))
    return cache.k[:, slots], cache.v[:, slots]


def same(one: torch.Tensor, other: torch.Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def passes(config: ModelConfig, cuts: list[int], cache, plain: ContiguousCache, seed: int = 1) -> None:
    """The same chunks into both caches: the same logits."""
    model = MODELS[config.architecture]
    for chunk in tiny.ids(config, sum(cuts), seed).split(cuts):
        same(model(chunk, cache), model(chunk, plain))


@pytest.mark.parametrize("config", tiny.BOTH)
@pytest.mark.parametrize("size", [1, 3, 4, 16, 50])
@pytest.mark.parametrize("kind", [PagedCache, GatheredCache])
def test_rows_and_logits_are_those_of_the_contiguous_cache(config: ModelConfig, size: int, kind: type[PagedCache]) -> None:
    """Chunks whose edges are not the blocks' (pitfall 38), a table in random order, tiles of a few tokens, NaN elsewhere."""
    manager = serving.shuffle(KVManager(-(-60 // size) + 3, size))
    cache = kind(config, manager, dtype=torch.float64)
    serving.poison(cache)
    one, plain = cache.sequence("a"), contiguous(config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paged_view, "TILE_TOKENS", 8)
        passes(config, [7, 1, 1, 3, 20, 1, 11], one, plain)
    assert one.length == 44
    for ours, theirs in zip(held(cache, "a"), (plain.k, plain.v), strict=True):
        same(ours, theirs[:, :44])
    assert cache.k.isfinite().flatten(2).all(2).sum().item() == 44 * config.layers  # nothing else was written


@pytest.mark.parametrize("cuts", [[1, 2, 3, 5], [7, 4], [11], [3, 4, 4], [1] * 11, [5, 6], [10, 1]])
def test_a_prompt_in_chunks(cuts: list[int]) -> None:
    """Pitfall 38: 11 tokens, blocks of 4."""
    cache, plain = serving.sequence(CONFIG, "full-blocks"), contiguous()
    passes(CONFIG, cuts, cache, plain)
    whole = contiguous()
    last = MODELS["llama"](tiny.ids(CONFIG, 11), whole)[-1:]
    same(MODELS["llama"](torch.tensor([3]), cache), MODELS["llama"](torch.tensor([3]), plain))
    assert last.isfinite().all()
    same(held(cache.cache, "a")[0][:, :11], whole.k[:, :11])


def test_places() -> None:
    """Neighbours are a slice, which copies nothing; anything else an index."""
    device = torch.device("cpu")
    assert place((4, 5, 6), device) == slice(4, 7)
    assert place([9], device) == slice(9, 10)
    for numbers in ([5, 4], [0, 2], [1, 3, 2, 4], [1, 1], [7, 8, 10]):
        assert place(numbers, device).tolist() == numbers


@pytest.mark.parametrize("config", tiny.BOTH)
def test_a_tap_sees_what_it_sees_over_contiguous_rows(config: ModelConfig) -> None:
    model, cache, plain = MODELS[config.architecture], serving.sequence(config, "full-blocks"), contiguous(config)
    ours, theirs = Recorder(), Recorder()
    for ids in tiny.ids(config, 12).split([5, 1, 6]):
        same(model(ids, cache, tap=ours), model(ids, plain, tap=theirs))
    assert ours.recorded.keys() == theirs.recorded.keys()
    for key, tensors in theirs.recorded.items():
        for one, other in zip(ours[key], tensors, strict=True):
            same(one, other)


def test_bytes_are_those_predicted() -> None:
    manager = KVManager(7, 4, host_blocks=3, reserve_null=True)
    for dtype in (torch.float32, torch.bfloat16):
        cache = PagedCache(CONFIG, manager, dtype=dtype)
        a_token = kv_bytes_per_token(CONFIG, dtype.itemsize)
        assert cache.nbytes == cache.blocks.untyped_storage().nbytes() + cache.host.untyped_storage().nbytes()
        assert cache.nbytes == (7 + 3) * 4 * a_token
        assert cache.sequence("a").nbytes == cache.nbytes
        assert cache.k.shape == cache.v.shape == (CONFIG.layers, 28, CONFIG.kv_heads, CONFIG.head_dim)


@pytest.mark.parametrize("design", DESIGNS)
def test_generate_and_truncate(design: str) -> None:
    model, prompt = MODELS["llama"], tiny.ids(CONFIG, 7).tolist()
    cache = serving.sequence(CONFIG, design, blocks=8)
    reply = list(generate(model, prompt, 12, cache=cache))
    assert reply == list(generate(model, prompt, 12))
    assert cache.length == 18
    cache.truncate(7)
    assert len(cache.manager.table("a")) == 2
    assert list(generate(model, reply[:3], 5, cache=cache)) == list(generate(model, prompt + reply[:3], 5))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("length", range(12))
def test_what_is_cut_is_cut_exactly_even_in_a_block_that_others_hold(design: str, length: int) -> None:
    cache = serving.paged(CONFIG, design=design)
    one, plain = cache.sequence("a"), contiguous()
    passes(CONFIG, [11], one, plain)
    cache.manager.fork("a", "b")
    before = [rows.clone() for rows in held(cache, "b")]
    one.truncate(length)
    plain.truncate(length)
    assert one.length == length
    serving.poison(cache)
    same(held(cache, "a")[0], plain.k[:, :length])
    passes(CONFIG, [2, 1], one, plain, seed=5)
    for ours, kept in zip(held(cache, "b"), before, strict=True):
        assert torch.equal(ours, kept)
    cache.manager.check()


def test_a_cut_that_needs_a_block_of_its_own_and_gets_none() -> None:
    cache = serving.paged(CONFIG, blocks=3)
    one = cache.sequence("a")
    prefill(MODELS["llama"], one, tiny.ids(CONFIG, 12))
    cache.manager.fork("a", "b")
    kept = cache.blocks.clone()
    with pytest.raises(OutOfBlocks, match="Blocks needed: 1; the pool can give 0"):
        one.truncate(6)
    assert (one.length, cache.manager.table("a")) == (12, cache.manager.table("b"))
    assert torch.equal(cache.blocks, kept)


def test_a_pool_without_room_leaves_the_cache_as_it_was() -> None:
    cache = serving.paged(CONFIG, blocks=3)
    one, plain = cache.sequence("a"), contiguous()
    passes(CONFIG, [9], one, plain)
    table, events = cache.manager.table("a"), len(cache.manager.log)
    kept = cache.blocks.clone()
    with pytest.raises(OutOfBlocks):
        prefill(MODELS["llama"], one, [1] * 4)
    assert (one.length, cache.manager.length("a"), cache.manager.table("a")) == (9, 9, table)
    assert len(cache.manager.log) == events
    assert torch.equal(cache.blocks.nan_to_num(), kept.nan_to_num())
    passes(CONFIG, [3], one, plain, seed=4)


@pytest.mark.parametrize("design", DESIGNS)
def test_a_pass_that_fails_gives_its_blocks_back(design: str) -> None:
    cache = serving.paged(CONFIG, design=design)
    one, plain = cache.sequence("a"), contiguous()
    passes(CONFIG, [6], one, plain)

    def broken(name: str, layer: int | None, tensor: torch.Tensor) -> None:
        if (name, layer) == ("weights", 1):
            raise InterruptedError

    free, table = cache.manager.pool.free_blocks, cache.manager.table("a")
    for tokens in ([5] * 9, [5]):
        with pytest.raises(InterruptedError):
            prefill(MODELS["llama"], one, tokens, tap=broken)
        assert (cache.manager.pool.free_blocks, cache.manager.table("a"), one.length) == (free, table, 6)
    with pytest.raises(ValueError, match="the model has 96 positions, 97 tokens do not fit"):
        prefill(MODELS["llama"], serving.sequence(CONFIG, design, blocks=30), [1] * 97)
    passes(CONFIG, [4, 1], one, plain, seed=6)
    cache.manager.check()


@pytest.mark.parametrize("design", DESIGNS)
def test_a_pass_that_nobody_ended_is_forgotten(design: str) -> None:
    cache = serving.paged(CONFIG, design=design)
    one, plain = cache.sequence("a"), contiguous()
    passes(CONFIG, [6], one, plain)
    free, table = cache.manager.pool.free_blocks, cache.manager.table("a")
    one.begin(torch.tensor([1] * 9))
    assert (one.length, cache.manager.length("a")) == (6, 15)
    one.truncate(6)
    assert (cache.manager.pool.free_blocks, cache.manager.table("a"), cache.manager.length("a")) == (free, table, 6)
    one.begin(torch.tensor([1] * 9))
    passes(CONFIG, [3, 1], one, plain, seed=8)


def test_rows_without_a_pass_are_refused() -> None:
    one = serving.sequence(CONFIG, "full-blocks")
    k = torch.zeros(2, CONFIG.kv_heads, CONFIG.head_dim, dtype=torch.float64)
    with pytest.raises(ValueError, match="k, v: expected 0 rows, as many tokens as the pass began with, got 2"):
        one.append(0, k, k)
    one.begin(torch.tensor([1, 2]))
    with pytest.raises(ValueError, match=r"k, v: expected 2 rows, .* got 1"):
        one.append(0, k[:1], k[:1])


def test_a_prefix_that_is_cached_is_read_and_not_computed() -> None:
    """Pitfall 2 on tensors: of 8 cached tokens 4 are taken (whole blocks), or 7 (copy on write); the logits are the same."""
    ids = tiny.ids(CONFIG, 8)
    for design, cached in (("full-blocks", 4), ("copy-on-write", 7)):
        cache, plain = serving.paged(CONFIG, design=design), contiguous()
        expected = prefill(MODELS["llama"], plain, ids)
        prefill(MODELS["llama"], cache.sequence("a"), ids)
        serving.poison(cache)
        before = [rows.clone() for rows in held(cache, "a")]
        assert cache.manager.admit("b", ids.tolist()) == cached
        second = cache.sequence("b")
        assert second.length == cached
        same(prefill(MODELS["llama"], second, ids[cached:]), expected)
        same(decode_step(MODELS["llama"], second, 5), decode_step(MODELS["llama"], plain, 5))
        for ours, kept in zip(held(cache, "a"), before, strict=True):
            assert torch.equal(ours, kept)
        cache.manager.check()


def test_content_that_was_overwritten_is_not_found() -> None:
    """Pitfall 7: two usable blocks; P runs and ends, Q runs and ends, P again: no hit, and the logits of a fresh run."""
    p, q = tiny.ids(CONFIG, 8), tiny.ids(CONFIG, 8, seed=9)
    cache = serving.paged(CONFIG, blocks=2)
    first = prefill(MODELS["llama"], cache.sequence("p"), p)
    cache.manager.free("p")
    assert cache.manager.cached_prefix(p.tolist()) == 4
    prefill(MODELS["llama"], cache.sequence("q"), q)
    cache.manager.free("q")
    assert cache.manager.admit("again", p.tolist()) == 0
    same(prefill(MODELS["llama"], cache.sequence("again"), p), first)


def test_a_fork_shares_and_its_first_write_copies() -> None:
    """Pitfall 17 on tensors: prompt 7, blocks of 4, three branches: two copies, bit for bit, and nobody sees the others."""
    model, cache = MODELS["llama"], serving.paged(CONFIG, design="copy-on-write")
    prompt = tiny.ids(CONFIG, 7).tolist()
    prefill(model, cache.sequence("a"), prompt)
    parent = [rows.clone() for rows in held(cache, "a")]
    for child in "bc":
        assert cache.manager.fork("a", child) == 7
    used = cache.manager.pool.used_blocks
    for number, name in enumerate("bca"):
        serving.poison(cache)
        plain = contiguous()
        prefill(model, plain, prompt)
        for token in (number, 3):
            same(decode_step(model, cache.sequence(name), token), decode_step(model, plain, token))
        for ours, kept in zip(held(cache, name), parent, strict=True):
            assert torch.equal(ours[:, :7], kept)
    assert cache.manager.pool.used_blocks == used + 2 + 3  # two copies, and a new block for the ninth token of each
    last = {cache.manager.table(name)[1] for name in "abc"}
    assert len(last) == 3
    cache.manager.check()
