"""The longer questions to an open page: what axe finds, what Tab reaches, what is printed, what a figure fetches."""

import gzip
import io
import re
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from pypdf import PdfReader

from tests.site import scripts
from tests.site.pages import SITE
from tests.site.visit import Visit

AXE = Axe().axe_script

# (rule, part of the selector): the theme's own, not ours to mend from outside.
THEMES_OWN = [
    ("aria-dialog-name", ".md-search"),
    ("color-contrast", ".md-copyright"),
]
# The theme makes a scrolling box of code a stop for Tab only where the pointer can hover; Chromium does so by itself.
THEMES_OWN_BY_FINGER = [("scrollable-region-focusable", "code")]


def axe_findings(seen: Visit, known: list[tuple[str, str]]) -> list[str]:
    """What axe says against the page as it stands, without the known (rule, part of the selector)."""
    seen.js(AXE)
    return [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in seen.js("() => axe.run({resultTypes: ['violations']})")["violations"]
        for node in violation["nodes"]
        if not any(violation["id"] == rule and part in str(node["target"]) for rule, part in known)
    ]


def tab_walk(seen: Visit) -> dict[str, list[str]]:
    """Press Tab from the link that skips to the content until everything in the article was met and left again."""
    wanted = seen.js(scripts.MARK_STOPS)
    seen.page.keyboard.press("Tab")
    if seen.js("() => document.activeElement.matches('.md-skip')"):
        seen.page.keyboard.press("Enter")
    seen.js(scripts.WATCH_FOCUS)
    reached: dict[int, Any] = {}
    for presses in (wanted + 2, 50, 50, 50):  # what comes before and after in the page has stops too
        for _ in range(presses):
            seen.page.keyboard.down("Tab")  # held down, as who has far to go does
        places = seen.js("() => kvFocused()")
        reached |= {int(place["stop"]): place for place in places if place and place["stop"] is not None}
        if len(reached) == wanted and not (places[-1] and places[-1]["stop"]):
            break
    seen.page.keyboard.up("Tab")
    return {
        "missed": seen.js(scripts.MISSED, sorted(reached)),
        "unmarked": [place["name"] for place in reached.values() if not place["marked"]],
        "out of sight": [place["name"] for place in reached.values() if not place["shown"]],
        "not let go": [places[-1]["name"]] if places[-1] and places[-1]["stop"] else [],
    }


def first_record(seen: Visit) -> dict[str, float]:
    """The largest file that a figure fetches when a reader comes to it, gzipped; by its name."""
    sizes = {name: float(len(gzip.compress((SITE / name).read_bytes(), 6))) for name in seen.js(scripts.RECORDS)}
    return dict(sorted(sizes.items(), key=lambda item: item[1])[-1:])


def unprinted(seen: Visit) -> list[str]:
    """The captions and headings that are not in the text of the printed page."""
    texts = seen.js(scripts.TO_BE_PRINTED)
    pdf = seen.page.pdf(format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "10mm"))
    printed = _words("".join(sheet.extract_text() for sheet in PdfReader(io.BytesIO(pdf)).pages))
    return [text for text in texts if not _stands_in(_words(text), printed)]


def _stands_in(text: str, printed: str, pieces: int = 4) -> bool:
    """Whether `text` is there, in a few pieces at most: a PDF has what is painted later, such as a link's box, later."""
    size = next((size for size in range(len(text), 0, -1) if text[:size] in printed), 0)
    return size == len(text) or (pieces > 1 and size > 2 and _stands_in(text[size:], printed, pieces - 1))


def _words(text: str) -> str:
    """Letters and digits alone: a PDF breaks lines and spaces as it likes."""
    return re.sub(r"[^a-z0-9]+", "", text.lower())
