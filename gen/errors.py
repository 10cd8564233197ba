"""Failures a user can cause or mend. Each is one sentence; `python -m gen` prints it and no traceback."""

import sys
from collections.abc import Callable


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
