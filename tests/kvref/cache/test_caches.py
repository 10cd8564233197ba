"""What all caches promise, and what each costs."""

import pytest
import torch

from kvref.cache.concat import ConcatCache
from kvref.cache.contiguous import ContiguousCache
from kvref.cache.nothing import NoCache
from kvref.cache.paged_view import GatheredView
from kvref.cache.view import DenseView, KVCache, View
from kvref.errors import OutOfCapacity
from kvref.generate import decode_step, generate, prefill
from tests.kvref import serving, tiny

CONFIG = tiny.LLAMA
KEEPING = {
    "contiguous": lambda: ContiguousCache(CONFIG, 32, dtype=torch.float64),
    "concat": lambda: ConcatCache(CONFIG, dtype=torch.float64),
    "paged": lambda: serving.sequence(CONFIG, "full-blocks"),
    "paged, copy-on-write": lambda: serving.sequence(CONFIG, "copy-on-write"),
}


def rows(count: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    shape = (count, CONFIG.kv_heads, CONFIG.head_dim)
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.randn(shape, generator=generator, dtype=torch.float64),
        torch.randn(shape, generator=generator, dtype=torch.float64),
    )


def begin(cache: KVCache, tokens: int) -> list[int]:
    return cache.begin(torch.arange(tokens)).tolist()


def seen(view: View) -> tuple[torch.Tensor, torch.Tensor]:
    return view.gather(view.spans[0]) if isinstance(view, GatheredView) else (view.keys, view.values)


@pytest.fixture(params=sorted(KEEPING))
def cache(request: pytest.FixtureRequest) -> KVCache:
    return KEEPING[request.param]()


def test_they_are_caches_and_give_views(cache: KVCache) -> None:
    assert isinstance(cache, KVCache)
    assert isinstance(NoCache(CONFIG), KVCache)
    begin(cache, 2)
    assert isinstance(cache.append(0, *rows(2)), View)


def test_what_is_appended_is_seen_at_once_and_counted_when_committed(cache: KVCache) -> None:
    (k, v), (more_k, more_v) = rows(3), rows(2, seed=1)
    assert begin(cache, 3) == [0, 1, 2]
    for layer in range(CONFIG.layers):
        cache.append(layer, k, v)
    assert cache.length == 0
    cache.commit(3)
    assert cache.length == 3
    assert begin(cache, 2) == [3, 4]
    view = cache.append(1, more_k, more_v)
    assert torch.equal(seen(view)[0], torch.cat((k, more_k)))
    assert torch.equal(seen(view)[1], torch.cat((v, more_v)))
    assert view.positions.tolist() == [0, 1, 2, 3, 4]
    assert cache.length == 3


def test_a_pass_that_fails_halfway_leaves_no_trace(cache: KVCache) -> None:
    model, prompt = tiny.model(), tiny.ids(CONFIG, 5)
    prefill(model, cache, prompt)

    def broken(name: str, layer: int | None, tensor: torch.Tensor) -> None:
        if (name, layer) == ("scores", 1):
            raise InterruptedError

    before = cache.nbytes, getattr(cache, "copied_bytes", 0)
    with pytest.raises(InterruptedError):
        decode_step(model, cache, 7, tap=broken)
    assert cache.length == 5
    assert before == (cache.nbytes, getattr(cache, "copied_bytes", 0))
    fresh = ContiguousCache(CONFIG, 8, dtype=torch.float64)
    prefill(model, fresh, prompt)
    assert torch.equal(decode_step(model, cache, 9), decode_step(model, fresh, 9))


def test_truncate_forgets_the_end_only(cache: KVCache) -> None:
    model, ids = tiny.model(), tiny.ids(CONFIG, 9).tolist()
    prefill(model, cache, ids)
    cache.truncate(4)
    assert cache.length == 4
    again = prefill(model, cache, ids[4:])
    fresh = ContiguousCache(CONFIG, 9, dtype=torch.float64)
    torch.testing.assert_close(again, prefill(model, fresh, ids), rtol=0, atol=1e-10)
    cache.truncate(0)
    assert cache.length == 0


@pytest.mark.parametrize("length", [-1, 6])
def test_truncating_to_more_than_there_is_is_refused(cache: KVCache, length: int) -> None:
    prefill(tiny.model(), cache, tiny.ids(CONFIG, 5))
    with pytest.raises(ValueError, match=f"expected a whole number from 0 to 5 .*got {length}"):
        cache.truncate(length)
    assert cache.length == 5


@pytest.mark.parametrize(
    ("layer", "shape", "sentence"),
    [(3, (1, 2, 10), "layer: expected 0 to 2, got 3"), (-1, (1, 2, 10), "layer"), (0, (1, 10, 2), "k, v: expected")],
)
def test_rows_of_another_model_are_refused(cache: KVCache, layer: int, shape: tuple[int, ...], sentence: str) -> None:
    k = torch.zeros(shape, dtype=torch.float64)
    begin(cache, len(k))
    with pytest.raises(ValueError, match=sentence):
        cache.append(layer, k, k)


def test_a_cache_of_another_precision_is_refused(cache: KVCache) -> None:
    with pytest.raises(ValueError, match=r"expected torch\.float64, which this cache was made for, got torch\.float32"):
        prefill(tiny.model(dtype=torch.float32), cache, [1, 2])
    assert cache.length == 0


