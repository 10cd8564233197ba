"""What this machine is: a name that stays the same, and what times depend on. Never the name of the host.

A GPU is asked through torch; of a processor the system says what it is.
"""

import os
import platform
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from gen.errors import UserError
from gen.paths import slug
from gen.records import environment

THREADS = 2
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}


@dataclass(frozen=True)
class Device:
    """A processor or a GPU. `facts` go into the environment of its records."""

    slug: str
    name: str
    torch_device: torch.device
    facts: dict[str, Any]

    @property
    def cache_bytes(self) -> int | None:
        """The last cache before memory, where it is known: what fits in there is not read from memory again."""
        found: int | None = self.facts["cache_bytes"]
        return found

    def environment(self) -> dict[str, Any]:
        """Versions, date and facts of a run."""
        packages = ("torch", "transformers") if self.torch_device.type == "cpu" else ("torch",)
        return environment(packages) | self.facts


def processor(threads: int = THREADS) -> Device:
    """The machine's processor, with as many threads as torch is given here."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    torch.set_num_threads(min(threads, cores))
    name = processor_name()
    facts = {
        "name": name,
        "cores": cores,
        "threads": torch.get_num_threads(),
        "wait_policy": os.environ.get("OMP_WAIT_POLICY", "default").lower(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "memory_bytes": _memory_bytes(),
        "cache_bytes": _cache_bytes(),
        "load_at_start": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }
    return Device(slug(f"{name} {cores} cores"), name, torch.device("cpu"), facts)


def gpu() -> Device:
    """The first GPU. Raises UserError where torch sees none, or one that does not answer."""
    if not torch.cuda.is_available():
        built = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "built without CUDA"
        raise UserError(f"torch {torch.__version__}, {built}, sees no CUDA device here; `--device cpu` measures this machine.")
    try:
        told = torch.cuda.get_device_properties(0)
    except RuntimeError as problem:
        raise UserError(f"The CUDA device does not answer: {first_line(problem)}") from None
    facts = {
        "name": told.name,
        "multiprocessors": told.multi_processor_count,
        "threads": torch.get_num_threads(),
        "capability": f"{told.major}.{told.minor}",
        "cuda": str(torch.version.cuda),
        "memory_bytes": told.total_memory,
        "cache_bytes": getattr(told, "L2_cache_size", None),
    }
    return Device(slug(told.name), told.name, torch.device("cuda", 0), facts)


def first_line(problem: BaseException) -> str:
    """What an error of torch says, without the advice that follows."""
    lines = str(problem).strip().splitlines()
    return lines[0].rstrip(".") + "." if lines else f"{type(problem).__name__}."


def processor_name() -> str:
    """As the processor calls itself; else the architecture."""
    for ask in (_linux_name, _mac_name, platform.processor):
        with suppress(OSError, subprocess.SubprocessError):
            if name := " ".join(ask().split()):
                return name
    return platform.machine() or "unknown processor"


def _linux_name() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model"):
            return value
    return ""


def _mac_name() -> str:
    line = ["sysctl", "-n", "machdep.cpu.brand_string"]
    return subprocess.run(line, capture_output=True, text=True, check=True, timeout=10).stdout


def _memory_bytes() -> int | None:
    return _asked(lambda: os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def _cache_bytes() -> int | None:
    return _asked(lambda: max(_size(path.read_text()) for path in CACHES.glob("index*/size")))


def _size(text: str) -> int:
    plain = text.strip()
    return int(plain[:-1]) * UNITS[plain[-1]] if plain[-1] in UNITS else int(plain)


def _asked(question: Callable[[], int]) -> int | None:
    """The answer, where the system has one."""
    try:
        return question()
    except (OSError, ValueError, KeyError, IndexError, AttributeError):
        return None
