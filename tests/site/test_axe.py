"""axe finds nothing but what the theme itself is known for, with every figure drawn."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.site.conftest import Visitor
from tests.site.pages import named, pages

pytestmark = pytest.mark.browser

# (rule, part of the selector): the theme's own, not ours to mend from outside.
THEMES_OWN = [
    ("aria-dialog-name", ".md-search"),
    ("color-contrast", ".md-copyright"),
]


def is_themes_own(rule: str, node: dict[str, object]) -> bool:
    return any(rule == known and part in str(node["target"]) for known, part in THEMES_OWN)


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", pages(), ids=named)
def test_axe_is_clean(visit: Visitor, page: str, scheme: str, width: int) -> None:
    seen = visit(page, width=width, scheme=scheme)
    seen.scroll_through()
    seen.js("() => document.querySelectorAll('article details').forEach(details => details.open = true)")
    found = [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in Axe().run(seen.page).response["violations"]
        for node in violation["nodes"]
        if not is_themes_own(violation["id"], node)
    ]
    assert found == []
