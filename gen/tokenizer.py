"""Text to token ids and back. Built with `tokenizers` from a file's own vocabulary; knows nothing about weights.

A GGUF file names the rule that splits text before byte-pair merging (`tokenizer.ggml.pre`). Getting it wrong still
gives ids, only other ones, so a rule that is not known here is an error.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors

from gen import io
from gen.errors import FetchError, UserError
from gen.template import render

LLAMA3_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CONTROL, USER_DEFINED = 3, 4  # kinds of token in a GGUF file


def _byte_level(use_regex: bool = True) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def _splitter(rule: str) -> pre_tokenizers.PreTokenizer:
    if rule == "gpt-2":
        return _byte_level()
    if rule == "smollm":
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), _byte_level()])
    if rule == "llama-bpe":
        split = pre_tokenizers.Split(Regex(LLAMA3_SPLIT), behavior="isolated")
        return pre_tokenizers.Sequence([split, _byte_level(use_regex=False)])
    raise FetchError(f"tokenizer.ggml.pre is {rule!r}: expected gpt-2, smollm or llama-bpe; other rules are not built here.")


def from_gguf(metadata: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer of a GGUF file. Raises FetchError: no byte-pair vocabulary, an unknown splitting rule, or damage."""
    kind, rule = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre")
    if kind != "gpt2":
        raise FetchError(f"tokenizer.ggml.model is {kind!r}: expected 'gpt2', a byte-pair vocabulary.")
    splitter = _splitter(str(rule))
    try:
        tokens = [str(token) for token in metadata["tokenizer.ggml.tokens"]]
        pairs = (str(merge).partition(" ") for merge in metadata["tokenizer.ggml.merges"])
        vocabulary = {token: number for number, token in enumerate(tokens)}
        merges = [(left, right) for left, _, right in pairs]
        tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=rule == "llama-bpe"))
        _add_markers(tokenizer, tokens, metadata)
    except FetchError:
        raise
    except Exception as problem:  # the library raises a bare Exception for merges of tokens that do not exist
        raise FetchError(f"The file's tokenizer is damaged: {problem!r}.") from None
    tokenizer.pre_tokenizer, tokenizer.decoder = splitter, decoders.ByteLevel()
    return tokenizer


def _add_markers(tokenizer: Tokenizer, tokens: list[str], metadata: Mapping[str, Any]) -> None:
    """Tokens that are matched whole, and the one that begins every text where the file asks for it."""
    kinds = list(metadata.get("tokenizer.ggml.token_type", []))
    special = [token for token, kind in zip(tokens, kinds, strict=False) if kind == CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    defined = [token for token, kind in zip(tokens, kinds, strict=False) if kind == USER_DEFINED]
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in defined])
    if metadata.get("tokenizer.ggml.add_bos_token"):
        first = int(metadata["tokenizer.ggml.bos_token_id"])
        name = _marker(tokens, "bos", first)
        tokenizer.post_processor = processors.TemplateProcessing(single=[name, "$A"], special_tokens=[(name, first)])


def _marker(tokens: Sequence[Any], name: str, number: Any) -> str:
    if not 0 <= int(number) < len(tokens):
        raise FetchError(
            f"The file's tokenizer is damaged: tokenizer.ggml.{name}_token_id is {number}: expected 0 to {len(tokens) - 1}."
        )
    return str(tokens[int(number)])


def gguf_settings(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What `tokenizer_config.json` keeps of a GGUF file: chat template and marker tokens by name. Raises FetchError."""
    tokens = metadata["tokenizer.ggml.tokens"]
    settings: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast"}
    for name in ("bos", "eos"):
        number = metadata.get(f"tokenizer.ggml.{name}_token_id")
        if number is not None:
            settings[f"{name}_token"] = _marker(tokens, name, number)
    template = metadata.get("tokenizer.chat_template")
    return settings | ({"chat_template": str(template)} if template else {})


class Text:
    """Text in and out of one model's token ids."""

    def __init__(self, folder: Path) -> None:
        """Read the tokenizer of a folder in the Hugging Face layout. Raises UserError if there is none."""
        self._tokenizer = _load(folder)
        path = folder / "tokenizer_config.json"
        settings = io.read(path) if path.is_file() else {}
        if not isinstance(settings, dict):
            raise UserError(f"{path} cannot be used: expected an object of settings, got {type(settings).__name__}.")
        self._settings: dict[str, Any] = settings

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`; the names of marker tokens in it become those tokens."""
        return list(self._tokenizer.encode(text).ids)

    def decode(self, ids: list[int]) -> str:
        """The text of some token ids, marker tokens left out."""
        return str(self._tokenizer.decode(ids))

    def piece(self, token_id: int) -> str:
        """The text of one token, marker tokens by name. A token that is part of a character shows as U+FFFD."""
        return str(self._tokenizer.decode([token_id], skip_special_tokens=False))

    def chat(self, question: str, instruction: str) -> str | None:
        """The prompt for one question after one instruction, by the model's own chat template; None if it has none.

        Raises UserError for a template that does not work, or takes too long.
        """
        template = self._settings.get("chat_template")
        if not isinstance(template, str):
            return None
        names = {key: value for key, value in self._settings.items() if key in ("bos_token", "eos_token")}
        messages = [{"role": "system", "content": instruction}, {"role": "user", "content": question}]
        return render(template, {"messages": messages, "add_generation_prompt": True, **names})


def _load(folder: Path) -> Tokenizer:
    whole, vocabulary, merges = folder / "tokenizer.json", folder / "vocab.json", folder / "merges.txt"
    try:
        if whole.is_file():
            return Tokenizer.from_file(str(whole))
        if vocabulary.is_file() and merges.is_file():
            tokenizer = Tokenizer(models.BPE.from_file(str(vocabulary), str(merges)))
            tokenizer.pre_tokenizer, tokenizer.decoder = _byte_level(), decoders.ByteLevel()
            return tokenizer
    except Exception as problem:  # the library raises a bare Exception for a damaged file
        raise UserError(f"The tokenizer in {folder} cannot be read: {problem}.") from None
    raise UserError(f"{folder} has no tokenizer: expected tokenizer.json, or vocab.json and merges.txt.")
