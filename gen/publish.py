"""Compare records with the files of a site, or put them there. Knows neither models nor experiments.

A file whose numbers still agree is left as it is, whatever the last digit of this machine: data that was cited changes
only when a number does. The manifest is written last.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gen import io, manifest, measured
from gen.compare import Comparison, compare
from gen.errors import CheckFailed, UserError
from gen.paths import Site, shown
from gen.records import Record, environment

FILE_LIMIT_BYTES = 400_000
TOTAL_LIMIT_BYTES = 16_000_000
SHOWN_DIFFERENCES = 8


def difference(site: Site, model_id: str, records: Iterable[Record]) -> Comparison:
    """Compare every record with its file."""
    total = Comparison()
    for record in records:
        path = site.record(model_id, record.id)
        total.add(_compare_file(path, record), shown(path))
    return total


def _compare_file(path: Path, record: Record) -> Comparison:
    if not path.is_file():
        return Comparison(differences=[("the file", "a recording", "nothing")])
    try:
        stored = io.read(path)
    except UserError as problem:
        return Comparison(differences=[("the file", "a recording", str(problem))])
    parts = ("environment", "identity", "values")
    if not isinstance(stored, dict) or not all(isinstance(stored.get(part), dict) for part in parts):
        return Comparison(differences=[("the file", " ".join(parts), "something else")])
    try:
        result = compare({"values": stored["values"]}, {"values": record.values}, record.identity["tolerance"])
    except RecursionError:
        return Comparison(differences=[("the file", "values of some depth", "values nested without end")])
    identity = io.plain(record.identity)
    for key in sorted(identity.keys() | stored["identity"].keys()):
        expected, got = stored["identity"].get(key), identity.get(key)
        if expected != got:
            result.differences.append((f"identity.{key}", expected, got))
    return result


def leftovers(site: Site, model_id: str, records: Iterable[Record]) -> list[Path]:
    """Files of this model that a complete run does not make. A site of the reader's own holds one model only.

    Measurements are never among them.
    """
    made = {site.record(model_id, record.id) for record in records} | {site.data / name for name in manifest.taken(site)}
    folder = site.model_folder(model_id) if site.published else site.data
    return [path for path in manifest.recordings(site).values() if path.is_relative_to(folder) and path not in made]


def check(site: Site, model_id: str, records: list[Record], *, complete: bool) -> str:
    """The sentence of success, or CheckFailed: file, key, expected, got and the command that mends it."""
    found = difference(site, model_id, records)
    for path in leftovers(site, model_id, records) if complete else []:
        found.differences.append((f"{shown(path)}: the file", "a recording that this run makes", "a leftover"))
    if found.differences:
        commands = {record.id.partition("/")[0]: record.identity["command"] for record in records}
        lines = [f"{key}: expected {expected!r}, got {got!r}" for key, expected, got in found.differences]
        more = len(lines) - SHOWN_DIFFERENCES
        lines = lines[:SHOWN_DIFFERENCES] + ([f"and {more} more"] if more > 0 else [])
        touched = sorted({_record_name(site, model_id, key) for key, _, _ in found.differences} & commands.keys())
        one = commands[touched[0]] + (" --write" if site.published else "") if len(touched) == 1 else None
        mend = one or manifest.mend(site)
        raise CheckFailed("the recomputed numbers differ:\n  " + "\n  ".join(lines) + f"\nIf that is right: {mend}")
    manifest.verify(site)
    measured.check(measured.committed(site))  # their form: nothing is timed again
    where = f" at {found.worst_key}" if found.worst else ""
    return f"{found.numbers:,} numbers, worst deviation {found.worst:.2g}{where}"


def _record_name(site: Site, model_id: str, key: str) -> str:
    file = key.partition(": ")[0].removeprefix(shown(site.model_folder(model_id)) + "/")
    return file.removesuffix(".json").partition("/")[0]


def write(site: Site, model_id: str, records: list[Record], *, complete: bool) -> str:
    """Write what changed, then the manifest; what was done, in a sentence. Killed halfway, it can be run again."""
    io.sweep(site.data)
    files = manifest.taken(site) | _listed(site) | manifest.kept(site)  # a measurement keeps the hash it was written with
    fresh = _documents(site, model_id, records)
    surplus = leftovers(site, model_id, records) if complete else []
    total = _total(site, fresh, surplus)
    changed = sum(io.write(path, data) for path, data in fresh.items()) + len(surplus)
    for record in records:
        path = site.record(model_id, record.id)
        files[path.relative_to(site.data).as_posix()] = io.file_sha256(path)
    for path in surplus:
        path.unlink()
        files.pop(path.relative_to(site.data).as_posix(), None)
    manifest.write(site, files)
    manifest.verify(site)
    return f"{len(records)} records, {changed} files changed in {shown(site.data)} ({total / 1e6:.1f} MB)"


def _documents(site: Site, model_id: str, records: list[Record]) -> dict[Path, bytes]:
    """The bytes of every file that must change, all made before the first is written. Raises UserError."""
    surroundings = environment()
    paths = {site.record(model_id, record.id): record for record in records}
    changed = {path: record for path, record in paths.items() if _compare_file(path, record).differences}
    return {path: _document(record, surroundings, limited=site.published) for path, record in changed.items()}


def _total(site: Site, fresh: dict[Path, bytes], surplus: list[Path]) -> int:
    """The bytes of all recordings as they will be. Raises UserError if that is too much."""
    sizes = {path: path.stat().st_size for path in manifest.recordings(site).values() if path not in surplus}
    total = sum((sizes | {path: len(data) for path, data in fresh.items()}).values())
    if site.published and total > TOTAL_LIMIT_BYTES:
        raise UserError(f"All recordings take {total:,} bytes: expected at most {TOTAL_LIMIT_BYTES:,}.")
    return total


def _document(record: Record, surroundings: dict[str, Any], *, limited: bool) -> bytes:
    try:
        data = record.document(surroundings)
    except ValueError as problem:
        raise UserError(f"The record {record.id} cannot be written: {problem}; the weights may be damaged.") from None
    if limited and len(data) > FILE_LIMIT_BYTES:
        raise UserError(f"{record.id} takes {len(data):,} bytes: expected at most {FILE_LIMIT_BYTES:,}.")
    return data


def _listed(site: Site) -> dict[str, str]:
    """The files of the present manifest that still exist; none if there is no manifest that can be read."""
    try:
        files: dict[str, str] = manifest.load(site)["files"]
    except UserError:
        return {}
    return {name: digest for name, digest in files.items() if (site.data / name).is_file()}
