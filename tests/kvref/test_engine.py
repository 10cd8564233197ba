"""Many requests through a tiny model: the tokens of each are those it gets alone, and nothing is lost on the way."""

from dataclasses import replace

import pytest
import torch

from kvref.cache.contiguous import ContiguousCache
from kvref.cache.paged import PagedCache
from kvref.engine import Engine
from kvref.generate import generate, prefill
from kvref.plan.manager import DESIGNS, KVManager
from kvref.plan.request import Request
from kvref.plan.scheduler import Scheduler
from kvref.sampling import Sampler
from tests.kvref import serving, tiny

CONFIG = tiny.LLAMA
MODEL = tiny.model()
PROMPT = tuple(tiny.ids(CONFIG, 12).tolist())


def replies(engine: Engine) -> dict[str, list[int]]:
    """Run to the end; the tokens of each request, as they came."""
    came: dict[str, list[int]] = {}
    for output in engine.run():
        came.setdefault(output.request_id, []).append(output.token_id)
    assert engine.occupancy == 0
    engine.scheduler.manager.check()
    return came


def alone(request: Request) -> list[int]:
    return list(generate(MODEL, list(request.prompt_ids), request.max_new_tokens, stop_ids=request.stop_ids))


def test_tokens_come_one_by_one_and_are_kept() -> None:
    requests = serving.mixed(5, CONFIG.vocab_size)
    engine = serving.engine(MODEL, requests)
    came = replies(engine)
    for request in requests:
        reply = engine.reply(request.id)
        assert list(reply.token_ids) == came[request.id] == alone(request)
        assert (reply.finish_reason, reply.text, reply.prompt_logprobs) == ("length", "", None)


def test_a_request_may_come_at_any_time() -> None:
    first, second = serving.mixed(2, CONFIG.vocab_size, seed=3, reply=10)
    engine = serving.engine(MODEL, [replace(first, max_new_tokens=6)])
    engine.step()
    engine.step()
    engine.submit(second)
    came = replies(engine)
    assert came[second.id] == alone(second)
    assert not engine.busy
    assert engine.step() == ()


@pytest.mark.parametrize("preemption", ["recompute", "swap"])
@pytest.mark.parametrize("at", range(1, 8))
def test_preempted_at_any_step_a_reply_is_what_it_would_have_been(at: int, preemption: str) -> None:
    """Pitfall 30: prompt 3, preempted after some tokens: each token once, the original maximum, the same reply."""
    request = Request("r", PROMPT[:3], 8)
    engine = serving.engine(MODEL, [request], preemption=preemption)
    outputs = [output for _ in range(at) for output in engine.step()]
    serving.preempt(engine, "r")
    outputs += engine.run()
    assert [output.token_id for output in outputs] == alone(request)
    assert engine.reply("r").preemptions == 1
    assert engine.reply("r").cached_tokens == 0
    assert engine.hit_rate == 0  # pitfall 40: what it finds of its own is no hit


def test_preempted_again_and_again_in_a_pool_that_is_too_small() -> None:
    requests = [Request(name, PROMPT[:number], 12) for number, name in enumerate("abcd", 3)]
    for preemption in ("recompute", "swap"):
        engine = serving.engine(MODEL, requests, blocks=9, preemption=preemption)
        came = replies(engine)
        assert engine.preemptions == sum(engine.reply(request.id).preemptions for request in requests) > 0
        assert all(came[request.id] == alone(request) for request in requests)


# Seeds.

SEEDED = Request("seeded", PROMPT[:5], 10, temperature=1.5, top_k=40, top_p=0.95, seed=42)


def test_a_seed_gives_the_same_tokens_wherever_the_request_is_in_the_pass() -> None:
    """Pitfall 39: alone, first, last, beside others with and without a seed, in chunks."""
    sampler = Sampler(1.5, 40, 0.95, 42)
    expected = list(generate(MODEL, list(SEEDED.prompt_ids), 10, sampler=sampler))
    others = [Request("free", PROMPT, 9, temperature=2.0), Request("other", PROMPT[3:], 12, temperature=1.0, seed=7)]
    for requests in ([SEEDED], [SEEDED, *others], [*others, SEEDED], [others[0], SEEDED, others[1]]):
        for chunk in (None, 2):
            assert replies(serving.engine(MODEL, requests, chunk=chunk))["seeded"] == expected


