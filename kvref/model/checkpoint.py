"""Loading weights: a Hugging Face folder (one safetensors file, or shards with an index) or a GGUF file.

Names are brought to those of ``kvref.layout`` and every tensor is checked before a model is made. What an
older writer left beside the weights (masks, frequencies) is dropped; anything else that is unknown or missing
is an error. Knows nothing about the network, hashes or tokenizers.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from kvref.config import ModelConfig
from kvref.errors import CheckpointError
from kvref.layout import HEAD, weight_shapes
from kvref.model import gguf
from kvref.model.transformer import Transformer

SINGLE_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
_PREFIX = re.compile(r"^(transformer|model)\.")
_LEFT_OVER = re.compile(r"^h\.\d+\.attn\.(bias|masked_bias)$|rotary_emb\.inv_freq$")


def load_checkpoint(path: str | Path, *, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> Transformer:
    """A model from a folder or a ``.gguf`` file. Raises ``CheckpointError``, one sentence, if it cannot be used."""
    path = Path(path)
    if path.is_dir():
        config, weights = ModelConfig.from_folder(path), read_folder(path)
    elif path.is_file():
        contents = gguf.read(path)
        config, weights = ModelConfig.from_dict(contents.config), contents.weights
    else:
        raise CheckpointError(f"{path} does not exist.")
    checked = canonical(config, weights)
    return Transformer(config, {name: _finite(name, tensor.to(device, dtype)) for name, tensor in checked.items()})


def read_folder(folder: Path) -> dict[str, Tensor]:
    """All tensors of a folder, under the names they have there. They are views of the files: copy what is kept."""
    index = folder / INDEX_FILE
    if not index.exists():
        return _read_file(folder / SINGLE_FILE)
    weights: dict[str, Tensor] = {}
    for shard in _shards(index):
        weights |= _read_file(folder / shard)
    return weights


def _shards(index: Path) -> list[str]:
    try:
        shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as wrong:
        raise CheckpointError(f"{index} is not an index of shards ({wrong!r}).") from wrong
    outside = [shard for shard in shards if not isinstance(shard, str) or Path(shard).name != shard]
    if outside:
        raise CheckpointError(f"{index} names a shard outside its folder: {outside[0]!r}.")
    return sorted(shards)


def _read_file(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)  # views of the file; a model copies what it keeps
    except FileNotFoundError as missing:
        raise CheckpointError(f"{path} does not exist.") from missing
    except (SafetensorError, OSError, ValueError, KeyError, AttributeError) as damaged:
        raise CheckpointError(f"{path} is not a whole safetensors file ({damaged}).") from damaged


def canonical(config: ModelConfig, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of ``weight_shapes(config)``, each present once, with its shape, and holding floats.

    A tied model's own ``lm_head`` is dropped: the embedding is used, as in transformers.
    """
    shapes = weight_shapes(config)
    found: dict[str, Tensor] = {}
    for original, tensor in weights.items():
        name = _PREFIX.sub("", original)
        if _LEFT_OVER.search(name) or (name == HEAD and config.tied_head):
            continue
        if name not in shapes:
            raise CheckpointError(f"Unknown tensor {original!r} for a {config.architecture} of {config.layers} layers.")
        if name in found:
            raise CheckpointError(f"The tensor {name!r} is there twice, with and without a prefix.")
        _check(original, tensor, shapes[name])
        found[name] = tensor
    missing = [name for name in shapes if name not in found]
    if missing:
        raise CheckpointError(f"The tensor {missing[0]!r} is missing ({len(missing)} of {len(shapes)} are).")
    return found


def _check(name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(tensor.shape) != shape:
        raise CheckpointError(f"The tensor {name!r} has the shape {list(tensor.shape)}, expected {list(shape)}.")
    if not tensor.is_floating_point():
        raise CheckpointError(f"The tensor {name!r} holds {tensor.dtype}, expected floating-point numbers.")


def _finite(name: str, tensor: Tensor) -> Tensor:
    """The same tensor. A sum is finite only if every number is, and quicker than asking each."""
    if not tensor.sum().isfinite() and not tensor.isfinite().all():
        raise CheckpointError(f"The tensor {name!r} holds NaN or infinity, read as {tensor.dtype}.")
    return tensor
