"""Random operations on the pool and on the prefix index against lists: every answer and every state must be the same.

Run as a program of its own, ``python -m tests.properties.pool_driver OPERATIONS``: without the checks of types at every call
that the tests have, it does many times as much. Prints what happened as JSON.
"""

import json
import random
import sys
from collections import Counter
from typing import Any

from kvref.errors import OutOfBlocks
from kvref.plan.blocks import BlockPool
from kvref.plan.prefix import Namespace, PrefixIndex, chain_hash
from tests.properties.slow_manager import SlowIndex, SlowPool

STEPS = 400  # operations on one pool or index
SPACES = [Namespace(), Namespace(adapter="x"), Namespace(salt="x")]


def pool(operations: int) -> Counter[str]:
    """On pools of 1 to 12 blocks; ids that do not exist and blocks of the wrong class are among the arguments."""
    did: Counter[str] = Counter()
    for seed in range(operations // STEPS):
        draw = random.Random(seed)
        total, null = draw.randint(2, 12), draw.random() < 0.3
        fast, slow = BlockPool(total, reserve_null=null), SlowPool(total, null)
        for at in range(STEPS):
            kind = draw.choice(("allocate", "allocate", "share", "release", "release", "reclaim"))
            likely = {"share": slow.holds + slow.idle, "release": slow.holds, "reclaim": slow.idle}.get(kind)
            block = draw.choice(likely) if likely and draw.random() < 0.8 else draw.randint(-1, total)
            arguments = [] if kind == "allocate" else [block]
            options = {"keep": draw.random() < 0.5} if kind == "release" else {}
            answers = [_answer(getattr(one, kind), arguments, options) for one in (fast, slow)]
            assert answers[0] == answers[1], (seed, at, kind, arguments, answers)
            assert fast.free_order() == tuple(slow.free), (seed, at, kind, arguments)
            counts = fast.free_blocks, fast.idle_blocks, fast.used_blocks
            assert counts == (len(slow.free), len(slow.idle), len(set(slow.holds))), (seed, at, kind, arguments)
            if at % 20 == 0:
                fast.check()
                assert [fast.ref_count(block) for block in range(total)] == [slow.holds.count(b) for b in range(total)]
            did[f"{kind} {answers[0][0]}"] += 1
    return did


def index(operations: int) -> Counter[str]:
    """On indexes of up to 12 blocks, half of them with equal hashes for everything."""
    did: Counter[str] = Counter()
    for seed in range(operations // STEPS):
        draw = random.Random(seed)
        size = draw.choice((1, 2, 3))
        fast = PrefixIndex(size, chain_hash if seed % 2 else lambda *_: 0)
        slow = SlowIndex(size)
        for at in range(STEPS):
            kind = _one_of_the_index(draw, fast, slow)
            tokens = [draw.randint(0, 1) for _ in range(draw.randint(0, 4 * size))]
            space = draw.choice(SPACES)
            assert fast.match(tokens, space) == tuple(slow.match(tokens, space)), (seed, at, kind)
            assert fast.idle_order() == tuple(slow.idle), (seed, at, kind)
            assert len(fast) == len(slow.content), (seed, at, kind)
            if at % 20 == 0:
                fast.check()
            did[kind] += 1
    return did


def _one_of_the_index(draw: random.Random, fast: PrefixIndex, slow: SlowIndex) -> str:
    absent = [block for block in range(12) if block not in slow.content]
    kind = draw.choice(("insert", "insert", "insert", "retire", "retire", "revive", "evict", "forget"))
    if kind == "insert" and absent:
        block, parent = draw.choice(absent), draw.choice([None, *slow.content])
        space, before = slow.content[parent] if parent is not None else (draw.choice(SPACES), ())
        tokens = [draw.randint(0, 1) for _ in range(slow.size)]
        fast.insert(block, tokens, space, parent)
        slow.insert(block, space, [*before, *tokens])
    elif kind in ("retire", "forget") and slow.held:
        block = draw.choice(slow.held)
        getattr(fast, kind)(block)
        getattr(slow, kind)(block)
    elif kind == "revive" and slow.idle:
        block = draw.choice(slow.idle)
        fast.revive(block)
        slow.revive(block)
    elif kind == "evict" and slow.idle:
        assert fast.evict() == slow.idle[0]
        slow.forget(slow.idle[0])
    else:
        return "nothing"
    return kind


def _answer(operation: Any, arguments: list[int], options: dict[str, bool]) -> tuple[Any, ...]:
    try:
        return "done", operation(*arguments, **options)
    except OutOfBlocks as out:
        return "out", out.needed_blocks, out.available_blocks
    except ValueError:
        return ("refused",)


if __name__ == "__main__":
    print(json.dumps(pool(int(sys.argv[1])) + index(int(sys.argv[1]) // 4)))
