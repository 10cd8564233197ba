"""Continuous batching: which requests a pass serves, with how many tokens each, and who has to step back when blocks run out.

Requests are served in the order in which they were submitted, and this is all there is to fairness: who came first is
never preempted for who came later, and who was preempted returns before anybody new is admitted. So the oldest request
gets on in every step, and everybody becomes the oldest: a request ends at most prompt + ``max_new_tokens`` + 1 steps after all
older ones have. Deterministic: the same calls give the same steps. Knows no tensors and no clock.

The admission rule. A request is admitted when the pool can give every running request and the newcomer the blocks for all
tokens that they have now (prompt, and reply so far), and one block more for each that is not at its full length then. Blocks
that are shared with a running request need not be given. So after an admission everybody can grow by at least a block before
anybody is preempted, and prompts that would fit today are not admitted into a pool that is full tomorrow. The rule is asked
anew at each admission, for those that return as well; nobody is admitted in a step that preempts, and nobody overtakes the
first in the queue.

Preemption. "recompute" frees the blocks, and prompt and reply are computed again, as far as they are not cached still;
"swap" moves them to the host's memory and back, and recomputes when the host has no room. The victim is the running request
that came last.

A request whose prompt and reply can never fit is refused when it is submitted; so a lone request always finishes, and no
status for a full pool is needed.
"""

from typing import Literal, get_args

from kvref.checks import whole
from kvref.errors import OutOfBlocks
from kvref.plan.entry import Draft, Entry
from kvref.plan.lifecycle import Lifecycle
from kvref.plan.manager import KVManager
from kvref.plan.step import Step, Work

__all__ = ["Scheduler", "Step", "Work"]

Preemption = Literal["recompute", "swap"]