@pytest.mark.parametrize("preemption", ["recompute", "swap"])
def test_a_seed_gives_the_same_tokens_after_preemption(preemption: str) -> None:
    expected = replies(serving.engine(MODEL, [SEEDED]))["seeded"]
    for at in (1, 4):
        engine = serving.engine(MODEL, [SEEDED], preemption=preemption)
        outputs = [output for _ in range(at) for output in engine.step()]
        serving.preempt(engine, "seeded")
        assert [output.token_id for output in (*outputs, *engine.run())] == expected


def test_without_a_seed_two_requests_differ_and_with_seeds_of_their_own_too() -> None:
    free = [replace(SEEDED, id=str(number), seed=None, temperature=9.0, top_k=None, top_p=None) for number in range(4)]
    came = replies(serving.engine(MODEL, free))
    assert len({tuple(tokens) for tokens in came.values()}) > 1
    numbered = [replace(one, seed=int(one.id)) for one in free]
    one, other = replies(serving.engine(MODEL, numbered)), replies(serving.engine(MODEL, numbered[::-1]))
    assert one == other
    assert len({tuple(tokens) for tokens in one.values()}) > 1


# How a reply ends, and its text.

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def spell(ids) -> str:
    """A letter for each id; 26 to 51 are the same letters in capitals."""
    return "".join(LETTERS[i % 26].upper() if i >= 26 else LETTERS[i % 26] for i in ids)


def test_a_stop_id_ends_a_reply_and_is_not_in_its_text() -> None:
    tokens = alone(Request("r", PROMPT, 9))
    stop = tokens[3]
    engine = serving.engine(MODEL, [Request("r", PROMPT, 9, stop_ids=(stop,))], detokenize=spell)
    came = replies(engine)["r"]
    reply = engine.reply("r")
    assert came == list(reply.token_ids) == tokens[: tokens.index(stop) + 1]
    assert (reply.finish_reason, reply.text) == ("stop", spell(came[:-1]))


@pytest.mark.parametrize("first", [0, 1, 4])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_stop_text_may_span_tokens_and_is_never_shown(first: int, length: int) -> None:
    tokens = alone(Request("r", PROMPT, 9))
    text = spell(tokens)
    stop = text[first : first + length]
    engine = serving.engine(MODEL, [Request("r", PROMPT, 9, stop_texts=("0", stop))], detokenize=spell)
    outputs = list(engine.run())
    shown = text[: text.index(stop)]
    assert "".join(output.text for output in outputs) == shown
    reply = engine.reply("r")
    assert (reply.text, reply.finish_reason) == (shown, "stop")
    assert len(reply.token_ids) == text.index(stop) + length
    assert [output.finish_reason for output in outputs] == [None] * (len(outputs) - 1) + ["stop"]
    assert engine.occupancy == 0


def test_a_stop_text_that_the_last_token_completes_is_a_stop() -> None:
    tokens = alone(Request("r", PROMPT, 4))
    engine = serving.engine(MODEL, [Request("r", PROMPT, 4, stop_texts=(spell(tokens)[2:],))], detokenize=spell)
    replies(engine)
    assert (engine.reply("r").finish_reason, engine.reply("r").text) == ("stop", spell(tokens)[:2])


def test_what_may_begin_a_stop_text_is_shown_late_but_shown() -> None:
    tokens = alone(Request("r", PROMPT, 5))
    text = spell(tokens)
    engine = serving.engine(MODEL, [Request("r", PROMPT, 5, stop_texts=(text[1:3] + "0", text[3:] + "0"))], detokenize=spell)
    outputs = list(engine.run())
    assert "".join(output.text for output in outputs) == text == engine.reply("r").text
    assert outputs[1].text == ""
    assert outputs[-1].finish_reason == "length"


