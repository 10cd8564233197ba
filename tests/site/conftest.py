"""One web server and one browser for all browser tests."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.site import looks
from tests.site.pages import NOT_BUILT, ROOT, SITE, prefix
from tests.site.serve import Server
from tests.site.visit import Visit

AnyLook = TypeVar("AnyLook", bound=looks.Look)

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
        return self.blank(width=width, scheme=scheme, scripts=scripts, motion=motion, touch=touch).go(address)

    def blank(
        self,
        *,
        width: int = 1280,
        scheme: str = "light",
        scripts: bool = True,
        motion: str = "no-preference",
        touch: bool = False,
    ) -> Visit:
        """A new page that has gone nowhere yet."""
        page = self.context(width, scheme, scripts, motion, touch).new_page()
        self.open_pages.append(page)
        return Visit(page, self.server, scripts)

    def close_pages(self) -> None:
        while self.open_pages:
            self.open_pages.pop().close()


class Looks:
    """Looks at a page once as each kind of reader, however many tests ask; what went wrong then is told to each of them."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.known: dict[tuple[str, str], looks.Look | Exception] = {}

    def look(self, kind: Callable[..., AnyLook], page: str) -> AnyLook:
        key = (kind.__name__, page)
        if key not in self.known:
            try:
                self.known[key] = kind(self.visitor.blank, page)
            except Exception as problem:
                self.known[key] = problem
            self.visitor.close_pages()
        found = self.known[key]
        if isinstance(found, Exception):
            raise AssertionError(f"{page or 'index'} could not be looked at ({kind.__name__}): {found}") from found
        return found  # type: ignore[return-value]

    def desk(self, page: str) -> looks.Desk:
        return self.look(looks.desk, page)

    def phone(self, page: str) -> looks.Phone:
        return self.look(looks.phone, page)

    def still(self, page: str) -> looks.Still:
        return self.look(looks.still, page)

    def paper(self, page: str) -> looks.Paper:
        return self.desk(page).paper or self.look(looks.paper, page)


@pytest.fixture(scope="session")
def look(all_visits: Visitor) -> Looks:
    """Facts of each page, gathered at the first question."""
    return Looks(all_visits)


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
