"""The real pages, from the published data: every digit has an origin, nothing is lost, two builds are alike."""

import ast
import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gen import artefacts, paths
from gen.paths import ROOT
from gen.site.visible import Run, runs
from gen.tables import file_of

# The addresses that are kept for ever, of pages and of figures on them.
PUBLISHED = (ROOT / "tests" / "site" / "published.txt").read_text().split()
PAGES = [line for line in PUBLISHED if "#" not in line and line != "404.html"]
FIGURES = [line.partition("#fig-")[2] for line in PUBLISHED if "#fig-" in line]
# Where a digit needs no origin of its own: it is one, or it is drawn from the records as a whole.
DRAWN = {".kv-frame", ".kv-controls", ".kv-status"}
SOURCE = {"code", "pre", ".doc"}  # text of the program: code, and docstrings in the reference
ORIGINS = frozenset({".kv-num", ".kv-val", ".kv-quote", ".kv-what", "math", "time"} | SOURCE | DRAWN)
CHROME = frozenset({"nav", "header", "footer", "button", ".md-sidebar", ".md-search", ".md-copyright"})
# Digits that are part of a name or a definition, each with its reason.
ALLOWED = {
    r"\bCC BY 4\.0\b": "the name of a licence",
    r"\b(?:GPT-2|Gemma 3)\b": "the name of a model",
    r"\bLlama-[23]-\d+B\b": "the name of a model",
    r"\b(?:float32|float64|fp16|bf16|fp8|int8|int4|Q4_1)\b": "the name of a number format",
    r"\bfirst 8\b": "how many columns the picture draws, a setting of the figure",
    r"\b64(?: tokens\b|\s*$)": "the longest prompt that the command takes, a limit of the program",
    r"θ = ": "a letter; the number after it is a mark",
}


def build(folder: Path, **environment: str) -> Path:
    """The published site, built into `folder` by a process of its own."""
    program = "from mkdocs.__main__ import cli; cli()"
    flags = ["build", "--strict", "--config-file", str(ROOT / "mkdocs.yml"), "--site-dir", str(folder)]
    settings = {"NO_MKDOCS_2_WARNING": "1", "SOURCE_DATE_EPOCH": "1795910400", "KVREF_SITE": paths.PUBLISHED_NAME}
    done = subprocess.run(
        [sys.executable, "-c", program, *flags],
        cwd=ROOT,
        env=os.environ | settings | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = build(tmp_path_factory.mktemp("built") / "site")
    yield folder
    shutil.rmtree(folder)


def html(built: Path, page: str) -> str:
    return (built / ("" if page == "index" else page) / "index.html").read_text()


def test_no_page_and_no_figure_is_lost(built: Path) -> None:
    for page in PAGES:
        assert (built / ("" if page == "index" else page) / "index.html").is_file(), page
    assert [name for name in FIGURES if name not in {row.id for row in artefacts.FIGURES}] == []
    for row in artefacts.FIGURES:
        assert f'id="fig-{row.id}"' in html(built, row.page)
        assert row.id in FIGURES, "new: add it to tests/site/published.txt"


@pytest.mark.parametrize("slug", PAGES)
def test_every_digit_has_an_origin(built: Path, slug: str) -> None:
    article = re.findall(r"<article.*?</article>", html(built, slug), re.DOTALL)[0]
    bare = [run.text.strip() for run in runs(article, outside=ORIGINS | CHROME) if has_digit(run)]
    assert bare == []


def has_digit(run: Run) -> bool:
    text = run.text
    for pattern in ALLOWED:
        text = re.sub(pattern, "", text)
    return re.search(r"\d", text) is not None


@pytest.mark.parametrize("slug", PAGES)
def test_no_key_and_no_tex_is_left(built: Path, slug: str) -> None:
    text = " ".join(run.text for run in runs(html(built, slug), outside=frozenset({"code", "pre"})))
    assert re.findall(r"\{/?(?:num|val|fig|code|demo|steps|published|figures)", text) == []
    assert re.findall(r"\\[a-zA-Z(\[]+|\$\$", text) == []


def test_every_number_leads_to_its_record(built: Path) -> None:
    listed = html(built, "reference/figures")
    for page in PAGES:
        for name, key in re.findall(r'data-record="([^"]*)" data-key="([^"]*)"', html(built, page)):
            assert (built / "data" / file_of(name)).is_file(), key
        for anchor in re.findall(r'class="kv-num" href="[^"]*#([^"]*)"', html(built, page)):
            assert f'id="{anchor}"' in listed


@pytest.mark.parametrize("slug", PAGES)
def test_a_term_is_linked_once_a_page(built: Path, slug: str) -> None:
    links = re.findall(r'<a class="kv-term" href="[^"]*#(term-[^"]*)">', html(built, slug))
    assert len(links) == len(set(links))
    listed = html(built, "reference/glossary")
    assert [link for link in links if f'id="{link}"' not in listed] == []
    assert not links or not slug.startswith("reference/")
    assert links or not slug.startswith("learn/")


def test_every_public_name_is_in_the_reference(built: Path) -> None:
    tree = ast.parse((ROOT / "kvref" / "__init__.py").read_text())
    tables = [node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOME"]
    listed = html(built, "reference/api") + html(built, "reference/serving")
    for name, module in ast.literal_eval(tables[0]).items():
        assert f'id="{module}.{name}"' in listed


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_can_be_taken_along(built: Path, name: str) -> None:
    """As a picture, as a table and as JSON, all with the same rows, each cell as it is recorded."""
    folder = built / "assets" / "figures"
    assert f'href="../../assets/figures/{name}.json"' in html(built, "reference/figures")
    table = list(csv.DictReader((folder / f"{name}.csv").open(encoding="utf-8", newline="")))
    about = json.loads((folder / f"{name}.json").read_text())
    assert "<title>" in (folder / f"{name}.svg").read_text()
    assert len(about["cells"]) == len(table) > 0
    assert about["licence"].startswith("CC BY 4.0")
    recorded = {
        record: json.loads((built / "data" / file_of(record)).read_text())["values"]
        for record in {cell["record"] for cell in about["cells"] if cell["key"]}
    }
    for cell in about["cells"]:
        if cell["key"]:
            values = recorded[cell["record"]]
            for step in cell["key"].split("."):
                values = values[int(step)] if isinstance(values, list) else values[step]
            assert values == cell["value"], (cell, values)


def test_two_builds_are_alike(built: Path, tmp_path: Path) -> None:
    """In another folder, with other seeds for Python's hashes and in another time zone."""
    again = build(tmp_path / "again", PYTHONHASHSEED="7", TZ="Asia/Tokyo")
    files = sorted(path.relative_to(built) for path in built.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    assert [name for name in files if (built / name).read_bytes() != (again / name).read_bytes()] == []


def test_a_digit_without_an_origin_would_be_seen() -> None:
    page = '<p>In GPT-2 about 7 of <a class="kv-num"><data>15</data></a> are <code>3</code>, CC BY 4.0</p>'
    assert [run.text for run in runs(page, outside=ORIGINS | CHROME) if has_digit(run)] == ["In GPT-2 about 7 of "]
