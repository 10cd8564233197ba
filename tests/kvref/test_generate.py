"""One sequence with and without a cache, and what a caller may not ask for."""

import pytest
import torch

from kvref.cache.concat import ConcatCache
from kvref.cache.contiguous import ContiguousCache
from kvref.cache.nothing import NoCache
from kvref.config import ModelConfig
from kvref.generate import decode_step, generate, generate_uncached, prefill
from kvref.sampling import Sampler
from tests.kvref import tiny


@pytest.mark.parametrize("config", tiny.BOTH)
def test_with_and_without_a_cache_the_tokens_are_the_same(config: ModelConfig) -> None:
    model, prompt = tiny.model(config), tiny.ids(config, 5)
    cached = list(generate(model, prompt, 20))
    assert cached == list(generate_uncached(model, prompt, 20))
    assert cached == list(generate(model, prompt.tolist(), 20, cache=ConcatCache(config, dtype=torch.float64)))
    assert len(set(cached)) > 2


def test_sampled_tokens_are_the_same_too() -> None:
    model, prompt = tiny.model(), [1, 2, 3]
    one = list(generate(model, prompt, 20, sampler=Sampler(seed=5, temperature=1.5)))
    assert one == list(generate_uncached(model, prompt, 20, sampler=Sampler(seed=5, temperature=1.5)))
    assert one != list(generate(model, prompt, 20))


def test_a_stop_id_is_given_and_ends_the_reply() -> None:
    model, prompt = tiny.model(), [1, 2, 3]
    reply = list(generate(model, prompt, 20))
    stop = reply[4]
    for way in (generate, generate_uncached):
        assert list(way(model, prompt, 20, stop_ids={stop})) == reply[: reply.index(stop) + 1]


def test_a_cache_is_continued() -> None:
    model, cache = tiny.model(), ContiguousCache(tiny.LLAMA, 32, dtype=torch.float64)
    first = list(generate(model, [1, 2, 3], 4, cache=cache))
    assert cache.length == 3 + 4 - 1  # nothing reads the last token's own row
    second = list(generate(model, [first[-1], 9], 4, cache=cache))
    assert second == list(generate(model, [1, 2, 3, *first, 9], 4))


def test_tokens_come_one_by_one() -> None:
    model, cache = tiny.model(), ContiguousCache(tiny.LLAMA, 32, dtype=torch.float64)
    reply = generate(model, [1, 2, 3], 9, cache=cache)
    assert cache.length == 0
    next(reply)
    assert cache.length == 3
    next(reply)
    assert cache.length == 4


def test_logits_of_one_row() -> None:
    model, cache = tiny.model(), ContiguousCache(tiny.LLAMA, 8, dtype=torch.float64)
    assert prefill(model, cache, [1, 2, 3]).shape == decode_step(model, cache, 4).shape == (53,)


@pytest.mark.parametrize("way", [generate, generate_uncached])
@pytest.mark.parametrize(
    ("prompt", "count", "sentence"),
    [
        ([], 4, "prompt_ids: expected at least one id, got none"),
        ([1], 0, "max_new_tokens: expected a whole number of at least 1, got 0"),
        ([1] * 97, 1, r"the model has 96 positions; 97 tokens and 1 new ones need 97"),
        ([1] * 90, 8, r"the model has 96 positions; 90 tokens and 8 new ones need 97"),
        ([1, 53], 4, "token_ids: expected ids from 0 to 52, got 53"),
    ],
)
def test_a_reply_that_cannot_be_given_is_refused_at_the_call(way, prompt: list[int], count: int, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        way(tiny.model(), prompt, count)


def test_every_position_can_be_used() -> None:
    assert len(list(generate(tiny.model(), [1] * 90, 7))) == 7


def test_a_cache_that_keeps_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="cache: expected one that keeps its rows, got NoCache; generate_uncached"):
        generate(tiny.model(), [1, 2], 4, cache=NoCache(tiny.LLAMA))


def test_a_cache_without_room_for_the_reply_is_refused_at_the_call() -> None:
    model, cache = tiny.model(), ContiguousCache(tiny.LLAMA, 8, dtype=torch.float64)
    with pytest.raises(ValueError, match="cache: expected room for 9 tokens, the prompt and its reply, got 8"):
        generate(model, [1, 2], 8, cache=cache)
    assert len(list(generate(model, [1, 2], 7, cache=cache))) == 7


def test_a_cache_of_another_model_is_refused_at_the_call() -> None:
    with pytest.raises(ValueError, match=r"cache: expected one for \(3, 2, 10\)"):
        generate(tiny.model(), [1, 2], 4, cache=ConcatCache(tiny.GPT2, dtype=torch.float64))
