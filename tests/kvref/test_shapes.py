"""The shapes in signatures are really checked while tests run, and importing what plans loads no torch."""

import subprocess
import sys

import pytest
import torch

from kvref.ops.attention import attend, causal_mask
from tests.kvref import tiny


def test_a_wrong_shape_is_refused_because_the_hook_is_on() -> None:
    q, k = torch.zeros(3, 6, 4), torch.zeros(5, 2, 4)
    with pytest.raises(Exception, match="kv_len"):
        attend(q, k, torch.zeros(4, 2, 4), 1.0)  # one value too few
    with pytest.raises(Exception, match="head_dim"):
        attend(q, k, torch.zeros(5, 2, 3), 1.0)
    with pytest.raises(Exception, match="kv_len"):
        causal_mask("3", 5, torch.device("cpu"))  # type: ignore[arg-type]


def test_a_wrong_shape_is_refused_inside_the_model() -> None:
    model = tiny.model()
    with pytest.raises(Exception, match="hidden"):
        model.parts.norm(torch.zeros(2, 3, 4, dtype=torch.float64))


LIGHT = "kvref, kvref.config, kvref.errors, kvref.layout, kvref.plan.cost"


@pytest.mark.parametrize("module", LIGHT.split(", "))
def test_what_plans_loads_no_torch(module: str) -> None:
    program = f"import sys, {module}; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_every_public_name_can_be_had_and_an_unknown_one_says_so() -> None:
    import kvref

    for name in kvref.__all__:
        assert getattr(kvref, name).__name__ == name
    assert sorted(kvref.__all__) == sorted(kvref._HOME)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kvref.nothing  # noqa: B018
