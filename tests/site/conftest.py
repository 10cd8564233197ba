"""One web server and one browser for all browser tests."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.site.pages import NOT_BUILT, ROOT, SITE, prefix
from tests.site.serve import Server
from tests.site.visit import Visit

QUIET = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--force-color-profile=srgb",
]


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, object]:
    """The browser that requirements/browser.py finds."""
    finder = [sys.executable, str(ROOT / "requirements" / "browser.py")]
    found = subprocess.run(finder, capture_output=True, text=True)
    if found.returncode:
        pytest.fail(found.stderr.strip(), pytrace=False)
    return {"executable_path": found.stdout.strip(), "args": QUIET, "headless": True}


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The built site under the path it will be published at."""
    if not (SITE / "sitemap.xml").exists():
        pytest.fail(NOT_BUILT, pytrace=False)
    with Server(SITE, prefix()) as running:
        yield running


class Visitor:
    """Opens pages; one browser context per kind of reader is kept, so that its cache is warm."""

    def __init__(self, browser: Browser, server: Server) -> None:
        self.browser = browser
        self.server = server
        self.contexts: dict[tuple[object, ...], BrowserContext] = {}
        self.open_pages: list[Page] = []

    def context(self, width: int, scheme: str, scripts: bool, motion: str, touch: bool) -> BrowserContext:
        key = (width, scheme, scripts, motion, touch)
        if key not in self.contexts:
            self.contexts[key] = self.browser.new_context(
                viewport={"width": width, "height": 800 if width > 500 else 640},
                color_scheme=scheme,  # type: ignore[arg-type]
                java_script_enabled=scripts,
                reduced_motion=motion,  # type: ignore[arg-type]
                has_touch=touch,
            )
        return self.contexts[key]

    def __call__(
        self,
        address: str,
        *,
        width: int = 1280,
        scheme: str = "light",
        scripts: bool = True,
        motion: str = "no-preference",
        touch: bool = False,
    ) -> Visit:
        """Open `address` (below the site's prefix) in a new page and wait until it is at rest."""
        page = self.context(width, scheme, scripts, motion, touch).new_page()
        self.open_pages.append(page)
        return Visit(page, self.server).go(address)

    def close_pages(self) -> None:
        while self.open_pages:
            self.open_pages.pop().close()


@pytest.fixture(scope="session")
def all_visits(browser: Browser, server: Server) -> Iterator[Visitor]:
    visitor = Visitor(browser, server)
    yield visitor
    for context in visitor.contexts.values():
        context.close()


@pytest.fixture
def visit(all_visits: Visitor) -> Iterator[Visitor]:
    """Opens pages, which are closed when the test ends."""
    yield all_visits
    all_visits.close_pages()
