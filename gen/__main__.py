"""`python -m gen run|draw|fetch|memory|measure …`.

Each command is imported only when it is called for: `run` needs no Plotly, `draw` no torch.
"""

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress

from gen.errors import UserError, held_back, in_one_sentence

USAGE = """usage: python -m gen COMMAND …

  fetch  bring a model's weights here, once
  run    recompute the numbers from the weights; compare them with the published ones, or write them
  draw   draw the figures from the published numbers
  measure time this machine, and read how much memory caches take on it
  memory how many bytes the cache of a published model takes, and what fits on a device

`python -m gen COMMAND --help` says more."""


def main(arguments: list[str]) -> int:
    """Run one command; the exit code. A mistake of the user's ends in one sentence."""
    command, *rest = arguments or [""]
    return in_one_sentence(lambda: _called(command, rest))


def _called(command: str, rest: list[str]) -> int:
    """Import the command and run it; without one, say which there are."""
    with held_back():
        run = _imported(command)
    if run is not None:
        return run(rest)
    wants_help = command in ("-h", "--help", "help")
    print(USAGE, file=sys.stdout if wants_help else sys.stderr)
    return 0 if wants_help else 2


def _imported(command: str) -> Callable[[list[str]], int] | None:
    """What runs the command; None if there is no such command."""
    if command == "run":
        # Threads that wait by spinning make a run ten times slower on a machine that is busy with something else.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        from gen.run import main
    elif command == "draw":
        from gen.draw import main
    elif command == "fetch":
        from gen.fetch import main
    elif command == "memory":
        from gen.memory import main
    elif command == "measure":
        from gen.measure.command import main
    else:
        return None
    return main


def program(arguments: list[str]) -> int:
    """`main` for a shell: what standard output cannot take ends in one sentence too, or silently where nobody reads on."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without θ shows a question mark
    try:
        code = _exit_code(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        _give_up_output()
        return 128 + 13  # as if SIGPIPE had ended it
    except OSError as problem:
        if problem.filename is not None:  # no stream: a mistake of ours, whose traceback is wanted
            raise
        _give_up_output()
        with suppress(OSError):
            print(f"error: the output could not be written: {problem.strerror or problem}.", file=sys.stderr)
        return UserError.exit_code


def _exit_code(arguments: list[str]) -> int:
    """What `main` answers, or how argparse ended: after help, or after a flag it does not know."""
    try:
        return main(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1


def _give_up_output() -> None:
    """Let what is still to be printed go nowhere; else the interpreter would try again as it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)


if __name__ == "__main__":
    sys.exit(program(sys.argv[1:]))
