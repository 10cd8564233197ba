"""What a page costs before the reader does anything, and what it leaves alone."""

import pytest

from tests.site.conftest import Looks
from tests.site.pages import figure_ids, named, pages

pytestmark = pytest.mark.browser

BUDGET_BYTES = 250_000


@pytest.mark.parametrize("page", pages(), ids=named)
def test_page_weight_before_interaction(look: Looks, page: str) -> None:
    """With the recordings that the first figure touched will ask for, if none was loaded so far."""
    desk = look.desk(page)
    files = desk.bytes_at_rest
    if not any("/data/" in url for url in files):
        files = files | desk.first_record
    assert sum(files.values()) <= BUDGET_BYTES, sorted(files.items(), key=lambda item: -item[1])[:6]


def test_plotly_is_asked_for_once(look: Looks) -> None:
    """And not before the reader moves; also when a page has several such figures, and when the reader comes back to one."""
    desks = {page: look.desk(page) for page in pages() if figure_ids(page)}
    assert {page: desk.plotly_at_rest for page, desk in desks.items() if desk.plotly_at_rest} == {}
    assert {page: desk.plotly_asked for page, desk in desks.items() if desk.plotly_asked > 1} == {}
    assert sum(desk.charts for desk in desks.values()) >= 1, "no chart was drawn by Plotly at all"


@pytest.mark.parametrize("page", pages(), ids=named)
def test_reduced_motion_is_honoured(look: Looks, page: str) -> None:
    assert look.phone(page).moving == []
