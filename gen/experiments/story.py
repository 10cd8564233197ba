"""A short list of actions, carried out by `kvref.plan.manager`: what the pool and the tables are after each.

The actions are those of the pool that a reader drives (docs/assets/js/blocks/actions.js), so that both can be compared:
``n`` and a name begin a request of that text; ``d`` and a letter decode its next token, ``w`` write another one, ``f`` fork it,
``e`` finish it. Letters are given out in order. Knows token ids and no model.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from kvref.errors import OutOfBlocks
from kvref.plan.manager import Copy, KVManager


@dataclass(frozen=True)
class Source:
    """A text that a request can be: its prompt, what follows, and what else could follow, by position."""

    ids: Sequence[int]
    prompt_tokens: int
    others: Mapping[int, int] = field(default_factory=dict)


@dataclass
class Told:
    """A request that is live: its text and the tokens that it has."""

    source: Source
    ids: list[int]


class Story:
    """Plays actions on a manager and keeps what came of each."""

    def __init__(self, manager: KVManager, sources: Mapping[str, Source]) -> None:
        self.manager = manager
        self.sources = sources
        self.live: dict[str, Told] = {}
        self.done: list[dict[str, Any]] = []
        self.copies: tuple[Copy, ...] = ()  # that the last action asked for
        self._made = 0

    def play(self, script: str) -> list[dict[str, Any]]:
        """Carry out the actions of a script, separated by dots, as far as there is room; what was kept of all."""
        with suppress(OutOfBlocks):
            for code in script.split("."):
                self.act(code)
        return self.done

    @property
    def script(self) -> str:
        """The actions that were carried out."""
        return ".".join(one["code"] for one in self.done)

    def act(self, code: str) -> None:
        """Carry out one action. Raises what the manager raises."""
        before, self.copies = len(self.manager.log), ()
        {"n": self._begin, "d": self._decode, "w": self._write_other, "f": self._fork, "e": self._end}[code[0]](code[1:])
        self.manager.check()
        self.done.append({"code": code, "events": [one.as_dict() for one in self.manager.log][before:], **self.state()})

    def state(self) -> dict[str, Any]:
        """Tables, how many hold each block that is held, and the order in which the others will be taken."""
        pool, index = self.manager.pool, self.manager.index
        return {
            "tables": {name: list(self.manager.table(name)) for name in self.live},
            "refs": {str(block): refs for block in range(pool.total_blocks) if (refs := pool.ref_count(block))},
            "free": list(pool.free_order()),
            "idle": list(index.idle_order()),
        }

    def _letter(self) -> str:
        self._made += 1
        return chr(ord("A") + self._made - 1)

    def _begin(self, name: str) -> None:
        source = self.sources[name]
        ids = list(source.ids[: source.prompt_tokens])
        needed, available = self.manager.blocks_to_admit(ids), self.manager.available_blocks
        if needed > available:
            raise OutOfBlocks(needed, available)
        letter = self._letter()
        cached = self.manager.admit(letter, ids)
        self.live[letter] = Told(source, ids[:cached])
        self._write(letter, ids[cached:])

    def _write(self, letter: str, ids: list[int]) -> None:
        one = self.live[letter]
        self.copies = self.manager.append(letter, ids).copies
        one.ids += ids
        self.manager.confirm(letter, len(one.ids))

    def _decode(self, letter: str) -> None:
        one = self.live[letter]
        if len(one.ids) < len(one.source.ids):  # else the recording ends here
            self._write(letter, [one.source.ids[len(one.ids)]])

    def _write_other(self, letter: str) -> None:
        one = self.live[letter]
        if len(one.ids) in one.source.others:
            self._write(letter, [one.source.others[len(one.ids)]])

    def _fork(self, parent: str) -> None:
        letter, source = self._letter(), self.live[parent]
        kept = self.manager.fork(parent, letter)
        self.live[letter] = Told(source.source, source.ids[:kept])
        if kept < len(source.ids):
            self._write(letter, source.ids[kept:])

    def _end(self, letter: str) -> None:
        del self.live[letter]
        self.manager.free(letter)
