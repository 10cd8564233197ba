"""Figures from records: which recordings a figure offers, the descriptions Plotly gets, and one call of Node that draws.

What a picture looks like is known to `docs/assets/js/pictures/` alone, which the reader's browser runs too. This package
knows the records' folder, not their meaning beyond what a figure's controls offer. It loads no torch.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gen import devices, io, node
from gen.artefacts import Figure
from gen.devices import Device
from gen.errors import UserError
from gen.figures import plotly_dicts, recordings
from gen.paths import shown

RENDER = Path(__file__).with_name("render.mjs")
Texts = Mapping[str, Mapping[str, str]]


class FigureError(UserError):
    """A figure that cannot be drawn: one sentence that names it."""


def jobs(
    rows: Sequence[Figure], data_root: Path, texts: Texts | None = None, measured: Sequence[Device] = ()
) -> list[dict[str, Any]]:
    """What Node is asked to draw: one plain entry a figure. Raises FigureError if no recording fits a figure."""
    try:
        found = recordings.find(data_root)
        return [_job(row, data_root, found, (texts or {}).get(row.id, {}), measured) for row in rows]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as problem:
        raise FigureError(
            f"a recording below {shown(data_root)} has another form than figures expect: {problem!r}."
        ) from problem


def run_node(entries: Sequence[Mapping[str, Any]], data_root: Path, measured: Sequence[Device] = ()) -> dict[str, Any]:
    """`{id: {html, svg, csv, cells, records, state}}` as the pictures' code draws it. Raises UserError with Node's reason."""
    files = {one.name: str(one.path) for device in measured for one in device.records}
    drawn: dict[str, Any] = node.run(RENDER, {"data_root": str(data_root), "measured": files, "jobs": list(entries)})
    return drawn


def render(
    rows: Sequence[Figure], data_root: Path, texts: Texts | None = None, measured: Sequence[Device] = ()
) -> dict[str, dict[str, Any]]:
    """Every figure drawn: `{id: {html, svg, csv, records, plotly}}`; `html` is the whole element, its static frame inside."""
    entries = jobs(rows, data_root, texts, measured)
    drawn = run_node(entries, data_root, measured)
    return {entry["id"]: {**drawn[entry["id"]], "plotly": entry["plotly"]} for entry in entries}


def _job(
    row: Figure,
    data_root: Path,
    found: Sequence[dict[str, Any]],
    texts: Mapping[str, str],
    measured: Sequence[Device],
) -> dict[str, Any]:
    offered = recordings.offered(found, row.picture, row.options)
    by_table, by_device = row.picture in recordings.BY_TABLE, row.picture in recordings.BY_DEVICE
    if not offered and not by_table and not by_device:
        raise FigureError(f"no recording fits the figure {row.id!r}; `python -m gen run` makes them.")
    context = {"figure": row.id, "options": dict(row.options), "state": dict(row.state), "recordings": offered}
    context |= {"models": recordings.published()} if by_table else {}
    context |= (
        {"devices": devices.offered(measured, row.measured, {one["model"]: one["credit"] for one in found})}
        if by_device
        else {}
    )
    context |= {"source": texts["source"]} if texts.get("source") else {}  # for pictures saved from the page
    first = offered[0] if offered else {}
    if stops := recordings.stops(data_root, row.options.get("series", row.picture), first.get("model", "")):
        context["grid"] = stops
    name = row.options.get("plotly")
    described = plotly_dicts.describe(name, data_root, first)
    title = texts.get("title", row.title)
    return {
        "id": row.id,
        "picture": row.picture,
        "tag": "kv-plotly" if described else f"kv-{row.picture}",
        "label": title,
        "texts": {"title": title, "alt": texts.get("alt", row.alt), "source": texts.get("source", "")},
        "context": context,
        "plotly": json.loads(io.canonical(described)) if described else None,  # as it is stored, so both draw the same
        "reads": plotly_dicts.reads(name, first),
    }
