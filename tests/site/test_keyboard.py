"""Everything that can be pressed is reached with Tab, shows that it has focus, and lets go again."""

import pytest

from tests.site.conftest import Visitor
from tests.site.pages import named, pages, whole

pytestmark = pytest.mark.browser

# Marks what Tab should reach within the article and counts it. A radio group is one stop.
MARK = """() => {
  const all = document.querySelectorAll("article :is(a[href], button, input, select, textarea, summary, [tabindex])");
  const groups = new Set();
  let number = 0;
  for (const element of all) {
    if (element.tabIndex < 0 || element.disabled || !element.checkVisibility({visibilityProperty: true})) continue;
    if (element.type === "radio" && (groups.has(element.name) || !groups.add(element.name))) continue;
    element.dataset.stop = number++;
  }
  return number;
}"""

FOCUSED = """() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const style = getComputedStyle(element);
  const marked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== "none";
  const group = element.type === "radio" && document.querySelector(`[name="${element.name}"][data-stop]`);
  const box = element.getBoundingClientRect();
  const name = element.outerHTML.slice(0, 120);
  return {stop: (group || element).dataset.stop ?? null, marked, shown: box.bottom > 0 && box.top < innerHeight, name};
}"""


@pytest.mark.parametrize("page", pages(), ids=named)
def test_tab_reaches_everything(visit: Visitor, page: str) -> None:
    seen = visit(whole(page))
    seen.scroll_through()
    seen.js("() => { scrollTo(0, 0); document.querySelectorAll('article details').forEach(one => one.open = true); }")
    wanted = seen.js(MARK)
    reached, unmarked, hidden = set(), [], []
    for _ in range(wanted + 150):  # the header, the contents and the footer have stops too
        seen.page.keyboard.press("Tab")
        focused = seen.js(FOCUSED)
        if focused is None:
            if len(reached) == wanted:
                break
            continue
        if focused["stop"] is not None:
            reached.add(int(focused["stop"]))
            unmarked += [] if focused["marked"] else [focused["name"]]
            hidden += [] if focused["shown"] else [focused["name"]]
    missed = seen.js(
        "reached => [...document.querySelectorAll('[data-stop]')].filter(element => "
        "!reached.includes(Number(element.dataset.stop))).map(element => element.outerHTML.slice(0, 120))",
        sorted(reached),
    )
    assert missed == []
    assert unmarked == []
    assert hidden == []
