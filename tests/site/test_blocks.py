"""The pool that the reader drives: examples, buttons, undo, the link, the keyboard and a phone."""

import pytest

from tests.site.conftest import Visitor
from tests.site.pages import figure_ids, pages
from tests.site.visit import Visit

pytestmark = pytest.mark.browser

# Pages that hold the pool; none before it is published.
PAGES = [page for page in pages() if "pool" in figure_ids(page)]
FIGURE = "#fig-pool"
TERMS = "() => [...document.querySelectorAll('#fig-pool .kv-sums p:first-child b')].map(one => Number(one.textContent))"
WIDE = "() => document.documentElement.scrollWidth - innerWidth"
SMALL = """() => [...document.querySelectorAll("#fig-pool :is(button, select, [role=gridcell])")]
  .map(one => [one.getBoundingClientRect(), one.outerHTML.slice(0, 80)])
  .filter(([box]) => box.width < 23.5 || box.height < 23.5)"""

AT_HAND = """() => document.getElementById(document.activeElement.getAttribute("aria-activedescendant"))
  ?.getAttribute("aria-label")"""


def opened(visit: Visitor, page: str, state: str = "", width: int = 1280) -> Visit:
    """The page with the pool in a state, come alive."""
    seen = visit(f"{page}{f'?pool={state}' if state else ''}{FIGURE}", width=width)
    seen.alive("pool")
    return seen


def frame(seen: Visit) -> str:
    """What is drawn."""
    return seen.page.locator(f"{FIGURE} .kv-frame").inner_html()


def press(seen: Visit, key: str) -> None:
    """Press a button by its key."""
    seen.page.locator(f'{FIGURE} [data-key="{key}"]').click()
    seen.settle()


def status(seen: Visit) -> str:
    """The sentence that is announced."""
    return seen.page.locator(f"{FIGURE} .kv-status").inner_text()


@pytest.mark.parametrize("page", PAGES)
def test_every_example_adds_up_and_is_kept_in_the_link(visit: Visitor, page: str) -> None:
    seen = opened(visit, page)
    select = seen.page.locator(f"{FIGURE} select[name=preset]")
    drawn = {}
    for value in select.locator("option").evaluate_all("all => all.map(one => one.value)"):
        select.select_option(value)
        seen.settle(250)
        *terms, total = seen.js(TERMS)
        assert sum(terms) == total, value
        drawn[value] = (seen.page.url, frame(seen))
    assert len(drawn) >= 9
    assert len({html for _, html in drawn.values()}) == len(drawn)
    for value in ("copy", "full"):
        address, html = drawn[value]
        again = visit(address[len(seen.server.address) :])
        again.alive("pool")
        assert frame(again) == html
        assert again.problems == []
    assert seen.problems == []


@pytest.mark.parametrize("page", PAGES)
def test_what_is_done_can_be_undone(visit: Visitor, page: str) -> None:
    seen = opened(visit, page, "preset:boundary")
    before = frame(seen)
    press(seen, "eB")
    assert status(seen).startswith("B is finished.")
    seen.until("done => location.search.includes(done)", "do:nrepeat.fA.dA.wB.eB", "the actions in the address")
    press(seen, "undo")
    assert frame(seen) == before
    for _ in range(3):
        press(seen, "undo")
    assert status(seen).startswith("A “the grey cat")
    for _ in range(3):
        press(seen, "redo")
    assert frame(seen) == before
    press(seen, "ncat")
    press(seen, "reset")
    assert frame(seen) == before
    assert seen.problems == []


@pytest.mark.parametrize("page", PAGES)
def test_a_full_pool_says_so(visit: Visitor, page: str) -> None:
    seen = opened(visit, page, "preset:full")
    before = frame(seen)
    button = seen.page.locator(f'{FIGURE} [data-key="dA"]')
    assert button.get_attribute("aria-disabled") == "true"
    button.click(force=True)
    seen.settle(200)
    assert frame(seen) == before
    assert "The pool is full: 1 block needed, 0 free or idle." in seen.page.locator(f"{FIGURE} .kv-request").first.inner_text()
    press(seen, "eB")
    press(seen, "dA")
    assert status(seen).startswith("A writes")
    assert seen.problems == []


@pytest.mark.parametrize("page", PAGES)
def test_by_keyboard(visit: Visitor, page: str) -> None:
    """The button that was pressed keeps the focus; a grid is one stop, in which arrows move."""
    seen = opened(visit, page)
    key = "() => document.activeElement.dataset.key"
    seen.page.locator(f'{FIGURE} [data-key="dA"]').focus()
    for word in ("“,”", "“its”"):
        seen.page.keyboard.press("Enter")
        seen.settle()
        assert status(seen).startswith(f"A writes {word}")
        assert seen.js(key) == "dA"
    seen.page.locator(f'{FIGURE} [data-key="eA"]').focus()
    seen.page.keyboard.press("Space")
    seen.settle(200)
    assert status(seen).startswith("A is finished.")
    assert seen.js("() => document.activeElement.closest('#fig-pool') !== null && document.activeElement.matches('button')")
    grid = seen.page.locator(f"{FIGURE} .kv-boxes")
    grid.focus()
    seen.settle(300)
    said = [seen.js(AT_HAND)]
    for arrow in ("ArrowRight", "ArrowDown", "ArrowDown"):
        seen.page.keyboard.press(arrow)
        seen.page.wait_for_timeout(30)
        said.append(seen.js(AT_HAND))
    assert said[0].startswith("block 0: idle"), said
    assert said[1].startswith("slot 0, block 0"), said
    assert said[3].startswith("slot 8, block 2"), said
    assert seen.problems == []


@pytest.mark.parametrize("page", PAGES)
def test_on_a_phone(visit: Visitor, page: str) -> None:
    for state in ("", "preset:shared", "preset:two,block:1", "preset:reuse,block:16,slots:64", "preset:shared,block:2"):
        seen = opened(visit, page, state, width=360)
        assert seen.js(WIDE) <= 0, state
        assert seen.js(SMALL) == [], state
        assert seen.problems == []
