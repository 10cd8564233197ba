"""A page as a reader sees it, with everything that went wrong written down."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import ConsoleMessage, Page, Request, Response

from tests.site.serve import Server


class Visit:
    """An open page. `problems` collects page errors, console errors, answers >= 400 and requests to other origins."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page = page
        self.server = server
        self.address = ""
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error.stack or error}"))
        page.on("console", self.hear)
        page.on("response", self.answered)
        self.pending = 0
        page.on("request", self.asked)
        page.on("requestfinished", lambda _request: self.count(-1))
        page.on("requestfailed", lambda _request: self.count(-1))

    def asked(self, request: Request) -> None:
        """Listening leaves the browser's cache on, which routing would turn off; the policy blocks, this tells."""
        self.count(+1)
        if not request.url.startswith((self.server.origin + "/", "data:", "blob:")):
            self.problems.append(f"request to another origin: {request.url}")

    def count(self, change: int) -> None:
        self.pending += change

    def hear(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning"):
            return
        self.problems.append(f"console {message.type}: {message.text}")

    def answered(self, response: Response) -> None:
        if response.status >= 400:
            self.problems.append(f"answer {response.status}: {response.url}")

    def go(self, address: str) -> Visit:
        """Load an address below the site's prefix and wait until nothing is loading."""
        self.address = self.server.address + address
        self.pending = 0
        self.page.goto(self.address, wait_until="load")
        self.settle()
        return self

    def settle(self, milliseconds: int = 0) -> None:
        """Wait `milliseconds`, then until nothing has been loading for a moment."""
        self.page.wait_for_timeout(milliseconds)
        quiet = 0
        for _ in range(400):
            self.page.wait_for_timeout(25)
            quiet = quiet + 1 if self.pending <= 0 else 0
            if quiet == 3:
                return
        raise AssertionError(f"{self.address}: still loading after 10 s")

    def js(self, script: str, argument: Any = None) -> Any:
        """Evaluate a function in the page."""
        return self.page.evaluate(script, argument)

    def scroll_through(self) -> None:
        """Move down the page as a reader does, so that everything that waits for it starts."""
        self.page.mouse.move(200, 300)
        height, seen = self.js("() => [document.documentElement.scrollHeight, innerHeight]")
        for _ in range(0, height, seen):
            self.page.mouse.wheel(0, seen)
            self.page.wait_for_timeout(20)
        self.settle(100)
