"""Mistakes that a caller can make with blocks and tables: one clear sentence each, and everything as it was.

They run in a Python of their own: here types are checked at every call, which would answer first.
"""

import json
import subprocess
import sys

import pytest

SETUP = """
import json, sys
from kvref.errors import OutOfBlocks
from kvref.plan.blocks import BlockPool
from kvref.plan.manager import DESIGNS, KVManager
from kvref.plan.prefix import Namespace, PrefixIndex


def made(design):
    m = KVManager(4, 4, design=design, host_blocks=2, max_blocks_per_table=4)
    m.admit("a", range(6))
    m.append("a", range(6))
    m.confirm("a", 5)
    m.admit("b", range(9))
    m.append("b", range(4))
    m.confirm("b", 8)
    m.admit("gone", [1])
    m.swap_out(["gone"])
    return m


def state(m):
    m.check()
    tables = [(name, m.table(name), m.tokens(name), m.confirmed(name)) for name in m.requests]
    return tables, m.swapped, m.pool.free_order(), m.index.idle_order(), list(m.log)


def answer(expression, design):
    m = made(design)
    before = state(m)
    try:
        said = f"no error, {eval(expression)!r}"
    except (ValueError, OutOfBlocks) as refused:
        said = str(refused)
    except Exception as other:
        said = f"{type(other).__name__}: {other}"
    return said if state(m) == before else said + " AND THE STATE CHANGED"


print(json.dumps([[answer(expression, design) for expression in json.loads(sys.argv[1])] for design in DESIGNS]))
"""
WHOLE = "expected a whole number"
UNKNOWN = "expected the id of a request with a table, got"
SENTENCES = {
    "KVManager(0, 4)": f"total_blocks: {WHOLE} of at least 1, got 0.",
    "KVManager(-3, 4)": f"total_blocks: {WHOLE} of at least 1, got -3.",
    "KVManager('8', 4)": f"total_blocks: {WHOLE} of at least 1, got '8'.",
    "KVManager(8, 0)": f"block_tokens: {WHOLE} of at least 1, got 0.",
    "KVManager(8, -4)": f"block_tokens: {WHOLE} of at least 1, got -4.",
    "KVManager(8, 4.0)": f"block_tokens: {WHOLE} of at least 1, got 4.0.",
    "KVManager(8, True)": f"block_tokens: {WHOLE} of at least 1, got True.",
    "KVManager(1, 4, reserve_null=True)": f"total_blocks: {WHOLE} of at least 2, got 1.",
    "KVManager(8, 4, host_blocks=-1)": f"host_blocks: {WHOLE} of at least 0, got -1.",
    "KVManager(8, 4, max_blocks_per_table=0)": f"max_blocks_per_table: {WHOLE} of at least 1, got 0.",
    "KVManager(8, 4, design='radix')": "design: expected full-blocks or copy-on-write, got 'radix'.",
    "Namespace(adapter=3)": "adapter: expected text or None, got 3.",
    "Namespace(salt=b'x')": "salt: expected text or None, got b'x'.",
    "m.admit('a', [1])": "request_id: expected a new id, got 'a', which has a table.",
    "m.admit('gone', [1])": "request_id: expected a new id, got 'gone', which has a table.",
    "m.admit(3, [1])": "request_id: expected text, got 3.",
    "m.admit('c', 'text')": "token_ids: expected a sequence of token ids, got 'text'.",
    "m.admit('c', 7)": "token_ids: expected a sequence of token ids, got 7.",
    "m.admit('c', [1, -1])": "token_ids: expected whole numbers of at least 0, got -1.",
    "m.admit('c', [1, 2.0])": "token_ids: expected whole numbers of at least 0, got 2.0.",
    "m.admit('c', [1], 'tenant')": "namespace: expected a Namespace, got 'tenant'.",
    "m.admit('c', range(17))": "token_ids: expected a table of at most 16 tokens (4 blocks), got 17.",
    "m.cached_prefix([None])": "token_ids: expected whole numbers of at least 0, got None.",
    "m.cached_prefix([1], None)": "namespace: expected a Namespace, got None.",
    "m.blocks_to_admit([])": "token_ids: expected at least 1 token ids, got 0.",
    "m.append('c', [1])": f"request_id: {UNKNOWN} 'c'.",
    "m.append(['a'], [1])": f"request_id: {UNKNOWN} ['a'].",
    "m.append('a', [])": "token_ids: expected at least 1 token ids, got 0.",
    "m.append('a', [True])": "token_ids: expected whole numbers of at least 0, got True.",
    "m.append('a', range(11))": "token_ids: expected a table of at most 16 tokens (4 blocks), got 17.",
    "m.append('b', range(5))": "Blocks needed: 2; the pool can give 1.",
    "m.blocks_needed('a', -1)": f"count: {WHOLE} of at least 0, got -1.",
    "m.blocks_needed('c', 1)": f"request_id: {UNKNOWN} 'c'.",
    "m.can_append('a', 1.5)": f"count: {WHOLE} of at least 0, got 1.5.",
    "m.confirm('a', 4)": f"length: {WHOLE} from 5 to 6, got 4.",
    "m.confirm('a', 7)": f"length: {WHOLE} from 5 to 6, got 7.",
    "m.confirm('a', -1)": f"length: {WHOLE} from 5 to 6, got -1.",
    "m.confirm('c', 0)": f"request_id: {UNKNOWN} 'c'.",
    "m.fork('c', 'd')": f"parent: {UNKNOWN} 'c'.",
    "m.fork('b', 'a')": "child: expected a new id, got 'a', which has a table.",
    "m.fork('b', 'b')": "child: expected a new id, got 'b', which has a table.",
    "m.fork('a', 'd')": "request 'a': expected all its tokens to be confirmed, got 5 of 6.",
    "m.truncate('a', -1)": f"length: {WHOLE} from 0 to 6, got -1.",
    "m.truncate('a', 7)": f"length: {WHOLE} from 0 to 6, got 7.",
    "m.truncate('a', '3')": f"length: {WHOLE} from 0 to 6, got '3'.",
    "m.truncate('c', 0)": f"request_id: {UNKNOWN} 'c'.",
    "m.free('c')": f"request_id: {UNKNOWN} 'c'.",
    "m.free(None)": f"request_id: {UNKNOWN} None.",
    "m.length('c')": f"request_id: {UNKNOWN} 'c'.",
    "m.table('gone')": f"request_id: {UNKNOWN} 'gone', which is swapped out.",
    "m.slots('a', 0, 7)": f"stop: {WHOLE} from 0 to 6, got 7.",
    "m.slots('a', 3, 2)": f"stop: {WHOLE} from 3 to 6, got 2.",
    "m.slots('a', -1, 2)": f"start: {WHOLE} from 0 to 6, got -1.",
    "m.swap_out([])": "request_ids: expected a sequence of ids, got [].",
    "m.swap_out('b')": "request_ids: expected a sequence of ids, got 'b'.",
    "m.swap_out(['b', 'b'])": "request_ids: expected each id once, got ['b', 'b'].",
    "m.swap_out(['b', 'c'])": f"request_id: {UNKNOWN} 'c'.",
    "m.swap_out(['b', 'a'])": "request 'a': expected all its tokens to be confirmed, got 5 of 6.",
    "m.swap_in(['b'])": "request_ids: expected ids of requests that are swapped out, got 'b'.",
    "m.swap_in([['gone']])": "request_ids: expected ids of requests that are swapped out, got ['gone'].",
    "m.swap_in_needed(['gone'], -1)": f"count: {WHOLE} of at least 0, got -1.",
    "KVManager(2, 4).append('a', [1])": f"request_id: {UNKNOWN} 'a'.",
    "m.free('b')": "no error, None AND THE STATE CHANGED",  # so a change is seen
}


@pytest.fixture(scope="module")
def answers() -> list[dict[str, str]]:
    command = [sys.executable, "-c", SETUP, json.dumps(list(SENTENCES))]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return [dict(zip(SENTENCES, each, strict=True)) for each in json.loads(ran.stdout)]


@pytest.mark.parametrize("expression", SENTENCES)
def test_a_mistake_is_answered_in_a_sentence(answers: list[dict[str, str]], expression: str) -> None:
    assert [each[expression] for each in answers] == [SENTENCES[expression]] * 2
