"""What a page costs before the reader does anything, and what it leaves alone."""

import gzip

import pytest

from tests.site.conftest import Visitor
from tests.site.pages import SITE, figure_ids, named, pages
from tests.site.visit import Visit

pytestmark = pytest.mark.browser

BUDGET_BYTES = 250_000

class Network:
    """Every request of one page as the browser's own protocol reports it."""

    def __init__(self, seen: Visit) -> None:
        self.urls: dict[str, str] = {}
        self.bytes: dict[str, float] = {}
        session = seen.page.context.new_cdp_session(seen.page)
        session.send("Network.enable")
        session.send("Network.setCacheDisabled", {"cacheDisabled": True})
        session.on("Network.requestWillBeSent", self.sent)
        session.on("Network.loadingFinished", self.finished)

    def sent(self, event: dict) -> None:
        self.urls[event["requestId"]] = event["request"]["url"]

    def finished(self, event: dict) -> None:
        self.bytes[self.urls.get(event["requestId"], "?")] = event["encodedDataLength"]

    def count(self, part: str) -> int:
        return sum(part in url for url in self.urls.values())


def first_shard_bytes(seen: Visit) -> int:
    """The largest recording that the page's figures ask for, gzipped, if none was loaded so far."""
    records = seen.js(
        "() => [...document.querySelectorAll('figure.kv-figure > *')].flatMap(element => element.records ?? [])"
    )
    files = [SITE / "data" / "recomputed" / f"{record}.json" for record in records]
    return max((len(gzip.compress(file.read_bytes(), 6)) for file in files if file.exists()), default=0)


@pytest.mark.parametrize("page", pages(), ids=named)
def test_page_weight_before_interaction(visit: Visitor, page: str) -> None:
    seen = visit("404.html")
    network = Network(seen)
    seen.go(page)
    seen.settle(500)
    total = sum(network.bytes.values())
    if not network.count("/data/recomputed/"):
        total += first_shard_bytes(seen)
    assert network.count("plotly-cartesian") == 0, "Plotly was loaded before the reader moved"
    assert total <= BUDGET_BYTES, sorted(network.bytes.items(), key=lambda item: -item[1])[:6]


def test_plotly_is_asked_for_once(visit: Visitor) -> None:
    """Also when a page has several such figures, and when the reader comes back to one."""
    drawn = 0
    for page in pages():
        if not figure_ids(page):
            continue
        seen = visit("404.html")
        network = Network(seen)
        seen.go(page)
        seen.scroll_through()
        seen.scroll_through()
        seen.settle(500)
        assert network.count("plotly-cartesian") <= 1, page
        drawn += seen.page.locator("figure.kv-figure .js-plotly-plot").count()
        assert seen.problems == []
    assert drawn >= 1, "no chart was drawn by Plotly at all"


@pytest.mark.parametrize("page", [page for page in pages() if figure_ids(page)], ids=named)
def test_reduced_motion_is_honoured(visit: Visitor, page: str) -> None:
    seen = visit(page, motion="reduce")
    seen.scroll_through()
    moving = seen.js(
        "() => [...document.querySelectorAll('figure.kv-figure, figure.kv-figure *, kv-steps, kv-steps *')]"
        ".filter(element => { const style = getComputedStyle(element);"
        " return [...style.transitionDuration.split(','), ...style.animationDuration.split(',')]"
        ".some(time => parseFloat(time) > 0.011); }).map(element => element.className).slice(0, 5)"
    )
    assert moving == []
    assert seen.js("() => document.getAnimations().filter(one => one.playState === 'running').length") == 0
