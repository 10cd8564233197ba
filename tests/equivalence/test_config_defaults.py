"""What a config.json leaves out is filled in as transformers fills it in, and its layers slide where they slide there."""

from typing import Any

import pytest
from transformers import AutoConfig

from kvref.plan.config_json import ELSEWHERE, LLAMA_LIKE
from kvref.plan.fields import DEFAULTS, filled
from kvref.plan.layer_kinds import TYPES, kinds

ODD = {"num_attention_heads": 48, "hidden_size": 48 * 20, "num_hidden_layers": 33}  # no default follows from these
WINDOWS: tuple[dict[str, Any], ...] = (
    {},
    {"use_sliding_window": True},
    {"use_sliding_window": True, "max_window_layers": 5},
    {"sliding_window": 96},
)


@pytest.mark.parametrize("family", DEFAULTS)
def test_defaults_are_those_of_the_class(family: str) -> None:
    theirs = AutoConfig.for_model(family, **ODD, use_sliding_window=True)
    assert {key: getattr(theirs, key) for key in DEFAULTS[family]} == DEFAULTS[family]


@pytest.mark.parametrize("family", [*LLAMA_LIKE, *ELSEWHERE])
def test_what_has_no_default_follows_from_the_heads(family: str) -> None:
    theirs, ours = AutoConfig.for_model(family, **ODD), DEFAULTS.get(family, {})
    assert "num_key_value_heads" in ours or theirs.num_key_value_heads == 48
    assert "head_dim" in ours or getattr(theirs, "head_dim", None) in (None, 20)


@pytest.mark.parametrize("said", WINDOWS)
@pytest.mark.parametrize("family", [*LLAMA_LIKE, *ELSEWHERE])
def test_layers_slide_where_they_slide_there(family: str, said: dict[str, Any]) -> None:
    theirs = AutoConfig.for_model(family, **ODD, **said)
    slides = family not in ("llama", "gemma") and getattr(theirs, "sliding_window", None)  # those two read no window
    listed = getattr(theirs, "layer_types", None) or ["sliding_attention" if slides else "full_attention"] * 33
    window, ours = kinds(filled(ODD | said, family), family, 33)
    assert ours == [TYPES[one] for one in listed]
    assert "sliding" not in ours or window == theirs.sliding_window
    assert "chunked" not in ours or window == theirs.attention_chunk_size
