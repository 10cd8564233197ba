"""Traces that are made up, and traces that are read: in a Python without checks of types at every call, as a user has it."""

import json
import math
import subprocess
import sys
from itertools import pairwise

import pytest

from kvref.plan.prefix import Namespace
from kvref.plan.trace import default_trace, read_trace

SETUP = """
import json, sys
from kvref.plan.request import Request
from kvref.plan.trace import default_trace, read_trace

GOOD = {"id": "a", "prompt_ids": [1, 2], "max_new_tokens": 3, "arrival_ms": 5}
NEXT = GOOD | {"id": "b"}


def answer(expression):
    try:
        return f"no error, {eval(expression)!r}"
    except ValueError as refused:
        return str(refused)
    except Exception as other:
        return f"{type(other).__name__}: {other}"


print(json.dumps([answer(expression) for expression in json.loads(sys.argv[1])]))
"""
FIELDS = (
    "id, prompt_ids, max_new_tokens, arrival_ms, stop_ids, stop_texts, temperature, top_k, top_p, seed, namespace, "
    "prompt_logprobs"
)
TIME = "expected a finite number of at least 0"
SENTENCES = {
    "read_trace([GOOD, NEXT | {'arrival_ms': -1}])": f"row 2: arrival_ms: {TIME}, got -1.",
    "read_trace([GOOD | {'arrival_ms': -0.5}])": f"row 1: arrival_ms: {TIME}, got -0.5.",
    "read_trace([GOOD | {'arrival_ms': float('nan')}])": f"row 1: arrival_ms: {TIME}, got nan.",
    "read_trace([GOOD | {'arrival_ms': float('inf')}])": f"row 1: arrival_ms: {TIME}, got inf.",
    "read_trace([GOOD | {'arrival_ms': 10**400}])": f"row 1: arrival_ms: {TIME}, got 1{'0' * 76}....",
    "read_trace([GOOD | {'arrival_ms': '5'}])": f"row 1: arrival_ms: {TIME}, got '5'.",
    "read_trace([GOOD | {'arrival_ms': None}])": f"row 1: arrival_ms: {TIME}, got None.",
    "read_trace([GOOD | {'arrival_ms': True}])": f"row 1: arrival_ms: {TIME}, got True.",
    "read_trace([GOOD, NEXT | {'arrival_ms': 4}])": "row 2: arrival_ms: expected at least 5, the row before's, got 4.",
    "read_trace([GOOD, NEXT, GOOD])": "row 3: id: 'a' is taken by row 1.",
    "read_trace([GOOD | {'id': ''}])": "row 1: id: expected a name, got ''.",
    "read_trace([GOOD | {'id': 7}])": "row 1: id: expected a name, got 7.",
    "read_trace([GOOD | {'prompt_ids': []}])": "row 1: prompt_ids: expected at least 1 token ids, got 0.",
    "read_trace([GOOD | {'prompt_ids': 'ab'}])": "row 1: prompt_ids: expected a tuple of token ids, got 'ab'.",
    "read_trace([GOOD | {'prompt_ids': 5}])": "row 1: prompt_ids: expected a tuple of token ids, got 5.",
    "read_trace([GOOD | {'prompt_ids': [1, -2]}])": "row 1: prompt_ids: expected whole numbers of at least 0, got -2.",
    "read_trace([GOOD | {'prompt_ids': [1, 2.0]}])": "row 1: prompt_ids: expected whole numbers of at least 0, got 2.0.",
    "read_trace([GOOD | {'prompt_ids': [1, None]}])": "row 1: prompt_ids: expected whole numbers of at least 0, got None.",
    "read_trace([GOOD | {'max_new_tokens': 0}])": "row 1: max_new_tokens: expected a whole number of at least 1, got 0.",
    "read_trace([GOOD | {'max_new_tokens': '8'}])": "row 1: max_new_tokens: expected a whole number of at least 1, got '8'.",
    "read_trace([GOOD | {'max_new_tokens': 2.5}])": "row 1: max_new_tokens: expected a whole number of at least 1, got 2.5.",
    "read_trace([GOOD | {'stop_ids': [0.5]}])": "row 1: stop_ids: expected whole numbers of at least 0, got 0.5.",
    "read_trace([GOOD | {'stop_texts': ['']}])": "row 1: stop_texts: expected a tuple of texts that are not empty, got ('',).",
    "read_trace([GOOD | {'temperature': 0}])": "row 1: temperature: expected a finite number above 0, got 0.",
    "read_trace([GOOD | {'top_k': 0}])": "row 1: top_k: expected a whole number of at least 1, got 0.",
    "read_trace([GOOD | {'top_p': 1.5}])": "row 1: top_p: expected more than 0 and at most 1, got 1.5.",
    "read_trace([GOOD | {'seed': -1}])": "row 1: seed: expected a whole number from 0 to 2⁶⁴ − 1, got -1.",
    "read_trace([GOOD | {'namespace': 'x'}])": "row 1: namespace: expected an object with adapter and salt, got 'x'.",
    "read_trace([GOOD | {'namespace': {'user': 'x'}}])": (
        "row 1: namespace: expected an object with adapter and salt, got {'user': 'x'}."
    ),
    "read_trace([GOOD | {'namespace': {'salt': 3}}])": "row 1: namespace: salt: expected text or None, got 3.",
    "read_trace([GOOD | {'prompt_logprobs': 'no'}])": "row 1: prompt_logprobs: expected true or false, got 'no'.",
    "read_trace([GOOD | {'prompt': [1]}])": f"row 1: prompt: no such field; there are {FIELDS}.",
    "read_trace([{'id': 'a', 'prompt_ids': [1]}])": "row 1: max_new_tokens: expected a value, got none.",
    "read_trace([GOOD, 5])": "row 2: expected an object, got int.",
    "read_trace(GOOD)": "rows: expected a list of objects, got dict.",
    "read_trace('abc')": "rows: expected a list of objects, got str.",
    "read_trace(None)": "rows: expected a list of objects, got NoneType.",
    "len(read_trace([GOOD, NEXT]))": "no error, 2",
    "read_trace([])": "no error, ()",
    "Request('a', [1, 2], 3)": "prompt_ids: expected a tuple of token ids, got [1, 2].",
    "Request('a', (1,), 3, namespace=None)": "namespace: expected a Namespace, got None.",
    "default_trace(-1, 2)": "count: expected a whole number of at least 0, got -1.",
    "default_trace(3, 0)": "requests_per_second: expected a finite number above 0, got 0.",
    "default_trace(3, 2, seed='x')": "seed: expected a whole number, got 'x'.",
    "default_trace(3, 2, systems=0)": "systems: expected a whole number of at least 1, got 0.",
    "default_trace(3, 2, reply_tokens=float('nan'))": "reply_tokens: expected a finite number above 0, got nan.",
}


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    command = [sys.executable, "-c", SETUP, json.dumps(list(SENTENCES))]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return dict(zip(SENTENCES, json.loads(ran.stdout), strict=True))


