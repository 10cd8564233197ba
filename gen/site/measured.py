"""What `{measured:KIND}` stands for: a table for each device that was measured, ours first, then the reader's own.

Nothing here names a device or a length: all of it is read from the records, so a new one fills these in by itself.
"""

from collections.abc import Callable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from gen import devices, findings
from gen.errors import UserError
from gen.findings import LANES, TABLES, Point, Scene
from gen.measured import LOPSIDED
from gen.tables import KEY, file_of

if TYPE_CHECKING:
    from gen.site.expand import Page

NOTHING = (
    '<p class="kv-none">There is no record yet, so no number stands here. '
    "<code>python -m gen measure</code> times a machine; its records appear in this place by themselves.</p>"
)
# Why a prediction is more than a fifth off: in a word, and in a sentence (the rule is in gen/measure/predict.py).
WHY = {
    "products": ("products", "the model’s matrices, timed alone, run that far below the ceiling of one large square product"),
    "attention": ("attention", "attention, timed alone, runs that far below the ceilings"),
    "copies": ("copies", "copying the old rows, timed alone, takes that much longer than one large copy of as many bytes"),
    "rest": ("rest", "norms, rotations, activations and the cost of calling each operation, which are not counted"),
    "held-in-caches": ("caches", "faster than predicted: what a pass reads fits into the processor’s last cache"),
    "above-ceiling": ("ceiling", "faster than predicted: the ceiling itself was measured too low on that device"),
    "not-taken-apart": ("unknown", "the pass was not taken apart, so no reason can be given"),
}
Table = Callable[["Page", Scene], Iterator[str]]


def to_html(page: "Page", name: str) -> str:
    """All devices' tables of one kind. Raises UserError for a kind that there is not."""
    if name not in TABLES_OF:
        raise UserError(f"there is no table {name!r} of measurements; known: {', '.join(TABLES_OF)}.")
    kinds, table = TABLES_OF[name]
    found = devices.offered(page.records.devices, kinds)
    scenes = [Scene(page.records, entry) for entry in found]
    return "\n".join(_device(page, scene, kinds[-1], table) for scene in scenes) or NOTHING


def _device(page: "Page", scene: Scene, kind: str, table: Table) -> str:
    """One device's table under its name, date and samples. What is long is put away; a printer opens it."""
    record = scene.entry["records"][kind]
    about = page.records.document(record)["environment"]
    own = ' <strong class="kv-own">your machine</strong>' if record.startswith(devices.OWN) else ""
    model = f", {mark(scene.entry['model'])}" if scene.entry["model"] else ""
    head = f"{mark(scene.entry['name'].removeprefix('yours: '))}{own}{model}, <time>{escape(str(about['date']))}</time>"
    more = f'<a href="{page.to(f"data/{file_of(record)}")}">every sample</a>'
    load = f" Load when it began: {_num(page, number)}." if (number := _load(about)) else ""
    inside = "".join(table(page, scene))
    open_ = "" if kind in LONG else " open"
    return (
        f'<details class="kv-device"{open_}><summary>{head}</summary>{inside}'
        f'<p class="kv-note">{more} of this table, in {mark(record.rpartition("/")[2])}.{load}</p></details>'
    )


LONG = ("prefill", "decode", "paged", "batch", "others")


def _load(about: dict[str, Any]) -> str | None:
    load = about.get("load_at_start")
    return None if load is None else str(load)


def mark(words: object) -> str:
    """A name that may hold digits, as recorded."""
    return f'<data class="kv-val" value="{escape(str(words))}">{escape(str(words))}</data>'


def _num(page: "Page", text: str) -> str:
    return mark(text)


def _sentence(page: "Page", text: str) -> str:
    """Words with keys in them."""
    return page.sentence(text) if KEY.search(text) else escape(text)


