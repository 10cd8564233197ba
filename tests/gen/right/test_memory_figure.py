"""The calculator as a figure: drawn from the table that is kept by hand, for any site."""

import json
from html import unescape

import pytest

from gen import figures, io, tables
from gen.artefacts import Figure
from gen.figures import growth, recordings
from gen.paths import PUBLISHED, Site

ROW = Figure("memory", "learn/memory", "memory", "Caches of four models.", "Llama-2-70B takes 1.25 GiB.")


@pytest.fixture(scope="module")
def drawn() -> dict:
    return figures.render([ROW], PUBLISHED.data / "recomputed")["memory"]


def test_the_static_frame_compares_four_models_at_4096_tokens(drawn: dict) -> None:
    for text in ("GPT-2 small 144 MiB", "Llama-2-7B 2 GiB", "Llama-3-8B 512 MiB", "Llama-2-70B 1.25 GiB"):
        assert text in drawn["html"]
    assert "GPT-2 small has 1,024 positions" in drawn["html"]
    assert drawn["records"] == ["geometry/models"]
    assert drawn["html"].startswith('<kv-memory figure="memory"')


def test_the_reader_may_choose_any_model_of_the_table(drawn: dict) -> None:
    context = json.loads(unescape(drawn["html"].split('context="')[1].split('"')[0]))
    assert context["models"] == recordings.published()
    assert len(context["models"]) == 53
    assert context["recordings"] == []


def test_the_page_budget(drawn: dict) -> None:
    assert len(drawn["html"].encode()) < 60_000
    table = (PUBLISHED.data / "geometry" / "models.json").stat().st_size
    assert table < 60_000


def test_the_table_is_the_same_for_a_site_of_the_readers_own() -> None:
    records = tables.Records(PUBLISHED)
    records.site = Site("elsewhere")
    assert len(records.document("geometry/models")["values"]["models"]) == 53
    assert tables.file_of("geometry/models") == "geometry/models.json"
    assert tables.file_of("m/cat") == "recomputed/m/cat.json"


def test_the_names_of_the_growing_caches_stand_at_their_lines_where_a_phone_shows_them() -> None:
    path = "smollm2-135m-instruct/memory"
    record = io.read(PUBLISHED.data / "recomputed" / f"{path}.json")["values"]
    chart = growth.memory_growth(record, path)
    notes = {note["text"]: note for note in chart["layout"]["annotations"]}
    for model in (record["models"][name] for name in record["growth"]["bytes"]):
        note = notes[model["name"]]
        assert note["x"] < 0.48 * record["growth"]["tokens"][-1]
        assert note["y"] == note["x"] * model["kv_bytes_per_token"]
