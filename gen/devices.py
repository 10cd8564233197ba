"""Which devices were measured, and which records there are of each. Found in the folders, so that a new one needs no page.

Two places: what is published with a site, and what the reader's own machine took (`build/measured/`), which stands beside
it on the local site. Reads JSON only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gen import measured
from gen.errors import CheckFailed
from gen.paths import DEFAULT_MODEL, Site, shown

PUBLISHED, OWN = "measured", "own"  # the first part of a record's name, and its folder below the site's data
PLACES = (PUBLISHED, OWN)


@dataclass(frozen=True)
class Measurement:
    """One record of a device. `name` is how everything calls it: `measured/<device>/<id>`."""

    name: str
    kind: str
    model: str | None
    trained: bool  # its weights were trained, not drawn by lot
    path: Path


@dataclass(frozen=True)
class Device:
    """A device that was measured."""

    place: str
    slug: str
    environment: Mapping[str, Any]  # of its latest record
    records: tuple[Measurement, ...]

    @property
    def id(self) -> str:
        """`measured/<device>`."""
        return f"{self.place}/{self.slug}"

    @property
    def own(self) -> bool:
        """Whether it is the reader's."""
        return self.place == OWN

    @property
    def label(self) -> str:
        """Its name with its threads; a GPU has none that matter."""
        count = self.environment["threads"]
        threads = f" with {count} thread{'' if count == 1 else 's'}" if "cores" in self.environment else ""
        return f"{'yours: ' if self.own else ''}{self.environment['name']}{threads}"

    def of(self, *kinds: str) -> list[Measurement]:
        """The records of some kinds, the default model's first."""
        found = [one for one in self.records if one.kind in kinds]
        return sorted(found, key=lambda one: (one.model not in (None, DEFAULT_MODEL), one.model or "", kinds.index(one.kind)))


def folders(site: Site) -> dict[str, Path]:
    """Place -> folder of devices."""
    return {PUBLISHED: measured.committed(site), OWN: measured.own()}


def found(site: Site) -> tuple[Device, ...]:
    """Every device, the published ones first, and of these the one with real weights. Raises CheckFailed for a bad file."""
    listed = [
        _device(place, slug, files) for place, folder in folders(site).items() for slug, files in measured.files(folder).items()
    ]
    return tuple(sorted(listed, key=lambda one: (one.own, not _real(one), one.slug)))


def path(site: Site, name: str) -> Path:
    """The file of a record `measured/<device>/<id>`."""
    place, _, rest = name.partition("/")
    return folders(site)[place] / f"{rest}.json"


def is_measured(name: str) -> bool:
    """Whether a record's name is one of a measurement."""
    return name.startswith(tuple(f"{place}/" for place in PLACES))


def offered(listed: Sequence[Device], kinds: Sequence[str], labels: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """What a picture must know of the devices that have all these kinds for one model: an entry a device and model.

    `labels` says how a model is called in full.
    """
    entries = []
    for device in listed:
        named = dict.fromkeys(one.model for one in device.of(*kinds) if one.model is not None)
        models: list[str | None] = [*named] or [None]
        many = len(models) > 1
        for model in models:
            records = {one.kind: one.name for one in device.records if one.model in (model, None)}
            if set(kinds) <= set(records):
                entries.append(_entry(device, model, many, records, labels or {}))
    return entries


def _entry(device: Device, model: str | None, many: bool, records: dict[str, str], labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "id": f"{device.id}/{model}" if many else device.id,
        "name": f"{device.label}, {model}" if many else device.label,
        "model": model,
        "date": device.environment["date"],
        "credit": _credit(device, model, records, labels),
        "records": records,
    }


def _credit(device: Device, model: str | None, records: Mapping[str, str], labels: Mapping[str, str]) -> str:
    """On what it was measured and when, in a sentence."""
    real = any(one.trained for one in device.records if one.name in records.values())
    random = "" if real else " with random weights, since how long a pass takes does not depend on the numbers in it"
    of = f": {labels.get(model, model)}{random}" if model else ""
    return f"Measured on {device.label}, {device.environment['date']}{of}."


def _device(place: str, slug: str, files: Mapping[str, Path]) -> Device:
    documents = {id: (path, measured.read(path)) for id, path in files.items()}
    for path, document in documents.values():
        if document["identity"]["quick"]:
            raise CheckFailed(f"{shown(path)} is of a quick run, which proves the commands and measures nothing: delete it.")
    records = tuple(
        Measurement(f"{place}/{slug}/{id}", *_about(document["identity"]), path) for id, (path, document) in documents.items()
    )
    latest = max((document["environment"] for _, document in documents.values()), key=lambda one: str(one["date"]))
    return Device(place, slug, latest, records)


def _about(identity: Mapping[str, Any]) -> tuple[str, str | None, bool]:
    return identity["kind"], identity["model"], identity["model"] is not None and identity["seed"] is None


def _real(device: Device) -> bool:
    return any(one.model == DEFAULT_MODEL for one in device.records)
