"""The forward pass: chunks, taps, and what it refuses without touching the cache."""

import pytest
import torch

from kvref.cache.concat import ConcatCache
from kvref.cache.contiguous import ContiguousCache
from kvref.cache.nothing import NoCache
from kvref.config import ModelConfig
from kvref.generate import decode_step, prefill
from kvref.model.transformer import Transformer
from kvref.ops.tap import Recorder
from tests.kvref import tiny


def cache_of(config: ModelConfig) -> ContiguousCache:
    return ContiguousCache(config, 40, dtype=torch.float64)


@pytest.mark.parametrize("config", tiny.BOTH)
@pytest.mark.parametrize("chunks", [[11], [1] * 11, [4, 1, 6], [10, 1], [2, 9]])
def test_however_the_tokens_are_cut_the_logits_are_the_same(config: ModelConfig, chunks: list[int]) -> None:
    """Pitfall 42 end to end: several tokens on a cache that is not empty."""
    model, ids = tiny.model(config), tiny.ids(config, 11)
    whole = model(ids, NoCache(config))
    for cache in (cache_of(config), ConcatCache(config, dtype=torch.float64)):
        parts = [model(chunk, cache) for chunk in ids.split(chunks)]
        torch.testing.assert_close(torch.cat(parts), whole, rtol=0, atol=1e-10)
        assert cache.length == 11


@pytest.mark.parametrize("config", tiny.BOTH)
def test_a_tap_changes_nothing(config: ModelConfig) -> None:
    model, ids, recorder = tiny.model(config), tiny.ids(config, 6), Recorder()
    plain, tapped = cache_of(config), cache_of(config)
    torch.testing.assert_close(model(ids, plain), model(ids, tapped, tap=recorder), rtol=0, atol=1e-10)
    one, other = decode_step(model, plain, 3), decode_step(model, tapped, 3, tap=recorder)
    torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("config", tiny.BOTH)
def test_a_tap_sees_every_named_tensor_of_every_layer(config: ModelConfig) -> None:
    model, cache, recorder = tiny.model(config), cache_of(config), Recorder()
    prefill(model, cache, tiny.ids(config, 6), tap=recorder)
    logits = decode_step(model, cache, 3, tap=recorder)
    heads, kv_heads, dim = config.query_heads, config.kv_heads, config.head_dim
    shapes = {
        "q": (heads, dim),
        "k": (kv_heads, dim),
        "v": (kv_heads, dim),
        "scores": (heads, 7),
        "weights": (heads, 7),
        "head_output": (heads, dim),
    }
    for layer in range(config.layers):
        for name, shape in shapes.items():
            first, second = recorder[name, layer]
            assert (len(first), *second.shape) == (6, 1, *shape)
        k, v = torch.cat(recorder["k", layer]), torch.cat(recorder["v", layer])
        assert torch.equal(k, cache.k[layer, :7])
        assert torch.equal(v, cache.v[layer, :7])
    assert torch.equal(recorder["logits", None][1][-1], logits)
    assert len(recorder.recorded) == config.layers * len(shapes) + 1


def test_keys_of_a_llama_are_kept_after_rotation_and_gpt2_s_as_projected() -> None:
    for config, turned in zip(tiny.BOTH, (True, False), strict=True):
        model, recorder = tiny.model(config), Recorder()
        model(torch.tensor([5, 5]), cache_of(config), tap=recorder)  # the same token twice
        (k,), (v,) = recorder["k", 0], recorder["v", 0]
        assert torch.equal(v[0], v[1]) == turned  # GPT-2 adds its positions before projecting
        assert k[0].norm().item() == pytest.approx(k[1].norm().item(), rel=1e-9) or not turned
        assert not torch.equal(k[0], k[1])


