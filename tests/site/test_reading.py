"""The values behind cells: by keyboard, by mouse and by finger, exact and with their origin."""

import re

import pytest

from tests.site.conftest import Visitor
from tests.site.pages import figure_ids, figures, html_file, named, whole
from tests.site.test_figures import alive

pytestmark = pytest.mark.browser

GRIDS = [
    (page, figure)
    for page, figure in figures()
    if 'role="grid"' in html_file(page).read_text().split(f'id="fig-{figure}"')[1].split("</figure>")[0]
]
READOUT = "id => document.querySelector(`#fig-${id} .kv-readout`).textContent"
READ = "id => /[0-9“]/.test(document.querySelector(`#fig-${id} .kv-readout`).textContent)"
AT_HAND = """id => { const grid = document.querySelector(`#fig-${id} [role=grid]`);
  const cell = document.getElementById(grid.getAttribute("aria-activedescendant"));
  return cell && grid.contains(cell) ? cell.getAttribute("aria-label") : null; }"""
STOPS_INSIDE = "id => document.querySelectorAll(`#fig-${id} [role=grid] :is([tabindex='0'], a, button)`).length"
# A cell that has a recorded value of its own says its file and key.
ORIGIN = re.compile(r"[\w/-]+\.json › [\w.-]+$")


PAGES = sorted({page for page, _ in GRIDS})


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_grid_is_read_by_keyboard(visit: Visitor, page: str) -> None:
    seen = visit(whole(page))
    for figure in [figure for where, figure in GRIDS if where == page]:
        alive(seen, figure)
        seen.page.locator(f"#fig-{figure} [role=grid]").first.focus()
        seen.page.wait_for_function(f"id => ({AT_HAND})(id)", arg=figure, timeout=5000)
        labels = [seen.js(AT_HAND, figure)]
        for key in ("ArrowRight", "ArrowDown", "Control+End", "ArrowLeft"):
            seen.page.keyboard.press(key)
            seen.page.wait_for_timeout(30)
            labels.append(seen.js(AT_HAND, figure))
        assert all(labels), labels
        assert len(set(labels)) >= 2, labels
        assert seen.js(STOPS_INSIDE, figure) == 0, "a grid is one tab stop"
    assert seen.problems == []


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "finger"])
@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_cell_tells_its_value_and_its_origin(visit: Visitor, page: str, touch: bool) -> None:
    seen = visit(page, touch=touch, width=360 if touch else 1280)
    for figure in figure_ids(page):
        if (page, figure) not in GRIDS:
            continue
        alive(seen, figure)
        cell = seen.page.locator(f"#fig-{figure} .kv-frame [role=grid] .c").last
        if touch:
            cell.tap()
        else:
            cell.hover()
            seen.page.wait_for_function(READ, arg=figure, timeout=5000)
            cell.click()
        seen.settle(150)
        said = seen.js(READOUT, figure)
        if ORIGIN.search(said):
            panel = seen.js("() => document.body.innerText")
            assert ORIGIN.search(said)[0].split(" › ")[1] in panel
        seen.page.keyboard.press("Escape")
    assert seen.problems == []
