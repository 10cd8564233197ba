"""Putting measurements where they belong, whole or not at all, and keeping samples of what was not finished.

A record replaces an older one only when it is complete, and one that was taken on a busy machine replaces none that was
taken on a quiet one. Every series of samples is also appended to `build/measured/<device>/samples.jsonl` as it ends,
even when it ends because the run was stopped.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gen import io, manifest, measured, paths, publish
from gen.errors import CheckFailed, UserError, held_back
from gen.paths import Site, shown


@dataclass(frozen=True)
class Store:
    """Where the records of one device go: into a site's data and its manifest, or into `build/`."""

    device: str
    site: Site | None = None  # None: build/
    quick: bool = False  # kept apart: it proves the commands, its numbers mean nothing

    @property
    def folder(self) -> Path:
        """One file for each record."""
        if self.site is not None:
            return measured.committed(self.site) / self.device
        return (paths.BUILD / "measured-quick" if self.quick else measured.own()) / self.device

    @property
    def journal(self) -> Path:
        """Every sample of every run, a line for each series."""
        return (paths.BUILD / "measured-quick" if self.quick else measured.own()) / self.device / "samples.jsonl"

    @property
    def journal_shown(self) -> str:
        """Its path as a message should print it."""
        return shown(self.journal)

    def path(self, id: str) -> Path:
        """The file of a record."""
        return self.folder / f"{id}.json"

    def check(self, ids: Iterable[str] = ()) -> None:
        """Raise UserError for what can be seen before anything is timed: nowhere to write, data that is not as listed.

        The records with these ids are about to be measured, so it does not matter what they are now.
        """
        io.check_folder(self.folder)
        io.check_folder(self.journal.parent)
        if self.site is not None:
            manifest.verify(self.site, {_name(self.site, self.path(id)) for id in ids})

    def read(self, id: str) -> dict[str, Any] | None:
        """A record that is there and whole, else None."""
        try:
            return measured.read(self.path(id)) if self.path(id).is_file() else None
        except CheckFailed:
            return None

    def write(self, id: str, document: Mapping[str, Any]) -> str:
        """Write a complete record; what was done, in a sentence. Raises UserError, and then nothing has changed."""
        data, path = io.canonical(document), self.path(id)
        whole = json.loads(data)
        for fault in measured.faults(whole, path):
            raise UserError(f"The record {id} was not kept: {fault}.")
        if self.site is not None and len(data) > publish.FILE_LIMIT_BYTES:
            raise UserError(f"{id} takes {len(data):,} bytes: expected at most {publish.FILE_LIMIT_BYTES:,}.")
        before, now = self.read(id), busy(whole["values"])
        if before is not None and now and not busy(before["values"]):
            raise CheckFailed(f"The machine was busy during {id} ({now} uneven series): the record in {shown(path)} was kept.")
        if self.site is None:
            io.write(path, data)
        else:
            with held_back():
                _publish(self.site, path, data)
        return f"{shown(path)} ({len(data) / 1e3:.1f} KB{f', {now} uneven series: the machine was busy' if now else ''})"

    def note(self, id: str, label: str, samples: Mapping[str, list[float]]) -> None:
        """Append what was sampled. A disk that refuses is not worth stopping for."""
        if not any(samples.values()):
            return
        line = json.dumps({"id": id, "label": label, "samples_ms": {name: list(taken) for name, taken in samples.items()}})
        try:
            self.journal.parent.mkdir(parents=True, exist_ok=True)
            with self.journal.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError:
            return


def busy(value: Any) -> int:
    """How many of the timings in a record are uneven: their median far above their minimum.

    The parts of a pass are not counted: some take microseconds, and no verdict hangs on them.
    """
    if isinstance(value, dict):
        if "samples_ms" in value:
            return int(value["spread"] > measured.LOPSIDED)
        return sum(busy(item) for name, item in value.items() if name != "parts")
    return sum(busy(item) for item in value) if isinstance(value, list) else 0


def _publish(site: Site, path: Path, data: bytes) -> None:
    """Write a record and list it, both or neither: where the manifest cannot be written, the record is as before."""
    spare = path.with_name(f".{path.name}.before.part")
    if path.is_file():
        io.write(spare, path.read_bytes())
    try:
        io.write(path, data)
        _list(site, path)
    except BaseException:
        if spare.is_file():
            spare.replace(path)
        else:
            path.unlink(missing_ok=True)
        raise
    finally:
        spare.unlink(missing_ok=True)


def _name(site: Site, path: Path) -> str:
    """As the manifest calls a file."""
    return path.relative_to(site.data).as_posix()


def _list(site: Site, path: Path) -> None:
    """Put one file's hash into the manifest, which is read again: others may have written it meanwhile."""
    files = dict(manifest.load(site)["files"])
    files[_name(site, path)] = io.file_sha256(path)
    manifest.write(site, files)
