"""Text to ids: the file's own splitting rule, and templates that cannot do harm."""

import json
from pathlib import Path

import pytest

from gen import template, tokenizer
from gen.errors import FetchError, UserError
from gen.tokenizer import Text

from .conftest import ALPHABET


def metadata(splitter: str) -> dict[str, object]:
    tokens = ["<|end|>", *ALPHABET, "ĊĊ", "ĠĠ", "12", "<user>"]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": splitter,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3] + [1] * (len(tokens) - 2) + [4],
        "tokenizer.ggml.merges": ["Ċ Ċ", "Ġ Ġ", "1 2"],
    }


def test_single_digits_are_split_first_only_where_the_file_says_so():
    assert tokenizer.from_gguf(metadata("smollm")).encode("12").tokens == ["1", "2"]
    assert tokenizer.from_gguf(metadata("gpt-2")).encode("12").tokens == ["12"]
    assert tokenizer.from_gguf(metadata("llama-bpe")).encode("12").tokens == ["12"]
    assert tokenizer.from_gguf(metadata("smollm")).encode("\n\n5").tokens == ["ĊĊ", "5"]


def test_marker_tokens_are_one_token():
    made = tokenizer.from_gguf(metadata("smollm"))
    assert made.encode("a<|end|><user>").tokens == ["a", "<|end|>", "<user>"]
    assert made.decode(made.encode("a<|end|>é").ids) == "aé"


@pytest.mark.parametrize("splitter", ["", "default", "qwen2", None])
def test_an_unknown_rule_is_an_error(splitter: str):
    with pytest.raises(FetchError, match=r"tokenizer\.ggml\.pre"):
        tokenizer.from_gguf(metadata(splitter))


def test_another_kind_of_vocabulary_is_an_error():
    with pytest.raises(FetchError, match="byte-pair"):
        tokenizer.from_gguf({"tokenizer.ggml.model": "llama"})


def test_a_damaged_vocabulary_is_one_sentence():
    for change in ({"tokenizer.ggml.merges": ["no such"]}, {"tokenizer.ggml.tokens": None}):
        with pytest.raises(FetchError, match="tokenizer is damaged"):
            tokenizer.from_gguf(metadata("smollm") | change)


def test_a_begin_token_is_added_where_the_file_says_so():
    made = tokenizer.from_gguf(metadata("smollm") | {"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.bos_token_id": 0})
    assert made.encode("a").tokens == ["<|end|>", "a"]


@pytest.mark.weights
def test_the_default_models_strings(real_folder: Path):
    text = Text(real_folder)
    assert [text.piece(token) for token in text.encode("\n\n5")] == ["\n\n", "5"]
    assert [text.piece(token) for token in text.encode("  7\n 8")] == ["  ", "7", "\n ", "8"]
    assert text.encode("the cat sat") == [1195, 2644, 2643]
    prompt = text.chat("Why?", "Be brief.")
    assert prompt == "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"
    assert text.piece(text.encode(prompt)[0]) == "<|im_start|>"


def folder_with(tmp_path: Path, tiny_gpt2: Path, template: object) -> Path:
    (tmp_path / "tokenizer.json").write_bytes((tiny_gpt2 / "tokenizer.json").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    return tmp_path


def test_a_template_cannot_leave_its_sandbox(tmp_path: Path, tiny_gpt2: Path):
    text = Text(folder_with(tmp_path, tiny_gpt2, "{{ messages.__class__.__mro__[1].__subclasses__() }}"))
    with pytest.raises(UserError, match="chat template does not work"):
        text.chat("?", "!")


def test_a_model_without_a_template_says_so(tmp_path: Path, tiny_gpt2: Path):
    assert Text(folder_with(tmp_path, tiny_gpt2, None)).chat("?", "!") is None
    assert Text(tiny_gpt2).chat("?", "!") is None


def test_vocabulary_and_merges_do_as_well(tmp_path: Path):
    (tmp_path / "vocab.json").write_text(json.dumps({symbol: n for n, symbol in enumerate([*ALPHABET, "at"])}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\na t\n")
    text = Text(tmp_path)
    assert [text.piece(token) for token in text.encode("cat é")] == ["c", "at", " ", "�", "�"]
    assert text.decode(text.encode("cat é")) == "cat é"


def test_a_missing_or_broken_tokenizer_is_one_sentence(tmp_path: Path):
    with pytest.raises(UserError, match="has no tokenizer"):
        Text(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match="cannot be read"):
        Text(tmp_path)


@pytest.mark.parametrize(
    "program",
    [
        "{{ 1/0 }}",
        "{% for i in range(10**9) %}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% if",
        "{{ raise_exception('no') }}",
        "{{ messages[9].content.x }}",
        "{{ [1].pop(7) }}",
        "{{ 'x' * 'y' }}",
        "{{ {}['a'].b }}",
        "{% for i in range(9**4) %}{{ 'x' * 9**3 }}{% endfor %}",
        "{{ 'x' * 9**12 }}",
        "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    ],
)
def test_whatever_a_template_does_is_one_sentence(tmp_path: Path, tiny_gpt2: Path, program: str):
    text = Text(folder_with(tmp_path, tiny_gpt2, program))
    with pytest.raises(UserError, match="chat template does not work") as caught:
        text.chat("?", "!")
    assert "\n" not in str(caught.value)


def test_a_template_that_goes_on_is_stopped(tmp_path: Path, tiny_gpt2: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(template, "MOST_SECONDS", 1)
    inner = "{% for i in range(9**4) %}" * 4 + "{% endfor %}" * 4
    with pytest.raises(UserError, match=r"^The model's chat template does not work: it was not done after 1 seconds\.$"):
        Text(folder_with(tmp_path, tiny_gpt2, inner)).chat("?", "!")


@pytest.mark.parametrize("settings", ["[]", '"x"', "null", "3"])
def test_settings_that_are_none_are_one_sentence(tmp_path: Path, tiny_gpt2: Path, settings: str):
    (folder_with(tmp_path, tiny_gpt2, None) / "tokenizer_config.json").write_text(settings)
    with pytest.raises(UserError, match=r"tokenizer_config\.json cannot be used: expected an object of settings"):
        Text(tmp_path)


@pytest.mark.parametrize("number", [9999, -1, 2**40])
def test_a_marker_outside_the_vocabulary_is_one_sentence(number: int):
    for name in ("bos", "eos"):
        damaged = metadata("smollm") | {f"tokenizer.ggml.{name}_token_id": number}
        with pytest.raises(FetchError, match=rf"tokenizer is damaged: tokenizer\.ggml\.{name}_token_id is {number}"):
            tokenizer.gguf_settings(damaged)
    damaged |= {"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.bos_token_id": number}
    with pytest.raises(FetchError, match="tokenizer is damaged"):
        tokenizer.from_gguf(damaged)
