"""An operation costs the same in a pool of a hundred and of a million blocks: counted in lines of code, and timed.

In a Python of its own, since the checks of types at every call cost more than an operation does.
"""

import json
import subprocess
import sys
from typing import Any

import pytest

MICROSECONDS = 2  # for each operation of the pool, and for each token of a chunk that the manager appends
SMALL, LARGE = 100, 1_000_000
PROGRAM = """
import json, sys, time
from collections import deque
from kvref.plan.blocks import BlockPool
from kvref.plan.manager import KVManager

ROUNDS, TOKENS = 40, 640


def pool_operations(pool):  # 50 of each
    blocks = [pool.allocate() for _ in range(50)]
    for block in blocks: pool.share(block)
    for block in blocks: pool.release(block)
    for block in blocks: pool.release(block, keep=True)
    for block in blocks: pool.reclaim(block)


def a_chunk(manager):
    manager.admit("a", [1])
    manager.append("a", range(TOKENS))
    manager.confirm("a", TOKENS)
    manager.free("a")


def single_tokens(manager):
    manager.admit("b", [1])
    for token in range(64):
        manager.append("b", [token])
        manager.confirm("b", token + 1)
    manager.free("b")


def lines(run, *arguments):
    count = 0
    def trace(frame, event, argument):
        nonlocal count
        count += event == "line"
        return trace
    sys.settrace(trace)
    run(*arguments)
    sys.settrace(None)
    return count


def least_us(run, argument, operations):
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        run(argument)
        times.append(time.process_time() - start)
    return min(times) / operations * 1e6


def measured(total):
    made = [BlockPool(total), *(KVManager(total, 16, prefix_caching=on, log=deque(maxlen=9)) for on in (False, True))]
    plain, caching = made[1:]
    for run, argument in ((pool_operations, made[0]), (a_chunk, plain), (a_chunk, caching), (single_tokens, caching)):
        run(argument)  # the first round fills what is filled once
    return {
        "lines": [lines(pool_operations, made[0]), lines(a_chunk, caching), lines(single_tokens, caching)],
        "pool": least_us(pool_operations, made[0], 250),
        "chunk": least_us(a_chunk, plain, TOKENS),
        "caching": least_us(a_chunk, caching, TOKENS),
        "single": least_us(single_tokens, caching, 2 * 64),
    }


print(json.dumps([measured(int(total)) for total in sys.argv[1:]]))
"""


@pytest.fixture(scope="module")
def measured() -> list[dict[str, Any]]:
    command = [sys.executable, "-c", PROGRAM, str(SMALL), str(LARGE)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    print(ran.stdout)
    both: list[dict[str, Any]] = json.loads(ran.stdout)
    return both


def test_the_same_number_of_steps_whatever_the_size_of_the_pool(measured: list[dict[str, Any]]) -> None:
    small, large = measured
    assert small["lines"] == large["lines"]


def test_an_operation_in_a_large_pool_is_as_fast_as_in_a_small_one(measured: list[dict[str, Any]]) -> None:
    """The least of many rounds, so that a busy machine does not decide; memory that is not in a cache may cost something."""
    small, large = measured
    for name in ("pool", "chunk", "caching", "single"):
        assert large[name] < 3 * small[name], name


def test_two_microseconds_for_an_operation_at_a_million_blocks(measured: list[dict[str, Any]]) -> None:
    large = measured[1]
    assert large["pool"] <= MICROSECONDS
    assert large["chunk"] <= MICROSECONDS
    assert large["caching"] <= MICROSECONDS, "hashes included"
    assert large["single"] <= MICROSECONDS, "a token is appended or confirmed"
