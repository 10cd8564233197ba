"""Which recordings lie in a data folder, and what a figure's controls must know of each. Reads JSON only."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gen import io
from gen.errors import UserError
from gen.paths import DEFAULT_MODEL, PUBLISHED

GEOMETRY = PUBLISHED.data / "geometry" / "models.json"

# What shows a model, or counts made for its main recording: the reader chooses among models, not among prompts.
BY_MODEL = (
    *("lanes", "heads", "intensity", "models", "growth", "reads", "roofline", "timeline", "waits"),
    *("waste", "chain", "changes"),
)
BY_TABLE = ("memory",)  # draws from the table of published models and shows no recording
BY_DEVICE = ("times", "ratios", "samples", "agreement", "roofs")  # draws measurements, of whichever device has them


def values(data_root: Path, record: str) -> dict[str, Any]:
    """The values of a record. Raises UserError if its file is missing."""
    path = data_root / f"{record}.json"
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["values"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        found = {}
    if not isinstance(found, dict) or not found:
        raise UserError(f"the record {record!r} cannot be read; `python -m gen run` makes it.")
    return found


def find(data_root: Path) -> list[dict[str, Any]]:
    """Every recording, the default model's first, a model's main recording before its others."""
    models = sorted(
        (path.parent.name for path in data_root.glob("*/model.json")), key=lambda name: (name != DEFAULT_MODEL, name)
    )
    return [one for model in models for one in _of_model(data_root, model)]


def offered(found: Sequence[dict[str, Any]], picture: str, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The recordings that a figure lets the reader choose from."""
    if picture in BY_TABLE + BY_DEVICE:
        return []
    prompts = options.get("prompts")
    fitting = [one for one in found if prompts is None or one["prompt"] in prompts]
    if picture not in BY_MODEL and options.get("series") not in BY_MODEL:
        return fitting
    first: dict[str, dict[str, Any]] = {}
    for one in fitting:
        first.setdefault(one["model"], one)
    return list(first.values())


def published() -> list[dict[str, str]]:
    """The models of the table that is kept by hand: id and name."""
    found: dict[str, dict[str, Any]] = io.read(GEOMETRY)["values"]["models"]
    return [{"id": row["id"], "name": row["name"]} for row in sorted(found.values(), key=lambda row: row["name"].lower())]


def stops(data_root: Path, shown: str, model: str) -> dict[str, Any]:
    """What the controls of a picture stop at, where only its record knows: models, devices, contexts, batches."""
    if shown == "models":
        found = values(data_root, f"{model}/memory")
        models = [{"id": name, "name": found["models"][name]["name"]} for name in found["growth"]["bytes"]]
        return {
            "models": sorted(models, key=lambda one: found["models"][one["id"]]["parameters"]),
            "requests": found["requests"],
        }
    if shown in ("rows", "story", "chain", "changes"):
        return _blocks(data_root, shown, model)
    if shown == "waits":
        grid: dict[str, Any] = values(data_root, f"{model}/many-requests-grid")["grid"]
        return grid
    if shown not in ("reads", "roofline"):
        return {}
    found = values(data_root, f"{model}/bound")
    order = sorted(found["models"], key=lambda name: name == "own")
    return {
        "models": [{"id": name, **{key: found["models"][name][key] for key in ("name", "contexts")}} for name in order],
        "devices": [{"id": name, "name": device["name"]} for name, device in found["devices"].items()],
        "batches": found["batches"],
    }


def _blocks(data_root: Path, shown: str, model: str) -> dict[str, Any]:
    """What the pictures of blocks and sharing let a reader choose: sizes, prompts, and actions told one by one."""
    if shown == "rows":
        found = values(data_root, f"{model}/blocks")
        tokens = next(iter(found["by_size"].values()))["tokens"]
        return {"sizes": found["sizes"], "recordings": found["recordings"], "tokens": tokens}
    found = values(data_root, f"{model}/sharing")
    if shown == "chain":
        return {"others": list(found["chains"]["order"])}
    if shown == "changes":
        return {"variants": [{"id": name, "words": found["rows"][name]["words"]} for name in found["rows_order"]]}
    labels = {one["name"]: one["label"] for one in found["sequences"]}
    kept = ("script", "names", "design", "block_tokens", "slots")
    return {name: {**{key: one[key] for key in kept}, "labels": labels} for name, one in found["stories"].items()}


def _of_model(data_root: Path, model: str) -> list[dict[str, Any]]:
    shape = values(data_root, f"{model}/model")
    names = sorted((path.stem for path in (data_root / model).glob("*.json")), key=lambda name: (name != "cat", name))
    many = len(list(data_root.glob("*/model.json"))) > 1
    recorded = [(name, values(data_root, f"{model}/{name}")) for name in names if (data_root / model / name).is_dir()]
    return [_entry(shape, model, name, index, many) for name, index in recorded]


def _entry(shape: dict[str, Any], model: str, name: str, index: dict[str, Any], many: bool) -> dict[str, Any]:
    heads = [{"layer": one["layer"], "head": one["head"]} for one in index["heads"]]
    text = " ".join(str(index.get("question", index["prompt_text"])).split())
    label = f"“{text if len(text) <= 34 else text[:33].rstrip() + '…'}”"
    return {
        "id": f"{model}/{name}",
        "model": model,
        "prompt": name,
        "label": f"{label}, {shape['short_label']}" if many else label,
        "layers": index["layers"],
        "query_heads": shape["query_heads"],
        "kv_heads": shape["kv_heads"],
        "group_size": shape["group_size"],
        "chosen": heads or [{"layer": shape["chosen"]["layer"], "head": shape["chosen"]["head"]}],
        "steps": len(index["steps"]),
        "tokens": len(index["tokens"]),
        "prompt_tokens": index["prompt_tokens"],
        "credit": shape["label"],
    }
