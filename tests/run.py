"""Everything `make test` checks, in stages, each with its time. `python tests/run.py links html` runs those alone."""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
PYTHON = sys.executable

# In this order: what is quick first, what reads the built site after it was built. pytest's closing line comes last.
STAGES: dict[str, list[str]] = {
    "style": ["ruff", "check", "."],
    "types": ["mypy"],
    "layers": ["lint-imports", "--no-logo"],
    "numbers": [PYTHON, "-m", "gen", "run", "--check"],
    "build": [PYTHON, "-m", "gen.site", "build"],
    "html": ["node", "tests/html/node_modules/html-validate/bin/html-validate.mjs",
             "--config", "tests/html/htmlvalidate.config.mjs", "site/**/*.html"],
    "links": ["lychee", "--offline", "--include-fragments", "--no-progress", "--index-files=index.html",
              "--root-dir", str(ROOT / "site"), "site/**/*.html"],
    "scripts": ["node", "--test", "--test-reporter=dot", "tests/js/**/*.test.js"],
    "pytest": [PYTHON, "-m", "pytest", "-q", "-p", "tests.by_folder"],
}  # fmt: skip
NEEDS_BUILD = {"html", "links"}


def run(stage: str) -> bool:
    """Run one stage in the project's environment; True if it held."""
    print(f"\n== {stage}", flush=True)
    start = time.monotonic()
    environment = dict(os.environ, PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}", PYTHONPATH=str(ROOT))
    held = subprocess.run(STAGES[stage], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL).returncode == 0
    print(f"-- {stage}: {'held' if held else 'FELL SHORT'} in {time.monotonic() - start:.0f} s", flush=True)
    return held


def main(wanted: list[str]) -> int:
    """Run all stages, or those named; all are run even if one falls short, so that one run tells everything."""
    unknown = [name for name in wanted if name not in STAGES]
    if unknown:
        print(f"no stage is called {unknown[0]}; there are: {', '.join(STAGES)}", file=sys.stderr)
        return 2
    start = time.monotonic()
    failed: list[str] = []
    for stage in wanted or STAGES:
        if stage in NEEDS_BUILD and "build" in failed:
            print(f"\n== {stage}: left out, the site was not built")
            failed.append(stage)
        elif not run(stage):
            failed.append(stage)
    print(f"\nall stages in {time.monotonic() - start:.0f} s;", f"fell short: {', '.join(failed)}" if failed else "all held")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
