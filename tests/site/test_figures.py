"""A figure that came alive shows what the printed one shows, keeps its state in the address, and can be read and pressed."""

import pytest

from tests.site.conftest import Looks, Visitor
from tests.site.pages import figure_ids, named, pages, whole

pytestmark = pytest.mark.browser

PAGES = [page for page in pages() if figure_ids(page)]

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

FRAME = """id => {
  const frame = document.querySelector(`#fig-${id} .kv-frame`).cloneNode(true);
  frame.querySelectorAll(".kv-live").forEach(element => element.remove());
  return frame.innerHTML;
}"""
CHANGED = f"([id, first]) => ({FRAME})(id) !== first"
# The figure's own link holds its state and leads to it, and the page's address has the same among others.
KEPT = """id => {
  const link = document.querySelector(`#fig-${id} .kv-tool-link`).getAttribute("href");
  return link.startsWith(`?${id}=`) && link.endsWith(`#fig-${id}`) && location.href.includes(link.split("#")[0].slice(1));
}"""
STATE = "id => JSON.parse(JSON.stringify(document.querySelector('#fig-' + id).firstElementChild.state ?? null))"
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


# Gives a figure one state after the other, as its address would, and lists the forged ones that left a mark.
FORGE = """async ([id, forged]) => {
  const { parse } = await import(document.querySelector("script[src$='js/main.js']").src.replace("main.js", "state.js"));
  const figure = document.getElementById("fig-" + id).firstElementChild, marked = [];
  const fields = Object.keys(figure.state).sort().join();
  for (const text of forged) {
    await figure.choose(parse(`?${id}=${text}`, id), false);
    if (Object.keys(figure.state).sort().join() !== fields) marked.push(text);
    if (Object.keys(Object.prototype).length > 0 || ({}).layer !== undefined) marked.push(`${text}: prototype`);
  }
  return marked;
}"""


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_live_frame_is_the_static_one(look: Looks, page: str) -> None:
    """The browser, drawing from the records, gives what was drawn at build: same markup, same room."""
    still, desk, phone = look.still(page), look.desk(page), look.phone(page)
    assert list(desk.frames) == list(phone.frames) == figure_ids(page)
    for figure, static in still.frames_at[1280].items():
        assert desk.frames[figure]["html"] == static["html"], f"{figure}, adopted"
        assert desk.redrawn[figure]["html"] == static["html"], f"{figure}, drawn again"
        assert desk.frames[figure]["width"] == static["width"], figure
        assert phone.frames[figure]["width"] == still.frames_at[360][figure]["width"], f"{figure}, on a phone"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_phone_can_read_and_press(look: Looks, page: str) -> None:
    assert look.phone(page).small_text == []
    assert look.phone(page).small_targets == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_copied_link_restores_the_state(visit: Visitor, page: str) -> None:
    """Every figure of the page is changed; its own link holds its state, and the page's address holds them all."""
    seen = visit(whole(page))
    seen.wake()
    changed = {}
    for figure in figure_ids(page):
        first, state = seen.js(FRAME, figure), seen.js(STATE, figure)
        if not seen.js(CHANGE, figure):
            assert seen.page.locator(f"#fig-{figure} .kv-controls :is(select, input):visible").count() == 0
            continue
        seen.until(CHANGED, [figure, first], "the picture to change")
        seen.until(KEPT, figure, "the address to say what the figure's own link says")
        changed[figure] = (seen.js(STATE, figure), seen.js(FRAME, figure))
        assert changed[figure][0] != state
    again = visit(seen.page.url[len(seen.server.address) :])
    again.wake()
    for figure, (state, frame) in changed.items():
        assert again.js(STATE, figure) == state, figure
        assert again.js(FRAME, figure) == frame, figure
    assert again.problems == seen.problems == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_forged_state_is_harmless(visit: Visitor, look: Looks, page: str) -> None:
    """A visit gives every figure of the page another forged state; then each figure is given them all."""
    ids = figure_ids(page)
    first = PAGES.index(page)
    query = "&".join(f"{figure}={FORGED[(first + 7 * n) % len(FORGED)]}" for n, figure in enumerate(ids))
    usual = look.desk(page).fields
    seen = visit(f"{page}?tour=step:all&{query}")
    seen.wake()
    assert {figure: sorted(seen.js(STATE, figure)) for figure in ids} == usual, query
    assert {figure: seen.js(FORGE, [figure, FORGED]) for figure in ids} == {figure: [] for figure in ids}
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