def _table(heads: list[str], rows: Iterator[list[str]]) -> Iterator[str]:
    """A table whose first column names the row. An empty head belongs to words."""
    yield '<table><thead><tr>'
    for n, head in enumerate(heads):
        yield f'<th scope="col"{_right(n, head)}>{head}</th>'
    yield "</tr></thead><tbody>"
    for first, *others in rows:
        cells = "".join(f"<td{_right(n + 1, heads[n + 1])}>{cell}</td>" for n, cell in enumerate(others))
        yield f"<tr><td>{first}</td>{cells}</tr>"
    yield "</tbody></table>"


WORDS = {"because of", "lane", "verdict", "why"}


def _right(column: int, head: str) -> str:
    return "" if column == 0 or head in WORDS else ' class="kv-right"'


# --- cells -------------------------------------------------------------------------------------------------------------


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
        return [self.num(f"{path}.min_ms"), self.num(f"{path}.median_ms"), f"{self.num(f'{path}.spread', '.2f')}{uneven}{dropped}"]

    def point(self, path: str, point: dict[str, Any]) -> list[str]:
        """A measurement beside its prediction."""
        why = WHY.get(point["why"] or "", ("", ""))[0]
        return [
            *self.timing(f"{path}.measured", point["measured"]),
            self.num(f"{path}.predicted.ms"),
            self.num(f"{path}.error_percent", "percent"),
            escape(why),
        ]

    def ratio(self, path: str, ratio: dict[str, Any]) -> list[str]:
        """Of the fastest, of the pairs, and what became of a bound."""
        ends = f"{self.num(f'{path}.lowest', '.2f')} to {self.num(f'{path}.highest', '.2f')}"
        return [self.num(f"{path}.of_minima", ".2f"), self.num(f"{path}.median_of_pairs", ".2f"), ends, verdict(self, path, ratio)]


POINT = ["fastest", "median", "spread", "predicted", "error", "because of"]


def verdict(cells: Cells, path: str, ratio: dict[str, Any]) -> str:
    """A bound and whether it was kept, in words."""
    if ratio["lopsided"]:
        return "none: too uneven"
    if ratio["bound"] is None:
        return "no bound"
    bound = cells.num(f"{path}.bound", ".2f")
    return f"{'keeps to' if ratio['verdict'] else 'misses'} {bound}"


def _count(number: int) -> str:
    return mark(f"{number:,}")


# --- tables ------------------------------------------------------------------------------------------------------------


def _points(name: str, first: str) -> Table:
    """All predictions of one record, a row each."""

    def table(page: "Page", scene: Scene) -> Iterator[str]:
        cells = Cells(page, scene, name)
        rows = ([_row_head(page, one), *cells.point(one.path, one.point)] for one in findings.points(scene) if one.kind == name)
        yield from _table([first, *POINT], rows)
        yield from _left_out(cells.values)

    return table


def _row_head(page: "Page", one: Point) -> str:
    parts = one.path.split(".")
    if one.kind == "prefill":
        return _count(int(parts[1]))
    if one.kind == "batch":
        return f"{_count(int(parts[2]))} × {_count(int(parts[1]))}"
    return f"{_count(int(parts[1]))}, {escape((LANES | TABLES)[parts[2]])}"


def _left_out(values: dict[str, Any]) -> Iterator[str]:
    """What there was no room or no time for."""
    found = values.get("left_out", [])
    for why, words in {"no-room": "for want of memory", "no-time": "for want of time"}.items():
        some = [one for one in found if one["why"] == why]
        if some:
            listed = ", ".join(
                _count(one["tokens"]) if "tokens" in one else f"{_count(one['batch'])} × {_count(one['context_tokens'])}"
                for one in some
            )
            yield f'<p class="kv-note">Left out {words}: {listed}.</p>'


def _decode(page: "Page", scene: Scene) -> Iterator[str]:
    yield from _points("decode", "context")(page, scene)
    cells = Cells(page, scene, "decode")
    rows = (
        [
            _count(context),
            cells.num(f"at.{context}.concat.predicted.copied_bytes", "MiB"),
            cells.num(f"at.{context}.concat.parts.copies.min_ms"),
            *cells.ratio(f"at.{context}.concat_ratio", cells.values["at"][str(context)]["concat_ratio"])[:3],
        ]
        for context in cells.values["contexts"]
    )
    yield from _table(["context", "copied a step", "copies alone", "copied ÷ in place", "of pairs", "pairs"], rows)


