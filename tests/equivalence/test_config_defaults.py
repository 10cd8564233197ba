"""What a config.json leaves out is filled in as transformers fills it in."""

import pytest
from transformers import AutoConfig

from kvref.plan.fields import DEFAULTS

ODD = {"num_attention_heads": 48, "hidden_size": 48 * 20, "use_sliding_window": True}  # no default follows from these


@pytest.mark.parametrize("family", DEFAULTS)
def test_defaults_are_those_of_the_class(family: str) -> None:
    filled = AutoConfig.for_model(family, **ODD)
    assert {key: getattr(filled, key) for key in DEFAULTS[family]} == DEFAULTS[family]


@pytest.mark.parametrize("family", ["llama", "phi3"])
def test_other_families_follow_from_the_heads(family: str) -> None:
    filled = AutoConfig.for_model(family, **ODD)
    assert filled.num_key_value_heads == 48
    assert getattr(filled, "head_dim", 20) == 20
    assert getattr(filled, "sliding_window", None) is None
