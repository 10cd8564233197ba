"""The values behind cells: by keyboard, by mouse and by finger, exact and with their origin."""

import re

import pytest

from tests.site.conftest import Visitor
from tests.site.pages import figure_ids, figures, html_file, named, pages, whole
from tests.site.visit import Visit

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
ORIGIN = re.compile(r"[\w/-]+\.json › ([\w.-]+)$")
TOLD = "key => document.querySelector('#kv-origin:popover-open')?.innerText.includes(key)"

PAGES = [page for page in pages() if figure_ids(page)]


def grids(page: str) -> list[str]:
    """The figures of a page that have a grid."""
    return [figure for where, figure in GRIDS if where == page]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_values_are_read_at_a_desk(visit: Visitor, page: str) -> None:
    """A number of the text, cells by keyboard, cells by mouse."""
    seen = visit(whole(page))
    seen.wake()
    if "kv-num" in html_file(page).read_text():
        a_number_says_where_it_comes_from(seen)
    for figure in grids(page):
        a_grid_is_read_by_keyboard(seen, figure)
        a_cell_tells_its_value_and_its_origin(seen, figure, touch=False)
    assert seen.problems == []


@pytest.mark.parametrize("page", [page for page in PAGES if grids(page)], ids=named)
def test_values_are_read_by_finger(visit: Visitor, page: str) -> None:
    seen = visit(whole(page), touch=True, width=360)
    seen.wake()
    for figure in grids(page):
        a_cell_tells_its_value_and_its_origin(seen, figure, touch=True)
    assert seen.problems == []


def a_number_says_where_it_comes_from(seen: Visit) -> None:
    number = seen.page.locator("article a.kv-num").first
    key, exact = number.get_attribute("data-key") or "?", number.get_attribute("data-exact") or "?"
    number.focus()
    seen.page.keyboard.press("Enter")
    seen.until(TOLD, key, "the number's origin")
    assert exact.replace(",", "") in seen.page.locator("#kv-origin").inner_text().replace(",", "")
    seen.page.keyboard.press("Escape")


def a_grid_is_read_by_keyboard(seen: Visit, figure: str) -> None:
    seen.page.locator(f"#fig-{figure} [role=grid]").first.focus()
    seen.until(AT_HAND, figure, "the cell at hand to have its name")
    labels = [seen.js(AT_HAND, figure)]
    for key in ("ArrowRight", "ArrowDown", "Control+End", "ArrowLeft"):
        seen.page.keyboard.press(key)
        labels.append(seen.js(AT_HAND, figure))
    assert all(labels), (figure, labels)
    assert len(set(labels)) >= 2, (figure, labels)
    assert seen.js(STOPS_INSIDE, figure) == 0, f"{figure}: a grid is one tab stop"


def a_cell_tells_its_value_and_its_origin(seen: Visit, figure: str, touch: bool) -> None:
    cell = seen.page.locator(f"#fig-{figure} .kv-frame [role=grid] .c").last
    if touch:
        cell.tap()
    else:
        cell.hover()
        seen.until(READ, figure, "the readout")
        cell.click()
    seen.until(READ, figure, "the readout")
    if found := ORIGIN.search(seen.js(READOUT, figure)):
        seen.until(TOLD, found[1], f"{figure}: the origin of its last cell")
    seen.page.keyboard.press("Escape")