@pytest.mark.parametrize("rows", [[-1], [1, 4], [5, 0, 0], []])
def test_logits_of_some_rows_only(rows: list[int]) -> None:
    model, ids = tiny.model(), tiny.ids(tiny.LLAMA, 6)
    every, some = model(ids, cache_of(tiny.LLAMA)), model(ids, cache_of(tiny.LLAMA), rows=rows)
    assert some.shape == (len(rows), 53)
    torch.testing.assert_close(some, every[rows], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        ([], r"expected one row of at least one id, got shape \(0,\)"),
        ([3, 53], r"expected ids from 0 to 52, got 53"),
        ([-1, 3], r"expected ids from 0 to 52, got -1"),
        ([1] * 92, r"the model has 96 positions, 97 tokens do not fit"),
    ],
)
def test_what_the_model_cannot_read_leaves_the_cache_as_it_was(ids: list[int], sentence: str) -> None:
    model, cache = tiny.model(), ContiguousCache(tiny.LLAMA, 96, dtype=torch.float64)
    prefill(model, cache, [1, 2, 3, 4, 5])
    kept = cache.k.clone()
    with pytest.raises(ValueError, match=sentence):
        model(torch.tensor(ids, dtype=torch.long), cache)
    assert cache.length == 5
    assert torch.equal(cache.k[:, :5], kept[:, :5])


def test_positions_are_those_of_real_tokens() -> None:
    """Pitfall 46 as far as one unbatched sequence goes: a token's position is the number of tokens before it."""
    model, recorder = tiny.model(), Recorder()
    cache = cache_of(tiny.LLAMA)
    prefill(model, cache, [7, 8, 9])
    cache.truncate(1)
    decode_step(model, cache, 8, tap=recorder)
    fresh = cache_of(tiny.LLAMA)
    prefill(model, fresh, [7, 8])
    torch.testing.assert_close(cache.k[:, 1], fresh.k[:, 1], rtol=0, atol=1e-12)
    assert cache.length == 2


def test_the_model_has_no_state_of_its_own() -> None:
    model, one, other = tiny.model(), cache_of(tiny.LLAMA), cache_of(tiny.LLAMA)
    prefill(model, one, [1, 2, 3])
    prefill(model, other, [9, 8])
    expected = decode_step(model, one, 4)
    one.truncate(3)
    decode_step(model, other, 5)
    assert torch.equal(decode_step(model, one, 4), expected)


@pytest.mark.parametrize("config", tiny.BOTH)
def test_how_the_given_weights_lie_in_memory_does_not_matter(config: ModelConfig) -> None:
    turned = {name: w.T.contiguous().T if w.ndim == 2 else w for name, w in tiny.weights(config).items()}
    ids = tiny.ids(config, 5)
    one, other = Transformer(config, turned), tiny.model(config)
    assert torch.equal(one(ids, NoCache(config)), other(ids, NoCache(config)))
    assert torch.equal(one(ids[:1], NoCache(config)), other(ids[:1], NoCache(config)))


def test_a_model_in_bfloat16_runs() -> None:
    """Pitfall 51 end to end: mixed products of wide tables and narrow rows."""
    for config in tiny.BOTH:
        low, high = tiny.model(config, dtype=torch.bfloat16), tiny.model(config, dtype=torch.float32)
        ids = tiny.ids(config, 9)
        cache = ContiguousCache(config, 12, dtype=torch.bfloat16)
        logits = low(ids, cache)
        assert logits.dtype == torch.bfloat16
        assert decode_step(low, cache, 1).isfinite().all()
        exact = high(ids, NoCache(config))
        assert ((logits.float() - exact).norm() / exact.norm()).item() < 0.1


@pytest.mark.parametrize("change", [{"layers": 4}, {"layers": 2}, {"kv_heads": 3}, {"head_dim": 12}])
@pytest.mark.parametrize("kind", [cache_of, lambda config: ConcatCache(config, dtype=torch.float64), NoCache])
def test_a_cache_made_for_another_model_is_refused(kind, change: dict[str, int]) -> None:
    cache = kind(tiny.variant(tiny.LLAMA, **change))
    before = cache.nbytes, getattr(cache, "copied_bytes", 0)
    with pytest.raises(ValueError, match=r"cache: expected one for \(3, 2, 10\) layers, KV heads and head_dim, got one for"):
        prefill(tiny.model(), cache, [1, 2, 3])
    assert (cache.length, before) == (0, (cache.nbytes, getattr(cache, "copied_bytes", 0)))