def _paged(page: "Page", scene: Scene) -> Iterator[str]:
    yield from _points("paged", "context")(page, scene)
    cells = Cells(page, scene, "paged")
    names = {"paged_ratio": "in order", "shuffled_ratio": "shuffled", "gathered_ratio": "gathered first"}
    rows = (
        [f"{_count(context)}, {words}", *cells.ratio(f"at.{context}.{name}", cells.values["at"][str(context)][name])]
        for context in cells.values["contexts"]
        for name, words in names.items()
    )
    yield from _table(["÷ in place", "of the fastest", "of pairs", "pairs", "verdict"], rows)


def _batch(page: "Page", scene: Scene) -> Iterator[str]:
    cells = Cells(page, scene, "batch")
    rows = (
        [_row_head(page, one), *cells.point(one.path, one.point), cells.num(f"{one.path}.tokens_per_second", ".0f")]
        for one in findings.points(scene)
        if one.kind == "batch"
    )
    yield from _table(["sequences × context", *POINT, "tokens a second"], rows)
    yield from _left_out(cells.values)


def _pays(page: "Page", scene: Scene) -> Iterator[str]:
    cells = Cells(page, scene, "pays")
    places = [(f"at.{context}", _count(context)) for context in cells.values["contexts"]]
    once = cells.values["one_token"]["prompt_tokens"]
    places.append(("one_token", f"{_count(once)}, and a reply of one token"))
    rows = (
        [
            words,
            cells.num(f"{path}.with.min_ms"),
            cells.num(f"{path}.without.min_ms"),
            *cells.ratio(f"{path}.ratio", _below(cells.values, path)["ratio"])[:3],
        ]
        for path, words in places
    )
    yield from _table(["context", "with a cache", "without", "ratio", "of pairs", "pairs"], rows)


def _below(values: dict[str, Any], path: str) -> dict[str, Any]:
    found: Any = values
    for step in path.split("."):
        found = found[step]
    return dict(found)


def _others(page: "Page", scene: Scene) -> Iterator[str]:
    cells = Cells(page, scene, "others")
    rows = (
        [
            f"{words} {_count(int(length))}, {_cache(name)}",
            cells.num(f"{part}.{length}.kvref.min_ms"),
            cells.num(f"{part}.{length}.{name}.min_ms"),
            *cells.ratio(f"{part}.{length}.{name}_ratio", one[f"{name}_ratio"])[:3],
        ]
        for part, words in (("decode", "step at"), ("prefill", "prefill of"))
        for length, one in sorted(cells.values[part].items(), key=lambda item: int(item[0]))
        for name in ("dynamic", "static")
        if name in one
    )
    yield from _table(["tokens", "kvref", "transformers", "ratio", "of pairs", "pairs"], rows)


def _cache(name: str) -> str:
    return f"<code>{name.capitalize()}Cache</code>"


def _budget(page: "Page", scene: Scene) -> Iterator[str]:
    cells = Cells(page, scene, "budget")
    names = {"products": "matrix products alone", "kvref": "kvref", "transformers": "transformers"}
    yield from _table(
        ["a token", "fastest", "median", "spread"],
        ([words, *cells.timing(name, cells.values[name])] for name, words in names.items()),
    )
    ratios = {"products_share": "products ÷ kvref", "speedup": "transformers ÷ kvref"}
    yield from _table(
        ["ratio", "of the fastest", "of pairs", "pairs", "verdict"],
        ([words, *cells.ratio(name, cells.values[name])] for name, words in ratios.items()),
    )


def _errors(page: "Page", scene: Scene) -> Iterator[str]:
    """How many predictions lie how far off, by reason; and the reasons in words."""
    found = list(findings.points(scene))
    near = [one for one in found if one.point["why"] is None]
    rows = [["within a fifth", _count(len(near)), _range(page, scene, near), ""]]
    for why, (word, words) in WHY.items():
        some = [one for one in found if one.point["why"] == why]
        if some:
            rows.append([escape(word), _count(len(some)), _range(page, scene, some), words])
    yield from _table(["because of", "predictions", "errors", "why"], iter(rows))


