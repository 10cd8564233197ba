"""Random operations on schedulers, each step held against rules that are written down here a second time, and slowly.

Run as a program of its own, ``python -m tests.properties.scheduler_driver SEEDS OPERATIONS``: without the checks of types at
every call that the tests have, it does several times as much. Prints what it did as JSON.
"""

import json
import sys
from collections import Counter
from random import Random

from kvref.plan.manager import KVManager
from kvref.plan.prefix import Namespace
from kvref.plan.request import Request
from kvref.plan.scheduler import Scheduler
from kvref.plan.static import StaticScheduler
from kvref.plan.step import Step
from tests.kvref.plan.fake import Bench, expected_reply


def constant_hash(parent, token_ids, namespace) -> int:
    return 7


def draw_burst(draw: Random) -> int:
    return draw.choice((1, 1, 2, 4))


class Driver(Bench):
    """A bench with random settings that knows, in plain lists, what must be true after each step."""

    def __init__(self, draw: Random) -> None:
        self.draw = draw
        size = draw.choice((1, 1, 2, 2, 3, 4, 8))
        blocks = draw.randint(2 + 30 // size, 4 + 90 // size)  # from a request or two to several
        manager = KVManager(
            blocks,
            size,
            design=draw.choice(("full-blocks", "copy-on-write")),
            prefix_caching=draw.random() < 0.8,
            reserve_null=draw.random() < 0.3,
            host_blocks=draw.choice((0, 3, 30)),
            max_blocks_per_table=draw.choice((None, None, 1 + 40 // size)),
            **({"hash_function": constant_hash} if draw.random() < 0.2 else {}),
        )
        super().__init__(self.make(manager))
        self.alive: list[str] = []  # in order of submission
        self.out: set[str] = set()  # preempted
        self.deadline: dict[str, int] = {}
        self.cached: dict[str, int] = {}
        self.number = 0
        self.did: Counter[str] = Counter()
        self.pending: tuple[Step, dict[str, int]] | None = None

    def make(self, manager: KVManager):
        draw = self.draw
        self.positions = draw.choice((None, None, 40))
        self.static = draw.random() < 0.15
        self.most = draw.choice((1, 4, 6, 10, 10))
        if self.static:
            room = manager.pool.capacity_blocks * manager.block_tokens
            if manager.max_blocks_per_table:
                room = min(room, manager.max_blocks_per_table * manager.block_tokens)
            self.budget = self.chunk = 10**6
            self.longest = draw.randint(1, room)
            return StaticScheduler(manager, max_requests=self.most, max_length=self.longest, max_positions=self.positions)
        self.budget = draw.choice((1, 3, 6, 12, 24, 24))
        chunk = draw.choice((None, None, 1, 2, 3, 5))
        self.chunk = chunk or self.budget
        how = "swap" if manager.host.free_blocks and draw.random() < 0.8 else "recompute"
        return Scheduler(
            manager,
            token_budget=self.budget,
            max_requests=self.most,
            chunk_tokens=chunk,
            preemption=how,
            max_positions=self.positions,
        )

    # --- operations

    def act(self) -> None:
        """One random operation."""
        chance = self.draw.random()
        if chance < 0.12 and len(self.alive) < 12:
            for _ in range(draw_burst(self.draw)):
                self.add()
        elif 0.12 <= chance < 0.128 and self.alive:
            self.end(self.draw.choice(self.alive))
        elif self.pending:
            self.commit()
        else:
            self.plan()

    def add(self) -> None:
        draw = self.draw
        family = [int(n) for n in draw.choice(("0123456789012345", "0123450123450123", "9999999999999999", "5432167890543216"))]
        whole = draw.randint(1, 16) // self.manager.block_tokens * self.manager.block_tokens
        prompt = family[: draw.choice((whole or 1, draw.randint(1, 16)))] + [
            draw.randrange(40) for _ in range(draw.choice((0, 0, 1, 5)))
        ]
        request = Request(
            f"q{self.number}",
            tuple(prompt),
            draw.choice((1, 6, 20, 30)),
            stop_ids=tuple(draw.randrange(97) for _ in range(draw.choice((0, 0, 3)))),
            namespace=Namespace(*draw.choice(((), (), (), ("lora",), (None, "lora")))),
            prompt_logprobs=draw.random() < 0.1,
        )
        self.number += 1
        fits = self.fits(request)
        before = self.scheduler.waiting
        try:
            self.scheduler.submit(request)
        except ValueError:
            assert not fits
            assert self.scheduler.waiting == before
            self.did["refused"] += 1
            return
        assert fits
        self.did["submitted"] += 1
        self.requests[request.id] = request
        steps = self.steps[-1].number if self.steps else 0
        self.alive.append(request.id)
        self.deadline[request.id] = max([steps, *(self.deadline[name] for name in self.alive[:-1])]) + self.most_steps(request)

    def fits(self, request: Request) -> bool:
        rows = len(request.prompt_ids) + request.max_new_tokens - 1
        blocks = -(-rows // self.manager.block_tokens)
        table = self.manager.max_blocks_per_table
        fits = blocks <= self.manager.pool.capacity_blocks and (table is None or blocks <= table)
        return fits and (self.positions is None or rows <= self.positions) and (not self.static or rows <= self.longest)

    def most_steps(self, request: Request) -> int:
        """From when all older ones have ended: a token a step, and one step in which somebody was preempted."""
        return len(request.prompt_ids) + request.max_new_tokens + 1

    def end(self, name: str) -> None:
        if self.draw.random() < 0.7:
            self.scheduler.abort(name)
        else:
            self.scheduler.finish(name, "stop text")
        reply = self.reply(name)
        assert reply == expected_reply(self.requests[name])[: len(reply)]
        self.ended(name)
        self.did["ended"] += 1

    def ended(self, name: str) -> None:
        self.scheduler.forget(name)
        self.alive.remove(name)
        self.out.discard(name)
        self.cached.pop(name, None)
        del self.requests[name], self.deadline[name]

    def plan(self) -> None:
        running, swapped = self.scheduler.running, self.scheduler.swapped
        step = self.scheduler.step()
        assert (step is None) == (not self.alive)
        if step is None:
            return
        self.steps[:] = [step]
        self.check_step(step, running)
        if not self.static:
            self.check_service(step, swapped)
        self.pending = step, self.model.run(step, self.requests)
        self.did["planned"] += 1
        self.did["appended"] += len(step.work)
        self.did["admitted"] += len(step.admitted)
        self.did["preempted"] += len(step.preempted)
        self.did["copied"] += len(step.copies)
        self.did["swapped in"] += len(step.swapped_in)

    def commit(self) -> None:
        step, sampled = self.pending
        self.pending = None
        done = self.scheduler.commit(step, sampled)
        self.did["committed"] += 1
        for name in done:
            request, report = self.requests[name], self.scheduler.report(name)
            assert list(report.reply_ids) == expected_reply(request)
            assert report.finish_reason == ("stop" if report.reply_ids[-1] in request.stop_ids else "length")
            assert report.cached_tokens == self.cached[name]
            assert self.static or step.number <= self.deadline[name], f"{name} took too long"
            self.ended(name)
        if step.number % 4 == 0:
            self.check_queues()
        self.manager.check()
        pool = self.manager.pool
        assert pool.free_blocks + pool.idle_blocks + pool.used_blocks + pool.reserved_blocks == pool.total_blocks
        self.model.poison()

    # --- rules

    def check_queues(self) -> None:
        """Everybody who is there is in one queue, in the order of submission, and counted there."""
        scheduler, counts = self.scheduler, self.scheduler.counts
        queues = scheduler.waiting, scheduler.running, scheduler.swapped
        assert [len(queue) for queue in queues] == [counts.waiting, counts.running, counts.swapped]
        for queue, status in zip(queues, ("waiting", "running", "swapped"), strict=True):
            assert list(queue) == [name for name in self.alive if scheduler.report(name).status == status]
        assert sum(map(len, queues)) == len(self.alive)

    def check_step(self, step: Step, before: tuple[str, ...]) -> None:
        """What holds for every scheduler."""
        names = [work.request_id for work in step.work]
        assert names == [name for name in self.alive if name in names], "order of service"
        assert len(set(names)) == len(names)
        assert len(names) <= len(self.scheduler.running) <= self.most
        assert set(names) == set(self.scheduler.running), "everybody who runs gets a token"
        assert sum(len(work.token_ids) for work in step.work) <= self.budget
        assert set(self.manager.requests) == set(self.scheduler.running)
        assert set(step.admitted) == set(self.scheduler.running) - set(before)
        for work in step.work:
            request = self.requests[work.request_id]
            known = [*request.prompt_ids, *self.reply(work.request_id)]
            stop = work.start + len(work.token_ids)
            assert 0 < len(work.token_ids) <= self.chunk
            assert list(work.token_ids) == known[work.start : stop]
            assert work.samples == (stop == len(known))
            assert work.slots == self.manager.slots(work.request_id, work.start, stop)
            assert work.table == self.manager.table(work.request_id)
            if request.prompt_logprobs and work.request_id in step.admitted and work.request_id not in self.out:
                assert work.start == 0
            if work.request_id in step.admitted:
                self.cached.setdefault(work.request_id, work.start)

    def check_service(self, step: Step, swapped: tuple[str, ...]) -> None:
        """Order, preemption and the admission rule."""
        assert not (step.admitted and step.preempted)
        assert self.alive[0] == step.work[0].request_id, "the oldest gets on in every step"
        rank = self.alive.index
        for name in step.preempted:
            assert all(rank(other) < rank(name) for other in self.scheduler.running), "the latest steps back"
        waiting = [*self.scheduler.waiting, *self.scheduler.swapped]
        for name in step.admitted:
            assert all(rank(name) < rank(other) for other in waiting), "nobody overtakes"
        assert bool(step.swapped_in) <= (self.scheduler.preemption == "swap")
        back = [name in swapped for name in step.admitted]
        assert back == sorted(back, reverse=True), "blocks come back before any copy is planned"
        self.out |= set(step.preempted)
        if step.admitted:
            size = self.manager.block_tokens
            owed = 0
            for name in self.scheduler.running:
                request = self.requests[name]
                known = len(request.prompt_ids) + len(self.reply(name))
                all_rows = len(request.prompt_ids) + request.max_new_tokens - 1
                owed += min(-(-known // size) + 1, -(-all_rows // size)) - len(self.manager.table(name))
            assert owed <= self.manager.available_blocks, "the admission rule"

    def drain_all(self) -> None:
        """To the end; then nothing is held any more."""
        while self.alive or self.pending:
            if self.pending:
                self.commit()
            else:
                self.plan()
        assert self.scheduler.step() is None
        pool = self.manager.pool
        assert (pool.used_blocks, pool.free_blocks + pool.idle_blocks) == (0, pool.capacity_blocks)
        assert self.manager.host.pool is None or self.manager.host.free_blocks == self.manager.host.pool.total_blocks


def main(first: int, seeds: int, operations: int) -> Counter[str]:
    """So many random schedulers, each with so many operations and then to its end."""
    did: Counter[str] = Counter()
    for seed in range(first, first + seeds):
        driver = Driver(Random(seed))
        try:
            for _ in range(operations):
                driver.act()
            driver.drain_all()
        except Exception as wrong:
            wrong.add_note(f"seed {seed}")
            raise
        did += driver.did
    return did


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
