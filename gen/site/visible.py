"""What a reader sees of a page's HTML: runs of text, each with the elements it stands in. Knows no styles."""

from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
HIDDEN = {"script", "style", "template", "head", "title", "noscript"}


@dataclass(frozen=True)
class Run:
    """A piece of text, and the elements around it from the outside in: names, and classes as `.class`."""

    text: str
    around: frozenset[str]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, set[str]]] = []
        self.runs: list[Run] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember the element until it is closed."""
        if tag not in VOID:
            classes = next((value or "" for name, value in attrs if name == "class"), "")
            self.open.append((tag, {f".{name}" for name in classes.split()}))

    def handle_endtag(self, tag: str) -> None:
        """Forget the element, and what was left open inside it."""
        names = [name for name, _ in self.open]
        if tag in names:
            del self.open[len(names) - 1 - names[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        """Keep the text unless it is never shown."""
        around: set[str] = set()
        for name, classes in self.open:
            around |= {name} | classes
        if data.strip() and not around & HIDDEN:
            self.runs.append(Run(data, frozenset(around)))


def runs(html: str, outside: frozenset[str] = frozenset()) -> Iterator[Run]:
    """The visible text of `html`, leaving out what stands inside any element or class named in `outside`."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return (run for run in reader.runs if not run.around & outside)
