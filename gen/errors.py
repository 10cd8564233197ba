"""Failures a user can cause or mend. Each is one sentence; `python -m gen` prints it and no traceback."""


class UserError(Exception):
    """Something outside the program must change: a flag, a file, the network, the disk."""

    exit_code = 2


class FetchError(UserError):
    """A model's weights could not be brought here, or are not what they should be."""


class CheckFailed(UserError):
    """Recomputed numbers and published numbers disagree."""

    exit_code = 1
