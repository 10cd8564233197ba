"""A figure that came alive shows what the printed one shows, keeps its state in the address, and can be read and pressed."""

import pytest

from tests.site.conftest import Visitor
from tests.site.pages import figure_ids, figures, named, pages
from tests.site.visit import Visit

pytestmark = pytest.mark.browser

PAGES = [page for page in pages() if figure_ids(page)]

# What a figure shows, without what only a living one has; in text, so that a difference can be read.
FRAMES = """() => Object.fromEntries([...document.querySelectorAll("figure.kv-figure")].map(figure => {
  const box = figure.firstElementChild.getBoundingClientRect();
  const frame = figure.querySelector(".kv-frame").cloneNode(true);
  for (const element of frame.querySelectorAll("*")) element.removeAttribute("tabindex");
  return [figure.id, {html: frame.innerHTML, width: Math.round(box.width), height: Math.round(box.height)}];
}))"""

SMALL_TEXT = """() => {
  const small = new Set();
  for (const figure of document.querySelectorAll("figure.kv-figure")) {
    const walker = document.createTreeWalker(figure, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode, holder = text.parentElement;
      if (!text.data.trim() || !holder.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
      if (holder.closest("title, desc, script, style, math, .kv-hidden, .visually-hidden")) continue;
      const matrix = holder.ownerSVGElement ? holder.getScreenCTM() : null;
      const size = parseFloat(getComputedStyle(holder).fontSize) * (matrix ? Math.hypot(matrix.a, matrix.b) : 1);
      if (size < 11.95) small.add(`${figure.id}: ${size.toFixed(1)} px "${text.data.trim().slice(0, 20)}" ${holder.className}`);
    }
  }
  return [...small].slice(0, 20);
}"""

# Targets stand alone; a link inside a sentence is exempt, as in WCAG 2.2.
SMALL_TARGETS = """() => [...document.querySelectorAll(
    "figure.kv-figure :is(a, button, input, select, summary, [role=gridcell], [tabindex]), kv-steps button")]
  .filter(element => element.checkVisibility({visibilityProperty: true}) && !element.closest("p, figcaption, .kv-tools pre"))
  .map(element => [element.labels?.[0] ?? element, element])
  .map(([target, element]) => [target.getBoundingClientRect(), element])
  .filter(([box]) => box.width > 0 && (box.width < 23.5 || box.height < 23.5))
  .map(([box, element]) => `${Math.round(box.width)}x${Math.round(box.height)} ${element.outerHTML.slice(0, 100)}`)
  .slice(0, 20)"""

# Every control of a figure moved to another value; false if it has none.
CHANGE = """id => {
  const figure = document.getElementById("fig-" + id);
  let changed = 0;
  for (const control of figure.querySelectorAll(".kv-controls :is(select, input)")) {
    if (control.disabled) continue;
    if (control.tagName === "SELECT") {
      if (control.options.length < 2) continue;
      control.selectedIndex = (control.selectedIndex + 1) % control.options.length;
    } else if (control.type === "range" || control.type === "number") {
      control.value = Number(control.value) > Number(control.min) ? control.min : control.max;
    } else continue;
    control.dispatchEvent(new Event("input", {bubbles: true}));
    control.dispatchEvent(new Event("change", {bubbles: true}));
    changed++;
  }
  return changed;
}"""

STATE = "id => JSON.parse(JSON.stringify(document.querySelector('#fig-' + id).firstElementChild.state ?? null))"
FRAME = "id => document.querySelector('#fig-' + id + ' .kv-frame').innerHTML"

