"""Many requests in one pass: each as if it were alone, reading its own table only; what moves before the pass."""

from dataclasses import replace

import pytest
import torch

from kvref.cache import paged_view
from kvref.cache.contiguous import ContiguousCache
from kvref.cache.paged import PagedCache
from kvref.cache.view import KVCache
from kvref.config import ModelConfig
from kvref.generate import prefill
from kvref.ops.tap import Recorder
from kvref.plan.manager import KVManager, Move
from kvref.plan.step import Step, Work
from tests.kvref import serving, tiny

CONFIG = tiny.LLAMA
MODELS = {config.architecture: tiny.model(config) for config in tiny.BOTH}


def step_of(manager: KVManager, **tokens: list[int]) -> Step:
    """The next tokens of some requests as a scheduler would plan them."""
    work, copies = [], []
    for name, ids in tokens.items():
        if name not in manager.requests:
            manager.admit(name, ids[:1])
        start, grant = manager.length(name), manager.append(name, ids)
        copies += grant.copies
        work.append(Work(name, start, tuple(ids), grant.slots, manager.table(name), True))
    return Step(1, tuple(work), tuple(copies), (), (), (), ())


def run(cache: PagedCache, config: ModelConfig, tap=None, **tokens: list[int]) -> list[torch.Tensor]:
    """One pass; the logits of each request's tokens."""
    step = step_of(cache.manager, **tokens)
    cache.apply(step)
    ids = torch.tensor([token for work in step.work for token in work.token_ids])
    logits = MODELS[config.architecture](ids, cache.packed(step), tap=tap)
    for work in step.work:
        cache.manager.confirm(work.request_id, work.start + len(work.token_ids))
    return list(logits.split([len(work.token_ids) for work in step.work]))


@pytest.mark.parametrize("config", tiny.BOTH)
def test_each_request_is_as_if_alone(config: ModelConfig) -> None:
    """Pitfall 46: prompts of 3 and 5 tokens, then steps of different sizes: positions count a request's own tokens."""
    names = "abc"
    prompts = {name: tiny.ids(config, 3 + 2 * number, seed=number).tolist() for number, name in enumerate(names)}
    alone = {name: ContiguousCache(config, 60, dtype=torch.float64) for name in names}
    cache = serving.paged(config, blocks=16)
    model = MODELS[config.architecture]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paged_view, "TILE_TOKENS", 8)
        for tokens in (prompts, {"c": [7], "a": [1, 2, 3, 4, 5, 6]}, {"a": [3], "b": [4], "c": [5] * 9}, {"b": [9]}):
            serving.poison(cache)
            for name, logits in zip(tokens, run(cache, config, **tokens), strict=True):
                expected = model(torch.tensor(tokens[name]), alone[name])
                torch.testing.assert_close(logits, expected, rtol=0, atol=1e-10)
    for name in names:
        slots = list(cache.manager.slots(name, 0, cache.manager.length(name)))
        torch.testing.assert_close(cache.k[:, slots], alone[name].k[:, : len(slots)], rtol=0, atol=1e-10)
        torch.testing.assert_close(cache.v[:, slots], alone[name].v[:, : len(slots)], rtol=0, atol=1e-10)


def test_nobody_reads_what_another_holds() -> None:
    """NaN in all rows of one request: the other's logits are finite, and the same."""
    cache = serving.paged(CONFIG)
    run(cache, CONFIG, a=[1, 2, 3, 4, 5], b=[6, 7])
    plain = ContiguousCache(CONFIG, 9, dtype=torch.float64)
    prefill(MODELS["llama"], plain, [6, 7])
    slots = list(cache.manager.slots("a", 0, 5))
    cache.blocks.flatten(1, 2)[:, slots] = torch.nan
    a, b = run(cache, CONFIG, a=[5], b=[8])
    assert a.isnan().all()
    torch.testing.assert_close(b[0], prefill(MODELS["llama"], plain, [8]), rtol=0, atol=1e-10)


def test_a_tap_sees_each_request_by_itself() -> None:
    cache, ours, theirs = serving.paged(CONFIG), Recorder(), Recorder()
    run(cache, CONFIG, tap=ours, a=[1, 2, 3], b=[4, 5])
    for ids in ([1, 2, 3], [4, 5]):
        prefill(MODELS["llama"], ContiguousCache(CONFIG, 9, dtype=torch.float64), ids, tap=theirs)
    for layer in range(CONFIG.layers):
        for name in ("scores", "weights", "head_output"):
            for one, other in zip(ours[name, layer], theirs[name, layer], strict=True):
                torch.testing.assert_close(one, other, rtol=0, atol=1e-10)
        for name in "qkv":  # of all tokens at once
            torch.testing.assert_close(ours[name, layer][0], torch.cat(theirs[name, layer]), rtol=0, atol=1e-10)


