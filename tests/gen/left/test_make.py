"""`make site` and its kin: what is given on the command line reaches the commands whole, and they agree on the folder."""

import argparse
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gen import run
from gen.draw import add_site_flags, chosen_site
from gen.paths import ROOT, Site

PRINTER = """#!/usr/bin/env python3
import json, sys
print(json.dumps(sys.argv[1:]))
"""
NASTY = 'it\'s "5" $HOME; `id` | %s \\n'

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def commands(folder: Path, target: str, *words: str) -> list[list[str]]:
    """The commands of a target, each as the words it was given, with nothing set up and nothing run."""
    printer = folder / "printer.py"
    printer.write_text(PRINTER)
    printer.chmod(0o755)
    clean = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    line = ["make", "-s", target, "PYTHON=true", f"RUN={printer}", *words]
    done = subprocess.run(line, cwd=ROOT, env=clean | {"NAME": "not-asked-for"}, capture_output=True, text=True, check=True)
    return [json.loads(said) for said in done.stdout.splitlines()]


def site_of_run(words: list[str]) -> Site:
    return run._site(run._parser().parse_args(words))


def site_of_build(words: list[str]) -> Site:
    parser = argparse.ArgumentParser()
    add_site_flags(parser)
    return chosen_site(parser.parse_args(words))


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("MODEL=gpt2",),
        ("PROMPT=the dog ran",),
        ("NAME=dog", "MODEL=/some where/a"),
        (f"PROMPT={NASTY}".replace("$", "$$"),),
    ],
)
def test_a_site_is_recorded_where_it_is_built(tmp_path: Path, words: tuple[str, ...]) -> None:
    recorded, built = commands(tmp_path, "site", *words)
    assert recorded[:3] == ["-m", "gen", "run"]
    assert built[:3] == ["-m", "gen.site", "build"]
    assert ("--check" in recorded) == (not words)
    assert "--write" not in recorded
    assert site_of_run(recorded[3:]) == site_of_build(built[3:])
    assert site_of_run(recorded[3:]).published == (not words)
    for word in words:
        assert word.partition("=")[2].replace("$$", "$") in recorded


def test_only_data_writes_what_is_published(tmp_path: Path) -> None:
    assert commands(tmp_path, "data") == [["-m", "gen", "run", "--write"]]
    assert commands(tmp_path, "pages") == [["-m", "gen.site", "build"]]
