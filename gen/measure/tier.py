"""Running the records of a device one after the other, and ending well whatever happens in between.

A record is written when it is complete; what stops a run leaves the earlier ones. Running out of memory costs one record,
a device that is gone or a clock that cannot be trusted ends the run.
"""

import gc
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gen.errors import CheckFailed, UserError
from gen.measure import ceilings
from gen.measure.bench import Bench
from gen.measure.clock import say
from gen.measure.device import Device, first_line
from gen.measure.jobs import Job, Subject, document
from gen.measure.store import Store

CEILINGS = Job("ceilings", "ceilings", "measure/devices", "Bytes moved and operations done a second", lambda _: {})


@dataclass(frozen=True)
class Group:
    """Records about one model. `prepare` brings it to the device and says which one it is."""

    jobs: Sequence[Job]
    prepare: Callable[[Bench], Subject] = lambda bench: Subject()
    release: Callable[[Bench], None] = lambda bench: None


@dataclass
class Tier:
    """All records of a device."""

    device: Device
    bench: Bench
    store: Store
    command: str
    dtypes: tuple[torch.dtype, ...]  # the first is the models'
    groups: Sequence[Group]
    lost: int = 0  # records that could not be made

    def check(self, ids: Sequence[str]) -> None:
        """Raise UserError for what can be seen before anything is timed: a wrong id, nowhere to write, data not as listed."""
        wanted = [job.id for job in self._wanted(ids)]
        self.store.check(wanted if self._known_ceilings() else [*wanted, CEILINGS.id])

    def run(self, ids: Sequence[str]) -> int:
        """Measure the records asked for, or all; the exit code. Raises UserError when the run cannot go on."""
        wanted = self._wanted(ids)
        kept: list[str] = []
        start = time.monotonic()
        try:
            if CEILINGS in wanted or not self._known_ceilings():
                self._one(CEILINGS, Subject(), kept)
            for group in self.groups:
                self._group([job for job in group.jobs if job in wanted], group, kept)
        except KeyboardInterrupt:
            say(f"Stopped. {self._left(kept)}")
            return 130
        except UserError as problem:
            raise type(problem)(f"{problem} {self._left(kept)}") from None
        say(f"{len(kept)} records in {time.monotonic() - start:.0f} s.")
        return UserError.exit_code if self.lost else 0

    @property
    def jobs(self) -> list[Job]:
        """Every record of this tier, in order."""
        return [CEILINGS, *(job for group in self.groups for job in group.jobs)]

    def _wanted(self, ids: Sequence[str]) -> list[Job]:
        for id in ids:
            if not any(id in (job.id, job.kind) for job in self.jobs):
                known = ", ".join(dict.fromkeys(job.kind for job in self.jobs))
                raise UserError(f"Unknown measurement {id!r}: expected {known}.")
        return [job for job in self.jobs if not ids or job.id in ids or job.kind in ids]

    def _known_ceilings(self) -> bool:
        """Take the ceilings of an earlier run, if they are there: predictions need them."""
        before = self.store.read(CEILINGS.id)
        return before is not None and self._use(before["values"])

    def _use(self, values: dict[str, Any]) -> bool:
        self.bench.found = ceilings.of_record(values, self.dtypes[0], self.bench.cache_bytes)
        return self.bench.found is not None

    def _group(self, jobs: Iterable[Job], group: Group, kept: list[str]) -> None:
        chosen = list(jobs)
        if not chosen:
            return
        try:
            subject = self._guarded("loading the model", lambda: group.prepare(self.bench))
            for job in chosen if subject is not None else []:
                self._one(job, subject, kept)
            self.lost += len(chosen) if subject is None else 0
        finally:
            group.release(self.bench)
            _give_back()

    def _one(self, job: Job, subject: Subject, kept: list[str]) -> None:
        """Measure and write one record, or say why not."""
        start = time.monotonic()
        if self.bench.late():
            say(f"{job.id}: left out, the time of this run is up.")
            self.lost += 1
            return
        self.bench.note = lambda label, samples: self.store.note(job.id, label, samples)
        measure = job.measure if job is not CEILINGS else lambda bench: ceilings.measure(bench, self.dtypes)
        values = self._guarded(job.id, lambda: measure(self.bench))
        if values is None:
            self.lost += 1
            return
        if job is CEILINGS:
            self._use(values)
        made = document(job, subject, self.command, self.store.device, self.store.quick, self.device.environment(), values)
        try:
            done = self.store.write(job.id, made)
        except CheckFailed as busy:
            say(str(busy))
            self.lost += 1
            return
        kept.append(job.id)
        say(f"[{self.jobs.index(job) + 1}/{len(self.jobs)}] {job.id}: {time.monotonic() - start:.1f} s, {done}")

    def _guarded(self, what: str, work: Callable[[], Any]) -> Any:
        """What `work` gives, or None and a sentence if memory ran out. Raises UserError if the device is gone."""
        try:
            return work()
        except (MemoryError, RuntimeError) as problem:
            sentence = first_line(problem)
            if out_of_memory(problem):
                say(f"{what}: out of memory, nothing of it was written. {sentence}")
            elif vanished(problem):
                raise UserError(f"{self.device.name} failed during {what}: {sentence}") from None
            else:
                raise
        _give_back()
        return None

    def _left(self, kept: list[str]) -> str:
        """What is there now."""
        complete = f"Complete and kept: {', '.join(kept)}." if kept else "No record was complete."
        return f"{complete} Nothing else was overwritten; the samples taken so far are in {self.store.journal_shown}."


def out_of_memory(problem: BaseException) -> bool:
    """True for the several ways in which torch and Python say so."""
    words = str(problem).lower()
    return isinstance(problem, MemoryError | torch.OutOfMemoryError) or "out of memory" in words or "can't allocate" in words


def vanished(problem: BaseException) -> bool:
    """True if a GPU or its driver no longer answers; any other error is one of ours, and its traceback is wanted."""
    return any(word in str(problem) for word in ("CUDA", "cuDNN", "CUBLAS", "NVML", "acceleratorError"))


def _give_back() -> None:
    """Let go of what a failed or finished group held."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
