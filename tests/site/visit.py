"""A page as a reader sees it, with everything that went wrong written down."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import ConsoleMessage, Page, Response, Route

from tests.site.serve import Server


class Visit:
    """An open page. `problems` collects page errors, console errors, answers >= 400 and requests to other origins."""

    def __init__(self, page: Page, server: Server, *, route: bool = True) -> None:
        self.page = page
        self.server = server
        self.address = ""
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        page.on("console", self.hear)
        page.on("response", self.answered)
        if route:
            page.route("**/*", self.intercept)

    def hear(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning"):
            return
        # The browser itself logs the answer 404 of a page that is meant to be one.
        if message.location.get("url") == self.address and "404" in message.text and self.address.endswith("404.html"):
            return
        self.problems.append(f"console {message.type}: {message.text}")

    def answered(self, response: Response) -> None:
        if response.status >= 400:
            self.problems.append(f"answer {response.status}: {response.url}")

    def intercept(self, route: Route) -> None:
        url = route.request.url
        if url.startswith((self.server.origin + "/", "data:", "blob:")):
            route.continue_()
        else:
            self.problems.append(f"request to another origin: {url}")
            route.abort()

    def go(self, address: str) -> Visit:
        """Load an address below the site's prefix and wait until nothing is loading."""
        self.address = self.server.address + address
        self.page.goto(self.address, wait_until="load")
        self.settle()
        return self

    def settle(self, milliseconds: int = 0) -> None:
        """Wait for the network to be quiet, then for two frames."""
        self.page.wait_for_load_state("networkidle")
        if milliseconds:
            self.page.wait_for_timeout(milliseconds)

    def js(self, script: str, argument: Any = None) -> Any:
        """Evaluate a function in the page."""
        return self.page.evaluate(script, argument)

    def scroll_through(self) -> None:
        """Move down the page as a reader does, so that everything that waits for it starts."""
        self.page.mouse.move(200, 300)
        height, seen = self.js("() => [document.documentElement.scrollHeight, innerHeight]")
        for _ in range(0, height, seen):
            self.page.mouse.wheel(0, seen)
            self.page.wait_for_timeout(60)
        self.settle(100)
