"""A page as a reader sees it, with everything that went wrong written down."""

from __future__ import annotations

import time
from typing import Any

from playwright.sync_api import CDPSession, ConsoleMessage, Page, Request, Response
from playwright.sync_api import TimeoutError as TooLate

from tests.site.serve import Server

PATIENCE_S = 30  # a slow and busy machine is no fault of the page's

# Waits until the browser has drawn so many frames: what observers do in answer to a change is then done.
FRAMES = "count => new Promise(done => { const next = () => count-- > 0 ? requestAnimationFrame(next) : done(); next(); })"

# Goes down the page and back, a screen and two frames at a time, so that everything that waits for it is met.
DOWN = """async () => {
  const drawn = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  for (let top = 0; top < document.documentElement.scrollHeight; top += innerHeight) {
    scrollTo({top, behavior: "instant"});
    await drawn();
  }
}"""

# Whether the element of every figure that is shown, or of the one that is named, has adopted its picture.
ALIVE = """id => [...document.querySelectorAll(id ? `#fig-${id}` : "figure.kv-figure")]
  .every(figure => figure.firstElementChild.hasAttribute("live") || (!id && !figure.checkVisibility()))"""

# The sum of all jumps that no action of the reader's explains, kept from the first frame on.
SHIFTS = """(() => {
  let sum = 0;
  const add = entries => { for (const entry of entries) if (!entry.hadRecentInput) sum += entry.value; };
  const observer = new PerformanceObserver(list => add(list.getEntries()));
  observer.observe({type: "layout-shift", buffered: true});
  window.kvShifts = () => { add(observer.takeRecords()); return sum; };
})()"""


class Network:
    """Every request of one page as the browser's own protocol reports it, nothing taken from the browser's cache."""

    def __init__(self, page: Page) -> None:
        self.urls: dict[str, str] = {}
        self.bytes: dict[str, float] = {}
        session: CDPSession = page.context.new_cdp_session(page)
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


class Visit:
    """An open page. `problems` collects page errors, console errors, answers >= 400 and requests to other origins."""

    def __init__(self, page: Page, server: Server, scripts: bool = True) -> None:
        self.page = page
        self.server = server
        self.scripts = scripts
        self.address = ""
        self.problems: list[str] = []
        self.pending: set[Request] = set()
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error.stack or error}"))
        page.on("console", self.hear)
        page.on("response", self.answered)
        page.on("request", self.asked)
        page.on("requestfinished", self.ended)
        page.on("requestfailed", self.ended)

    def asked(self, request: Request) -> None:
        """Listening leaves the browser's cache on, which routing would turn off; the policy blocks, this tells."""
        self.pending.add(request)
        if not request.url.startswith((self.server.origin + "/", "data:", "blob:")):
            self.problems.append(f"request to another origin: {request.url}")

    def ended(self, request: Request) -> None:
        self.pending.discard(request)

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
        self.pending.clear()
        self.page.goto(self.address, wait_until="load")
        self.settle()
        return self

    def settle(self, milliseconds: int = 0) -> None:
        """Wait `milliseconds`, then until nothing has been loading for a moment and what came in was drawn."""
        self.page.wait_for_timeout(milliseconds)
        deadline, quiet = time.monotonic() + PATIENCE_S, 0
        while quiet < 3:
            if time.monotonic() > deadline:
                waiting = sorted(request.url for request in self.pending)
                raise AssertionError(f"{self.address}: still loading after {PATIENCE_S} s: {waiting}")
            if self.scripts:
                self.page.evaluate(FRAMES, 2)
            self.page.wait_for_timeout(10)
            quiet = 0 if self.pending else quiet + 1

    def js(self, script: str, argument: Any = None) -> Any:
        """Evaluate a function in the page."""
        return self.page.evaluate(script, argument)

    def until(self, script: str, argument: Any = None, what: str = "") -> None:
        """Wait until a function in the page gives something true. Raises AssertionError saying `what` never came."""
        try:
            self.page.wait_for_function(script, arg=argument, timeout=PATIENCE_S * 1000)
        except TooLate:
            raise AssertionError(f"{self.address}: waited {PATIENCE_S} s for {what or script} ({argument})") from None

    def alive(self, figure: str) -> None:
        """Go to a figure as its link does, and wait until its element has adopted it."""
        self.js("id => { location.hash = ''; location.hash = 'fig-' + id; }", figure)
        self.until(ALIVE, figure, "the figure to come alive")
        self.settle()

    def wake(self) -> None:
        """Let every figure adopt its picture at once, also those that no reader has come near to."""
        self.js("() => Promise.all([...document.querySelectorAll('figure.kv-figure > :first-child')].map(one => one.wake?.()))")
        self.settle()

    def scroll_through(self) -> None:
        """Move down the page as a reader does, and wait until every figure that is shown has come alive."""
        self.page.mouse.move(200, 300)
        self.page.mouse.wheel(0, 40)
        self.js(DOWN)
        self.until(ALIVE, None, "every figure to come alive")
        self.settle()
