"""For every test: shapes in kvref's signatures are checked, nothing looks for the network, two threads at most."""

import os
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

# Before the first import of kvref: the hook wraps what is imported after it. The speed check runs without it.
install_import_hook("kvref", "beartype.beartype")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("OMP_NUM_THREADS", "2")


@pytest.fixture(scope="session")
def real_folder() -> Path:
    """The default model's weights, fetched and converted at the first use."""
    from gen.fetch import ensure

    return ensure("smollm2-135m-instruct")


@pytest.fixture(scope="session")
def real_model(real_folder: Path):
    from kvref.model.checkpoint import load_checkpoint

    return load_checkpoint(real_folder)