class Scheduler(Lifecycle):
    """Continuous batching over the blocks of a manager (Orca, OSDI'22; vLLM, arXiv:2309.06180, section 4.5).

    A step computes at most ``token_budget`` tokens of at most ``max_requests`` requests. Every running request gets one
    token of it first, so that no prompt holds up a reply (Sarathi-Serve, arXiv:2403.02310); what is left goes to prompts in
    order of service, at most ``chunk_tokens`` to each; None: as many as are left. ``max_positions``: of the model; longer
    requests are refused.
    """

    def __init__(
        self,
        manager: KVManager,
        *,
        token_budget: int,
        max_requests: int,
        chunk_tokens: int | None = None,
        preemption: Preemption = "recompute",
        max_positions: int | None = None,
    ) -> None:
        super().__init__(manager, max_requests, max_positions)
        whole(token_budget=token_budget, chunk_tokens=token_budget if chunk_tokens is None else chunk_tokens)
        if preemption not in get_args(Preemption):
            raise ValueError(f"preemption: expected one of {', '.join(get_args(Preemption))}, got {preemption!r}.")
        if preemption == "swap" and manager.host.pool is None:
            raise ValueError("preemption: expected a manager with host blocks for 'swap', got one with none.")
        self.token_budget = token_budget
        self.chunk_tokens = token_budget if chunk_tokens is None else chunk_tokens
        self.preemption = preemption

    def step(self) -> Step | None:
        """Plan the next pass, which must be committed before another is planned. None: nobody waits or runs.

        Raises ``OutOfBlocks`` if nobody runs and the first in the queue does not fit: somebody else holds blocks of the
        manager. Only then can there be a step without work, in which the last request steps back.
        """
        self._check_committed()
        draft = Draft(self.token_budget - len(self._running))
        assert draft.budget >= 0, f"{len(self._running)} run on {self.token_budget} tokens"
        for entry in tuple(self._running.values()):
            if entry.status == "running":  # not preempted a moment ago
                self._serve(entry, 1 + draft.budget, draft)
        if not draft.preempted:
            self._admit(draft)
        return self._plan(draft) if draft.work or draft.preempted else None

    def _serve(self, entry: Entry, most: int, draft: Draft) -> None:
        """The next tokens of a request, if need be at the cost of those that came last, itself included."""
        start, name = entry.length, entry.request.id
        stop = min(len(entry.tokens), start + most, start + self.chunk_tokens)
        tokens = tuple(entry.tokens[start:stop])
        while True:
            try:
                grant = self.manager.append(name, tokens)
                break
            except OutOfBlocks:
                victim = next(reversed(self._running.values()))
                self._preempt(victim, draft)
                if victim is entry:
                    return
        entry.length = stop
        draft.budget -= len(tokens) - 1  # one was set aside
        draft.copies += grant.copies
        draft.entries.append(entry)
        table, samples = self.manager.table(name), stop == len(entry.tokens)
        draft.work.append(Work(name, start, tokens, grant.slots, table, samples))

    def _preempt(self, entry: Entry, draft: Draft) -> None:
        name = entry.request.id
        del self._running[name]
        entry.preemptions += 1
        if self.preemption == "swap" and self._swap_out(name, draft):
            entry.status = "swapped"
            self._swapped_count += 1
        else:
            self.manager.free(name)
            entry.status = "waiting"
        self._returning[name] = entry
        self._returning.move_to_end(name, last=False)  # it came before all that were preempted before it
        draft.preempted.append(name)

    def _swap_out(self, name: str, draft: Draft) -> bool:
        try:
            draft.swapped_out += self.manager.swap_out((name,))
        except OutOfBlocks:  # the host is full
            return False
        return True

    def _admit(self, draft: Draft) -> None:
        """Admit from the front of the queue while tokens, places and blocks last."""
        looked_up = False  # somebody was admitted whose blocks may be copied: swapping in comes before copies, so not after it
        promised: int | None = None
        while draft.budget and len(self._running) < self.max_requests and (self._returning or self._waiting):
            entry = next(iter((self._returning or self._waiting).values()))
            if entry.status == "swapped" and looked_up:
                return
            if promised is None:
                promised = sum(map(self._owed, self._running.values()))
            room = self.manager.available_blocks - promised
            if not self._fits(entry, room):
                if not self._running:
                    raise OutOfBlocks(self._goal(entry), room)
                return
            looked_up |= entry.status == "waiting"
            self._enter(entry, draft)
            promised += self._owed(entry)

    def _enter(self, entry: Entry, draft: Draft) -> None:
        name = entry.request.id
        (self._returning if entry.admissions else self._waiting).popitem(last=False)
        if entry.status == "swapped":
            draft.swapped_in += self.manager.swap_in((name,))
            self._swapped_count -= 1
        else:
            tokens = entry.tokens if self._may_read(entry) else entry.tokens[:1]  # of a single token nothing is ever cached
            entry.length = self.manager.admit(name, tokens, entry.request.namespace)
            if not entry.admissions:
                entry.cached_tokens = entry.length
        entry.status = "running"
        entry.admissions += 1
        self._running[name] = entry
        draft.admitted.append(name)
        draft.budget -= 1  # the one that every running request has
        self._serve(entry, 1 + draft.budget, draft)

    def _fits(self, entry: Entry, room: int) -> bool:
        """The admission rule for a request, when ``room`` blocks are left over by those that run."""
        goal = self._goal(entry)
        if goal <= room:  # as it is most of the time: nothing needs to be looked up
            return True
        if entry.status == "swapped" or not self._may_read(entry) or room < 1:
            return False
        now = self.manager.blocks_to_admit(entry.tokens, entry.request.namespace)
        return now + goal - self._blocks(len(entry.tokens)) <= room

    def _goal(self, entry: Entry) -> int:
        """Blocks for all tokens that the request has and one block more, but never more than it will ever need."""
        return min(self._blocks(len(entry.tokens)) + 1, entry.full_blocks)

    def _owed(self, entry: Entry) -> int:
        """How many of these a running request has not taken yet."""
        return self._goal(entry) - self._blocks(entry.length)

    def _may_read(self, entry: Entry) -> bool:
        """Cached tokens are not computed and have no logits; who asked for them all computes its prompt once."""
        return not entry.request.prompt_logprobs or len(entry.tokens) > len(entry.request.prompt_ids)