FORGED = [
    "layer:99",
    "layer:-1,head:-5,step:1e9",
    "layer:NaN,head:Infinity",
    "layer:1.5",
    "layer:2,layer:3",
    "layer",
    ":",
    ",,,,",
    "a:b:c:d",
    "recording:../../../etc/passwd",
    "recording:smollm2-135m-instruct/nothing",
    "recording:https://example.org/x",
    "dims:<img src=x onerror=alert(1)>",
    "step:%3Cscript%3Ealert(1)%3C/script%3E",
    "__proto__:1,constructor:2,toString:3",
    "step:" + "9" * 4000,
    "%E0%A4%A",
    "step:٣",
    "step:0x2",
    "step: 2",
]


def alive(seen: Visit, figure: str) -> None:
    """Bring a figure into view and wait until its element has adopted it."""
    seen.js("id => document.getElementById('fig-' + id).scrollIntoView({block: 'center'})", figure)
    seen.page.wait_for_selector(f"#fig-{figure} > [live]", state="attached", timeout=10_000)
    seen.settle()


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("page", PAGES, ids=named)
def test_first_live_frame_is_the_static_one(visit: Visitor, page: str, width: int) -> None:
    static = visit(page, scripts=False, width=width).js(FRAMES)
    seen = visit(page, width=width)
    for figure in figure_ids(page):
        alive(seen, figure)
    live = seen.js(FRAMES)
    for figure in figure_ids(page):
        assert live[f"fig-{figure}"]["html"] == static[f"fig-{figure}"]["html"], figure
        assert live[f"fig-{figure}"]["width"] == static[f"fig-{figure}"]["width"], figure


@pytest.mark.parametrize(("page", "figure"), figures())
def test_a_copied_link_restores_the_state(visit: Visitor, page: str, figure: str) -> None:
    seen = visit(page)
    alive(seen, figure)
    first = seen.js(FRAME, figure)
    if not seen.js(CHANGE, figure):
        assert seen.page.locator(f"#fig-{figure} .kv-controls :is(select, input):visible").count() == 0
        return
    seen.settle(200)
    state, frame = seen.js(STATE, figure), seen.js(FRAME, figure)
    assert frame != first, "moving the controls changed nothing"
    link = seen.js("id => document.querySelector(`#fig-${id} :is(.kv-tool-link, .kv-link)`).href", figure)
    assert f"?{figure}=" in link
    assert link.endswith(f"#fig-{figure}")
    again = visit(link[len(seen.server.address) :])
    alive(again, figure)
    again.settle(200)
    assert again.js(STATE, figure) == state
    assert again.js(FRAME, figure) == frame
    assert again.problems == seen.problems == []


@pytest.mark.parametrize(("page", "figure"), figures())
def test_a_forged_state_is_harmless(visit: Visitor, page: str, figure: str) -> None:
    seen = visit(page)
    alive(seen, figure)
    state = seen.js(STATE, figure)
    for forged in FORGED:
        seen.problems.clear()
        seen.go(f"{page}?{figure}={forged}#fig-{figure}")
        alive(seen, figure)
        assert seen.problems == [], forged
        shown = seen.js(STATE, figure)
        assert (shown is None) == (state is None)
        assert set(shown or ()) == set(state or ()), forged
        assert seen.js("() => [Object.keys(Object.prototype).length, document.scripts.length]")[0] == 0
    assert seen.page.evaluate("() => ({}).layer === undefined")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_phone_can_read_and_press(visit: Visitor, page: str) -> None:
    seen = visit(page, width=360, touch=True)
    seen.scroll_through()
    assert seen.js(SMALL_TEXT) == []
    assert seen.js(SMALL_TARGETS) == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_number_says_where_it_comes_from(visit: Visitor, page: str) -> None:
    seen = visit(page)
    number = seen.page.locator("article a.kv-num").first
    if number.count() == 0:
        return
    key, exact = number.get_attribute("data-key"), number.get_attribute("data-exact")
    number.focus()
    seen.page.keyboard.press("Enter")
    seen.settle(300)
    shown = seen.js("() => document.body.innerText")
    assert exact in shown.replace(",", "").replace("\u202f", "")
    assert key in shown
    assert seen.problems == []
