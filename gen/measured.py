"""Where measurements lie and what form they have. Reads JSON only; both sides of the cut use it, so it loads no torch.

`docs/data/measured/<device>/<id>.json` are committed and stand in the manifest; `build/measured/<device>/<id>.json` are
of the reader's own machine, in the same form. A file has an `identity`, an `environment` and `values`, as recordings
have, but nothing compares it with a second run: a time is taken once, with its samples. What can be checked without
taking it again is checked here: that minimum, median and spread are those of the samples beside them.
"""

import math
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gen import io, paths
from gen.errors import CheckFailed, UserError
from gen.paths import Site, shown

FOLDER = "measured"
IDENTITY_KEYS = {
    "what", "page", "command", "kind", "device", "model", "revision", "weights_sha256", "seed", "quick",
}  # fmt: skip
ENVIRONMENT_KEYS = {"date", "machine", "python", "torch", "name", "memory_bytes", "threads"}  # at least these
LEAST_SAMPLES = 8
LOPSIDED = 1.5  # a median so many times the minimum: the machine did something else too
ROUNDING = 2e-3  # of a number computed from samples that were rounded to four digits


def committed(site: Site) -> Path:
    """The folder of the measurements that are published with a site."""
    return site.data / FOLDER


def own() -> Path:
    """The folder of this machine's measurements."""
    return paths.BUILD / FOLDER


def files(folder: Path) -> dict[str, dict[str, Path]]:
    """device -> id -> file, in order."""
    found: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.glob("*/*.json")):
        found.setdefault(path.parent.name, {})[path.stem] = path
    return found


def read(path: Path) -> dict[str, Any]:
    """A file whose form was checked. Raises CheckFailed with the first thing that is wrong."""
    try:
        document = io.read(path)
    except UserError as problem:
        raise CheckFailed(f"{problem} {_mend(path)}") from None
    for fault in faults(document, path):
        raise CheckFailed(f"{shown(path)}: {fault}; {_mend(path)}")
    found: dict[str, Any] = document
    return found


def check(folder: Path) -> int:
    """Check the form of every file below `folder`; how many there are. Raises CheckFailed."""
    return sum(bool(read(path)) for named in files(folder).values() for path in named.values())


def faults(document: Any, path: Path) -> Iterator[str]:
    """What is wrong with a document that lies in `path`, in words."""
    parts = ("environment", "identity", "values")
    if not isinstance(document, dict) or set(document) != set(parts):
        yield f"expected {', '.join(parts)}"
        return
    if not all(isinstance(document[part], dict) for part in parts):
        yield f"expected {', '.join(parts)} with keys of their own"
        return
    identity, surroundings = document["identity"], document["environment"]
    if set(identity) != IDENTITY_KEYS:
        yield f"identity: expected {', '.join(sorted(IDENTITY_KEYS))}, got {', '.join(sorted(identity))}"
        return
    if missing := ENVIRONMENT_KEYS - set(surroundings):
        yield f"environment: {', '.join(sorted(missing))} missing"
    if (got := identity["device"]) != path.parent.name:
        yield f"identity.device: expected {path.parent.name!r}, the name of its folder, got {got!r}"
    for text in ("what", "page", "command", "kind"):
        if not isinstance(identity[text], str) or not identity[text]:
            yield f"identity.{text}: expected words, got {identity[text]!r}"
    yield from _values(document["values"], "values")


def _values(value: Any, key: str) -> Iterator[str]:
    """Walk through everything; timings are told by their samples, ratios by the pairs they are of."""
    if isinstance(value, dict):
        if "samples_ms" in value:
            yield from _timing(value, key)
        elif "median_of_pairs" in value:
            yield from _ratio(value, key)
        else:
            for name, item in value.items():
                yield from _values(item, f"{key}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _values(item, f"{key}[{index}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{key}: expected a finite number, got {value}"


def _timing(value: dict[str, Any], key: str) -> Iterator[str]:
    samples = value["samples_ms"]
    if not isinstance(samples, list) or not all(above_zero(sample) for sample in samples):
        yield f"{key}.samples_ms: expected times above zero"
        return
    if len(samples) < LEAST_SAMPLES:
        yield f"{key}.samples_ms: expected at least {LEAST_SAMPLES} samples, got {len(samples)}"
        return
    least, middle = min(samples), statistics.median(samples)
    derived = {"min_ms": least, "median_ms": middle, "max_ms": max(samples), "spread": middle / least}
    for name, expected in derived.items():
        if not _close(value.get(name), expected):
            yield f"{key}.{name}: expected {expected:.4g} from the samples beside it, got {value.get(name)!r}"


def _ratio(value: dict[str, Any], key: str) -> Iterator[str]:
    numbers = [value.get(name) for name in ("of_minima", "median_of_pairs", "lowest", "highest")]
    if not all(above_zero(number) for number in numbers):
        yield f"{key}: expected ratios above zero, got {numbers}"
    elif value.get("lopsided") is not False and value.get("verdict") is not None:
        yield f"{key}.verdict: expected none where minimum and median disagree, got {value['verdict']!r}"


def above_zero(number: Any) -> bool:
    """Whether it is a number that a time, a rate or a ratio can be: `1e400`, written out or not, is none."""
    return isinstance(number, int | float) and not isinstance(number, bool) and 0 < number <= sys.float_info.max


def _close(got: Any, expected: float) -> bool:
    return above_zero(got) and math.isclose(got, expected, rel_tol=ROUNDING)


def _mend(path: Path) -> str:
    if path.is_relative_to(paths.BUILD):
        return "delete it, or run `python -m gen measure`."
    return "`git checkout` it, or run `python -m gen measure --write` on that device."
