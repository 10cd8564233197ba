"""Failures a user can cause or mend. Each is one sentence; `python -m gen` prints it and no traceback."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class UserError(Exception):
    """Something outside the program must change: a flag, a file, the network, the disk."""

    exit_code = 2


class FetchError(UserError):
    """A model's weights could not be brought here, or are not what they should be."""


class CheckFailed(UserError):
    """Recomputed numbers and published numbers disagree."""

    exit_code = 1


def in_one_sentence(run: Callable[[], int]) -> int:
    """The exit code of `run`. A mistake of the user's, and Ctrl-C, end in one sentence on standard error."""
    try:
        return run()
    except UserError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:
        print("stopped; run the same command again to go on.", file=sys.stderr)
        return 130


@contextmanager
def held_back() -> Iterator[None]:
    """Ctrl-C takes effect at the end of this: for imports, as torch loses one that hits it while it loads numpy.

    It then goes on without numpy, and fails much later. Where Ctrl-C means something else already, nothing is changed.
    """
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if pressed:
            raise KeyboardInterrupt
