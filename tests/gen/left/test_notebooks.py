"""Notebooks: what cells print is taken apart and put together, and the file follows from source and recording alone."""

import json
from pathlib import Path

import pytest

from gen import io, notebooks
from gen.errors import CheckFailed, UserError
from gen.experiments import notebook
from gen.paths import DEFAULT_MODEL, PUBLISHED, Site

NAME = "sixty-lines"
SOURCE = """# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   page:
#     description: Made up.
# ---

# %% [markdown]
# # Words

# %%
{first}

# %%
print({second})
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(notebooks, "FOLDER", tmp_path)
    return tmp_path


def write_source(first: str = "x = 1", second: str = "x") -> None:
    notebooks.source(NAME).write_text(SOURCE.format(first=first, second=second))


@pytest.mark.parametrize(
    ("printed", "numbers"),
    [
        ("plain words, 15 and -3, v1.2.3, a_1.5\n", []),
        ("1.2e-06 {of} 3.702\n", [1.2e-06, 3.702]),
        ("[-0.5, 1e+10] 2.50%\n", [-0.5, 1e10, 2.5]),
    ],
)
def test_what_is_printed_comes_back(printed: str, numbers: list[float]) -> None:
    output = notebooks.taken_apart(printed)
    assert output["numbers"] == numbers
    assert notebooks.put_together(output) == printed


def test_more_digits_than_a_recording_keeps_are_refused() -> None:
    with pytest.raises(UserError, match="4 significant digits"):
        notebooks.taken_apart("0.12345\n")


def test_numbers_with_an_exponent_are_noise() -> None:
    outputs = [notebooks.taken_apart("3.702 1.2e-06\n"), None, notebooks.taken_apart("4e-07 15 0.5")]
    assert notebook.noise(outputs) == [1.2e-06, 4e-07]


def test_a_notebook_is_the_same_bytes_each_time(folder: Path) -> None:
    write_source()
    made = notebooks.document(NAME, [None, notebooks.taken_apart("0.5 {}\n")])
    assert made == notebooks.document(NAME, [None, notebooks.taken_apart("0.5 {}\n")])
    table = json.loads(made)
    assert [cell["id"] for cell in table["cells"]] == ["cell-00", "cell-01", "cell-02"]
    assert table["cells"][2]["outputs"] == [{"name": "stdout", "output_type": "stream", "text": ["0.5 {}\n"]}]
    assert all(cell.get("execution_count") is None and cell["metadata"] == {} for cell in table["cells"])
    assert set(table["metadata"]) == {"kernelspec", "page"}


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [("x = 1 / 0", "x", "ZeroDivisionError: division by zero"), ("x = 1", "x); x", "prints, nothing else")],
)
def test_a_cell_that_fails_or_shows_more_than_text_is_one_sentence(folder: Path, first: str, second: str, words: str) -> None:
    write_source(first, second.replace("); x", ")\nprint(x); (x"))
    with pytest.raises(UserError, match=words):
        notebook.executed(NAME)


def test_the_published_notebook_is_what_was_recorded() -> None:
    notebooks.check(PUBLISHED)
    values = io.read(PUBLISHED.record(DEFAULT_MODEL, NAME))["values"]
    assert max(notebook.noise(values["cells"])) <= values["noise_bound"] <= 1e-4


def test_a_changed_source_or_file_is_noticed(folder: Path) -> None:
    for original in (PUBLISHED_SOURCE, PUBLISHED_FILE):
        (folder / original.name).write_bytes(original.read_bytes())
    notebooks.check(PUBLISHED)
    notebooks.file(NAME).write_bytes(PUBLISHED_FILE.read_bytes().replace(b"3.702", b"3.703"))
    with pytest.raises(CheckFailed, match=r"sixty-lines\.ipynb.*gen run sixty-lines --write"):
        notebooks.check(PUBLISHED)
    notebooks.source(NAME).write_text(PUBLISHED_SOURCE.read_text().replace("steps=12", "steps=13"))
    with pytest.raises(CheckFailed, match=r"changed since.*gen run sixty-lines --write"):
        notebooks.write(PUBLISHED)
    notebooks.check(Site("made-up"))  # local sites show the published ones


@pytest.mark.parametrize("values", [[], {}, {"source_sha256": 1}, {"source_sha256": "x", "cells": ["x"]}, "x"])
def test_a_recording_that_is_no_notebooks_is_one_sentence(build: Path, values: object) -> None:
    site = Site("made-up")
    io.write(site.record(DEFAULT_MODEL, NAME), io.canonical({"values": values}))
    with pytest.raises(
        CheckFailed, match=r"sixty-lines\.json is not the recording of a notebook; .*gen run sixty-lines --write"
    ):
        notebooks.recorded(site, NAME)


def test_sixty_lines_are_sixty() -> None:
    cells = json.loads(PUBLISHED_FILE.read_text())["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in "".join(cell["source"]).splitlines()]
    assert len([line for line in lines if line.strip()]) <= 60
    assert max(map(len, lines)) <= 90, "wider than the page"


PUBLISHED_SOURCE, PUBLISHED_FILE = notebooks.source(NAME), notebooks.file(NAME)
