"""Turn a GGUF file into a folder in the Hugging Face layout: safetensors, `config.json`, `tokenizer.json`.

The weights are dequantised to float32, which holds them exactly; the tokenizer is built from the file's own vocabulary.
"""

import json
import shutil
from pathlib import Path

from gen import tokenizer
from gen.errors import FetchError


def gguf(source: Path, folder: Path) -> None:
    """Write the converted model into `folder`. Raises FetchError: damaged, of another kind, or no room for it."""
    import safetensors
    from safetensors.torch import save_file

    from kvref import CheckpointError
    from kvref.model.gguf import read

    try:
        contents = read(source)
    except CheckpointError as problem:
        raise FetchError(str(problem)) from None
    made, settings = tokenizer.from_gguf(contents.tokenizer), tokenizer.gguf_settings(contents.tokenizer)
    needed = sum(tensor.nbytes for tensor in contents.weights.values())
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise FetchError(f"The disk is too full: the weights take {needed / 1e6:,.0f} MB, {free / 1e6:,.0f} MB are free.")
    try:
        save_file(contents.weights, folder / "model.safetensors", metadata={"format": "pt"})
    except safetensors.SafetensorError as problem:
        raise FetchError(f"The weights could not be written ({problem}); free some disk space and run it again.") from None
    (folder / "tokenizer.json").write_text(made.to_str(pretty=True), encoding="utf-8")
    _write(folder / "config.json", contents.config)
    _write(folder / "tokenizer_config.json", settings)


def _write(path: Path, value: object) -> None:
    # Not the canonical form: a configuration keeps every digit it came with.
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")
