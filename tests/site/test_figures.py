"""A figure that came alive shows what the printed one shows, keeps its state in the address, and can be read and pressed."""

import pytest

from tests.site.conftest import Visitor
from tests.site.pages import figure_ids, named, pages, whole
from tests.site.visit import Visit

pytestmark = pytest.mark.browser

PAGES = [page for page in pages() if figure_ids(page)]

# What a figure shows and how much room it takes. Plotly lies over the still picture and is looked at elsewhere.
FRAME = """id => {
  const figure = document.getElementById("fig-" + id), box = figure.firstElementChild.getBoundingClientRect();
  const frame = figure.querySelector(".kv-frame").cloneNode(true);
  frame.querySelectorAll(".kv-live").forEach(element => element.remove());
  return {html: frame.innerHTML, width: Math.round(box.width), height: Math.round(box.height)};
}"""

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
REDRAW = "id => document.querySelector('#fig-' + id).firstElementChild.redraw()"

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
    """Go to a figure as its link does, and wait until its element has adopted it."""
    seen.js("id => { location.hash = ''; location.hash = 'fig-' + id; }", figure)
    seen.page.wait_for_selector(f"#fig-{figure} > [live]", state="attached", timeout=10_000)
    seen.settle()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_live_frame_is_the_static_one(visit: Visitor, page: str) -> None:
    """The browser, drawing from the records, gives what was drawn at build: same markup, same room."""
    still, seen = visit(page, scripts=False), visit(whole(page))
    for figure in figure_ids(page):
        static = still.js(FRAME, figure)
        alive(seen, figure)
        assert seen.js(FRAME, figure)["html"] == static["html"], f"{figure}, adopted"
        seen.js(REDRAW, figure)
        assert seen.js(FRAME, figure)["html"] == static["html"], f"{figure}, drawn again"
    for width in (1280, 360):
        still.page.set_viewport_size({"width": width, "height": 700})
        seen.page.set_viewport_size({"width": width, "height": 700})
        for figure in figure_ids(page):
            assert seen.js(FRAME, figure)["width"] == still.js(FRAME, figure)["width"], figure
    assert seen.problems == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_copied_link_restores_the_state(visit: Visitor, page: str) -> None:
    """Every figure of the page is changed; its own link holds its state, and the page's address holds them all."""
    seen = visit(whole(page))
    changed = {}
    for figure in figure_ids(page):
        alive(seen, figure)
        first, state = seen.js(FRAME, figure)["html"], seen.js(STATE, figure)
        if not seen.js(CHANGE, figure):
            assert seen.page.locator(f"#fig-{figure} .kv-controls :is(select, input):visible").count() == 0
            continue
        seen.settle(250)
        changed[figure] = (seen.js(STATE, figure), seen.js(FRAME, figure)["html"])
        assert changed[figure][0] != state
        assert changed[figure][1] != first, f"{figure}: {state} became {changed[figure][0]} and the picture stayed"
        link = seen.js("id => document.querySelector(`#fig-${id} .kv-tool-link`).getAttribute('href')", figure)
        assert link.startswith(f"?{figure}=")
        assert link.endswith(f"#fig-{figure}")
        assert link.split("#")[0][1:] in seen.page.url
    again = visit(seen.page.url[len(seen.server.address) :])
    for figure, (state, frame) in changed.items():
        alive(again, figure)
        again.settle(100)
        assert again.js(STATE, figure) == state
        assert again.js(FRAME, figure)["html"] == frame
    assert again.problems == seen.problems == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_forged_state_is_harmless(visit: Visitor, page: str) -> None:
    """Each visit gives every figure of the page another forged state; over the site each kind of figure meets them all."""
    seen = visit(whole(page))
    ids = figure_ids(page)
    usual = {}
    for figure in ids:
        alive(seen, figure)
        usual[figure] = seen.js(STATE, figure)
    for first in range(PAGES.index(page), len(FORGED), 5):
        query = "&".join(f"{figure}={FORGED[(first + 7 * n) % len(FORGED)]}" for n, figure in enumerate(ids))
        seen.go(f"{page}?tour=step:all&{query}")
        for figure in ids:
            alive(seen, figure)
            assert set(seen.js(STATE, figure)) == set(usual[figure]), query
        assert seen.problems == [], query
        assert seen.js("() => Object.keys(Object.prototype).length === 0 && ({}).layer === undefined")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_phone_can_read_and_press(visit: Visitor, page: str) -> None:
    seen = visit(whole(page), width=360, touch=True)
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
    assert exact.replace(",", "") in shown.replace(",", "")
    assert key in shown
    assert seen.problems == []


TOUR = [page for page in PAGES if whole(page) != page]


@pytest.mark.parametrize("page", TOUR, ids=named)
def test_the_tour_goes_step_by_step(visit: Visitor, page: str) -> None:
    shown = (
        "() => [...document.querySelectorAll('.kv-step > :first-child')]"
        ".flatMap((heading, n) => heading.checkVisibility() ? n : [])"
    )
    seen = visit(page)
    count = seen.page.locator(".kv-step").count()
    assert seen.js(shown) == [0]
    seen.page.locator(".kv-next").click()
    assert seen.js(shown) == [1]
    seen.page.keyboard.press("ArrowRight")
    assert seen.js(shown) == [2]
    seen.page.keyboard.press("ArrowLeft")
    assert seen.js(shown) == [1]
    seen.page.locator(".kv-all").click()
    assert seen.js(shown) == list(range(count))
    seen.page.reload()
    seen.settle()
    assert seen.js(shown) == list(range(count)), "the address keeps what is shown"
    last = figure_ids(page)[-1]
    assert seen.go(f"{page}#fig-{last}").page.locator(f"#fig-{last}").is_visible(), "a link opens the step it leads into"
