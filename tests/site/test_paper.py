"""Without scripts, and on paper, every page still says everything."""

import pytest

from tests.site.conftest import Looks
from tests.site.pages import figure_ids, named, pages

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("page", pages(), ids=named)
def test_readable_without_scripts(look: Looks, page: str) -> None:
    still = look.still(page)
    for width in (1280, 360):
        assert still.hidden[width] == [], f"at {width} px"
        assert still.dead[width] == [], f"at {width} px: shown, but nothing would happen"
        fit = still.fits[width, "light"]
        assert fit["sideways"] <= 0, f"at {width} px: {fit['sticking']}"
        assert list(still.frames_at[width]) == figure_ids(page)
        assert {figure: frame["height"] for figure, frame in still.frames_at[width].items() if frame["height"] <= 20} == {}


@pytest.mark.parametrize("page", [page for page in pages() if page != "404.html"], ids=named)
def test_prints_to_a4_whole(look: Looks, page: str) -> None:
    paper = look.paper(page)
    assert paper.unprinted == [], "captions and headings that the printed page lacks"
    assert paper.too_wide == []
    (fit,) = paper.fits.values()
    assert fit["sideways"] <= 0, fit["sticking"]