def test_it_is_a_cache_that_takes_its_own_tokens_only() -> None:
    cache = serving.paged(CONFIG)
    step = step_of(cache.manager, a=[1, 2, 3], b=[4])
    packed = cache.packed(step)
    assert isinstance(packed, KVCache)
    assert (packed.length, packed.nbytes) == (0, cache.nbytes)
    assert packed.begin(torch.tensor([1, 2, 3, 4])).tolist() == [0, 1, 2, 0]
    for wrong in ([1, 2, 3], [1, 2, 3, 5], [4, 1, 2, 3]):
        with pytest.raises(ValueError, match="token_ids: expected the 4 tokens of step 1, got others"):
            MODELS["llama"](torch.tensor(wrong), packed)
    with pytest.raises(ValueError, match="length: expected 0, as a step's work is not cut, got 1"):
        packed.truncate(1)
    with pytest.raises(ValueError, match="tokens: expected as many as every layer has appended"):
        packed.commit(4)
    assert cache.k.isnan().all()


def test_a_position_that_the_model_has_not_is_refused() -> None:
    cache = serving.paged(CONFIG, blocks=40)
    run(cache, CONFIG, a=[1] * 95, b=[2])
    run(cache, CONFIG, a=[1], b=[2])
    with pytest.raises(ValueError, match="the model has 96 positions, 97 tokens do not fit"):
        run(cache, CONFIG, b=[2], a=[1])


def test_swapped_blocks_come_back_bit_for_bit_and_shared_ones_once() -> None:
    """Pitfall 36: two forks share two blocks and own one each: four blocks move, not six."""
    cache = serving.paged(CONFIG, design="copy-on-write", host_blocks=6)
    manager = cache.manager
    run(cache, CONFIG, a=[1, 2, 3, 4, 5, 6, 7, 8])
    manager.fork("a", "b")
    run(cache, CONFIG, a=[9, 10], b=[11])
    before = {name: cache.blocks[:, list(manager.table(name))].clone() for name in "ab"}
    out = manager.swap_out(("a", "b"))
    assert len(out) == 4
    nothing = Step(1, (), (), (), (), (), ())
    cache.apply(replace(nothing, swapped_out=out))
    cache.blocks.fill_(torch.nan)
    manager.admit("c", ())
    manager.append("c", [0] * 4)  # takes a block, so that not all come back to where they were
    back = manager.swap_in(("a", "b"))
    cache.apply(replace(nothing, swapped_in=back))
    tables = manager.table("a"), manager.table("b")
    assert [manager.pool.ref_count(block) for block in (*tables[0], tables[1][2])] == [2, 2, 1, 1]
    for name in "ab":
        written = cache.blocks[:, list(manager.table(name))].flatten(1, 2)[:, : manager.length(name)]
        assert torch.equal(written, before[name].flatten(1, 2)[:, : manager.length(name)])
    manager.check()


def test_what_moves_moves_in_the_stated_order() -> None:
    """Out, in, copies: a block may be swapped out, filled from the host and copied from, all before one pass."""
    cache = PagedCache(CONFIG, KVManager(4, 2, host_blocks=2), dtype=torch.float64)
    for block in range(4):
        cache.blocks[:, block] = block
    cache.host[:, 1] = 9
    manager = KVManager(4, 2, design="copy-on-write")
    prefill(MODELS["llama"], PagedCache(CONFIG, manager, dtype=torch.float64).sequence("a"), [1])
    manager.fork("a", "b")
    (copy,) = manager.append("a", [2]).copies
    assert (copy.source, copy.target, copy.tokens) == (0, 1, 1)
    cache.apply(Step(1, (), (copy,), (Move(0, 0),), (Move(0, 1),), (), ()))
    assert (cache.host[:, 0] == 0).all()
    assert (cache.blocks[:, 0] == 9).all()
    assert (cache.blocks[:, 1, 0] == 9).all()
    assert (cache.blocks[:, 1, 1] == 1).all()  # the copy is of one token
    assert (cache.blocks[:, 2] == 2).all()
