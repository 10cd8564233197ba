"""Random operations on managers against a slow obvious model: every answer and every state must be the same.

Run as a program of its own, ``python -m tests.properties.manager_driver DESIGN OPERATIONS``: without the checks of types at
every call that the tests have, it does many times as much. Prints what happened as JSON.
"""

import json
import random
import sys
from collections import Counter
from typing import Any

from kvref.errors import OutOfBlocks
from kvref.plan.manager import Grant, KVManager
from kvref.plan.prefix import Namespace
from tests.properties.manager_log import Replay
from tests.properties.slow_manager import SlowManager

STEPS = 150  # operations on one manager
EVERY = 15  # operations between two looks at everything; answers and both orders of blocks are compared after each
NAMES = "abcdef"
KINDS = ("admit", "append", "confirm", "fork", "truncate", "free", "swap_out", "swap_in")
WEIGHTS = (5, 10, 10, 3, 2, 3, 1, 2)
SPACES = [Namespace(), Namespace(), Namespace(), Namespace(adapter="x"), Namespace(salt="x")]


class Episode:
    """A manager and its slow model, driven together; a second manager whose hashes are all equal goes along in some."""

    def __init__(self, design: str, seed: int) -> None:
        draw = self.draw = random.Random(seed)
        self.size = draw.choice((1, 2, 3, 4))
        total, null, caching = draw.randint(2, 20), draw.random() < 0.2, draw.random() < 0.85
        host, limit = draw.choice((0, 4, 12)), draw.choice((None, None, 12 // self.size, 5))
        settings: dict[str, Any] = {"design": design, "prefix_caching": caching, "reserve_null": null}
        settings |= {"host_blocks": host, "max_blocks_per_table": limit}
        self.fast = KVManager(total, self.size, **settings)
        self.dull = KVManager(total, self.size, **settings, hash_function=lambda *_: 7) if seed % 3 == 0 else None
        self.slow = SlowManager(total, self.size, design, caching, null, host, limit)
        self.replay = Replay(total, self.size, null)
        self.read = 0  # events that the replay has seen
        self.texts = [[draw.randint(0, 1) for _ in range(24)] for _ in range(2)]

    def step(self) -> str:
        """One operation on all of them; the answers and then the states must agree. How it went."""
        operation = self.choose()
        logged, left = len(self.fast.log), self.foresee(operation)
        answers = [self.answer(operation, self.fast), self.answer(operation, self.slow)]
        if self.dull:
            answers.append(self.answer(operation, self.dull))
        assert all(answer == answers[0] for answer in answers), (operation, answers)
        if answers[0][0] != "done":
            assert len(self.fast.log) == logged, f"{operation} was refused and logged something."
        elif left is not None:
            assert self.available_after(operation) == left, f"{operation} took other blocks than was said."
        assert self.fast.pool.free_order() == tuple(self.slow.free_list)
        assert self.fast.index.idle_order() == tuple(self.slow.index.idle)
        return answers[0][0]

    def foresee(self, operation: tuple[Any, ...]) -> int | None:
        """Blocks that can be had once it is done, as the manager tells beforehand."""
        kind, *arguments = operation
        try:
            if kind == "append":
                needed = self.fast.blocks_needed(arguments[0], len(arguments[1]))
            elif kind == "swap_in":
                needed = self.fast.swap_in_needed(arguments[0])
            elif kind == "admit":
                needed = self.fast.blocks_to_admit(*arguments[1:])
            else:
                return None
        except ValueError:
            return None
        return self.fast.available_blocks - needed

    def available_after(self, operation: tuple[Any, ...]) -> int:
        """What can be had now; for an admission, once the rest of the prompt is appended too."""
        kind, name, *rest = operation
        further = self.fast.blocks_needed(name, len(rest[0]) - self.fast.length(name)) if kind == "admit" else 0
        return self.fast.available_blocks - further

    def choose(self) -> tuple[Any, ...]:
        draw = self.draw
        there, gone = sorted(self.slow.tables), sorted(self.slow.swapped)
        new = [name for name in NAMES if name not in there and name not in gone]
        kind = draw.choices(KINDS, WEIGHTS)[0]
        if draw.random() < 0.95:  # rather something that can be done
            if not there:
                kind = "admit"
            elif (kind == "swap_in" and not gone) or (kind in ("admit", "fork") and not new):
                kind = "append"
        child = draw.choice(new if new and draw.random() < 0.95 else NAMES)
        name = child if kind == "admit" else draw.choice(there if there and draw.random() < 0.97 else NAMES)
        tokens = self.slow.tables[name].tokens if name in there else []
        if kind == "admit":
            return kind, name, draw.choice(self.texts)[: draw.randint(0, 20)], draw.choice(SPACES)
        if kind == "append":
            return kind, name, self.next_tokens(tokens)
        if kind == "confirm":
            return kind, name, len(tokens) - (draw.randint(1, 4) if draw.random() < 0.2 else 0)
        if kind == "truncate":
            return kind, name, len(tokens) - draw.randint(-1, 7)
        if kind == "fork":
            return kind, name, child
        if kind.startswith("swap"):
            pool = (there if kind == "swap_out" else gone) or [name]
            return kind, draw.sample(pool, draw.randint(1, min(3, len(pool))))
        return kind, name

    def next_tokens(self, tokens: list[int]) -> list[int]:
        """Rather what one of the texts goes on with, so that contents meet."""
        draw = self.draw
        count = draw.choice((1, 1, 1, 2, 3, 5, 9)) if draw.random() < 0.97 else 0
        same = [text for text in self.texts if text[: len(tokens)] == tokens]
        if same and draw.random() < 0.8:
            return same[0][len(tokens) : len(tokens) + count]
        return [draw.randint(0, 1) for _ in range(count)]

    def answer(self, operation: tuple[Any, ...], manager: KVManager | SlowManager) -> tuple[Any, ...]:
        kind, *arguments = operation
        try:
            given = getattr(manager, kind)(*arguments)
            if isinstance(manager, KVManager):
                given = plain(given)
        except OutOfBlocks as out:
            return "out", out.needed_blocks, out.available_blocks
        except (ValueError, KeyError):
            return ("refused",)
        return "done", given

    def compare(self) -> None:
        """Everything: invariants, tables, host, and what a reader of the log would think."""
        fast, slow = self.fast, self.slow
        fast.check()
        self.replay.read(event.as_dict() for event in fast.log[self.read :])
        self.read = len(fast.log)
        assert set(fast.requests) == set(slow.tables)
        assert set(fast.swapped) == set(slow.swapped)
        assert (fast.host.pool.free_order() if fast.host.pool else ()) == tuple(slow.host_free)
        for name, row in (slow.tables | slow.swapped).items():
            assert fast.tokens(name) == tuple(row.tokens)
            assert fast.confirmed(name) == row.confirmed
        for name, row in slow.tables.items():
            assert fast.table(name) == tuple(row.blocks)
        if self.dull:
            assert self.dull.index.idle_order() == fast.index.idle_order()
            assert [self.dull.table(name) for name in fast.requests] == [fast.table(name) for name in fast.requests]
        self.replay.agree(fast)
        if not self.replay.written_into:
            self.tails_go_first()

    def tails_go_first(self) -> None:
        """What stands in the index can be found: a block that precedes an idle one is held, or goes later.

        This holds as long as nobody wrote into a block that could be found, and so always in full-blocks.
        """
        order = {block: at for at, block in enumerate(self.slow.index.idle)}
        for block, at in order.items():
            space, tokens = self.slow.index.content[block]
            before = [b for b, content in self.slow.index.content.items() if content == (space, tokens[: -self.size])]
            if len(tokens) > self.size:
                assert any(order.get(b, len(order)) > at for b in before), f"block {block} would outlive what precedes it."


def plain(given: Any) -> Any:
    """A grant or moves as lists of plain tuples; anything else as it is."""
    if isinstance(given, Grant):
        return list(given.slots), [tuple(copy) for copy in given.copies]
    return [tuple(move) for move in given] if isinstance(given, tuple) else given


def main(design: str, operations: int) -> Counter[str]:
    """So many operations, spread over managers of every size; how often each thing happened."""
    did: Counter[str] = Counter()
    for seed in range(operations // STEPS):
        episode = Episode(design, seed)
        for at in range(STEPS):
            try:
                did[episode.step()] += 1
                if at % EVERY == 0 or at == STEPS - 1:
                    episode.compare()
            except AssertionError as wrong:
                raise AssertionError(f"{design}, seed {seed}, operation {at}: {wrong}") from wrong
        did.update(type(event).__name__ for event in episode.fast.log)
    return did


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
