"""Pool, index and manager in the most obvious way: plain lists, everything recomputed, no hash, no ref count kept."""

from collections.abc import Sequence
from dataclasses import dataclass

from kvref.errors import OutOfBlocks
from kvref.plan.prefix import Namespace


class SlowPool:
    """A list of free blocks, a list of idle ones, and a list with an entry for every hold."""

    def __init__(self, total: int, reserve_null: bool) -> None:
        self.free = list(range(int(reserve_null), total))
        self.idle: list[int] = []
        self.holds: list[int] = []

    def allocate(self) -> int:
        if not self.free:
            raise OutOfBlocks(1, 0)
        block = self.free.pop(0)
        self.holds.append(block)
        return block

    def share(self, block: int) -> int:
        if block in self.idle:
            self.idle.remove(block)
        elif block not in self.holds:
            raise ValueError
        self.holds.append(block)
        return self.holds.count(block)

    def release(self, block: int, keep: bool) -> int:
        self.holds.remove(block)  # raises ValueError for one that nobody holds
        if block not in self.holds:
            (self.idle if keep else self.free).append(block)
        return self.holds.count(block)

    def reclaim(self, block: int) -> None:
        self.idle.remove(block)
        self.free.append(block)


Content = tuple[Namespace, tuple[int, ...]]


class SlowIndex:
    """For every block all tokens up to its end; which blocks are held and which idle, in order."""

    def __init__(self, block_tokens: int) -> None:
        self.size = block_tokens
        self.content: dict[int, Content] = {}
        self.held: list[int] = []
        self.idle: list[int] = []

    def match(self, tokens: Sequence[int], namespace: Namespace) -> list[int]:
        found: list[int] = []
        while (end := (len(found) + 1) * self.size) <= len(tokens):
            same = [b for b in self.held + self.idle if self.content[b] == (namespace, tuple(tokens[:end]))]
            if not same:
                break
            found.append(same[0])
        return found

    def insert(self, block: int, namespace: Namespace, tokens: Sequence[int]) -> None:
        self.content[block] = namespace, tuple(tokens)
        self.held.append(block)

    def retire(self, block: int) -> None:
        self.held.remove(block)
        self.idle.append(block)

    def revive(self, block: int) -> None:
        self.idle.remove(block)
        self.held.append(block)

    def forget(self, block: int) -> None:
        (self.idle if block in self.idle else self.held).remove(block)
        del self.content[block]


@dataclass
class Row:
    """A request: its tokens, its blocks (of the host once it is swapped out), how many tokens are confirmed."""

    namespace: Namespace
    tokens: list[int]
    blocks: list[int]
    confirmed: int


