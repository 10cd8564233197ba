"""Tables of passes that were timed: prefills, decode steps, where a cache pays, transformers beside kvref.

Each is made for one device and model; which there are is known to `gen.site.measured`.
"""

import re
from collections.abc import Callable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from gen.scenes import LANES, TABLES, Point, Scene, points
from gen.site.cells import POINT, WHY, Cells, count, mark, table

if TYPE_CHECKING:
    from gen.site.expand import Page

Table = Callable[["Page", Scene], Iterator[str]]
MOST_ROWS = 16  # a page of many devices would grow beyond its budget


def _points(name: str, first: str) -> Table:
    """All predictions of one record, a row each."""

    def made(page: "Page", scene: Scene) -> Iterator[str]:
        cells = Cells(page, scene, name)
        found, more = _some([one for one in points(scene) if one.kind == name])
        yield from table([first, *POINT], ([_row_head(page, one), *cells.point(one.path, one.point)] for one in found))
        yield from _left_out(cells.values, more)

    return made


def _row_head(page: "Page", one: Point) -> str:
    parts = one.path.split(".")
    if one.kind == "prefill":
        return count(int(parts[1]))
    if one.kind == "batch":
        return f"{count(int(parts[2]))} × {count(int(parts[1]))}"
    return f"{count(int(parts[1]))}, {escape((LANES | TABLES)[parts[2]])}"


def _some(found: list[Point]) -> tuple[list[Point], int]:
    """As many rows as a table may have, the first and the last among them, and how many were passed over."""
    if len(found) <= MOST_ROWS:
        return found, 0
    places = sorted({round(n * (len(found) - 1) / (MOST_ROWS - 1)) for n in range(MOST_ROWS)})
    return [found[place] for place in places], len(found) - len(places)


def _left_out(values: dict[str, Any], more: int = 0) -> Iterator[str]:
    """What there was no room or no time for, and what stands in the file alone."""
    if more:
        yield f'<p class="kv-note">{count(more)} more in the file.</p>'
    found = values.get("left_out", [])
    for why, words in {"no-room": "for want of memory", "no-time": "for want of time"}.items():
        some = [one for one in found if one["why"] == why]
        if some:
            listed = ", ".join(
                count(one["tokens"]) if "tokens" in one else f"{count(one['batch'])} × {count(one['context_tokens'])}"
                for one in some
            )
            yield f'<p class="kv-note">Left out {words}: {listed}.</p>'


def _decode(page: "Page", scene: Scene) -> Iterator[str]:
    yield from _points("decode", "context")(page, scene)
    cells = Cells(page, scene, "decode")
    rows = (
        [
            count(context),
            cells.num(f"at.{context}.concat.predicted.copied_bytes", "MiB"),
            cells.num(f"at.{context}.concat.parts.copies.min_ms"),
            *cells.ratio(f"at.{context}.concat_ratio", cells.values["at"][str(context)]["concat_ratio"])[:3],
        ]
        for context in cells.values["contexts"]
    )
    yield from table(
        ["context", "copied a step", "copies alone", "copied ÷ in place", "median of pairs", "lowest to highest"], rows
    )


def _paged(page: "Page", scene: Scene) -> Iterator[str]:
    """Whole steps, attention alone against the cache in place, what blocks take beside, and several requests at once."""
    yield from _points("paged", "context")(page, scene)
    cells = Cells(page, scene, "paged")
    lanes = [name for name in cells.values["lanes"] if name != "contiguous"]
    rows = (
        [
            f"{count(context)}, {TABLES[lane]}",
            cells.num(f"{path}_ratio.of_minima", ".2f"),
            cells.num(f"{path}_ratio.median_of_pairs", ".2f"),
            *cells.ratio(f"{path}_attention_ratio", one),
        ]
        for context in cells.values["contexts"]
        for lane in lanes
        for path in [f"at.{context}.{lane}"]
        for one in [cells.values["at"][str(context)][f"{lane}_attention_ratio"]]
    )
    heads = [
        "÷ in place",
        "whole step",
        "its median of pairs",
        "attention alone",
        "median of pairs",
        "lowest to highest",
        "verdict",
    ]
    yield from table(heads, rows)
    tails = (
        [
            count(context),
            *(cells.num(f"at.{context}.{name}", ".0f") for name in ("blocks", "tail_tokens")),
            cells.num(f"at.{context}.tail_bytes", "KiB"),
        ]
        for context in cells.values["contexts"]
    )
    yield from table(["context", "blocks", "empty rows", "they take"], tails)
    packed = (
        [
            f"{count(int(batch))} × {count(cells.values['packed_context'])}",
            cells.num(f"packed.{batch}.fixed.min_ms"),
            cells.num(f"packed.{batch}.packed.min_ms"),
            *cells.ratio(f"packed.{batch}.packed_ratio", one["packed_ratio"])[:3],
        ]
        for batch, one in sorted(cells.values["packed"].items(), key=lambda item: int(item[0]))
    )
    yield from table(["requests × context", "buffers", "blocks", "ratio", "median of pairs", "lowest to highest"], packed)


def _batch(page: "Page", scene: Scene) -> Iterator[str]:
    cells = Cells(page, scene, "batch")
    found, more = _some([one for one in points(scene) if one.kind == "batch"])
    rows = (
        [_row_head(page, one), *cells.point(one.path, one.point), cells.num(f"{one.path}.tokens_per_second", ".0f")]
        for one in found
    )
    yield from table(["sequences × context", *POINT, "tokens a second"], rows)
    yield from _left_out(cells.values, more)


