"""`python -m gen draw`: what it writes, what it refuses, and that a drawing of another age is noticed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gen import artefacts, draw, figures, io
from gen.errors import CheckFailed, UserError
from gen.paths import Site
from gen.tables import Records
from tests.gen.right.conftest import MODEL, VALUES, write_data

Texts = dict[str, dict[str, str]]


@pytest.fixture
def drawing(rows: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Drawings that say which numbers they were given; returns what was drawn, in order."""
    drawn: list[str] = []

    def render(chosen: Sequence[artefacts.Figure], root: Path, texts: Texts, measured: Any) -> dict[str, Any]:
        drawn.extend(row.id for row in chosen)
        return {
            row.id: {
                "html": f"<kv-x>{texts[row.id]['title']}</kv-x>",
                "svg": "<svg/>",
                "csv": "a,b\n1,2\n",
                "cells": [{"part": "tokens", "text": "the", "value": 1195}],
                "records": [f"{MODEL}/cat"],
                "state": {"step": 4},
                "plotly": {"data": []} if row.id == "lanes" else None,
            }
            for row in chosen
        }

    monkeypatch.setattr(figures, "render", render)
    return drawn


def test_figures_are_written_with_their_sentences(site: Site, drawing: list[str]) -> None:
    assert draw.draw(site) == 0
    assert drawing == ["cover", "lanes"]
    assert (site.figures / "cover.html").read_text() == "<kv-x>All 15 tokens.</kv-x>"
    names = {path.name for path in site.figures.iterdir()}
    assert {"cover.svg", "cover.csv", "cover.json", "lanes.plotly.json", "stamp.json"} <= names
    assert "cover.plotly.json" not in names
    about = io.read(site.figures / "cover.json")
    assert (about["title"], about["finding"]) == ("All 15 tokens.", "45\u00a0KiB of “x”.")
    assert about["licence"].startswith("CC BY 4.0")
    assert about["cells"] == [{"part": "tokens", "text": "the", "value": 1195}]
    assert about["fields"] == ["step"]
    assert draw.fresh(Records(site))


def test_a_drawing_of_other_data_is_not_fresh(site: Site, drawing: list[str]) -> None:
    draw.draw(site)
    write_data(site, VALUES | {"cat": VALUES["cat"] | {"tokens_total": 16}})
    assert not draw.fresh(Records(site))
    draw.draw(site, ["lanes"])
    assert not draw.fresh(Records(site)), "one figure is not all"
    write_data(site)
    assert not draw.fresh(Records(site)), "figures of two ages lie side by side"
    draw.draw(site)
    assert draw.fresh(Records(site))
    (site.figures / "cover.svg").unlink()
    assert not draw.fresh(Records(site))


def test_show_prints_and_writes_nothing(site: Site, drawing: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    draw.draw(site, ["cover"], show=True)
    assert capsys.readouterr().out == "# cover: All 15 tokens.\na,b\n1,2\n\n"
    assert not site.figures.exists()


def test_check_names_what_differs(site: Site, drawing: list[str]) -> None:
    with pytest.raises(CheckFailed, match=r"missing.*gen draw"):
        draw.draw(site, check=True)
    draw.draw(site)
    assert draw.draw(site, check=True) == 0
    (site.figures / "lanes.csv").write_text("other")
    with pytest.raises(CheckFailed, match=r"lanes\.csv.*gen draw"):
        draw.draw(site, check=True)


def test_an_unknown_figure_is_refused(site: Site, drawing: list[str]) -> None:
    with pytest.raises(UserError, match="'lane'; nearest: lanes"):
        draw.draw(site, ["lane"])


def test_data_that_disagree_are_not_drawn(site: Site, drawing: list[str]) -> None:
    file = site.record(MODEL, "cat")
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(CheckFailed, match=r"cat\.json.*gen run"):
        draw.draw(site)
    assert drawing == []


@pytest.mark.parametrize("values", [[], "x", {}, {"heads": "x"}, {**VALUES["cat"], "heads": [], "layers": [0], "tokens": 3}])
def test_recordings_of_another_form_draw_no_figure_and_one_sentence(site: Site, rows: None, values: Any) -> None:
    shape = {"query_heads": 1, "kv_heads": 1, "group_size": 1, "chosen": {"layer": 0, "head": 0}, "short_label": "M"}
    write_data(site, VALUES | {"model": VALUES["model"] | shape, "cat": VALUES["cat"] | {"prompt_text": "15"}})
    path = site.record(MODEL, "cat")
    path.write_bytes(io.canonical({"identity": {}, "values": values}))
    with pytest.raises(UserError, match=r"the record '.*/cat' cannot be read|another form than figures expect"):
        figures.jobs(artefacts.FIGURES, site.data / "recomputed")
    assert not site.figures.exists()


@pytest.mark.parametrize("stamp", ["[]", "{}", "x", '{"stamp": 1, "files": 3}'])
def test_a_stamp_that_is_none_is_not_fresh(site: Site, drawing: list[str], stamp: str) -> None:
    draw.draw(site)
    (site.figures / "stamp.json").write_text(stamp)
    assert not draw.fresh(Records(site))
    assert draw.draw(site) == 0
    assert draw.fresh(Records(site))
