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
from kvref.plan import cost, memory
from kvref.sampling import Sampler
from tests.kvref import tiny

CONFIG = tiny.LLAMA
MODEL = tiny.model(dtype=torch.float32)
CACHES = [ContiguousCache(CONFIG, 9), ConcatCache(CONFIG)]
for cache in CACHES:
    prefill(MODEL, cache, [1, 2])


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
