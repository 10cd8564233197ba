"""Canonical JSON and safe writing. Knows nothing about what the numbers mean.

The same values always give the same bytes: sorted keys, no spaces, floats of 4 significant digits, one newline at the
end. NaN and infinity are refused. A file is replaced whole or not at all, and only if its bytes change.
"""

import errno
import hashlib
import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

from gen.errors import UserError
from gen.paths import shown

DIGITS = 4


def rounded(number: float) -> float:
    """The float of 4 significant digits nearest to `number`; minus zero becomes zero."""
    return float(f"{number:.{DIGITS}g}") + 0.0


def interval(stored: float) -> tuple[float, float]:
    """The numbers that `rounded` turns into `stored`: (lowest, highest). Just below a power of ten they lie closer."""
    if stored == 0.0:
        return 0.0, 0.0
    size = abs(stored)
    exponent = int(f"{size:e}".rpartition("e")[2])
    half = 0.5 * 10.0 ** (exponent - DIGITS + 1)
    inner = half / 10 if size == float(f"1e{exponent}") else half
    low, high = size - inner, size + half
    return (low, high) if stored > 0 else (-high, -low)


def plain(value: Any, key: str = "") -> Any:
    """`value` with every float rounded. Raises ValueError naming the key of a NaN, an infinity or a foreign type."""
    if type(value) is float:
        if not math.isfinite(value):
            raise ValueError(f"{key or 'value'}: expected a finite number, got {value}")
        return rounded(value)
    if isinstance(value, dict):
        return {name: plain(item, f"{key}.{name}" if key else str(name)) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        if all(type(item) is float for item in value) and math.isfinite(sum(value)):
            return [rounded(item) for item in value]  # most of the data: worth a shorter way
        return [plain(item, f"{key}[{index}]") for index, item in enumerate(value)]
    if value is None or isinstance(value, (str, int)):
        return value
    raise ValueError(f"{key or 'value'}: expected plain data, got {type(value).__name__}")


def canonical(value: Any) -> bytes:
    """The one way to write `value` down."""
    text = json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # A lone surrogate (half an emoji in a token) cannot be encoded; it is escaped like any other JSON character.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def sha256(data: bytes) -> str:
    """The hexadecimal SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def file_sha256(path: Path) -> str:
    """The hexadecimal SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read(path: Path) -> Any:
    """The JSON in a file. Raises UserError if it is missing, unreadable or not JSON."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{shown(path)} is missing.") from None
    except (OSError, ValueError, RecursionError) as problem:
        raise UserError(f"{shown(path)} cannot be read as JSON: {problem}.") from None


def write(path: Path, data: bytes) -> bool:
    """Make `path` hold `data`; True if that changed it. At every moment the file is the old one or the new one.

    Raises UserError when the disk refuses (full, read-only).
    """
    try:
        if path.is_file() and path.read_bytes() == data:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)
    except OSError as problem:
        raise UserError(disk_sentence(path, problem)) from None
    return True


def _replace(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)  # mkstemp makes files that only their owner can read
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def sweep(folder: Path) -> None:
    """Remove the half-written files that killed runs left anywhere in `folder`."""
    for part in folder.rglob(".*.part") if folder.is_dir() else []:
        part.unlink(missing_ok=True)


def check_folder(folder: Path) -> None:
    """Raise UserError if files cannot be made in `folder`, or it cannot be made: to be asked before an hour's work."""
    try:
        first = next(path for path in (folder, *folder.parents) if path.exists())
        if not first.is_dir():
            raise UserError(f"{shown(first)} is a file: expected a folder, or nothing; move it away.")
        if not os.access(first, os.W_OK | os.X_OK):
            raise UserError(f"{shown(first)} cannot be written to: expected a folder that you may change.")
    except OSError as problem:
        raise UserError(disk_sentence(folder, problem)) from None


def disk_sentence(path: Path, problem: OSError) -> str:
    """One sentence for a failed write."""
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full: {shown(path)} could not be written; free some space and run the same command again."
    return f"{shown(path)} could not be written: {problem.strerror or problem}."
