"""The list of recordings with the SHA-256 of each. Written last, so a run that was killed is noticed.

Everything right of `docs/data` calls `verify` before it reads a number.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from gen import io
from gen.errors import CheckFailed, UserError
from gen.paths import Site, shown

MEASURED = "measured/"


def recordings(site: Site) -> dict[str, Path]:
    """Every recording on disk: path below the data folder -> file."""
    if not site.data.is_dir():
        return {}
    found = (path for path in site.data.rglob("*.json") if path != site.manifest)
    return {path.relative_to(site.data).as_posix(): path for path in sorted(found)}


def kept(site: Site) -> dict[str, str]:
    """What is kept by hand and no run makes, the table of models' geometry: path below the data folder -> SHA-256."""
    return {name: io.file_sha256(path) for name, path in recordings(site).items() if name.startswith("geometry/")}


def taken(site: Site) -> dict[str, str]:
    """What was measured and is never made again silently: path below the data folder -> SHA-256."""
    return {name: io.file_sha256(path) for name, path in recordings(site).items() if name.startswith(MEASURED)}


def mend(site: Site) -> str:
    """The command that mends this site's data."""
    return "python -m gen run --write" if site.published else f"python -m gen run … --name {site.name}"


def load(site: Site) -> dict[str, Any]:
    """The manifest. Raises UserError if it is missing, not JSON or not a manifest."""
    if not site.manifest.is_file():
        raise UserError(f"{shown(site.manifest)} is missing; `{mend(site)}` makes it.")
    try:
        table = io.read(site.manifest)
    except UserError as problem:
        raise UserError(f"{problem} `{mend(site)}` makes it anew.") from None
    if not isinstance(table, dict) or not isinstance(table.get("files"), dict) or not isinstance(table.get("data_hash"), str):
        raise UserError(f"{shown(site.manifest)} is not a manifest; `{mend(site)}` makes it anew.")
    return table


def verify(site: Site, anew: Collection[str] = ()) -> dict[str, Any]:
    """The manifest, after every file was found to be as it says. Raises CheckFailed with the first file that is not.

    `anew`: those that are about to be made anew, whatever they are now.
    """
    table = load(site)
    files, found = table["files"], recordings(site)
    for name in sorted((files.keys() | found.keys()) - set(anew)):
        where = shown(site.data / name)
        makes = "python -m gen measure --write" if name.startswith(MEASURED) else mend(site)
        if name not in found:
            raise CheckFailed(f"{where} is in the manifest but missing; `{makes}` makes it.")
        if name not in files:
            raise CheckFailed(f"{where} is not in the manifest; delete it, or run `{mend(site)}`.")
        got = io.file_sha256(found[name])
        if got != files[name]:
            raise CheckFailed(
                f"{where}: expected SHA-256 {files[name]} as in the manifest, got {got}; `git checkout` it or run `{makes}`."
            )
    expected = data_hash(files)
    if table["data_hash"] != expected:
        raise CheckFailed(
            f"{shown(site.manifest)}: data_hash: expected {expected}, got {table['data_hash']}; run `{mend(site)}`."
        )
    return table


def data_hash(files: dict[str, str]) -> str:
    """One hash for all recordings: what a citation names."""
    return io.sha256(io.canonical(files))


def write(site: Site, files: dict[str, str]) -> None:
    """Write the manifest for `files` (path below the data folder -> SHA-256)."""
    io.write(site.manifest, io.canonical({"data_hash": data_hash(files), "files": files}))
