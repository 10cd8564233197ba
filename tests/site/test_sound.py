"""Every page, in both schemes and three widths, does nothing wrong, fits, and axe finds nothing in it."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.site.conftest import Visitor
from tests.site.pages import named, pages, whole
from tests.site.visit import Visit

pytestmark = pytest.mark.browser

LAYOUT_SHIFT = 0.05

# The sum of all jumps that no action of the reader's explains.
SHIFTS = """() => new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
  }).observe({type: "layout-shift", buffered: true});
  setTimeout(() => done(sum), 100);
})"""

# (rule, part of the selector): the theme's own, not ours to mend from outside.
THEMES_OWN = [
    ("aria-dialog-name", ".md-search"),
    ("color-contrast", ".md-copyright"),
]

# Elements that stick out at the right, unless something around them scrolls or clips.
STICKING_OUT = """() => {
  const wide = [];
  for (const element of document.querySelectorAll("body *")) {
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.right <= innerWidth + 1) continue;
    let around = element, held = false;
    while ((around = around.parentElement) && around !== document.body)
      if (getComputedStyle(around).overflowX !== "visible") held = true;
    if (!held) wide.push(element.tagName + "." + element.className);
  }
  return wide.slice(0, 5);
}"""

# Figures whose element is not as wide as what holds it.
NOT_AT_WIDTH = """() => [...document.querySelectorAll("figure.kv-figure")].flatMap(figure => {
  const style = getComputedStyle(figure.parentElement);
  const room = figure.parentElement.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const widths = [figure, figure.firstElementChild].map(element => element.getBoundingClientRect().width);
  const hidden = widths[0] === 0 && figure.closest("details:not([open])");
  return hidden || widths.every(width => Math.abs(width - room) <= 1) ? [] : [`${figure.id}: ${widths} in ${room}`];
})"""


def axe_findings(seen: Visit) -> list[str]:
    """What axe says against the page as it stands, without what the theme is known for."""
    return [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in Axe().run(seen.page).response["violations"]
        for node in violation["nodes"]
        if not any(violation["id"] == rule and part in str(node["target"]) for rule, part in THEMES_OWN)
    ]


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("page", pages(), ids=named)
def test_page_is_sound(visit: Visitor, page: str, width: int) -> None:
    """In the scheme it arrives in, and after the reader's system has changed to the other one."""
    schemes = ("dark", "light") if width == 768 else ("light", "dark")
    seen = visit(whole(page), width=width, scheme=schemes[0])
    assert seen.js(SHIFTS) <= LAYOUT_SHIFT, "something jumped while the page came in"
    seen.scroll_through()
    assert seen.js(SHIFTS) <= LAYOUT_SHIFT, "something jumped while the reader went down the page"
    for scheme in schemes:
        seen.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        seen.settle(50)
        shown = seen.js("() => document.body.dataset.mdColorScheme")
        assert (shown == "slate") == (scheme == "dark"), f"the page shows {shown} to a reader who prefers {scheme}"
        assert seen.js("() => document.documentElement.scrollWidth - innerWidth") <= 0, seen.js(STICKING_OUT)
        assert seen.js(NOT_AT_WIDTH) == []
        if width != 768:  # axe sees nothing there that it does not see in the others
            seen.js("() => document.querySelectorAll('article details').forEach(details => details.open = true)")
            assert axe_findings(seen) == [], scheme
    assert seen.problems == []


@pytest.mark.parametrize("page", ["", "404.html"], ids=named)
def test_search_and_palette_stay_on_the_site(visit: Visitor, page: str) -> None:
    seen = visit(page)
    seen.page.keyboard.press("/")
    seen.page.keyboard.type("cache")
    seen.settle(200)
    seen.page.keyboard.press("Escape")
    for _ in range(2):
        seen.js("() => document.querySelector('[data-md-component=palette] label:not([hidden])')?.click()")
        seen.settle()
    assert seen.problems == []
