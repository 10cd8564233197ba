"""Everything that can be pressed is reached with Tab, shows that it has focus, and lets go again."""

import pytest

from tests.site.conftest import Looks
from tests.site.pages import named, pages

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("page", pages(), ids=named)
def test_tab_reaches_everything(look: Looks, page: str) -> None:
    assert look.desk(page).tab == {"missed": [], "unmarked": [], "out of sight": [], "not let go": []}
