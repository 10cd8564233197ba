"""What plans and what draws loads no torch: linters see imports that are written, this sees those that happen."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "transformers", "tokenizers", "safetensors", "gguf")
RIGHT = ["gen.artefacts", "gen.draw", "gen.figures", "gen.listings", "gen.measured", "gen.tables"]
RIGHT += sorted(f"gen.site.{path.stem}" for path in (ROOT / "gen" / "site").glob("[a-z]*.py"))


def loaded(statement: str) -> list[str]:
    """Which heavy modules a new Python has loaded after `statement`."""
    script = f"import sys; {statement}; print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()


PLAN = sorted(f"kvref.plan.{path.stem}" for path in (ROOT / "kvref" / "plan").glob("[a-z]*.py"))


@pytest.mark.parametrize(
    "module",
    ["kvref", "kvref.config", "kvref.layout", "kvref.errors", "kvref.checks", "kvref.entries", "gen.memory", *PLAN, *RIGHT],
)
def test_loads_no_torch(module: str) -> None:
    assert loaded(f"import {module}") == []


def test_this_test_can_fail() -> None:
    assert "torch" in loaded("from kvref import Transformer")


def test_draws_where_torch_is_not_installed(project: Path) -> None:
    """None in sys.modules makes an import fail as if the package were not there."""
    script = f"import sys; sys.modules.update(dict.fromkeys({HEAVY})); from gen.__main__ import main; sys.exit(main(['draw']))"
    done = subprocess.run([sys.executable, "-c", script], cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
