"""A stand-in for model and paged cache that needs no tensor: its "keys" are numbers that depend on every token before them.

What is stored for a position is a hash of the token there and of what is stored for the position before, *read through the
block table*; the next token follows from what is stored last. So a wrong slot, a copy that was left out, a move to the wrong
block or a block that was reused too early changes the reply. ``expected_reply`` is the same chain without blocks and without
a scheduler.
"""

from collections.abc import Iterable
from zlib import crc32

from kvref.plan.lifecycle import Lifecycle
from kvref.plan.manager import KVManager
from kvref.plan.request import Request
from kvref.plan.step import Step, Work

VOCABULARY = 97
POISON = "never written"


def key(before: object, token_id: int) -> int:
    return hash((before, token_id))


def chain(token_ids: Iterable[int], namespace: object) -> int:
    """What is stored for the last of these tokens."""
    stored = crc32(f"{namespace.adapter} {namespace.salt}".encode())
    for token_id in token_ids:
        stored = key(stored, token_id)
    return stored


def following(stored: int) -> int:
    return stored % VOCABULARY


def expected_reply(request: Request) -> list[int]:
    """The reply of a request that nobody else disturbs."""
    stored, reply = chain(request.prompt_ids, request.namespace), []
    while len(reply) < request.max_new_tokens and not (reply and reply[-1] in request.stop_ids):
        reply.append(following(stored))
        stored = key(stored, reply[-1])
    return reply


class FakeModel:
    """Storage of the slots on device and host, and passes over it."""

    def __init__(self, manager: KVManager) -> None:
        self.manager, self.size = manager, manager.block_tokens
        self.device: list[object] = [POISON] * (manager.pool.total_blocks * self.size)
        self.host: dict[int, list[object]] = {}

    def run(self, step: Step, requests: dict[str, Request]) -> dict[str, int]:
        """Carry out a step in its stated order; the sampled tokens."""
        for move in step.swapped_out:
            self.host[move.host_block] = self.block(move.device_block)[:]
        for move in step.swapped_in:
            self.write(move.device_block, self.host[move.host_block])
        for copy in step.copies:
            self.write(copy.target, self.block(copy.source)[: copy.tokens])
        before = [self.read(work, requests[work.request_id]) for work in step.work]  # no work reads what another one writes
        sampled = {}
        for work, stored in zip(step.work, before, strict=True):
            for offset, (token_id, slot) in enumerate(zip(work.token_ids, work.slots, strict=True)):
                position = work.start + offset
                assert slot == self.slot(work, position)
                stored = key(stored, token_id)
                self.device[slot] = stored
            if work.samples:
                sampled[work.request_id] = following(stored)
        return sampled

    def read(self, work: Work, request: Request) -> int:
        """Everything that stands before a work's tokens, as attention would read it; what is stored for the last."""
        stored = chain((), request.namespace)
        tokens = self.manager.tokens(work.request_id)[: work.start]
        for position, token_id in enumerate(tokens):
            stored = key(stored, token_id)
            found = self.device[self.slot(work, position)]
            assert found == stored, f"{work.request_id} reads {found!r} at position {position}"
        return stored

    def slot(self, work: Work, position: int) -> int:
        return work.table[position // self.size] * self.size + position % self.size

    def block(self, block: int) -> list[object]:
        return self.device[block * self.size : (block + 1) * self.size]

    def write(self, block: int, values: list[object]) -> None:
        self.device[block * self.size : block * self.size + len(values)] = values

    def poison(self) -> None:
        """Spoil every slot that nobody may read: of free blocks, and past the end of each table."""
        for block in self.manager.pool.free_order():
            self.write(block, [POISON] * self.size)
        for name in self.manager.requests:
            length, table = self.manager.length(name), self.manager.table(name)
            alone = length % self.size and self.manager.pool.ref_count(table[-1]) == 1
            if alone and table[-1] not in self.manager.index:
                start = table[-1] * self.size + length % self.size
                self.device[start : (table[-1] + 1) * self.size] = [POISON] * (self.size - length % self.size)


class Bench:
    """A scheduler, its fake model and a note of every step."""

    def __init__(self, scheduler: Lifecycle) -> None:
        self.scheduler, self.manager = scheduler, scheduler.manager
        self.model = FakeModel(scheduler.manager)
        self.requests: dict[str, Request] = {}
        self.steps: list[Step] = []

    def submit(self, name: str, prompt: Iterable[int], max_new_tokens: int, **more) -> Request:
        request = Request(name, tuple(prompt), max_new_tokens, **more)
        self.scheduler.submit(request)
        self.requests[name] = request
        return request

    def step(self) -> Step | None:
        """Plan, run and commit one step."""
        step = self.scheduler.step()
        if step is not None:
            self.steps.append(step)
            self.scheduler.commit(step, self.model.run(step, self.requests))
            self.manager.check()
            self.model.poison()
        return step

    def drain(self, most: int = 2000) -> list[Step]:
        """Steps until nothing is left to do; the steps."""
        first = len(self.steps)
        while self.step() is not None:
            assert len(self.steps) - first < most, "no end in sight"
        return self.steps[first:]

    def reply(self, name: str) -> list[int]:
        return list(self.scheduler.report(name).reply_ids)

    def check_replies(self) -> None:
        """Every reply is that of a request that nobody disturbed."""
        for name, request in self.requests.items():
            assert self.reply(name) == expected_reply(request), name

    def work(self, name: str) -> list[tuple[int, int]]:
        """Start and number of tokens of each work of a request."""
        return [(w.start, len(w.token_ids)) for step in self.steps for w in step.work if w.request_id == name]
