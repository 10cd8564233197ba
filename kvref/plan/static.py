"""Static batching, the baseline: a batch is formed, runs until its longest reply ends, and only then is the next one formed.

As the vLLM paper describes earlier systems (arXiv:2309.06180, section 3): a place is reserved for each request at the
greatest length that any may reach, and no cache is shared. In favour of the baseline, prompts are not padded to the longest
one, and a reply that ended takes no part in later passes; its place is kept all the same. Knows no tensors and no clock.
"""

from kvref.checks import whole
from kvref.plan.entry import Draft, Entry
from kvref.plan.lifecycle import Lifecycle
from kvref.plan.manager import KVManager
from kvref.plan.request import Request
from kvref.plan.step import Step, Work


class StaticScheduler(Lifecycle):
    """Batches of as many requests as wait: at most ``max_requests``, and as many as fit at ``max_length`` tokens each."""

    def __init__(self, manager: KVManager, *, max_requests: int, max_length: int, max_positions: int | None = None) -> None:
        super().__init__(manager, max_requests, max_positions)
        whole(max_length=max_length)
        self.max_length = max_length
        if self._blocks(max_length) > self._most_blocks():
            most = self._most_blocks() * manager.block_tokens
            raise ValueError(f"max_length: expected at most {most} tokens, got {max_length}.")
        self.places = min(max_requests, manager.pool.capacity_blocks // self._blocks(max_length))
        self._batch: list[Entry] = []

    @property
    def reserved_tokens(self) -> int:
        """Slots set aside for the whole batch."""
        return len(self._batch) * self.max_length

    def submit(self, request: Request) -> None:
        """Queue a request; refused if prompt and reply are longer than a place."""
        if request.rows > self.max_length:
            raise ValueError(f"request {request.id!r}: expected at most {self.max_length} tokens to store, got {request.rows}.")
        super().submit(request)

    def step(self) -> Step | None:
        """All prompts of a new batch in one pass, then a token of every reply that goes on. None: nobody waits or runs."""
        self._check_committed()
        draft = Draft(0)
        if not self._running:
            self._form_batch(draft)
        for entry in self._running.values():
            self._serve(entry, draft)
        return self._plan(draft) if draft.work else None

    def _form_batch(self, draft: Draft) -> None:
        self._batch = []
        while self._waiting and len(self._batch) < self.places:
            name, entry = self._waiting.popitem(last=False)
            self.manager.admit(name, entry.tokens[:1], entry.request.namespace)  # of a single token nothing is ever cached
            entry.status, entry.admissions = "running", 1
            self._running[name] = entry
            self._batch.append(entry)
            draft.admitted.append(name)

    def _serve(self, entry: Entry, draft: Draft) -> None:
        start, name = entry.length, entry.request.id
        tokens = tuple(entry.tokens[start:])
        grant = self.manager.append(name, tokens)  # never short of blocks: they are reserved
        entry.length += len(tokens)
        draft.entries.append(entry)
        draft.work.append(Work(name, start, tokens, grant.slots, self.manager.table(name), True))
