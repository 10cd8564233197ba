"""A copy of the repository to break, and a small model."""

import shutil
from pathlib import Path

import pytest

from tests.robust import tiny

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("docs", "gen", "kvref", "mkdocs.yml", "package.json", "CITATION.cff", "pyproject.toml")


def copied(target: Path) -> Path:
    """The project at `target`, as far as building it needs; what npm installed is linked, not copied."""
    target.mkdir(parents=True)
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, target / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, target / part)
    (target / "node_modules").symlink_to(ROOT / "node_modules")
    return target


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project that a test may spoil."""
    return copied(tmp_path / "project")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small seeded model; copy it before changing it."""
    return tiny.make(tmp_path_factory.mktemp("models") / "tiny")
