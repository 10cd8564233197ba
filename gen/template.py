"""Chat templates come with the weights and are programs: they run in a sandbox, in a process of their own, with limits.

`python -m gen.template` renders one: JSON in, JSON out. Knows no models and no tokens.
"""

import json
import subprocess
import sys
from contextlib import suppress
from typing import Any

from gen.errors import UserError
from gen.paths import ROOT

MOST_SECONDS = 20
MOST_CHARACTERS = 1_000_000
MOST_BYTES = 2**30  # of memory, where the system can hold a process to it


def render(template: str, names: dict[str, Any]) -> str:
    """The text that `template` makes of `names`. Raises UserError for one that fails, or takes too long or too much."""
    command = [sys.executable, "-m", "gen.template"]
    asked = json.dumps([template, names])
    try:
        done = subprocess.run(command, cwd=ROOT, input=asked, capture_output=True, text=True, timeout=MOST_SECONDS)
        kind, text = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        kind, text = "problem", f"it was not done after {MOST_SECONDS} seconds"
    except ValueError:  # it ended without an answer: too deep for the interpreter, or too large for it
        kind, text = "problem", f"its process ended with {done.returncode}"
    if kind == "problem":
        raise UserError(f"The model's chat template does not work: {text}.")
    return str(text)


def _rendered(template: str, names: dict[str, Any]) -> str:
    import jinja2.sandbox

    sandbox = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    text = ""
    for part in sandbox.from_string(template).generate(**names):
        text += part
        if len(text) > MOST_CHARACTERS:
            raise ValueError(f"it writes more than {MOST_CHARACTERS:,} characters")
    return text


def main() -> None:
    """Answer what standard input asks."""
    with suppress(ImportError, ValueError, OSError):  # no such limits on Windows; a lower one that is there already
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    try:
        answer = ["text", _rendered(*json.load(sys.stdin))]
    except Exception as problem:  # whatever a program can do: divide by zero, call itself for ever
        answer = ["problem", f"{type(problem).__name__}: {problem}".split("\n")[0][:200]]
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