def test_bytes_of_an_incomplete_character_are_held_back() -> None:
    """A character of three bytes, one a token: nothing is shown before the third."""
    tokens = alone(Request("r", PROMPT, 5))

    def of_bytes(ids) -> str:
        return ("x" + "€").encode()[: len(ids)].decode(errors="replace") + "." * max(0, len(ids) - 4)

    engine = serving.engine(MODEL, [Request("r", PROMPT, 5)], detokenize=of_bytes)
    assert [output.text for output in engine.run()] == ["x", "", "", "€", "."]
    cut = serving.engine(MODEL, [Request("r", PROMPT, 3)], detokenize=of_bytes)
    assert "".join(output.text for output in cut.run()) == "x\ufffd" == cut.reply("r").text
    assert len(tokens) == 5


# Prompt log-probabilities.


def logprobs_of(prompt: tuple[int, ...]) -> torch.Tensor:
    logits = MODEL(torch.tensor(prompt), ContiguousCache(CONFIG, 40, dtype=torch.float64))
    every = logits[:-1].log_softmax(-1)
    return every.gather(1, torch.tensor(prompt[1:])[:, None]).flatten()


@pytest.mark.parametrize("chunk", [None, 1, 3, 5])
def test_log_probabilities_of_a_prompt_twice(chunk: int | None) -> None:
    """Pitfall 25: the same 12 tokens twice: 11 values each time; nothing is read from the cache, but it may be written."""
    engine = serving.engine(MODEL, chunk=chunk)
    for name in "ab":
        engine.submit(Request(name, PROMPT, 3, prompt_logprobs=True))
        replies(engine)
        reply = engine.reply(name)
        assert reply.cached_tokens == 0
        assert len(reply.prompt_logprobs) == 11
        torch.testing.assert_close(torch.tensor(reply.prompt_logprobs).double(), logprobs_of(PROMPT), rtol=0, atol=1e-6)
    engine.submit(Request("c", PROMPT, 3))
    replies(engine)
    assert engine.reply("c").cached_tokens == 8
    assert engine.reply("c").prompt_logprobs is None
    assert engine.reply("a").token_ids == engine.reply("b").token_ids == engine.reply("c").token_ids


@pytest.mark.parametrize("preemption", ["recompute", "swap"])
@pytest.mark.parametrize("at", [1, 2, 3, 5])
def test_log_probabilities_of_a_prompt_that_was_preempted(preemption: str, at: int) -> None:
    request = Request("r", PROMPT, 4, prompt_logprobs=True)
    engine = serving.engine(MODEL, [request, Request("s", PROMPT[:1], 2, prompt_logprobs=True)], chunk=4, preemption=preemption)
    for _ in range(at):
        engine.step()
    serving.preempt(engine, "r")
    replies(engine)
    values = torch.tensor(engine.reply("r").prompt_logprobs).double()
    torch.testing.assert_close(values, logprobs_of(PROMPT), rtol=0, atol=1e-6)
    assert engine.reply("s").prompt_logprobs == ()
    assert list(engine.reply("r").token_ids) == alone(request)


# Aborts and failures.


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("steps", range(7))
def test_aborted_at_any_point_a_request_gives_back_all_it_had(steps: int, design: str) -> None:
    """Pitfall 27: queued, in the middle of its prompt, in its reply: the pool is as it was, the others' tokens too."""
    other = Request("other", PROMPT[:6], 9)
    engine = serving.engine(MODEL, [other, Request("gone", PROMPT, 4)], chunk=5, design=design)
    came = [output for _ in range(steps) for output in engine.step()]
    if engine.scheduler.report("gone").status == "finished":
        with pytest.raises(ValueError, match="'gone' ended before"):
            engine.abort("gone")
    else:
        engine.abort("gone")
        assert engine.reply("gone").finish_reason == "abort"
    used = engine.cache.manager.pool.used_blocks
    assert used == len({block for name in engine.cache.manager.requests for block in engine.cache.manager.table(name)})
    serving.poison(engine.cache)
    came += engine.run()
    assert [output.token_id for output in came if output.request_id == "other"] == alone(other)
    assert engine.occupancy == 0
    engine.cache.manager.check()


