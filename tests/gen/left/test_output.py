"""Standard output that takes no more, or not every letter: one sentence or silence, never a traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gen.errors import held_back
from gen.paths import ROOT

GEN = [sys.executable, "-m", "gen"]


def surroundings(**changes: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **changes}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252:strict"])
@pytest.mark.parametrize("arguments", [["memory", "--model", "gpt2"], ["--help"], ["memory", "--help"]])
def test_letters_that_an_encoding_lacks_become_question_marks(encoding: str, arguments: list[str]) -> None:
    done = subprocess.run([*GEN, *arguments], env=surroundings(PYTHONIOENCODING=encoding), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["memory", "--models"], ["memory", "--help"], ["--help"]])
def test_a_reader_that_leaves_is_no_mistake(arguments: list[str], unbuffered: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        environment = surroundings(PYTHONUNBUFFERED=unbuffered)
        done = subprocess.run([*GEN, *arguments], env=environment, stdout=writing, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writing)
    assert done.stderr == b""
    assert done.returncode in (0, 141)  # argparse itself says nothing of help that nobody reads


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_device_is_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*GEN, "memory", "--models"], env=surroundings(), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert done.stderr == b"error: the output could not be written: No space left on device.\n"


def test_a_closed_output_is_no_traceback() -> None:
    command = f"{sys.executable} -m gen memory --model gpt2 >&-"
    done = subprocess.run(["sh", "-c", command], env=surroundings(), capture_output=True, check=False)
    assert b"Traceback" not in done.stderr


BUILD = """
import os, pathlib, sys
from gen.site import __main__ as site
folder = pathlib.Path(sys.argv[1])
(folder / "mkdocs.py").write_text("import time; print('ready', flush=True); time.sleep(60)")
os.environ["PYTHONPATH"] = str(folder)
raise SystemExit(site.program(["build"]))
"""


def test_ctrl_c_on_a_build_of_the_site_is_one_sentence(tmp_path: Path) -> None:
    """A terminal sends it to both processes: MkDocs, which may be amid its imports, must not answer with a traceback."""
    command = [sys.executable, "-c", BUILD, str(tmp_path)]
    piped = subprocess.PIPE
    started = subprocess.Popen(command, env=surroundings(), stdout=piped, stderr=piped, start_new_session=True)
    assert started.stdout is not None
    assert started.stdout.readline() == b"ready\n"
    os.killpg(started.pid, signal.SIGINT)
    _, said = started.communicate(timeout=20)
    assert (started.returncode, said) == (130, b"stopped; run the same command again to go on.\n")


def test_ctrl_c_amid_what_is_held_back_comes_at_its_end() -> None:
    reached = []

    def pressed() -> None:
        with held_back():
            signal.raise_signal(signal.SIGINT)
            reached.append("the end")

    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            pressed()
        assert reached == ["the end"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # as nohup and a shell's & do
        with held_back():
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, usual)


@pytest.mark.parametrize("arguments", [["measure"], ["measure", "--device", "cuda"], ["run"]])
def test_ctrl_c_that_an_import_swallows_is_not_lost(arguments: list[str], tmp_path: Path) -> None:
    """As torch does when it is hit while it loads numpy: it goes on without."""
    swallow = "import contextlib, signal\nwith contextlib.suppress(BaseException):\n    signal.raise_signal(signal.SIGINT)\n"
    (tmp_path / "torch.py").write_text(swallow)
    environment = surroundings(PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    done = subprocess.run([*GEN, *arguments], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"stopped; run the same command again to go on.\n")