class SlowManager:
    """The manager's rules, written down once more and without a thought of speed. What is refused raises before a change."""

    def __init__(
        self, total: int, size: int, design: str, caching: bool, reserve_null: bool, host: int, limit: int | None
    ) -> None:
        self.size, self.copying, self.caching, self.limit = size, design == "copy-on-write", caching, limit
        self.free_list = list(range(int(reserve_null), total))
        self.index = SlowIndex(size)
        self.host_free = list(range(host))
        self.tables: dict[str, Row] = {}
        self.swapped: dict[str, Row] = {}

    def refs(self, block: int) -> int:
        return sum(row.blocks.count(block) for row in self.tables.values())

    def available(self) -> int:
        return len(self.free_list) + len(self.index.idle)

    def admit(self, name: str, tokens: list[int], namespace: Namespace) -> int:
        if name in self.tables or name in self.swapped or self.too_long(len(tokens)):
            raise ValueError
        found = self.index.match(tokens, namespace) if self.caching else []
        cached = min(len(found) * self.size, max(len(tokens) - 1, 0))
        if not self.copying:
            cached -= cached % self.size
        found = found[: -(-cached // self.size)]
        for block in found:
            if block in self.index.idle:
                self.index.revive(block)
        self.tables[name] = Row(namespace, tokens[:cached], found, cached)
        return cached

    def append(self, name: str, tokens: list[int]) -> tuple[list[int], list[tuple[int, int, int]]]:
        row = self.tables[name]
        if not tokens or self.too_long(len(row.tokens) + len(tokens)):
            raise ValueError
        needed, copying = self.needed(row, len(tokens))
        if needed > self.available():
            raise OutOfBlocks(needed, self.available())
        filled, copies = len(row.tokens) % self.size, []
        if copying:
            old = row.blocks[-1]
            row.blocks[-1] = self.take()
            copies = [(old, row.blocks[-1], filled)]
        elif filled and row.blocks[-1] in self.index.content:
            self.index.forget(row.blocks[-1])
        start = len(row.tokens)
        row.tokens += tokens
        while len(row.blocks) * self.size < len(row.tokens):
            row.blocks.append(self.take())
        slots = [row.blocks[at // self.size] * self.size + at % self.size for at in range(start, len(row.tokens))]
        return slots, copies

    def needed(self, row: Row, count: int) -> tuple[int, bool]:
        copying = count > 0 and len(row.tokens) % self.size > 0 and self.refs(row.blocks[-1]) > 1
        return -(-(len(row.tokens) + count) // self.size) - len(row.blocks) + copying, copying

    def confirm(self, name: str, length: int) -> None:
        row = self.tables[name]
        if not row.confirmed <= length <= len(row.tokens):
            raise ValueError
        row.confirmed = length
        self.publish(row)

    def fork(self, parent: str, child: str) -> int:
        row = self.tables[parent]
        if child in self.tables or child in self.swapped or row.confirmed < len(row.tokens):
            raise ValueError
        length = len(row.tokens) if self.copying else len(row.tokens) // self.size * self.size
        self.tables[child] = Row(row.namespace, row.tokens[:length], row.blocks[: -(-length // self.size)], length)
        return length

    def truncate(self, name: str, length: int) -> int:
        row = self.tables[name]
        if not 0 <= length <= len(row.tokens):
            raise ValueError
        if length < len(row.tokens) and length % self.size and not self.copying:
            block = row.blocks[length // self.size]
            if self.refs(block) > 1 or block in self.index.content:
                length = length // self.size * self.size
        while len(row.blocks) > -(-length // self.size):
            self.drop_last(row)
        row.tokens, row.confirmed = row.tokens[:length], min(row.confirmed, length)
        return length

    def free(self, name: str) -> None:
        if name in self.swapped:
            row = self.swapped[name]
            while row.blocks:
                self.drop_host(row.blocks.pop())
            del self.swapped[name]
            return
        row = self.tables[name]
        while row.blocks:
            self.drop_last(row)
        del self.tables[name]

    def swap_out(self, names: list[str]) -> list[tuple[int, int]]:
        rows = [self.tables[name] for name in names]
        if not names or len(set(names)) < len(names) or any(row.confirmed < len(row.tokens) for row in rows):
            raise ValueError
        distinct = list(dict.fromkeys(block for row in rows for block in row.blocks))
        if len(distinct) > len(self.host_free):
            raise OutOfBlocks(len(distinct), len(self.host_free))
        moves = [(block, self.host_free.pop(0)) for block in distinct]
        for name, row in zip(names, rows, strict=True):
            there = [dict(moves)[block] for block in row.blocks]
            while row.blocks:
                self.drop_last(row)
            row.blocks = there
            self.swapped[name] = self.tables.pop(name)
        return moves

    def swap_in(self, names: list[str]) -> list[tuple[int, int]]:
        rows = [self.swapped[name] for name in names]
        if not names or len(set(names)) < len(names):
            raise ValueError
        distinct = list(dict.fromkeys(block for row in rows for block in row.blocks))
        if len(distinct) > self.available():
            raise OutOfBlocks(len(distinct), self.available())
        moves = [(self.take(), host) for host in distinct]
        back = {host: block for block, host in moves}
        for name, row in zip(names, rows, strict=True):
            here = [back[host] for host in row.blocks]
            while row.blocks:
                self.drop_host(row.blocks.pop(0))
            row.blocks = here
            self.tables[name] = self.swapped.pop(name)
        for row in rows:
            self.publish(row)
        return moves

    def publish(self, row: Row) -> None:
        for at in range(row.confirmed // self.size if self.caching else 0):
            if row.blocks[at] not in self.index.content:
                self.index.insert(row.blocks[at], row.namespace, row.tokens[: (at + 1) * self.size])

    def take(self) -> int:
        if self.free_list:
            return self.free_list.pop(0)
        block = self.index.idle[0]
        self.index.forget(block)
        return block

    def drop_last(self, row: Row) -> None:
        block = row.blocks.pop()
        if self.refs(block):
            return
        if block in self.index.content:
            self.index.retire(block)
        else:
            self.free_list.append(block)

    def drop_host(self, block: int) -> None:
        if not any(block in row.blocks for row in self.swapped.values()):
            self.host_free.append(block)

    def too_long(self, tokens: int) -> bool:
        return self.limit is not None and -(-tokens // self.size) > self.limit
