"""Arguments of the wrong type, as a caller without a type checker gives them: one sentence each.

The other tests run with types checked at every call, which would answer first; so these run in a Python of their own.
"""

import json
import subprocess
import sys

import pytest

SETUP = """
import json, sys
import torch
from kvref.cache.concat import ConcatCache
from kvref.cache.contiguous import ContiguousCache
from kvref.generate import decode_step, generate, generate_uncached, prefill
from fractions import Fraction
from kvref.cache.paged import PagedCache
from kvref.engine import Engine
from kvref.plan import cost, memory
from kvref.plan.blocks import BlockPool
from kvref.plan.manager import KVManager
from kvref.plan.request import Request
from kvref.plan.scheduler import Scheduler
from kvref.plan.trace import default_trace, read_trace
from kvref.sampling import Sampler, logprobs
from tests.kvref import tiny

CONFIG = tiny.LLAMA
MODEL = tiny.model(dtype=torch.float32)
CACHES = [ContiguousCache(CONFIG, 9), ConcatCache(CONFIG)]
for cache in CACHES:
    prefill(MODEL, cache, [1, 2])


def engine(request=None, **settings):
    manager = KVManager(9, 4)
    one = Engine(MODEL, Scheduler(manager, token_budget=9, max_requests=2), PagedCache(CONFIG, manager), **settings)
    one.submit(request or Request("a", (1, 2), 2))
    return one


def planned():
    scheduler = engine().scheduler
    return scheduler, scheduler.step()


def reply(request):
    return [output.token_id for output in engine(request).run()]


def spoken(says):
    one = engine(detokenize=lambda ids: says)
    try:
        one.step()
    except ValueError as refused:
        return refused, one.reply("a").token_ids, one.scheduler.report("a").reply_ids


def answer(expression):
    try:
        return f"no error, {eval(expression)!r}"
    except ValueError as refused:
        return str(refused)
    except Exception as other:
        return f"{type(other).__name__}: {other}"


print(json.dumps([answer(expression) for expression in json.loads(sys.argv[1])]))
"""
WHOLE = "expected a whole number of at least"
ROW = {"id": "a", "prompt_ids": [1], "max_new_tokens": 1}
TINY = f"Fraction(1, 1{'0' * 64}"
NO_IDS = "token_ids: expected whole numbers (int64 or int32), got torch.float32."
SENTENCES = {
    "cost.prefill_cost(CONFIG, 1.5, 2)": f"prompt_tokens: {WHOLE} 1, got 1.5.",
    "cost.kv_bytes_per_token(CONFIG, '3')": f"bytes_per_number: {WHOLE} 1, got '3'.",
    "cost.linear_intensity('4', 2)": "batch: expected a finite number above 0, got '4'.",
    "memory.weight_bytes(8.5)": f"parameters: {WHOLE} 1, got 8.5.",
    "Sampler(temperature='1')": "temperature: expected a finite number above 0, got '1'.",
    "Sampler(top_k=2.5)": f"top_k: {WHOLE} 1, got 2.5.",
    "Sampler(top_p='1')": "top_p: expected more than 0 and at most 1, got '1'.",
    "Sampler(seed=1.5)": "seed: expected a whole number from 0 to 2⁶⁴ − 1, got 1.5.",
    "ContiguousCache(CONFIG, 2.5)": f"capacity_tokens: {WHOLE} 1, got 2.5.",
    "CACHES[0].truncate(1.5)": "length: expected a whole number from 0 to 2 (the tokens kept), got 1.5.",
    "CACHES[1].truncate(1.5)": "length: expected a whole number from 0 to 2 (the tokens kept), got 1.5.",
    "CACHES[0].commit(1.0)": f"tokens: {WHOLE} 1, got 1.0.",
    "prefill(MODEL, CACHES[0], [1.7, 2.2])": NO_IDS,
    "prefill(MODEL, CACHES[0], 'ab')": "prompt_ids: expected a sequence of ids, got 'ab'.",
    "prefill(MODEL, CACHES[0], [10**40])": f"prompt_ids: expected a sequence of ids, got [{10**40}].",
    "decode_step(MODEL, CACHES[0], 1.5)": NO_IDS,
    "MODEL(torch.tensor([1.0, 2.0]), CACHES[1])": NO_IDS,
    "generate(MODEL, [1.7, 2.2], 3)": NO_IDS,
    "generate_uncached(MODEL, [1.7, 2.2], 3)": NO_IDS,
    "generate(MODEL, 5, 3)": "token_ids: expected one row of at least one id, got shape ().",
    "generate(MODEL, [1], 2.5)": f"max_new_tokens: {WHOLE} 1, got 2.5.",
    "generate(MODEL, [1], 3, stop_ids=3)": "stop_ids: expected a collection of ids, got 3.",
    "generate_uncached(MODEL, [1], 3, stop_ids='3')": "stop_ids: expected a collection of ids, got '3'.",
    "(CACHES[0].length, CACHES[1].length)": "no error, (2, 2)",
    "logprobs(torch.tensor([[float('nan'), 1.0]]), [0])": "logits: expected finite numbers or minus infinity, got others.",
    "logprobs(torch.tensor([[0.0, float('-inf')]]), [1])": "no error, [-inf]",
    "BlockPool(4, reserve_null=-5)": "reserve_null: expected true or false, got -5.",
    "KVManager(4, 4, prefix_caching='no')": "prefix_caching: expected true or false, got 'no'.",
    "Request('a', (1,), 1, temperature=10**400)": f"temperature: expected a finite number above 0, got 1{'0' * 76}....",
    "Request('a', (1,), 1, temperature=Fraction(1, 10**400))": f"temperature: expected a finite number above 0, got {TINY}....",
    "Request(['a'] * 1000, (1,), 1)": f"id: expected a name, got {str(['a'] * 1000)[:77]}....",
    "Request('a', (1,), -10**5000)": f"max_new_tokens: {WHOLE} 1, got one int that is too long to show.",
    "reply(Request('a', (1,), 2, temperature=Fraction(1, 2), seed=1))"
    " == reply(Request('a', (1,), 2, temperature=0.5, seed=1))": "no error, True",
    f"read_trace([{ROW | {'namespace': {'adapter': 5}}}])": "row 1: namespace: adapter: expected text or None, got 5.",
    "default_trace(3, 5e-324)": "requests_per_second: expected at least 1e-200, got 5e-324.",
    "default_trace(3, 10**400)": f"requests_per_second: expected a finite number above 0, got 1{'0' * 76}....",
    "default_trace(3, 1, vocabulary=10**400)": f"vocabulary: expected a finite number above 0, got 1{'0' * 76}....",
    "max(len(one.prompt_ids) for one in default_trace(3, 1, own_tokens=1e308))": "no error, 304",
    "engine().submit(5)": "request: expected a Request, got 5.",
    "engine().scheduler.submit(None)": "request: expected a Request, got None.",
    "engine().abort(['a'])": "request_id: ['a'] is not known.",
    "engine().scheduler.finish('a', None)": "reason: expected words, got None.",
    "engine().scheduler.commit(None, {})": "step: expected the one planned last and not committed, got None.",
    "(lambda scheduler, step: scheduler.commit(step, [1]))(*planned())": "sampled: expected token ids by request, got [1].",
    "spoken(None)": "no error, (ValueError('detokenize: expected it to return text, got None.'), (), ())",
    "memory.requests_that_fit(100, 10, 0)": "request_bytes: expected a finite number above 0, got 0.",
}


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    command = [sys.executable, "-c", SETUP, json.dumps(list(SENTENCES))]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return dict(zip(SENTENCES, json.loads(ran.stdout), strict=True))


@pytest.mark.parametrize("expression", SENTENCES)
def test_a_wrong_type_is_answered_in_a_sentence(answers: dict[str, str], expression: str) -> None:
    assert answers[expression] == SENTENCES[expression]
