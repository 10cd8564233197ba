"""Without scripts, and on paper, every page still says everything."""

import io
import re

import pytest
from pypdf import PdfReader

from tests.site.conftest import Visitor
from tests.site.pages import figure_ids, named, pages

pytestmark = pytest.mark.browser

A4_PIXELS = 794  # 210 mm at 96 px per inch

# On a phone the lanes leave out the column of tokens (.h-text): the strip above it names them.
HIDDEN_TEXT = """() => [...document.querySelectorAll(
    "article :is(h1, h2, h3, p, li, td, th, figcaption, .kv-frame, dt, dd, pre)")]
  .filter(element => !element.checkVisibility({visibilityProperty: true, opacityProperty: true}))
  .filter(element => !element.closest(
    "details:not([open]), .kv-controls, .kv-tools, .kv-readout, .h-text, [role=status], [hidden]"))
  .map(element => element.outerHTML.slice(0, 100))"""

DEAD_CONTROLS = """() => [...document.querySelectorAll("article :is(button, select, input)")]
  .filter(element => element.checkVisibility({visibilityProperty: true}))
  .filter(element => !element.closest("form[action]"))
  .map(element => element.outerHTML.slice(0, 100))"""

WIDER_THAN_PAPER = """width => [...document.querySelectorAll("article figure *")]
  .map(element => [element.getBoundingClientRect(), element])
  .filter(([box]) => box.width > 0 && (box.right > width + 1 || box.left < -1))
  .map(([box, element]) => `${element.closest("figure").id} ${element.tagName}.${element.className} ${Math.round(box.right)}`)
  .slice(0, 5)"""


def words(text: str) -> str:
    """Letters and digits alone: a PDF breaks lines and spaces as it likes."""
    return re.sub(r"[^a-z0-9]+", "", text.lower())


@pytest.mark.parametrize("page", pages(), ids=named)
def test_readable_without_scripts(visit: Visitor, page: str) -> None:
    seen = visit(page, scripts=False)
    for width in (1280, 360):
        seen.page.set_viewport_size({"width": width, "height": 700})
        assert seen.js(HIDDEN_TEXT) == []
        assert seen.js(DEAD_CONTROLS) == [], "shown, but nothing would happen"
        assert seen.js("() => document.documentElement.scrollWidth - innerWidth") <= 0
        for figure in figure_ids(page):
            box = seen.page.locator(f"#fig-{figure} .kv-frame").bounding_box()
            assert box, figure
            assert box["height"] > 20, figure
    assert seen.problems == []


@pytest.mark.parametrize("page", [page for page in pages() if page != "404.html"], ids=named)
def test_prints_to_a4_whole(visit: Visitor, page: str) -> None:
    seen = visit(page)
    seen.scroll_through()
    captions = seen.js("() => [...document.querySelectorAll('article figcaption')].map(one => one.textContent)")
    headings = seen.js("() => [...document.querySelectorAll('article :is(h1, h2)')].map(one => one.firstChild.textContent)")
    pdf = seen.page.pdf(format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "10mm"))
    reader = PdfReader(io.BytesIO(pdf))
    printed = words("".join(sheet.extract_text() for sheet in reader.pages))
    assert [text for text in captions if words(text) not in printed] == []
    assert [text for text in headings if words(text) not in printed] == []
    seen.page.emulate_media(media="print")
    seen.page.set_viewport_size({"width": A4_PIXELS - 76, "height": 1000})
    seen.settle(200)
    assert seen.js(WIDER_THAN_PAPER, A4_PIXELS - 76) == []
    assert seen.js("() => document.documentElement.scrollWidth - innerWidth") <= 0
