"""Notebooks: a source in Python with the words between its cells, and the `.ipynb` that a page shows.

The source is written by hand. What its cells printed is a recording like any other, and the `.ipynb` is made from the
two: never by hand, and only by `gen run --write`. Cells have fixed ids and carry no counts, times or versions, so the
same recording gives the same bytes. Knows nothing about how a cell is run.
"""

import json
import re
from pathlib import Path
from typing import Any

from gen import io
from gen.errors import CheckFailed, UserError
from gen.paths import DEFAULT_MODEL, ROOT, Site, shown

NAMES = ("sixty-lines",)
FOLDER = ROOT / "docs" / "notebooks"
# A float as it is printed. Whole numbers are part of the text: they must match to the digit.
FLOAT = re.compile(r"(?<![\w.])-?\d+(?:\.(\d+)(e[+-]\d+)?|(e[+-]\d+))(?![\w.])")
Output = dict[str, Any]  # {"text": "largest {:.1e}", "numbers": [1.2e-06]}


def source(name: str) -> Path:
    """The source of a notebook."""
    return FOLDER / f"{name}.py"


def file(name: str) -> Path:
    """The notebook itself."""
    return FOLDER / f"{name}.ipynb"


def taken_apart(printed: str) -> Output:
    """What a cell printed: the text with a gap for each float, and the floats. Raises UserError for too many digits."""
    numbers = [float(match[0]) for match in FLOAT.finditer(printed)]
    gaps = iter(f"{{:.{len(match[1] or '')}{'e' if match[2] or match[3] else 'f'}}}" for match in FLOAT.finditer(printed))
    literal = [part.replace("{", "{{").replace("}", "}}") for part in FLOAT.split(printed)[:: FLOAT.groups + 1]]
    output = {"text": "".join(part + next(gaps, "") for part in literal), "numbers": numbers}
    if put_together({"text": output["text"], "numbers": [io.rounded(number) for number in numbers]}) != printed:
        raise UserError(f"A cell prints {printed!r}: expected floats of at most {io.DIGITS} significant digits.")
    return output


def put_together(output: Output) -> str:
    """What the cell printed."""
    return str(output["text"]).format(*output["numbers"])


def document(name: str, outputs: list[Output | None]) -> bytes:
    """The bytes of the `.ipynb`; `outputs` has one entry for each code cell, or is empty before anything ran."""
    import jupytext  # only here: few commands need it

    notebook = jupytext.reads(source(name).read_text(encoding="utf-8"), fmt="py:percent")
    left = iter(outputs)
    cells = []
    for number, cell in enumerate(notebook.cells):
        made = {"cell_type": cell.cell_type, "id": f"cell-{number:02d}", "metadata": {}, "source": _lines(cell.source)}
        if cell.cell_type == "code":
            made |= {"execution_count": None, "outputs": _stream(next(left, None))}
        cells.append(made)
    kept = {key: notebook.metadata[key] for key in ("kernelspec", "page")}
    table = {"cells": cells, "metadata": kept, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(table, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def _stream(output: Output | None) -> list[dict[str, Any]]:
    return [] if output is None else [{"name": "stdout", "output_type": "stream", "text": _lines(put_together(output))}]


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def recorded(site: Site, name: str) -> bytes:
    """The `.ipynb` that the source and the recording give. Raises CheckFailed if the source was changed since."""
    path = site.record(DEFAULT_MODEL, name)
    try:
        values = io.read(path)["values"]
        recorded_sha256, made = values["source_sha256"], document(name, values["cells"])
    except (KeyError, IndexError, TypeError, ValueError):
        raise CheckFailed(f"{shown(path)} is not the recording of a notebook; {mend(name)}.") from None
    if recorded_sha256 != io.file_sha256(source(name)):
        raise CheckFailed(f"{shown(source(name))} was changed since it was recorded; {mend(name)}.")
    return made


def write(site: Site) -> None:
    """Write every notebook that is recorded. Local sites show the published ones."""
    for name in NAMES if site.published else ():
        if site.record(DEFAULT_MODEL, name).is_file():
            io.write(file(name), recorded(site, name))


def check(site: Site) -> None:
    """Raise CheckFailed if a notebook is not what its source and its recording give."""
    for name in NAMES if site.published else ():
        if not file(name).is_file() or file(name).read_bytes() != recorded(site, name):
            raise CheckFailed(f"{shown(file(name))} is not what its source and recording give; {mend(name)}.")


def mend(name: str) -> str:
    """The words that name the command."""
    return f"`python -m gen run {name} --write` makes it anew"
