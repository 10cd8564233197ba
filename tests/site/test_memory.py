"""The calculator's box: a pasted config is read, told, drawn and kept in the address; a spoilt one is one sentence."""

import json

import pytest

from tests.configs import QWEN3_4B
from tests.site.conftest import Visitor
from tests.site.pages import figure_ids, pages
from tests.site.visit import Visit

pytestmark = pytest.mark.browser

# Pages that hold the calculator; none before it is published.
PAGES = [page for page in pages() if "memory" in figure_ids(page)]


STATUS = "#fig-memory .kv-paste [role=status]"


def pasted(seen: Visit, text: str) -> str:
    """What the figure says of a pasted text; it says something else of each."""
    before = seen.page.locator(STATUS).inner_text()
    seen.page.locator("#fig-memory textarea").fill(text)
    seen.until(f"before => document.querySelector('{STATUS}').innerText !== before", before, f"an answer to {text}")
    seen.settle()
    return seen.page.locator(STATUS).inner_text()


@pytest.mark.parametrize("page", PAGES)
def test_a_pasted_config(visit: Visitor, page: str) -> None:
    seen = visit(f"{page}?memory=second:none,third:none,fourth:none#fig-memory")
    seen.alive("memory")
    seen.page.locator("#fig-memory .kv-paste summary").click()
    assert pasted(seen, json.dumps(QWEN3_4B)) == "Read: 36 layers: K and V of every token."
    row = seen.page.locator("#fig-memory .n-sizes tbody tr").first.inner_text()
    assert row.split() == ["each", "further", "token", "144", "KiB", "(147,456", "B)"]
    seen.until("own => location.search.includes(own)", "own:q32.p40960.36k8x128", "the config in the address")
    address = seen.page.url
    drawn = seen.page.locator("#fig-memory .kv-frame").inner_html()
    for text, sentence in [
        ("{", "not JSON"),
        ("{}", "num_hidden_layers is missing."),
        ('{"model_type":"phi3"}', "only the command line reads it"),
    ]:
        assert sentence in pasted(seen, text)
        assert seen.page.locator("#fig-memory .kv-frame").inner_html() == drawn
    again = visit(address[len(seen.server.address) :])
    again.alive("memory")
    assert again.page.locator("#fig-memory .kv-frame").inner_html() == drawn
    assert again.problems == seen.problems == []


@pytest.mark.parametrize("page", PAGES)
def test_a_number_that_cannot_be(visit: Visitor, page: str) -> None:
    """It is answered in one sentence, the picture stays, and a number that can be takes the sentence away."""
    seen = visit(f"{page}#fig-memory")
    seen.alive("memory")
    tokens, said = seen.page.locator("#fig-memory input[name=tokens]"), seen.page.locator("#fig-memory .kv-wrong")
    drawn = seen.page.locator("#fig-memory .kv-frame").inner_html()
    for text in ("-5", "2.5", "", "1e11"):
        tokens.fill(text)
        assert said.inner_text() == "Tokens: a whole number from 1 to 10,000,000; still showing 4,096."
        assert tokens.get_attribute("aria-invalid") == "true"
        assert seen.page.locator("#fig-memory .kv-frame").inner_html() == drawn
    tokens.fill("8192")
    seen.settle()
    assert (said.inner_text(), tokens.get_attribute("aria-invalid")) == ("", None)
    assert "about tokens 4,096" in seen.page.locator("#fig-memory figcaption").inner_text()
    assert seen.problems == []
