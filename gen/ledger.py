"""Numbers that others computed or measured: the one reader of `ledger.yaml`. A page shows one with `{quote:id}`, or
its whole sentence with `{claim:id}`.

Knows nothing about HTML.
"""

from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache
from pathlib import Path

import yaml

from gen.errors import UserError
from gen.paths import ROOT, shown

TABLE = ROOT / "gen" / "ledger.yaml"
STATUSES = {
    "recomputed": "kvref comes to the same number from published sizes",
    "reproduced": "the same was run or measured here, with the same outcome",
    "quoted": "taken as it stands",
}


@dataclass(frozen=True)
class Row:
    """One external number."""

    id: str
    claim: str  # with {value} where the number stands
    value: str  # as a page shows it
    source: str
    url: str
    date: str  # the source's own
    status: str  # one of STATUSES
    by: str = ""  # what recomputes or reproduces it: a test, file::function, or the key of a recorded number


@cache
def rows(table: Path = TABLE) -> dict[str, Row]:
    """Every row by its id. Raises UserError naming the row and what is wrong with it."""
    found: dict[str, Row] = {}
    for number, entry in enumerate(yaml.safe_load(table.read_text(encoding="utf-8"))):
        where = f"{shown(table)}: row {number} ({entry.get('id')})"
        keys = {field.name for field in fields(Row)}
        if not keys - {"by"} <= set(entry) <= keys:
            raise UserError(f"{where}: expected the keys {', '.join(sorted(keys))}, got {', '.join(sorted(entry))}.")
        row = Row(**{key: str(text) for key, text in entry.items()})
        if row.id in found or row.status not in STATUSES or row.claim.count("{value}") != 1:
            raise UserError(f"{where}: expected an id of its own, a known status and one {{value}} in its claim.")
        if bool(row.by) == (row.status == "quoted"):
            raise UserError(f"{where}: {row.status!r} {'has no' if row.by else 'needs a'} test or key in `by`.")
        found[row.id] = row
    return found


def is_test(by: str) -> bool:
    """Whether `by` names a test; if not, it is the key of a recorded number."""
    return "::" in by


def quoted(name: str) -> Row:
    """The row of `{quote:name}`. Raises UserError with the nearest ids."""
    if name not in rows():
        close = get_close_matches(name, rows(), n=3, cutoff=0.0)
        raise UserError(f"the ledger has no number {name!r}; nearest: {', '.join(close)}.")
    return rows()[name]