class Broken(RuntimeError):
    pass


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("where", ["forward", "sampler", "detokenize"])
def test_a_step_that_fails_is_run_again_and_nothing_has_happened(where: str, design: str, monkeypatch) -> None:
    requests = [replace(one, temperature=1.2, seed=int(one.id)) for one in serving.mixed(6, CONFIG.vocab_size, seed=2)]
    settings = {"blocks": 14, "chunk": 5, "design": design, "preemption": "swap"}
    expected = replies(serving.engine(MODEL, requests, **settings))
    engine = serving.engine(MODEL, requests, detokenize=lambda ids: breaks("detokenize", spell(ids)), **settings)
    calls, failures = {"count": 0}, 0

    def breaks(point: str, value):
        calls["count"] += point == where
        if point == where and calls["count"] in (2, 5, 16, 40):
            raise Broken
        return value

    attend, draw = engine.cache.view_class.attend, Sampler.__call__
    monkeypatch.setattr(engine.cache.view_class, "attend", lambda *a, **k: breaks("forward", attend(*a, **k)))
    monkeypatch.setattr(Sampler, "__call__", lambda self, logits: breaks("sampler", None) or draw(self, logits))
    came: dict[str, list[int]] = {}
    manager = engine.cache.manager
    while engine.busy:
        before = {name: manager.confirmed(name) for name in manager.requests}
        drawn = {name: engine.reply(name).token_ids for name in expected}
        try:
            outputs = engine.step()
        except Broken:
            failures += 1
            assert all(manager.confirmed(name) == before[name] for name in manager.requests if name in before)
            assert drawn == {name: engine.reply(name).token_ids for name in expected}
            manager.check()
            continue
        for output in outputs:
            came.setdefault(output.request_id, []).append(output.token_id)
    assert failures >= 3
    assert came == expected
    assert engine.occupancy == 0


def fail_if(fails: bool, value):
    if fails:
        raise Broken
    return value


def test_what_moves_before_a_step_moves_once_however_often_it_fails(monkeypatch) -> None:
    """The blocks that were swapped out have been written over since."""
    requests = [Request(name, PROMPT[:number], 12) for number, name in enumerate("abcd", 3)]
    engine, moved = serving.engine(MODEL, requests, blocks=9, preemption="swap"), []
    apply = engine.cache.apply
    monkeypatch.setattr(engine.cache, "apply", lambda step: (moved.append(step.number), apply(step)))
    attend, calls = engine.cache.view_class.attend, iter(range(10_000))
    view = engine.cache.view_class
    monkeypatch.setattr(view, "attend", lambda *a, **k: fail_if(next(calls) % 4 == 3, attend(*a, **k)))
    came: dict[str, list[int]] = {}
    while engine.busy:
        try:
            for output in engine.step():
                came.setdefault(output.request_id, []).append(output.token_id)
        except Broken:
            continue
    assert came == {request.id: alone(request) for request in requests}
    assert moved == list(range(1, len(moved) + 1))
    assert engine.preemptions > 0


def test_after_a_failure_a_request_can_be_aborted_and_the_rest_goes_on(monkeypatch) -> None:
    """Also the only one: then there is no pass to run again."""
    for names in ("ab", "a"):
        engine = serving.engine(MODEL, [Request(name, PROMPT[number:], 5) for number, name in enumerate(names)])
        free = engine.cache.manager.pool.free_blocks
        with monkeypatch.context() as patch:
            patch.setattr(engine.cache.view_class, "attend", lambda *a, **k: fail_if(True, None))
            for _ in range(2):
                with pytest.raises(Broken):
                    engine.step()
        engine.abort("a")
        serving.poison(engine.cache)
        came = replies(engine)
        assert came == ({"b": alone(Request("b", PROMPT[1:], 5))} if names == "ab" else {})
        assert free == engine.cache.manager.pool.free_blocks + engine.cache.manager.pool.idle_blocks


# What is measured.


