"""What `{measured:KIND}` stands for: a table for each device that was measured, ours first, then the reader's own.

Nothing here names a device or a length: all of it is read from the records, so a new one fills these in by itself.
"""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from gen import devices
from gen.errors import UserError
from gen.scenes import POINTS, Scene
from gen.site.cells import Cells, count, mark, table
from gen.site.passes import PASSES, Table
from gen.tables import file_of

if TYPE_CHECKING:
    from gen.site.expand import Page

NOTHING = (
    '<p class="kv-none">There is no record yet, so no number stands here. '
    "<code>python -m gen measure</code> times a machine; its records appear in this place by themselves.</p>"
)
ALONE = ("errors", "devices", "memory")  # no figure beside them shows the same
LONG = ("prefill", "decode", "paged", "batch", "others")  # put away at first; a printer opens them


def to_html(page: "Page", name: str) -> str:
    """All devices' tables of one kind; nothing, where a figure beside it says that there is none.

    Raises UserError for a kind that there is not.
    """
    if name not in TABLES_OF:
        raise UserError(f"there is no table {name!r} of measurements; known: {', '.join(TABLES_OF)}.")
    kinds, made = TABLES_OF[name]
    opened = "" if name in LONG else " open"
    tables = [
        f'<details class="kv-device"{opened} data-search-exclude><summary>{_head(page, scene, kinds[-1])}</summary>'
        f"{''.join(made(page, scene))}{_foot(page, scene, POINTS if name == 'errors' else kinds[-1:])}</details>"
        for scene in (Scene(page.records, entry) for entry in devices.offered(page.records.devices, kinds))
    ]
    return "\n".join(tables) or (NOTHING if name in ALONE else "")


def _head(page: "Page", scene: Scene, kind: str) -> str:
    """Which device, which model, and when."""
    record = scene.entry["records"][kind]
    own = ' <strong class="kv-own">your machine</strong>' if record.startswith(devices.OWN) else ""
    model = scene.entry["model"]
    name = scene.entry["name"].removeprefix("yours: ").removesuffix(f", {model}")
    parts = [mark(name) + own, *([mark(model)] if model else [])]
    return f"{', '.join(parts)}, <time>{escape(str(_about(page, record)['date']))}</time>"


def _foot(page: "Page", scene: Scene, kinds: tuple[str, ...]) -> str:
    """Where the samples are, and how busy the machine was."""
    found = [scene.entry["records"][kind] for kind in kinds if kind in scene.entry["records"]]
    links = [f'<a href="{page.to(f"data/{file_of(record)}")}">{mark(record.rpartition("/")[2])}</a>' for record in found]
    load = _about(page, found[0]).get("load_at_start")
    busy = "" if load is None else f" Load of the machine when it began: {mark(load)}."
    return f'<p class="kv-note">Every sample: {", ".join(links)}.{busy}</p>'


def _about(page: "Page", record: str) -> dict[str, Any]:
    found: dict[str, Any] = page.records.document(record)["environment"]
    return found


FACTS = {
    "cores": "{} cores",
    "multiprocessors": "{} multiprocessors",
    "threads": "{} threads used",
    "instructions": "instructions: {}",
    "capability": "compute capability {}",
    "memory_bytes": "{} of memory",
    "cache_bytes": "{} of last-level cache",
    "machine": "{}",
    "torch": "torch {}",
    "cuda": "CUDA {}",
    "transformers": "transformers {}",
    "python": "Python {}",
}


def _facts(page: "Page", scene: Scene) -> Iterator[str]:
    """What the device is, and the most that it does."""
    about = _about(page, scene.entry["records"]["ceilings"])
    listed = [words.format(_fact(name, about[name])) for name, words in FACTS.items() if about.get(name) is not None]
    yield f"<p>{', '.join(listed)}.</p>"
    cells = Cells(page, scene, "ceilings")
    by = cells.values["read"]["by"]
    rows = [
        ["read", cells.num("read.bytes_per_second", "GB/s"), *cells.timing(f"read.{by}", cells.values["read"][by])],
        [
            "copied",
            cells.num("copy.bytes_per_second", "GB/s"),
            *cells.timing("copy.measured", cells.values["copy"]["measured"]),
        ],
    ]
    for dtype, one in cells.values["products"].items():
        rate = cells.num(f"products.{dtype}.flops_per_second", "TFLOP/s" if one["flops_per_second"] >= 1e12 else "GFLOP/s")
        rows.append([f"products, {mark(dtype)}", rate, *cells.timing(f"products.{dtype}.measured", one["measured"])])
    yield from table(["at most", "a second", "fastest", "median", "spread"], iter(rows))
    if "tensors" in scene.entry["records"]:
        yield from _tensors(page, scene)


def _tensors(page: "Page", scene: Scene) -> Iterator[str]:
    """A small model's tensors, computed there and on a processor."""
    cells = Cells(page, scene, "tensors")
    names = sorted(cells.values["compared"])
    worst = max(names, key=lambda name: float(cells.values["compared"][name]["of_largest"]))
    agree = "agree" if cells.values["agree"] else "do not agree"
    yield (
        f"<p>The tensors of a small model with random weights {agree} with a processor’s: they differ by at most"
        f" {cells.num(f'compared.{worst}.of_largest', 'sci')} of the largest number, and"
        f" {cells.num('tolerance_of_largest', 'sci')} is allowed.</p>"
    )


def _fact(name: str, value: Any) -> str:
    if name.endswith("_bytes"):
        unit, size = ("GiB", 2**30) if value >= 2**30 else ("MiB", 2**20)
        return mark(f"{value / size:.4g} {unit}")
    return mark(value)


def _memory(page: "Page", scene: Scene) -> Iterator[str]:
    cells = Cells(page, scene, "memory")
    yield f"<p>{count(cells.values['tokens'])} tokens in each cache; counted by: {escape(cells.values['counted_by'])}.</p>"
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
    yield from table(["cache", "predicted", "tensors", "device", "error", "because of"], rows)


TABLES_OF: dict[str, tuple[tuple[str, ...], Table]] = {
    "devices": (("ceilings",), _facts),
    "memory": (("memory",), _memory),
    **PASSES,
}
