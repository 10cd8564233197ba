"""The project's table of models' geometry, and how a model is named on the command line. Loads no torch."""

from difflib import get_close_matches
from functools import cache
from typing import Any

from gen import io, manifest
from gen.errors import CheckFailed, UserError
from gen.paths import PUBLISHED, shown, slug
from kvref.plan.geometry import Geometry

TABLE = PUBLISHED.data / "geometry" / "models.json"
TEXTS = ("id", "name", "hf_id", "source", "evidence")


def verify() -> None:
    """Raise UserError if the table is not the one in the manifest: whoever asks for a number gets the published one."""
    if not TABLE.is_file():
        raise UserError(f"{shown(TABLE)} is missing; `git checkout` it.")
    expected, got = manifest.load(PUBLISHED)["files"].get("geometry/models.json"), io.file_sha256(TABLE)
    if got != expected:
        raise CheckFailed(
            f"{shown(TABLE)}: expected SHA-256 {expected} as in the manifest, got {got}; "
            f"`git checkout` it or run `{manifest.mend(PUBLISHED)}`."
        )


@cache
def rows() -> dict[str, dict[str, Any]]:
    """Every row by its id. Raises UserError if the table is missing or damaged."""
    table = io.read(TABLE)
    try:
        found: dict[str, dict[str, Any]] = table["values"]["models"]
        whole = all(_whole(row) for row in found.values())
    except (KeyError, TypeError, AttributeError):
        whole = False
    if not whole:
        raise UserError("docs/data/geometry/models.json is not the table of models; `git checkout` it.")
    names = {alias: row["id"] for row in found.values() for alias in _aliases(row)}
    return {name: found[name] for name in dict.fromkeys(names.values())}


def find(name: str) -> dict[str, Any]:
    """The row of a model, by its id, its name or its name on the hub, however written. Raises UserError."""
    aliases = {alias: row for row in rows().values() for alias in _aliases(row)}
    wanted = slug(name)
    if wanted not in aliases:
        close = get_close_matches(wanted, rows(), n=3, cutoff=0.0)
        raise UserError(f"there is no model {name!r}; nearest: {', '.join(close)}; `--models` lists them all.")
    return aliases[wanted]


def geometry(row: dict[str, Any]) -> Geometry:
    """A row as `kvref.plan` counts it. Raises UserError."""
    try:
        return Geometry.from_row(row)
    except ValueError as wrong:
        raise UserError(str(wrong)) from None


def _whole(row: dict[str, Any]) -> bool:
    """True for a row that says all that is printed of it. What it counts is `Geometry.from_row`'s to check."""
    return all(isinstance(row[name], str) for name in TEXTS) and isinstance(row["verified"], bool)


def _aliases(row: dict[str, Any]) -> set[str]:
    hub = row["hf_id"]
    return {slug(text) for text in (row["id"], row["name"], hub, hub.rpartition("/")[2])}