def test_times_counts_and_shares() -> None:
    ticks = iter(range(1000))
    engine = serving.engine(MODEL, [Request("a", PROMPT, 3), Request("b", PROMPT, 2)], many=1, clock=lambda: next(ticks) / 1000)
    assert engine.hit_rate == 0.0  # nothing was asked for yet
    assert engine.reply("a").ttft_ms is None
    outputs = engine.step()
    assert engine.occupancy == 3 / 60
    outputs += tuple(engine.run())
    a, b = engine.reply("a"), engine.reply("b")
    assert [a.ttft_ms, b.ttft_ms] == pytest.approx([2, 4])  # submitted at 0 and 1; five steps, 2 to 6
    assert [a.itl_ms, b.itl_ms] == [pytest.approx([1, 1]), pytest.approx([1])]
    assert (a.cached_tokens, b.cached_tokens) == (0, 8)
    assert (engine.prompt_tokens, engine.cached_tokens, engine.hit_rate) == (24, 8, pytest.approx(1 / 3))
    assert len(outputs) == 5


def test_two_equal_prompts_in_one_step_compute_both() -> None:
    """Pitfall 26: neither can read what the other is about to write; a third one later finds it."""
    engine = serving.engine(MODEL, [Request(name, PROMPT, 4) for name in "ab"])
    came = replies(engine)
    assert came["a"] == came["b"] == alone(Request("a", PROMPT, 4))
    assert engine.hit_rate == 0
    engine.submit(Request("c", PROMPT, 4))
    assert replies(engine)["c"] == came["a"]
    assert engine.reply("c").cached_tokens == 8


@pytest.mark.parametrize("preemption", ["recompute", "swap"])
def test_a_prompt_counts_once_for_the_hit_rate(preemption: str) -> None:
    """Pitfall 40: what was found when the request first came, not what it finds of its own."""
    engine = serving.engine(MODEL, [Request("a", PROMPT, 3), Request("b", PROMPT, 6)], many=1, preemption=preemption)
    while len(engine.reply("b").token_ids) < 3:
        engine.step()
    serving.preempt(engine, "b")
    replies(engine)
    assert (engine.reply("b").cached_tokens, engine.reply("b").preemptions) == (8, 1)
    assert (engine.prompt_tokens, engine.cached_tokens) == (24, 8)


def test_a_reply_is_kept_until_it_is_forgotten() -> None:
    engine = serving.engine(MODEL, [Request("a", PROMPT, 2)])
    with pytest.raises(ValueError, match="expected one that ended, got 'a', which is waiting"):
        engine.forget("a")
    replies(engine)
    assert engine.forget("a").finish_reason == "length"
    engine.submit(Request("a", PROMPT, 1))
    assert len(replies(engine)["a"]) == 1


# What is refused.


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (Request("r", (1, 53), 2), "prompt_ids: expected ids from 0 to 52, got 53"),
        (Request("r", (1,) * 90, 8), "request 'r': it needs 97 positions; the model has 96"),
        (Request("r", (1,), 2, stop_texts=("a",)), "stop_texts: expected none, as the engine was made without detokenize"),
        (Request("there", (1,), 2), "id: expected one that is not known yet, got 'there'"),
        (Request("r", (1,) * 60, 37), r"need 24 blocks of 4 tokens; one request can have 20"),
    ],
)
def test_a_request_that_can_never_be_served_is_refused(request_: Request, sentence: str) -> None:
    there = Request("there", PROMPT, 3)
    engine = serving.engine(MODEL, [there], blocks=20)
    with pytest.raises(ValueError, match=sentence):
        engine.submit(request_)
    assert replies(engine) == {"there": alone(there)}


def test_parts_that_do_not_belong_together_are_refused() -> None:
    manager, other = KVManager(8, 4), KVManager(8, 4)
    scheduler = Scheduler(manager, token_budget=8, max_requests=2)
    with pytest.raises(ValueError, match="cache: expected one over the blocks of the scheduler's manager"):
        Engine(MODEL, scheduler, PagedCache(CONFIG, other, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"cache: expected one for \(3, 2, 10\)"):
        Engine(MODEL, scheduler, PagedCache(tiny.GPT2, manager, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"cache: expected torch\.float64, as the model's weights are, got torch\.float32"):
        Engine(MODEL, scheduler, PagedCache(CONFIG, manager))
    assert prefill(MODEL, PagedCache(CONFIG, manager, dtype=torch.float64).sequence("a"), [1]).shape == (53,)