def test_a_full_cache_says_so_and_keeps_what_it_has() -> None:
    model, cache = tiny.model(), ContiguousCache(CONFIG, 6, dtype=torch.float64)
    prefill(model, cache, tiny.ids(CONFIG, 5))
    kept = cache.k[:, :5].clone()
    with pytest.raises(OutOfCapacity, match=r"The cache holds 6 tokens; 7 do not fit\."):
        prefill(model, cache, [1, 2])
    assert cache.length == 5
    assert torch.equal(cache.k[:, :5], kept)
    decode_step(model, cache, 1)
    assert cache.length == 6


def test_rows_never_written_are_never_read() -> None:
    """NaN in every free row stays there."""
    model, cache = tiny.model(), ContiguousCache(CONFIG, 16, dtype=torch.float64)
    cache.k.fill_(torch.nan)
    cache.v.fill_(torch.nan)
    assert prefill(model, cache, tiny.ids(CONFIG, 5)).isfinite().all()
    assert decode_step(model, cache, 3).isfinite().all()
    assert cache.k[:, :6].isfinite().all()
    assert cache.k[:, 6:].isnan().all()


def test_the_bytes_are_those_really_held() -> None:
    numbers = 2 * CONFIG.layers * CONFIG.kv_heads * CONFIG.head_dim
    assert ContiguousCache(CONFIG, 32).nbytes == 32 * numbers * 4
    cache = ConcatCache(CONFIG, dtype=torch.float64)
    assert cache.nbytes == 0
    prefill(tiny.model(), cache, tiny.ids(CONFIG, 5))
    assert cache.nbytes == 5 * numbers * 8
    cache.truncate(2)
    assert cache.nbytes == 2 * numbers * 8
    assert NoCache(CONFIG).nbytes == 0


def test_concatenating_copies_every_earlier_row_at_every_step() -> None:
    """After a prompt of 5 and steps to 9 tokens: 5 + 6 + 7 + 8 rows were copied, in every layer."""
    model, cache = tiny.model(), ConcatCache(CONFIG, dtype=torch.float64)
    prefill(model, cache, tiny.ids(CONFIG, 5))
    assert cache.copied_bytes == 0
    for token_id in (1, 2, 3, 4):
        decode_step(model, cache, token_id)
    row_bytes = 2 * CONFIG.layers * CONFIG.kv_heads * CONFIG.head_dim * 8
    assert cache.copied_bytes == (5 + 6 + 7 + 8) * row_bytes


def test_a_shared_prefix_is_not_changed_by_those_who_continue_it() -> None:
    """Pitfall 49: a system prompt of 6 tokens, three turns from it, each as if it were alone."""
    model, system = tiny.model(), tiny.ids(CONFIG, 6).tolist()
    shared = ContiguousCache(CONFIG, 32, dtype=torch.float64)
    prefill(model, shared, system)
    kept = shared.k[:, :6].clone(), shared.v[:, :6].clone()
    for turn in ([3, 1], [8], [5, 5, 2]):
        reply = list(generate(model, turn, 4, cache=shared))
        shared.truncate(6)
        assert reply == list(generate(model, system + turn, 4))
        assert shared.length == 6
        assert torch.equal(shared.k[:, :6], kept[0])
        assert torch.equal(shared.v[:, :6], kept[1])


def test_the_cache_keeps_its_own_copy_of_rows(cache: KVCache) -> None:
    """Pitfall 49, other side: who appends may reuse the tensors."""
    k, v = rows(3)
    begin(cache, 3)
    view = cache.append(0, k, v)
    expected = k.clone()
    k.zero_()
    assert torch.equal(seen(view)[0], expected)


def test_a_view_without_the_causal_mask_can_be_put_in() -> None:
    class Open(DenseView):
        causal = False

    class OpenCache(ContiguousCache):
        view_class = Open

    model, ids = tiny.model(), tiny.ids(CONFIG, 5)
    closed, opened = ContiguousCache(CONFIG, 8, dtype=torch.float64), OpenCache(CONFIG, 8, dtype=torch.float64)
    prefill(model, closed, ids)
    prefill(model, opened, ids)
    assert torch.equal(closed.k[0, :5], opened.k[0, :5])  # keys of layer 0 depend on token and position alone
    assert (closed.k[1, :4] - opened.k[1, :4]).abs().max() > 0.01


def test_a_capacity_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="capacity_tokens: expected a whole number of at least 1, got 0"):
        ContiguousCache(CONFIG, 0)


@pytest.mark.parametrize("tokens", [-3, 0, 1, 3, 99])
def test_only_what_every_layer_appended_can_be_committed(cache: KVCache, tokens: int) -> None:
    with pytest.raises(ValueError, match=r"tokens: expected"):
        cache.commit(tokens)
    begin(cache, 2)
    for layer in range(CONFIG.layers):
        cache.append(layer, *rows(2))
        with pytest.raises(ValueError, match=r"tokens: expected"):
            cache.commit(tokens if layer == CONFIG.layers - 1 else 2)
    assert cache.length == 0
    cache.commit(2)
    with pytest.raises(ValueError, match=r"tokens: expected as many as every layer has appended, got 2; layer 0 has 0"):
        cache.commit(2)
    assert cache.length == 2
