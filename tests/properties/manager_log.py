"""An event log read by somebody who knows no rules: it only does what each event says, on memory of its own.

A slot contains the token whose K and V would be there, so that a table that is read through this memory must give the tokens
of its request; a copy or a move that is missing from the log shows.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from kvref.plan.manager import KVManager


class Replay:
    """Free list, ref counts, tables, memory of device and host, as the events leave them."""

    def __init__(self, total_blocks: int, block_tokens: int, reserve_null: bool) -> None:
        self.size = block_tokens
        self.free = list(range(int(reserve_null), total_blocks))
        self.idle: list[int] = []
        self.refs: Counter[int] = Counter()
        self.keys: dict[int, Any] = {}
        self.tables: dict[str, list[int]] = {}
        self.host: dict[str, list[int]] = {}
        self.length: dict[str, int] = {}
        self.written: dict[str, int] = {}
        self.written_into = False  # whether a block that could be found ever was
        self.memory: dict[int, list[int | None]] = {block: [None] * block_tokens for block in range(total_blocks)}
        self.host_memory: dict[int, list[int | None]] = {}

    def agree(self, manager: KVManager) -> None:
        """Assert that the manager's state is what its log says."""
        assert tuple(self.free) == manager.pool.free_order()
        assert tuple(self.idle) == manager.index.idle_order()
        assert self.keys == {block: manager.index.key(block) for block in self.memory if block in manager.index}
        assert [self.refs[block] for block in self.memory] == [manager.pool.ref_count(block) for block in self.memory]
        assert set(self.tables) == {*manager.requests, *manager.swapped}
        for request in manager.requests:
            assert tuple(self.tables[request]) == manager.table(request)
        for request in self.tables:
            assert self.tokens(request) == manager.tokens(request)
            assert self.written[request] == manager.confirmed(request)

    def read(self, events: Iterable[dict[str, Any]]) -> None:
        for event in events:
            kind = event["event"]
            getattr(self, kind)(**{name: value for name, value in event.items() if name != "event"})

    def tokens(self, request: str) -> tuple[int | None, ...]:
        blocks = self.host.get(request) or self.tables[request]
        memory = self.host_memory if request in self.host else self.memory
        return tuple(token for block in blocks for token in memory[block])[: self.length[request]]

    def admitted(self, request: str, cached_tokens: int) -> None:
        self.tables[request], self.length[request], self.written[request] = [], cached_tokens, cached_tokens

    def hit(self, request: str, block: int, row: int, refs: int) -> None:
        if block in self.idle:
            self.idle.remove(block)
        self._hold(request, block, row, refs)

    shared = hit

    def evicted(self, block: int) -> None:
        self.idle.remove(block)
        self.free.append(block)
        del self.keys[block]

    def allocated(self, request: str, block: int, row: int) -> None:
        assert self.free.pop(0) == block
        self._hold(request, block, row, 1)

    def copied(self, request: str, source: int, target: int, row: int, tokens: int) -> None:
        assert self.tables[request][row] == target
        self.memory[target] = self.memory[source][:tokens] + [None] * (self.size - tokens)

    def appended(self, request: str, start: int, token_ids: list[int]) -> None:
        assert self.length[request] == start
        for position, token in enumerate(token_ids, start):
            self.memory[self.tables[request][position // self.size]][position % self.size] = token
        self.length[request] += len(token_ids)

    def confirmed(self, request: str, length: int) -> None:
        self.written[request] = length

    def indexed(self, request: str, block: int, row: int, key: Any) -> None:
        assert self.tables[request][row] == block
        self.keys[block] = key

    def unindexed(self, request: str, block: int, row: int) -> None:
        assert self.tables[request][row] == block
        del self.keys[block]
        self.written_into = True

    def released(self, request: str, block: int, row: int, refs: int, kept: bool) -> None:
        self.refs[block] -= 1
        assert self.refs[block] == refs
        if self.tables[request][row] == block:
            assert row == len(self.tables[request]) - 1, "rows are released from the tail"
            self.tables[request].pop()
        if not refs:
            (self.idle if kept else self.free).append(block)

    def forked(self, parent: str, child: str, tokens: int) -> None:
        self.tables[child], self.length[child], self.written[child] = [], tokens, tokens

    def truncated(self, request: str, length: int) -> None:
        self.length[request] = length
        self.written[request] = min(self.written[request], length)

    def freed(self, request: str) -> None:
        assert not self.tables.pop(request, None), "its rows were released before"
        self.host.pop(request, None)
        del self.length[request], self.written[request]

    def swapped_out(self, request: str, block: int, row: int, host_block: int) -> None:
        assert self.tables[request][row] == block
        self.host.setdefault(request, []).append(host_block)
        self.host_memory[host_block] = list(self.memory[block])

    def swapped_in(self, request: str, block: int, row: int, host_block: int) -> None:
        assert self.tables[request][row] == block
        assert self.host[request][row] == host_block
        self.memory[block] = list(self.host_memory[host_block])
        if row == len(self.host[request]) - 1:
            del self.host[request]

    def _hold(self, request: str, block: int, row: int, refs: int) -> None:
        rows = self.tables[request]
        rows[row:] = [block]
        self.refs[block] += 1
        assert self.refs[block] == refs
