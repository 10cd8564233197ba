"""Every page, in both schemes and three widths, does nothing wrong, fits, and axe finds nothing in it."""

import pytest

from tests.site.conftest import Looks, Visitor
from tests.site.pages import named, pages

pytestmark = pytest.mark.browser

LAYOUT_SHIFT = 0.05
FITTING = {"sideways": 0, "sticking": [], "not_at_width": []}


@pytest.mark.parametrize("kind", ["desk", "phone", "still", "paper"])
@pytest.mark.parametrize("page", pages(), ids=named)
def test_nothing_goes_wrong(look: Looks, page: str, kind: str) -> None:
    """No page or console error, no answer >= 400, no request to another origin, whatever the reader does."""
    assert getattr(look, kind)(page).problems == []


@pytest.mark.parametrize("kind", ["desk", "phone"])
@pytest.mark.parametrize("page", pages(), ids=named)
def test_nothing_jumps(look: Looks, page: str, kind: str) -> None:
    seen = getattr(look, kind)(page)
    assert seen.shift_arriving <= LAYOUT_SHIFT, "something jumped while the page came in"
    assert seen.shift_below <= LAYOUT_SHIFT, "something jumped while the reader went down the page"


@pytest.mark.parametrize("page", pages(), ids=named)
def test_page_fits(look: Looks, page: str) -> None:
    """In the scheme it arrives in, and after the reader's system has changed to the other one."""
    fits = look.desk(page).fits | look.phone(page).fits
    assert set(fits) == {(width, scheme) for width in (1280, 768, 360) for scheme in ("light", "dark")}
    for (width, scheme), fit in fits.items():
        where = f"at {width} px, {scheme}"
        assert fit["dark"] == (scheme == "dark"), f"the page shows the other scheme to a reader who prefers {scheme}"
        assert fit | FITTING == fit | {"sideways": max(fit["sideways"], 0)}, where


@pytest.mark.parametrize("page", pages(), ids=named)
def test_axe_finds_nothing(look: Looks, page: str) -> None:
    assert look.desk(page).axe | look.phone(page).axe == {(1280, "light"): [], (360, "dark"): []}


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
