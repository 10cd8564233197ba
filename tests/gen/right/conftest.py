"""A small made-up site: records that agree with their manifest, two figures, and a way to build pages from them."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mkdocs.commands.build import build as mkdocs_build
from mkdocs.config import load_config

from gen import artefacts, draw, io, manifest, paths
from gen.paths import ROOT, Site
from gen.site import expand
from gen.tables import Records

MODEL = paths.DEFAULT_MODEL
HEAD = "---\ndescription: A page.\n---\n\n"
ROWS = (
    artefacts.Figure("cover", "index", "grid", "All {val:cat.tokens_total} tokens.", "{val:model.bytes|KiB} of “x”."),
    artefacts.Figure("lanes", "learn/one-token", "lanes", "Two lanes.", "One and the other."),
)
VALUES: dict[str, dict[str, Any]] = {
    "model": {
        "label": "Model & Co, from Q4_1",
        "short_label": "Model",
        "bytes": 46080,
        "share": 0.3,
        "seeded": False,
    },
    "cat": {"prompt_text": "the cat sat", "tokens_total": 15, "tokens": [{"text": " a|b"}, {"text": "<i>"}]},
    "one-token": {"total": {"flops": 3.4e9, "ratio": 7.81}, "bound": 1.2e-5, "noise_bound": 5e-5, "minus": -2.5},
    "cat/kv-00": {"k": [[0.25, -1.0]]},
}


def write_data(site: Site, values: dict[str, dict[str, Any]] = VALUES, model: str = MODEL) -> None:
    """Records with these values, and their manifest."""
    files = {}
    for name, value in values.items():
        identity = {
            "what": f"{name}, made up",
            "page": "index",
            "command": f"python -m gen run {name}",
            "model": model,
            "revision": "r1",
            "weights_sha256": "b179c9523d0e6a0f98",
            "seed": None,
            "tolerance": {"absolute": 2e-4, "of_largest": 1e-4},
        }
        data = io.canonical({"environment": {"date": "2026-11-29"}, "identity": identity, "values": value})
        io.write(site.record(model, name), data)
        files[f"recomputed/{model}/{name}.json"] = io.sha256(data)
    manifest.write(site, files)


def write_figures(site: Site) -> None:
    """Drawings as `draw` would leave them."""
    for row in ROWS:
        element = f'<kv-{row.picture} figure="{row.id}"><table><tr><td>1</td></tr></table></kv-{row.picture}>'
        io.write(site.figures / f"{row.id}.html", element.encode())
        io.write(site.figures / f"{row.id}.json", io.canonical({"fields": ["layer", "step"], "records": [f"{MODEL}/cat"]}))
        io.write(site.figures / f"{row.id}.svg", b"<svg/>")
        io.write(site.figures / f"{row.id}.csv", b"a,b\n")
    io.write(site.figures / "stamp.json", io.canonical({"files": [], "stamp": draw.stamp(Records(site))}))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A local site named `made-up`, below the test's own folder."""
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    made = Site("made-up")
    write_data(made)
    return made


@pytest.fixture
def records(site: Site) -> Records:
    return Records(site)


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The made-up figures in the place of the real ones."""
    monkeypatch.setattr(artefacts, "FIGURES", ROWS)
    monkeypatch.setattr(expand, "FIGURES", {row.id: row for row in ROWS})


Build = Callable[..., Path]


@pytest.fixture
def build(site: Site, rows: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Builds pages {name: Markdown} strictly with the real settings; returns the folder of the built site."""

    def run(pages: dict[str, str], **settings: Any) -> Path:
        write_figures(site)
        docs = tmp_path / "docs"
        shutil.rmtree(docs, ignore_errors=True)
        everything = {"index.md": "# Home\n\n{fig:cover}\n", "reference/figures.md": "# Figures\n\n{figures}\n"} | pages
        for name, text in everything.items():
            io.write(docs / name, (HEAD * (name.endswith(".md") and not text.startswith("---")) + text).encode())
        os.makedirs(tmp_path / "out", exist_ok=True)
        monkeypatch.setenv("KVREF_SITE", site.name)
        monkeypatch.delenv("SITE_URL", raising=False)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795910400")
        config = load_config(
            str(ROOT / "mkdocs.yml"),
            docs_dir=str(docs),
            site_dir=str(tmp_path / "out"),
            nav=[name for name in everything if name.endswith((".md", ".ipynb"))],
            strict=True,
            extra_css=[],
            extra_javascript=[],
            **settings,
        )
        mkdocs_build(config)
        return tmp_path / "out"

    return run