def _range(page: "Page", scene: Scene, some: list[Point]) -> str:
    """The least and the largest error."""
    if not some:
        return ""
    ends = sorted(some, key=lambda one: float(one.point["error_percent"]))
    texts = [page.inline("num", scene.key(one.kind, f"{one.path}.error_percent", "percent")[5:-1]) for one in (ends[0], ends[-1])]
    return texts[0] if len(some) == 1 else f"{texts[0]} to {texts[1]}"


# --- devices -----------------------------------------------------------------------------------------------------------

FACTS = {
    "cores": "cores",
    "multiprocessors": "multiprocessors",
    "threads": "threads used",
    "instructions": "instructions",
    "capability": "compute capability",
    "memory_bytes": "memory",
    "cache_bytes": "last cache",
    "machine": "system",
    "torch": "torch",
    "cuda": "CUDA",
    "transformers": "transformers",
    "python": "Python",
}


def _facts(page: "Page", scene: Scene) -> Iterator[str]:
    """What the device is, and the most that it does."""
    about = page.records.document(scene.entry["records"]["ceilings"])["environment"]
    listed = [f"{words} {_fact(name, about[name])}" for name, words in FACTS.items() if about.get(name) is not None]
    yield f"<p>{', '.join(listed)}.</p>"
    cells = Cells(page, scene, "ceilings")
    by = cells.values["read"]["by"]
    rows = [
        ["read", cells.num("read.bytes_per_second", "GB/s"), *cells.timing(f"read.{by}", cells.values["read"][by])],
        ["copied", cells.num("copy.bytes_per_second", "GB/s"), *cells.timing("copy.measured", cells.values["copy"]["measured"])],
    ]
    for dtype, one in cells.values["products"].items():
        rate = cells.num(f"products.{dtype}.flops_per_second", "TFLOP/s" if one["flops_per_second"] >= 1e12 else "GFLOP/s")
        rows.append([f"products, {mark(dtype)}", rate, *cells.timing(f"products.{dtype}.measured", one["measured"])])
    yield from _table(["at most", "a second", "fastest", "median", "spread"], iter(rows))


def _fact(name: str, value: Any) -> str:
    if name.endswith("_bytes"):
        unit, size = ("GiB", 2**30) if value >= 2**30 else ("MiB", 2**20)
        return mark(f"{value / size:.4g} {unit}")
    return mark(value)


def _memory(page: "Page", scene: Scene) -> Iterator[str]:
    cells = Cells(page, scene, "memory")
    yield f"<p>{_count(cells.values['tokens'])} tokens in each cache; counted by: {escape(cells.values['counted_by'])}.</p>"
    whys = {"memory-used-again": "memory used again", "allocator-keeps-more": "the allocator keeps more"}
    rows = (
        [
            mark(name.replace("-", ", ")),
            cells.num(f"caches.{name}.predicted_bytes", "MiB"),
            cells.num(f"caches.{name}.tensor_bytes", "MiB"),
            *(
                [
                    cells.num(f"caches.{name}.device_bytes", "MiB"),
                    cells.num(f"caches.{name}.device_error_percent", "percent"),
                    whys.get(one["device_why"] or "", ""),
                ]
                if one["device_bytes"] is not None
                else ["not told", "", ""]
            ),
        ]
        for name, one in cells.values["caches"].items()
    )
    yield from _table(["cache", "predicted", "tensors", "device", "error", "because of"], rows)


TABLES_OF: dict[str, tuple[tuple[str, ...], Table]] = {
    "devices": (("ceilings",), _facts),
    "memory": (("memory",), _memory),
    "errors": (("prefill",), _errors),
    "prefill": (("prefill",), _points("prefill", "tokens")),
    "decode": (("decode",), _decode),
    "paged": (("paged",), _paged),
    "batch": (("batch",), _batch),
    "pays": (("pays",), _pays),
    "others": (("others",), _others),
    "budget": (("budget",), _budget),
}
