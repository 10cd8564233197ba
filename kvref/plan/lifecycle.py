"""What every scheduler does with a request from its submission to its end; which requests a step serves is not decided here.

A request waits, runs, may be swapped out or wait again, and ends. Its tokens are kept here, prompt and reply in one list, so
that a preempted request continues where it was: the reply is computed again with the prompt, but no token is drawn twice or
counted twice.
"""

from collections import OrderedDict
from collections.abc import Mapping

from kvref.checks import short, whole
from kvref.plan.entry import Counts, Draft, Entry, Report
from kvref.plan.manager import KVManager
from kvref.plan.request import Request
from kvref.plan.step import Step


class Lifecycle:
    """Submission, commit and the three ways to an end. The owner of the requests; the manager is the owner of their blocks."""

    def __init__(self, manager: KVManager, max_requests: int, max_positions: int | None) -> None:
        whole(max_requests=max_requests)
        whole(max_positions=1 if max_positions is None else max_positions)
        self.manager = manager
        self.max_requests, self.max_positions = max_requests, max_positions
        self._entries: dict[str, Entry] = {}
        self._waiting: OrderedDict[str, Entry] = OrderedDict()  # never admitted yet, in order of submission
        self._returning: OrderedDict[str, Entry] = OrderedDict()  # preempted: all were submitted before all that wait
        self._running: dict[str, Entry] = {}  # in order of submission, as all these are
        self._swapped_count = 0
        self._planned: tuple[Step, list[Entry]] | None = None  # with the entries its work belongs to, until it is committed
        self._number = 0

    def submit(self, request: Request) -> None:
        """Queue a request. Raises ``ValueError``, with nothing changed, if it could never run to its end or its id is known."""
        if not isinstance(request, Request):
            raise ValueError(f"request: expected a Request, got {short(request)}.")
        if request.id in self._entries:
            raise ValueError(f"id: expected one that is not known yet, got {request.id!r}.")
        self._check_fits(request)
        entry = Entry(request, list(request.prompt_ids), self._blocks(request.rows))
        self._entries[request.id] = self._waiting[request.id] = entry

    def abort(self, request_id: str) -> None:
        """End a request wherever it is, between a step and its commit too; its blocks are given back at once."""
        self.finish(request_id, "abort")

    def finish(self, request_id: str, reason: str) -> None:
        """End a request for the caller's reason, a stop text say. Raises ``ValueError`` if it is unknown or ended before."""
        entry = self._known(request_id)
        if not isinstance(reason, str) or not reason:
            raise ValueError(f"reason: expected words, got {short(reason)}.")
        if entry.status == "finished":
            raise ValueError(f"request_id: {request_id!r} ended before ({entry.finish_reason}).")
        self._end(entry, reason)

    def commit(self, step: Step, sampled: Mapping[str, int]) -> tuple[str, ...]:
        """The pass is done: its keys and values can be shared now, and each sampled token joins its reply.

        ``sampled`` has the next token of every work that samples; tokens of requests that ended meanwhile are ignored.
        Returns the ids that are complete. Raises ``ValueError``, with nothing changed, for another step than the one planned
        last and for a token that is missing or none.
        """
        if self._planned is None or self._planned[0] is not step:
            got = f"number {step.number}" if isinstance(step, Step) else short(step)
            raise ValueError(f"step: expected the one planned last and not committed, got {got}.")
        live = [(work, entry) for work, entry in zip(step.work, self._planned[1], strict=True) if entry.status == "running"]
        self._check_sampled(step, sampled, [work.request_id for work, _ in live if work.samples])
        self._planned = None
        finished = []
        for work, entry in live:
            self.manager.confirm(work.request_id, entry.length)
            if work.samples and self._take(entry, sampled[work.request_id]):
                finished.append(work.request_id)
        return tuple(finished)

    def report(self, request_id: str) -> Report:
        """What became of a request so far; of one that ended, until it is forgotten."""
        entry = self._known(request_id)
        reply = tuple(entry.tokens[len(entry.request.prompt_ids) :])
        return Report(request_id, entry.status, reply, entry.cached_tokens, entry.preemptions, entry.finish_reason)

    def forget(self, request_id: str) -> Report:
        """The report of a request that ended, which is not kept any longer; its id can be used again."""
        report = self.report(request_id)
        if report.status != "finished":
            raise ValueError(f"request_id: expected one that ended, got {request_id!r}, which is {report.status}.")
        del self._entries[request_id]
        return report

    @property
    def waiting(self) -> tuple[str, ...]:
        """Ids that hold no blocks, the preempted first, in the order in which they will be served."""
        back = (name for name, entry in self._returning.items() if entry.status == "waiting")
        return (*back, *self._waiting)

    @property
    def running(self) -> tuple[str, ...]:
        """Ids that hold blocks of the pool, in the order in which they are served."""
        return tuple(self._running)

    @property
    def swapped(self) -> tuple[str, ...]:
        """Ids whose blocks are on the host, in the order in which they will return."""
        return tuple(name for name, entry in self._returning.items() if entry.status == "swapped")

    @property
    def counts(self) -> Counts:
        """The lengths of the three, in constant time."""
        back = len(self._returning) - self._swapped_count
        return Counts(back + len(self._waiting), len(self._running), self._swapped_count)

    @property
    def stored_tokens(self) -> int:
        """Lengths of all running requests; what they share counts for each."""
        return sum([entry.length for entry in self._running.values()])

    @property
    def reserved_tokens(self) -> int:
        """Slots set aside for the running requests, whatever they use of them."""
        return self.manager.pool.used_blocks * self.manager.block_tokens

    def step(self) -> Step | None:
        """Plan the next pass. None: nobody waits or runs."""
        raise NotImplementedError

    def _plan(self, draft: Draft) -> Step:
        self._number += 1
        step = draft.step(self._number)
        self._planned = step, draft.entries
        return step

    def _check_committed(self) -> None:
        if self._planned is not None:
            raise ValueError(f"step: expected step {self._planned[0].number} to be committed first.")

    def _check_fits(self, request: Request) -> None:
        said = f"{len(request.prompt_ids)} prompt tokens and {request.max_new_tokens} new ones"
        if self.max_positions is not None and request.rows > self.max_positions:
            raise ValueError(
                f"request {request.id!r}: {said} need {request.rows} positions; the model has {self.max_positions}."
            )
        blocks, most = self._blocks(request.rows), self._most_blocks()
        if blocks > most:
            size = self.manager.block_tokens
            raise ValueError(
                f"request {request.id!r}: {said} need {blocks} blocks of {size} tokens; one request can have {most}."
            )

    def _most_blocks(self) -> int:
        most, limit = self.manager.pool.capacity_blocks, self.manager.max_blocks_per_table
        return most if limit is None else min(most, limit)

    def _blocks(self, tokens: int) -> int:
        return -(-tokens // self.manager.block_tokens)

    def _check_sampled(self, step: Step, sampled: Mapping[str, int], needed: list[str]) -> None:
        if not isinstance(sampled, Mapping):
            raise ValueError(f"sampled: expected token ids by request, got {short(sampled)}.")
        for name in needed:
            token = sampled.get(name)
            if type(token) is not int or token < 0:
                kind, got = ("token id", repr(token)) if name in sampled else ("token", "none")
                raise ValueError(f"sampled: expected a {kind} for {name!r}, got {got}.")
        if len(sampled) > len(needed):
            for name in set(sampled) - {work.request_id for work in step.work if work.samples}:
                raise ValueError(f"sampled: {name!r} samples nothing in step {step.number}.")

    def _take(self, entry: Entry, token: int) -> bool:
        """The token joins the reply; true if that ends it."""
        entry.tokens.append(token)
        request = entry.request
        if token in request.stop_ids:
            self._end(entry, "stop")
        elif len(entry.tokens) == len(request.prompt_ids) + request.max_new_tokens:
            self._end(entry, "length")
        return entry.status == "finished"

    def _end(self, entry: Entry, reason: str) -> None:
        name = entry.request.id
        if entry.status in ("running", "swapped"):
            self.manager.free(name)
        self._swapped_count -= entry.status == "swapped"
        for queue in (self._running, self._waiting, self._returning):
            queue.pop(name, None)
        entry.status, entry.finish_reason = "finished", reason

    def _known(self, request_id: str) -> Entry:
        if not isinstance(request_id, str) or request_id not in self._entries:
            raise ValueError(f"request_id: {short(request_id)} is not known.")
        return self._entries[request_id]
