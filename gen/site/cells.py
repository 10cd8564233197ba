"""Numbers of measurements as cells of a table, each with its origin. Knows no page and no device."""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from gen.measured import LOPSIDED
from gen.scenes import Scene

if TYPE_CHECKING:
    from gen.site.expand import Page

# Why a prediction is more than a fifth off: in a word, and in a sentence (the rule is in gen/measure/predict.py).
WHY = {
    "products": (
        "products",
        "most of the excess lies in the model’s matrices: timed alone, they are slower than the ceilings allow",
    ),
    "attention": ("attention", "most of the excess lies in attention: timed alone, it is slower than the ceilings allow"),
    "copies": (
        "copies",
        "most of the excess lies in copying the old rows: timed alone, it takes longer than one large copy of as many bytes",
    ),
    "rest": (
        "rest",
        "most of the excess lies in norms, rotations, activations and the cost of calling each operation, which are not counted",
    ),
    "held-in-caches": ("caches", "faster than predicted: what a pass reads fits into the processor’s last cache"),
    "above-ceiling": ("ceiling", "faster than predicted: the ceiling itself was measured too low on that device"),
    "not-taken-apart": ("unknown", "the pass was not taken apart, so no reason can be given"),
}
POINT = ["fastest", "spread", "predicted", "error", "because of"]
WORDS = {"because of", "verdict", "why"}  # heads over words, which stand to the left


def mark(words: object) -> str:
    """A name that may hold digits, as recorded."""
    return f'<data class="kv-val" value="{escape(str(words))}">{escape(str(words))}</data>'


def count(number: int) -> str:
    """A whole number that is a place of the record, or was counted just now."""
    return mark(f"{number:,}")


def table(heads: list[str], rows: Iterator[list[str]]) -> Iterator[str]:
    """A table whose first column names the row. An empty head belongs to words."""
    yield "<table><thead><tr>"
    for n, head in enumerate(heads):
        yield f'<th scope="col"{_right(n, head)}>{head}</th>'
    yield "</tr></thead><tbody>"
    for first, *others in rows:
        cells = "".join(f"<td{_right(n + 1, heads[n + 1])}>{cell}</td>" for n, cell in enumerate(others))
        yield f"<tr><td>{first}</td>{cells}</tr>"
    yield "</tbody></table>"


def _right(column: int, head: str) -> str:
    return "" if column == 0 else ' class="kv-words"' if head in WORDS else ' class="kv-right"'


class Cells:
    """Numbers of one record as cells, each with its origin."""

    def __init__(self, page: "Page", scene: Scene, kind: str) -> None:
        self.page, self.record, self.values = page, scene.entry["records"][kind], scene.values(kind)

    def num(self, path: str, form: str = "ms") -> str:
        """The number under a key."""
        return self.page.inline("num", f"{self.record}.{path}|{form}")

    def timing(self, path: str, taken: dict[str, Any]) -> list[str]:
        """Fastest, median, and how far they lie apart."""
        uneven = " <em>uneven</em>" if taken["spread"] > LOPSIDED else ""
        dropped = f" <em>{mark(taken['dropped'])} dropped</em>" if taken["dropped"] else ""
        return [
            self.num(f"{path}.min_ms"),
            self.num(f"{path}.median_ms"),
            f"{self.num(f'{path}.spread', '.2f')}{uneven}{dropped}",
        ]

    def point(self, path: str, point: dict[str, Any]) -> list[str]:
        """A measurement beside its prediction."""
        why = WHY.get(point["why"] or "", ("", ""))[0]
        return [
            *self.timing(f"{path}.measured", point["measured"])[::2],  # the median is the spread times the fastest
            self.num(f"{path}.predicted.ms"),
            self.num(f"{path}.error_percent", "percent"),
            escape(why),
        ]

    def ratio(self, path: str, ratio: dict[str, Any]) -> list[str]:
        """Of the fastest, of the pairs, and what became of a bound."""
        ends = f"{self.num(f'{path}.lowest', '.2f')} to {self.num(f'{path}.highest', '.2f')}"
        return [
            self.num(f"{path}.of_minima", ".2f"),
            self.num(f"{path}.median_of_pairs", ".2f"),
            ends,
            verdict(self, path, ratio),
        ]


def verdict(cells: Cells, path: str, ratio: dict[str, Any]) -> str:
    """A bound and whether it was kept, in words."""
    if ratio["lopsided"]:
        return "none: too uneven"
    if ratio["bound"] is None:
        return "no bound"
    bound = cells.num(f"{path}.bound", ".2f")
    return f"{'keeps to' if ratio['verdict'] else 'misses'} {bound}"
