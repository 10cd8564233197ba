"""What a recording is. Knows no model, no page and no torch; when two of them agree, `gen.compare` says.

A record has an `identity` (what it is and how it was made: compared), `values` (the numbers: compared) and an
`environment` (versions, machine, date: kept, never compared).
"""

import math
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from os import environ
from typing import Any

from gen.io import canonical

ROOM = 2.0  # between instruction sets of one machine these quantities vary by up to 1.8 times
TOLERANCE = {"absolute": 2e-4, "of_largest": 1e-4}
IDENTITY_KEYS = {"what", "page", "command", "model", "revision", "weights_sha256", "seed", "tolerance"}


@dataclass(frozen=True)
class Bound:
    """A quantity that is rounding noise, such as the largest difference between two ways to compute the same logits.

    What is written down is a promise that other machines keep too: the next of 1, 2, 5 × 10ⁿ above `ROOM` times what
    this run measured. A check compares its own measurement with the promise.
    """

    measured: float

    @property
    def declared(self) -> float:
        """The promise."""
        if not math.isfinite(self.measured):
            raise ValueError(f"a bound needs a finite measurement, got {self.measured}")
        least = max(ROOM * self.measured, 1e-6)
        power = math.floor(math.log10(least))
        return next(float(f"{digit}e{power}") for digit in (1, 2, 5, 10) if float(f"{digit}e{power}") >= least)


@dataclass(frozen=True)
class Record:
    """One file of recordings. `id` is its path below the model's folder, without the ending."""

    id: str
    identity: dict[str, Any]
    values: dict[str, Any]

    def document(self, environment: dict[str, Any]) -> bytes:
        """The bytes of the file. Raises ValueError for a NaN, or identity keys that are missing or unknown."""
        if set(self.identity) != IDENTITY_KEYS:
            raise ValueError(f"{self.id}: identity must have {sorted(IDENTITY_KEYS)}, got {sorted(self.identity)}")
        return canonical({"environment": environment, "identity": self.identity, "values": declared(self.values)})


def environment(packages: tuple[str, ...] = ("torch", "tokenizers", "safetensors")) -> dict[str, Any]:
    """Versions, kind of machine and date of this run."""
    epoch = environ.get("SOURCE_DATE_EPOCH")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch and epoch.isdecimal() else datetime.now(UTC)
    return {
        "date": now.date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: _version(name) for name in packages},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def declared(value: Any) -> Any:
    """`value` with every Bound replaced by the limit it declares."""
    if isinstance(value, Bound):
        return float(value.declared)
    if isinstance(value, dict):
        return {key: declared(item) for key, item in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], (dict, list, Bound)):
        return [declared(item) for item in value]
    return value
