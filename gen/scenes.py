"""A device and a model as everything on a page sees them: its records, and every prediction that they hold.

Numbers in words stand in `{is:…}` and `{val:…}`, which a page turns into marks. Knows no HTML.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gen.tables import Records

LARGE_PERCENT = 20.0  # from here on an error needs a reason
POINTS = ("prefill", "decode", "paged", "batch")  # kinds of records with predictions
LANES = {"contiguous": "in place", "concat": "copied", "none": "no cache"}
TABLES = {"contiguous": "in place", "paged": "blocks in order", "shuffled": "blocks shuffled", "gathered": "gathered first"}


@dataclass(frozen=True)
class Scene:
    """Records of one device and model: what a picture shows first."""

    records: Records
    entry: dict[str, Any]

    def values(self, kind: str) -> dict[str, Any]:
        """The values of a record."""
        found: dict[str, Any] = self.records.document(self.entry["records"][kind])["values"]
        return found

    def key(self, kind: str, path: str, form: str = "ms") -> str:
        """The key of a number, to stand in a sentence."""
        return f"{{val:{self.entry['records'][kind]}.{path}|{form}}}"

    @property
    def who(self) -> str:
        """The device, as a recorded name."""
        return said(self.entry["name"])


def said(words: object) -> str:
    """Words that stand as they are: a name, or what was counted just now."""
    return "{is:" + str(words).replace("{", "(").replace("}", ")") + "}"


@dataclass(frozen=True)
class Point:
    """A prediction beside its measurement, and where it stands."""

    kind: str
    path: str
    words: str  # what was measured, its numbers in {is:…}
    point: dict[str, Any]


def points(scene: Scene) -> Iterator[Point]:
    """Every prediction that the records of a scene hold."""
    for kind in POINTS:
        if kind not in scene.entry["records"]:
            continue
        for path, words, point in _POINTS[kind](scene.values(kind)):
            yield Point(kind, path, words, point)


def tokens(count: int) -> str:
    """`1,024 tokens`, `1 token`."""
    return f"{said(f'{count:,}')} token{'' if count == 1 else 's'}"


def sequences(count: int) -> str:
    """`8 sequences`, `1 sequence`."""
    return f"{said(count)} sequence{'' if count == 1 else 's'}"


Rows = Iterator[tuple[str, str, dict[str, Any]]]


def _prefills(values: dict[str, Any]) -> Rows:
    for count in values["tokens"]:
        yield f"at.{count}", f"prefill of {tokens(count)}", values["at"][str(count)]


def _steps(names: dict[str, str]) -> Callable[[dict[str, Any]], Rows]:
    def rows(values: dict[str, Any]) -> Rows:
        for count in values["contexts"]:
            for lane, words in names.items():
                if lane in values["at"][str(count)]:
                    yield f"at.{count}.{lane}", f"step at {tokens(count)}, {words}", values["at"][str(count)][lane]

    return rows


def _batches(values: dict[str, Any]) -> Rows:
    for count in values["contexts"]:
        for batch in values["batches"][str(count)]:
            words = f"step of {sequences(batch)} of {tokens(count)}"
            yield f"at.{count}.{batch}", words, values["at"][str(count)][str(batch)]


_POINTS: dict[str, Callable[[dict[str, Any]], Rows]] = {
    "prefill": _prefills,
    "decode": _steps(LANES),
    "paged": _steps(TABLES),
    "batch": _batches,
}