@pytest.mark.parametrize("expression", SENTENCES)
def test_a_mistake_is_answered_in_a_sentence(answers: dict[str, str], expression: str) -> None:
    assert answers[expression] == SENTENCES[expression]


def test_rows_become_requests() -> None:
    row = {"id": "a", "prompt_ids": [1, 2], "max_new_tokens": 3, "stop_ids": [9], "namespace": {"salt": "s"}, "arrival_ms": 2.5}
    (request,) = read_trace([row])
    assert (request.prompt_ids, request.stop_ids, request.namespace) == ((1, 2), (9,), Namespace(salt="s"))
    assert request.rows == 4


def test_the_default_trace_is_the_same_on_every_machine() -> None:
    """Pinned: whoever changes the generator changes every figure that is drawn from it."""
    trace = default_trace(1000, 20.0)
    assert [request.arrival_ms for request in trace[:4]] == [70.911, 153.374, 238.353, 273.453]
    assert [(len(request.prompt_ids), request.max_new_tokens) for request in trace[:4]] == [
        (57, 241),
        (98, 29),
        (67, 4),
        (116, 128),
    ]
    assert sum(sum(request.prompt_ids) for request in trace) == 1_752_820_085
    assert trace == default_trace(1000, 20.0)
    assert trace != default_trace(1000, 20.0, seed=1)


def test_the_default_trace_has_the_distributions_it_states() -> None:
    trace = default_trace(4000, 50.0, own_tokens=20, reply_tokens=60)
    gaps = [later.arrival_ms - earlier.arrival_ms for earlier, later in pairwise(trace)]
    own = [len(request.prompt_ids) - 48 for request in trace]
    replies = [request.max_new_tokens for request in trace]
    for values, mean in ((gaps, 20), (own, 20.5), (replies, 60.5)):  # 1 + the whole part of x is x + 1/2 on average
        found = math.fsum(values) / len(values)
        spread = math.sqrt(math.fsum((value - found) ** 2 for value in values) / len(values))
        assert found == pytest.approx(mean, rel=0.06)
        assert spread == pytest.approx(found, rel=0.1)  # as of an exponential
    assert len({request.prompt_ids[:48] for request in trace}) == 4
    assert min(own) == min(replies) == 1
    assert max(own) <= 256
    assert max(replies) <= 512
