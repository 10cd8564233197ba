"""For every test: shapes in kvref's signatures are checked, and nothing looks for the network."""

import os
import pkgutil
import sys
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

ROOT = Path(__file__).resolve().parents[1]
# Before the first import of kvref: the hook wraps what is imported after it. Not kvref.plan, which has no shapes to check
# and is called millions of times here. The speed check runs without it.
WITH_SHAPES = [f"kvref.{one.name}" for one in pkgutil.iter_modules([str(ROOT / "kvref")]) if one.name != "plan"]
install_import_hook(WITH_SHAPES, "beartype.beartype")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # a machine that runs other things too must not spin
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")


@pytest.fixture(autouse=True)
def _threads(request: pytest.FixtureRequest) -> None:
    """Two threads for the trained model; one for tiny ones, where waiting for the other costs more than it does."""
    if "torch" in sys.modules:
        trained = request.node.get_closest_marker("weights") is not None
        sys.modules["torch"].set_num_threads(2 if trained else 1)


@pytest.fixture(scope="session")
def real_folder() -> Path:
    """The default model's weights, fetched and converted at the first use."""
    from gen.fetch import ensure

    return ensure("smollm2-135m-instruct")


@pytest.fixture(scope="session")
def real_model(real_folder: Path):
    from kvref.model.checkpoint import load_checkpoint

    return load_checkpoint(real_folder)
