"""`python -m gen draw`: from the published numbers to figures. Needs no torch, no weights and no network.

The pictures are drawn by the same JavaScript that draws them again in the reader's browser, here run once under Node.
Everything goes to `build/<site>/figures/`; a stamp, written last, says from which data and code it was drawn, so a
build that was killed is noticed and drawn again.
"""

import argparse
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from gen import artefacts, figures, findings, io, paths
from gen.errors import CheckFailed, UserError
from gen.paths import ROOT, Site, shown
from gen.tables import Records

# What a drawing depends on besides the data.
SOURCES = (
    "gen/artefacts.py",
    "gen/devices.py",
    "gen/findings.py",
    "gen/forms.py",
    "gen/scenes.py",
    "gen/tables.py",
    "gen/figures/*.py",
    "gen/figures/*.mjs",
    "docs/assets/js/**/*.js",
    "docs/data/geometry/*.json",
)
HASH_DIGITS = 12  # as in the citations
LICENCE = "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/"
FORMS = {"html": "html", "svg": "svg", "csv": "csv", "plotly": "plotly.json"}


def main(arguments: Sequence[str]) -> int:
    """The command; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m gen draw", description="Draw the figures.")
    parser.add_argument("ids", nargs="*", metavar="ID", help="figures to draw (default: all)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--show", action="store_true", help="print each figure's numbers as CSV; write nothing")
    what.add_argument("--check", action="store_true", help="fail if a drawing is not the one in build/; write nothing")
    what.add_argument("--write", action="store_true", help="draw into build/ (the default)")
    add_site_flags(parser)
    options = parser.parse_args(arguments)
    return draw(chosen_site(options), options.ids, show=options.show, check=options.check)


def add_site_flags(parser: argparse.ArgumentParser) -> None:
    """The words that `run` was given, so that what it recorded is found again."""
    parser.add_argument("--model", default=paths.DEFAULT_MODEL, help="the model that was given to `run`")
    parser.add_argument("--prompt", help="the prompt that was given to `run`")
    parser.add_argument("--name", help="the folder below build/ that was given to `run`")


def chosen_site(options: argparse.Namespace) -> Site:
    """The published site unless another model, prompt or name was given."""
    if options.name is None and options.prompt is None and options.model == paths.DEFAULT_MODEL:
        return paths.PUBLISHED
    return paths.local_site(options.model, options.prompt, options.name)


def draw(site: Site, ids: Sequence[str] = (), *, show: bool = False, check: bool = False) -> int:
    """Draw figures of a site; the exit code. Raises UserError for data that disagrees, or an unknown figure."""
    chosen = _chosen(ids)
    if not (show or check):
        io.check_folder(site.figures)
    records = Records(site)
    drawn = _render(records, chosen)
    if show:
        for figure in chosen:
            print(f"# {figure.id}: {records.plain(figure.title)}\n{drawn[figure.id]['csv']}")
        return 0
    files = {f"{row.id}.{ending}": data for row in chosen for ending, data in _files(records, row, drawn[row.id])}
    if check:
        _compare(site, files)
        print(f"{len(chosen)} figures are as drawn.")
        return 0
    changed = _write(records, files, whole=len(chosen) == len(artefacts.FIGURES))
    print(f"{len(chosen)} figures drawn into {shown(site.figures)}, {changed} files changed.")
    return 0


def _chosen(ids: Sequence[str]) -> list[artefacts.Figure]:
    known = {figure.id: figure for figure in artefacts.FIGURES}
    for name in ids:
        if name not in known:
            close = ", ".join(get_close_matches(name, known, n=3, cutoff=0.0))
            raise UserError(f"there is no figure {name!r}; nearest: {close}.")
    return [known[name] for name in dict.fromkeys(ids)] or list(artefacts.FIGURES)


def _render(records: Records, chosen: Sequence[artefacts.Figure]) -> dict[str, Any]:
    """Every figure as Node draws it, its sentences filled with their numbers."""
    texts = {row.id: _texts(records, row) for row in chosen}
    root = records.site.data / "recomputed"
    drawn: dict[str, Any] = figures.render(list(chosen), root, texts=texts, measured=records.devices)
    return drawn


def _texts(records: Records, row: artefacts.Figure) -> dict[str, str]:
    """The words of a figure, and the line that goes with a picture which leaves its page."""
    source = f"Figure {row.id} · data SHA-256 {records.data_hash[:HASH_DIGITS]} · {LICENCE.partition(',')[0]}"
    return {"title": records.plain(row.title), "alt": records.plain(findings.of(row, records)), "source": source}


def _files(records: Records, row: artefacts.Figure, one: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The files of one drawn figure: ending and bytes. The JSON says all that is known of it and holds every cell."""
    for form, ending in FORMS.items():
        drawn = one.get(form)
        if drawn:
            yield ending, drawn.encode() if isinstance(drawn, str) else io.canonical(drawn)
    about = {
        "id": row.id,
        "page": row.page,
        "title": records.plain(row.title),
        "finding": records.plain(findings.of(row, records)),
        "licence": LICENCE,
        "data_hash": records.data_hash,
        "fields": sorted(one["state"]),
        "state": one["state"],
        "records": one["records"],
        "cells": one["cells"],
    }
    yield "json", io.canonical(about)


def _write(records: Records, files: dict[str, bytes], whole: bool) -> int:
    """Write drawings; how many changed. While files of two ages lie side by side there is no stamp."""
    mark = records.site.figures / "stamp.json"
    if not fresh(records):
        mark.unlink(missing_ok=True)
    io.sweep(records.site.figures)
    changed = sum(io.write(records.site.figures / name, data) for name, data in files.items())
    if whole:
        io.write(mark, io.canonical({"files": sorted(files), "stamp": stamp(records)}))
    return changed


def _compare(site: Site, files: dict[str, bytes]) -> None:
    for name, data in sorted(files.items()):
        path = site.figures / name
        if not path.is_file():
            raise CheckFailed(f"{shown(path)} is missing; `python -m gen draw` makes it.")
        if path.read_bytes() != data:
            raise CheckFailed(f"{shown(path)} is not what its data and code give now; `python -m gen draw` mends it.")


def stamp(records: Records) -> str:
    """One hash for all that the drawings depend on."""
    files = sorted({path for pattern in SOURCES for path in ROOT.glob(pattern) if path.is_file()})
    sources = {path.relative_to(ROOT).as_posix(): io.file_sha256(path) for path in files}
    own = {one.name: io.file_sha256(one.path) for device in records.devices if device.own for one in device.records}
    return io.sha256(io.canonical({"data": records.data_hash, "own": own, "sources": sources}))


def fresh(records: Records) -> bool:
    """True if what lies in build/ was drawn from these data by this code."""
    folder = records.site.figures
    if not (folder / "stamp.json").is_file():
        return False
    try:
        table = io.read(folder / "stamp.json")
        return bool(table["stamp"] == stamp(records)) and all((folder / name).is_file() for name in table["files"])
    except (UserError, TypeError, KeyError):  # no stamp of ours: everything is drawn again
        return False
