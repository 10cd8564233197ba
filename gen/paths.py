"""Where things are. The only module that knows a path of this repository or of the user's cache.

It loads neither torch nor Plotly: both sides of the cut use it.
"""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from gen.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
DEFAULT_MODEL = "smollm2-135m-instruct"
PUBLISHED_NAME = "site"
NAME_LIMIT = 40


@dataclass(frozen=True)
class Site:
    """One set of recordings and the pages built from it: the published one, or one under `build/<name>/`."""

    name: str

    @property
    def published(self) -> bool:
        """True for the recordings that are committed."""
        return self.name == PUBLISHED_NAME

    @property
    def build(self) -> Path:
        """Everything made for this site that is not committed."""
        return BUILD / self.name

    @property
    def data(self) -> Path:
        """The recordings: `recomputed/<model>/*.json` and `manifest.json`."""
        return ROOT / "docs" / "data" if self.published else self.build / "data"

    @property
    def manifest(self) -> Path:
        """The SHA-256 of every recording."""
        return self.data / "manifest.json"

    @property
    def figures(self) -> Path:
        """Drawn figures, one HTML, SVG and CSV each."""
        return self.build / "figures"

    @property
    def output(self) -> Path:
        """The built pages."""
        return ROOT / "site" if self.published else self.build / "site"

    def model_folder(self, model_id: str) -> Path:
        """The recordings of one model."""
        return self.data / "recomputed" / model_id

    def record(self, model_id: str, record_id: str) -> Path:
        """The file of one recording."""
        return self.model_folder(model_id) / f"{record_id}.json"


PUBLISHED = Site(PUBLISHED_NAME)


def slug(text: str) -> str:
    """A file name for any text: lower-case letters, digits and dashes, at most 40, never empty."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:NAME_LIMIT].strip("-")
    return plain or "text-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def local_site(model: str = DEFAULT_MODEL, prompt: str | None = None, name: str | None = None) -> Site:
    """The site of another model or prompt. `run` and `draw` are given the same words and so agree on the folder.

    Raises UserError: a name that is not a plain word, or is the published site's.
    """
    if name is None:
        parts = [] if model == DEFAULT_MODEL else [Path(model).name or model]
        parts += [] if prompt is None else [prompt]
        name = slug(" ".join(parts))
        return Site(name if name != PUBLISHED_NAME else f"{name}-local")
    if name == PUBLISHED_NAME:
        raise UserError(f"The name {name!r} belongs to the published site; choose another with --name.")
    if name != slug(name):
        raise UserError(f"--name {name!r} will not do as a folder: use letters a-z, digits and dashes, at most {NAME_LIMIT}.")
    return Site(name)


def home() -> Path:
    """Where converted weights are kept: KVREF_HOME, or the user's cache folder. Raises UserError for `~nobody`."""
    chosen = os.environ.get("KVREF_HOME")
    try:
        if chosen:
            return Path(chosen).expanduser().absolute()
        import platformdirs  # only here: a GPU is measured with nothing but torch installed

        return Path(platformdirs.user_cache_dir("kvref", appauthor=False))
    except RuntimeError:
        raise UserError(f"KVREF_HOME is {chosen!r}, but there is no such user: set it to the path of a folder.") from None


def shown(path: Path) -> str:
    """The path as a message should print it: from the repository's root if it is inside."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
