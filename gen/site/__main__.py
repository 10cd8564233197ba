"""`python -m gen.site build|serve`: MkDocs with the settings that make two builds alike and keep warnings visible."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from gen.draw import add_site_flags, chosen_site
from gen.errors import in_one_sentence
from gen.paths import ROOT
from gen.site import cite


def epoch() -> str:
    """The date of the last commit, in seconds; outside a repository the day of the release."""
    command = ["git", "log", "-1", "--format=%ct"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        done = None
    if done and done.returncode == 0 and done.stdout.strip():
        return done.stdout.strip()
    return str(int(datetime.fromisoformat(cite.read().date).replace(tzinfo=UTC).timestamp()))


def main(arguments: Sequence[str]) -> int:
    """Build or serve; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gen.site", description="Build or show the pages.")
    parser.add_argument("what", choices=("build", "serve"))
    add_site_flags(parser)
    parser.add_argument("--address", default="127.0.0.1:8000", help="where to serve")
    options = parser.parse_args(arguments)
    os.environ["KVREF_SITE"] = chosen_site(options).name
    os.environ["NO_MKDOCS_2_WARNING"] = "1"  # a notice printed at each build would hide real warnings
    os.environ.setdefault("SOURCE_DATE_EPOCH", epoch())
    flags = ["--strict"] if options.what == "build" else ["--dev-addr", options.address]
    command = [sys.executable, "-m", "mkdocs", options.what, "--config-file", str(ROOT / "mkdocs.yml"), *flags]
    alone = options.what == "build" and os.name == "posix"
    return subprocess.run(command, cwd=ROOT, check=False, preexec_fn=_deaf if alone else None).returncode


def _deaf() -> None:
    """A build does not hear Ctrl-C, which would show where in MkDocs it was; this process does, and ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def program(arguments: Sequence[str]) -> int:
    """`main` for a shell: a mistake, and Ctrl-C, end in one sentence."""
    return in_one_sentence(lambda: main(arguments))


if __name__ == "__main__":
    sys.exit(program(sys.argv[1:]))
