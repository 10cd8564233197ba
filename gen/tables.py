"""From a key to the number recorded under it.

A key is `RECORD.path.to.value`, say `one-token.total.without.kv_rows` or `cat.steps.0.top.0.text`. The record is one of
the site's own model. Pages, captions and sentences all come here, so one number is written in one way everywhere (as
`gen.forms` writes it). Knows nothing about HTML or MkDocs.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from gen import devices, io, manifest, measured
from gen.errors import UserError
from gen.forms import UnknownKey, scientific, shown_as
from gen.paths import DEFAULT_MODEL, PUBLISHED, Site, shown

KEY = re.compile(r"\{(num|val|is):([^{}]+)\}")  # `is` stands for words of its own: a name, or what was counted just now


@dataclass(frozen=True)
class Number:
    """A recorded value, where it stands and how it is shown."""

    record: str  # "<model>/<record>", the file below recomputed/ without .json; of a measurement from measured/ or own/ on
    key: str  # path below the record's values
    exact: str  # as the file has it
    text: str
    precision: str = ""  # how far `exact` can be trusted, in words; nothing to say of a text


def file_of(record: str) -> str:
    """The file of a record, from the data folder on. Tables that are kept by hand lie beside what a run makes."""
    kept = record.startswith("geometry/") or devices.is_measured(record)
    return f"{record}.json" if kept else f"recomputed/{record}.json"


class Records:
    """The recordings of a site, checked against the manifest before the first number is read.

    Raises UserError (CheckFailed) if a file disagrees with the manifest; the message names the command that mends it.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        table = manifest.verify(site)
        self.data_hash: str = table["data_hash"]
        self.hashes: dict[str, str] = table["files"]
        self._read: dict[str, Any] = {}

    @cached_property
    def models(self) -> list[str]:
        """Every recorded model, the site's own first."""
        found = sorted({name.split("/")[1] for name in self.hashes if name.startswith("recomputed/")})
        if not found:
            raise UserError(f"{shown(self.site.data)} holds no recordings; `{manifest.mend(self.site)}` makes them.")
        return sorted(found, key=lambda name: name != DEFAULT_MODEL)

    @property
    def model(self) -> str:
        """The model whose numbers the pages show."""
        return self.models[0]

    def names(self, model: str) -> list[str]:
        """The records of a model: `model`, `cat`, `cat/kv-00`, …"""
        prefix = f"recomputed/{model}/"
        return sorted(name[len(prefix) : -len(".json")] for name in self.hashes if name.startswith(prefix))

    @cached_property
    def devices(self) -> tuple[devices.Device, ...]:
        """Every device that was measured, the reader's own last. Raises CheckFailed for a file of another form."""
        return devices.found(self.site)

    def digest(self, record: str) -> str:
        """The SHA-256 of a record's file; the reader's own stands in no manifest."""
        file = file_of(record)
        return self.hashes[file] if file in self.hashes else io.file_sha256(devices.path(self.site, record))

    def document(self, record: str) -> dict[str, Any]:
        """A whole file, by `<model>/<record>` or `measured/<device>/<id>`: identity, environment, values."""
        if record not in self._read and devices.is_measured(record):
            self._read[record] = measured.read(devices.path(self.site, record))
        elif record not in self._read:
            kept = record.startswith("geometry/")  # by hand: the same for every site
            folder = PUBLISHED.data if kept else self.site.data
            self._read[record] = _whole(folder / file_of(record), kept)
        document: dict[str, Any] = self._read[record]
        return document

    def value(self, key: str) -> tuple[str, str, Any]:
        """(record, path, value) of a key. Raises UnknownKey naming the nearest keys."""
        name, _, path = key.partition(".")
        taken = [one.name for device in self.devices for one in device.records] if devices.is_measured(name) else None
        known_names = self.names(self.model) if taken is None else taken
        if name not in known_names:
            raise UnknownKey(f"no record {name!r} for key {key!r}; {_nearest(name, known_names)}")
        record = f"{self.model}/{name}" if taken is None else name
        value: Any = self.document(record)["values"]
        for step in path.split(".") if path else []:
            value = _child(value, step)
            if value is None:
                known = list(_leaves(self.document(record)["values"], name))
                raise UnknownKey(f"record {name!r} has no key {key!r}; {_nearest(key, known)}")
        if not path or isinstance(value, (dict, list)):
            raise UnknownKey(f"key {key!r} is not a single value; {_nearest(key + '.', list(_leaves(value, key)))}")
        return record, path, value

    def number(self, text: str) -> Number:
        """The number that `key|format` stands for. Raises UnknownKey."""
        key, _, form = (part.strip() for part in text.partition("|"))
        record, path, value = self.value(key)
        exact = value if isinstance(value, str) else io.canonical(value).decode().strip()
        tolerance = self.document(record)["identity"].get("tolerance")
        return Number(record, path, exact, shown_as(value, form, key), precision(path, value, tolerance))

    def plain(self, text: str) -> str:
        """`text` with every `{val:…}` replaced by what it stands for."""
        return KEY.sub(lambda match: match[2] if match[1] == "is" else self.number(match[2]).text, text)


def _whole(path: Path, kept: bool) -> Any:
    """The document in a file. Raises UserError if it has not the form of a recording, whatever its hash says."""
    document = io.read(path)
    try:
        identity = document["identity"]
        whole = isinstance(identity, dict) and isinstance(document["values"], dict)
        if not kept:
            texts = (identity["what"], identity["command"])
            whole = whole and type(identity["tolerance"]["absolute"]) is float and all(isinstance(text, str) for text in texts)
    except (KeyError, TypeError):
        whole = False
    if not whole:
        raise UserError(f"{shown(path)} is not a recording: expected identity and values; `git checkout` or record it again.")
    return document


def precision(key: str, value: Any, tolerance: dict[str, float] | None) -> str:
    """How far a recorded value can be trusted: whole numbers are counted, others were rounded when they were written down.

    A measurement has no tolerance: it was taken once.
    """
    if tolerance is None:
        return "4 significant digits, measured once" if isinstance(value, float) else "exact" if type(value) is int else ""
    if key.endswith("_bound"):
        return "a bound that every run must keep"
    if isinstance(value, int) and not isinstance(value, bool):
        return "exact"
    return f"4 significant digits, tolerance ±{scientific(tolerance['absolute'])}" if isinstance(value, float) else ""


def _child(value: Any, step: str) -> Any:
    """One step down a path; None where there is nothing. Lists take whole numbers, negative ones from the end."""
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and re.fullmatch(r"-?\d+", step) and -len(value) <= int(step) < len(value):
        return value[int(step)]
    return None


def _leaves(value: Any, key: str) -> Iterator[str]:
    """The keys of all single values below `value`; of a list only the first entry's."""
    if isinstance(value, dict):
        for name in value:
            yield from _leaves(value[name], f"{key}.{name}")
    elif isinstance(value, list):
        if value:
            yield from _leaves(value[0], f"{key}.0")
    else:
        yield key


def _nearest(wanted: str, known: list[str]) -> str:
    close = get_close_matches(wanted, known, n=3, cutoff=0.0)
    return f"nearest: {', '.join(close)}." if close else "there is nothing near it."
