"""One visit of a page by each kind of reader, in which everything is looked at that this kind of visit can show.

A look gathers facts; what must hold of them is said by the tests, many of which share one look. Loading a page, going
down it and letting axe read it is what takes the time, so each is done once.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.site import ask, scripts
from tests.site.pages import figure_ids, whole
from tests.site.visit import FRAMES, SHIFTS, Network, Visit

PAPER_PIXELS = 794 - 76  # A4 is 210 mm wide at 96 px per inch; 10 mm of margin on either side


@dataclass
class Look:
    """What a visit showed. `fits` and `axe` are by (width, scheme)."""

    problems: list[str]
    shift_arriving: float = 0.0
    shift_below: float = 0.0
    frames: dict[str, Any] = field(default_factory=dict)  # by figure
    fits: dict[tuple[int, str], Any] = field(default_factory=dict)
    axe: dict[tuple[int, str], list[str]] = field(default_factory=dict)


@dataclass
class Desk(Look):
    """At 1280 px in the light scheme, with mouse and keyboard."""

    bytes_at_rest: dict[str, float] = field(default_factory=dict)  # by address
    first_record: dict[str, float] = field(default_factory=dict)  # what a figure fetches when the reader comes to it
    plotly_at_rest: int = 0
    plotly_asked: int = 0
    charts: int = 0
    redrawn: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, list[str]] = field(default_factory=dict)  # of each figure's state
    tab: dict[str, list[str]] = field(default_factory=dict)
    paper: "Paper | None" = None  # of a page that arrives as it stands when it is looked at


@dataclass
class Phone(Look):
    """At 360 px in the dark scheme, by finger."""

    small_text: list[str] = field(default_factory=list)
    small_targets: list[str] = field(default_factory=list)
    moving: list[str] = field(default_factory=list)  # though the reader wants no motion


@dataclass
class Still(Look):
    """Without scripts."""

    hidden: dict[int, list[str]] = field(default_factory=dict)  # by width, as the others
    dead: dict[int, list[str]] = field(default_factory=dict)
    frames_at: dict[int, dict[str, Any]] = field(default_factory=dict)


@dataclass
class Paper(Look):
    """Printed."""

    unprinted: list[str] = field(default_factory=list)
    too_wide: list[str] = field(default_factory=list)


def desk(open_page: Callable[..., Visit], page: str) -> Desk:
    """Arrive, wait, go down, compare, change the scheme, press Tab."""
    seen = open_page(width=1280, scheme="light")
    look, network = Desk(seen.problems), Network(seen.page)
    look.shift_arriving = _arrive(seen, page)
    look.bytes_at_rest, look.plotly_at_rest = dict(network.bytes), network.count("plotly-cartesian")
    look.shift_below = _go_down(seen)
    if network.count("plotly-cartesian"):
        seen.scroll_through()  # who goes back to the top and comes down once more asks for nothing again
    look.plotly_asked = network.count("plotly-cartesian")
    look.charts = seen.page.locator("figure.kv-figure .js-plotly-plot").count()
    look.paper = _print(seen) if whole(page) == page else None
    _resize(seen, 1280)
    _open(seen, page)
    look.first_record = ask.first_record(seen)
    look.frames, look.fields = seen.js(scripts.FRAMES_OF_FIGURES), seen.js(scripts.FIELDS)
    seen.js(scripts.REDRAW)
    look.redrawn = seen.js(scripts.FRAMES_OF_FIGURES)
    _fit(seen, look, 1280, "light", "dark")
    _resize(seen, 768)
    _fit(seen, look, 768, "dark", "light")
    _resize(seen, 1280)
    look.axe[1280, "light"] = ask.axe_findings(seen, ask.THEMES_OWN)
    look.tab = ask.tab_walk(seen)
    return look


def phone(open_page: Callable[..., Visit], page: str) -> Phone:
    """Arrive, go down, change the scheme; then the same for a reader who wants no motion."""
    seen = open_page(width=360, scheme="dark", touch=True)
    look = Phone(seen.problems)
    look.shift_arriving = _arrive(seen, page)
    look.shift_below = _go_down(seen)
    look.small_text, look.small_targets = seen.js(scripts.SMALL_TEXT), seen.js(scripts.SMALL_TARGETS)
    _open(seen, page)
    look.frames = seen.js(scripts.FRAMES_OF_FIGURES)
    _fit(seen, look, 360, "light", "dark")
    look.axe[360, "dark"] = ask.axe_findings(seen, ask.THEMES_OWN + ask.THEMES_OWN_BY_FINGER)
    seen.page.emulate_media(reduced_motion="reduce")
    seen.settle()
    look.moving = seen.js(scripts.MOVING)
    return look


def still(open_page: Callable[..., Visit], page: str) -> Still:
    """The page as it is in the file, wide and narrow."""
    seen = open_page(scripts=False).go(page)
    look = Still(seen.problems)
    for width in (1280, 360):
        seen.page.set_viewport_size({"width": width, "height": 700})
        look.hidden[width], look.dead[width] = seen.js(scripts.HIDDEN_TEXT), seen.js(scripts.DEAD_CONTROLS)
        look.fits[width, "light"] = seen.js(scripts.FIT)
        look.frames_at[width] = seen.js(scripts.FRAMES_OF_FIGURES)
    return look


def paper(open_page: Callable[..., Visit], page: str) -> Paper:
    """Printed as it arrives: a tour shows one step on the screen and all of them on paper."""
    seen = open_page().go(page)
    seen.scroll_through()
    return _print(seen)


def _arrive(seen: Visit, page: str) -> float:
    """Load the page and do nothing; how much jumped."""
    seen.page.add_init_script(SHIFTS)
    seen.go(whole(page))
    seen.settle(300)
    return float(seen.js("() => kvShifts()"))


def _go_down(seen: Visit) -> float:
    """Read to the end; how much has jumped since the page began to come."""
    seen.scroll_through()
    return float(seen.js("() => kvShifts()"))


def _print(seen: Visit) -> Paper:
    """Print the page as it stands, and lay it out as wide as the paper."""
    look = Paper(seen.problems)
    look.unprinted = ask.unprinted(seen)
    seen.page.emulate_media(media="print")
    seen.page.set_viewport_size({"width": PAPER_PIXELS, "height": 1000})
    seen.settle()
    look.too_wide = seen.js(scripts.WIDER_THAN_PAPER, PAPER_PIXELS)
    look.fits[PAPER_PIXELS, "light"] = seen.js(scripts.FIT)
    seen.page.emulate_media(media="screen")
    return look


def _open(seen: Visit, page: str) -> None:
    """Open what is folded, and let the figures in there come alive."""
    seen.js(scripts.OPEN_DETAILS)
    for figure in figure_ids(page):
        if not seen.js("id => document.querySelector(`#fig-${id} > [live]`) !== null", figure):
            seen.alive(figure)
    seen.settle()


def _resize(seen: Visit, width: int) -> None:
    seen.page.set_viewport_size({"width": width, "height": 800 if width > 500 else 640})
    seen.settle()


def _fit(seen: Visit, look: Look, width: int, *schemes: str) -> None:
    """How the page, which has that width, fits in one scheme after the other."""
    for scheme in schemes:
        seen.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        seen.js(FRAMES, 4)
        look.fits[width, scheme] = seen.js(scripts.FIT)