def _pays(page: "Page", scene: Scene) -> Iterator[str]:
    cells = Cells(page, scene, "pays")
    places = [(f"at.{context}", count(context)) for context in cells.values["contexts"]]
    once = cells.values["one_token"]["prompt_tokens"]
    places.append(("one_token", f"{count(once)}, and a reply of one token"))
    rows = (
        [
            words,
            cells.num(f"{path}.with.min_ms"),
            cells.num(f"{path}.without.min_ms"),
            *cells.ratio(f"{path}.ratio", _below(cells.values, path)["ratio"])[:3],
        ]
        for path, words in places
    )
    yield from table(["context", "with a cache", "without", "ratio", "median of pairs", "lowest to highest"], rows)


def _below(values: dict[str, Any], path: str) -> dict[str, Any]:
    found: Any = values
    for step in path.split("."):
        found = found[step]
    return dict(found)


def _others(page: "Page", scene: Scene) -> Iterator[str]:
    cells = Cells(page, scene, "others")
    rows = (
        [
            f"{words} {count(int(length))}, {_cache(name)}",
            cells.num(f"{part}.{length}.kvref.min_ms"),
            cells.num(f"{part}.{length}.{name}.min_ms"),
            *cells.ratio(f"{part}.{length}.{name}_ratio", one[f"{name}_ratio"])[:3],
        ]
        for part, words in (("decode", "step at"), ("prefill", "prefill of"))
        for length, one in sorted(cells.values[part].items(), key=lambda item: int(item[0]))
        for name in ("dynamic", "static")
        if name in one
    )
    yield from table(["tokens", "kvref", "transformers", "ratio", "median of pairs", "lowest to highest"], rows)


def _cache(name: str) -> str:
    return f"<code>{name.capitalize()}Cache</code>"


def _budget(page: "Page", scene: Scene) -> Iterator[str]:
    cells = Cells(page, scene, "budget")
    names = {"products": "matrix products alone", "kvref": "kvref", "transformers": "transformers"}
    yield from table(
        ["a token", "fastest", "median", "spread"],
        ([words, *cells.timing(name, cells.values[name])] for name, words in names.items()),
    )
    ratios = {"products_share": "products ÷ kvref", "speedup": "transformers ÷ kvref"}
    yield from table(
        ["ratio", "of the fastest", "median of pairs", "lowest to highest", "verdict"],
        ([words, *cells.ratio(name, cells.values[name])] for name, words in ratios.items()),
    )


def _errors(page: "Page", scene: Scene) -> Iterator[str]:
    """How many predictions lie how far off, by reason; and the reasons in words."""
    found = list(points(scene))
    groups = {word: (words, [one for one in found if one.point["why"] == why]) for why, (word, words) in WHY.items()}
    near = {"within a fifth": ("needs no reason", [one for one in found if one.point["why"] is None])}
    yield "<dl>"
    for word, (words, some) in (near | groups).items():
        if some:
            many = "prediction" if len(some) == 1 else "predictions"
            numbers = f"{count(len(some))} {many}, {_range(page, scene, some)}"
            yield f"<dt>{escape(word)}: {numbers}</dt><dd>{words}{_worst(page, scene, some)}</dd>"
    yield "</dl>"


def _worst(page: "Page", scene: Scene, some: list[Point]) -> str:
    """The pass that is furthest off, and its parts beside it."""
    worst = min(some, key=lambda one: float(one.point["error_percent"]))
    if worst.point["why"] not in worst.point["parts"] and worst.point["why"] != "rest":
        return ""
    cells = Cells(page, scene, worst.kind)
    names = list(worst.point["parts"]) if worst.point["why"] == "rest" else [worst.point["why"]]
    alone = ", ".join(f"{name} alone {cells.num(f'{worst.path}.parts.{name}.min_ms')}" for name in names)
    whole, least = (cells.num(f"{worst.path}.{name}") for name in ("measured.min_ms", "predicted.ms"))
    return f". Furthest off is a {_said(worst.words)}: {alone}, the whole pass {whole}, predicted {least}"


def _said(words: str) -> str:
    """Words of a point, its numbers marked."""
    return re.sub(r"\{is:([^}]*)\}", lambda found: mark(found[1]), words)


def _range(page: "Page", scene: Scene, some: list[Point]) -> str:
    """The least and the largest error."""
    if not some:
        return ""
    ends = sorted(some, key=lambda one: float(one.point["error_percent"]))
    texts = [
        page.inline("num", scene.key(one.kind, f"{one.path}.error_percent", "percent")[5:-1]) for one in (ends[0], ends[-1])
    ]
    return texts[0] if len(some) == 1 else f"{texts[0]} to {texts[1]}"


PASSES: dict[str, tuple[tuple[str, ...], Table]] = {
    "errors": (("prefill",), _errors),
    "prefill": (("prefill",), _points("prefill", "tokens")),
    "decode": (("decode",), _decode),
    "paged": (("paged",), _paged),
    "batch": (("batch",), _batch),
    "pays": (("pays",), _pays),
    "others": (("others",), _others),
    "budget": (("budget",), _budget),
}
