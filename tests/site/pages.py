"""Which pages and figures the built site has; read from the files, so that no list can go stale."""

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("KVREF_SITE_FOLDER", ROOT / "site"))
NOT_BUILT = f"{SITE.name}/ is not built: run `make pages` first."


def addresses() -> list[str]:
    """Every address of the sitemap, in full."""
    sitemap = SITE / "sitemap.xml"
    return re.findall(r"<loc>(.*?)</loc>", sitemap.read_text()) if sitemap.exists() else []


def prefix() -> str:
    """The path under which the site expects to be published: the first page's, `/` or `/name/`."""
    paths = [urlsplit(address).path for address in addresses()]
    return min(paths, key=len) if paths else "/"


def pages() -> list[str]:
    """Path of every page below the prefix ("" is the first page), and 404.html."""
    start = len(prefix())
    return [*sorted(urlsplit(address).path[start:] for address in addresses()), "404.html"]


def html_file(page: str) -> Path:
    """The file of a page."""
    return SITE / page if page.endswith(".html") else SITE / page / "index.html"


def figure_ids(page: str) -> list[str]:
    """Ids of the figures on one page, in order."""
    file = html_file(page)
    return re.findall(r'<figure[^>]*\bid="fig-([a-z0-9-]+)"', file.read_text()) if file.exists() else []


def figures() -> list[tuple[str, str]]:
    """(page, id) of every figure."""
    return [(page, figure) for page in pages() for figure in figure_ids(page)]


def whole(page: str) -> str:
    """The address at which nothing of a page is put away: a tour shows all its steps."""
    file = html_file(page)
    return f"{page}?tour=step:all" if file.exists() and "<kv-steps" in file.read_text() else page


def named(page: str) -> str:
    """How a test's name shows a page."""
    return page.strip("/") or "index"
