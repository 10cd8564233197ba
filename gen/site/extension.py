"""The keys of a page, as one Python-Markdown extension. Knows the syntax only; an Expander knows what a key stands for.

    {fig:ID}  {code:NAME}                   alone on a line: a figure, a listing
    {measured:KIND}                         alone on a line: a table for each device that was measured
    {figures} {data} {ledger} {glossary}    alone on a line: a list that is made at each build
    {num:KEY|FORMAT}  {val:KEY|FORMAT}      in a sentence: a number with its origin; the same without a link
    {quote:ID}                              in a sentence: a number of the ledger
    {claim:ID}                              in a cell or line: the ledger's own sentence about it, source and date
    {finding:NAME|OTHERWISE}                in a sentence: what measurements say, or other words before there is one
    {demo:ID|FIELD:VALUE,…|WORDS}           in a sentence: a button that puts a figure into a state
    {steps} … {/steps}                      each `##` in between is a step
    {published} … {/published}              only with the published recordings

What stands for a key is put in after Markdown has run, so it survives tabs, details and lists. In formulas `{val:…}` is
replaced by plain TeX.
"""

import re
from typing import Any, Protocol
from xml.etree import ElementTree as etree

from markdown import Markdown
from markdown.blockprocessors import BlockProcessor
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.postprocessors import Postprocessor
from markdown.preprocessors import Preprocessor
from markdown.treeprocessors import Treeprocessor
from markdown.util import ETX, STX, AtomicString

BAR = "\ue000"  # stands for the bar of a key while tables are cut at bars
INLINE = r"\{(num|val|quote|claim|demo|finding):([^{}]+)\}"
BLOCK = re.compile(r"(?:^|\n) {0,3}\{(fig|code|measured|figures|data|ledger|glossary)(?::([^{}\n]+))?\}[ \t]*(?=\n|$)")
PUBLISHED = re.compile(r"\{published\}(.*?)\{/published\}", re.DOTALL)
LEFT_OVER = re.compile(
    r"\{/?(?:num|val|quote|claim|demo|finding|fig|code|measured|figures|data|ledger|glossary|steps|published)\b[^{}\n]*\}"
)
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}


class PageError(Exception):
    """A page holds something that must not be there; the message says what, not where."""


class Expander(Protocol):
    """What turns keys into HTML. A method raises PageError or UserError for a key it does not know."""

    published: bool
    steps_id: str

    def inline(self, kind: str, body: str) -> str:
        """HTML for `{kind:body}` in a sentence."""

    def block(self, kind: str, body: str) -> str:
        """HTML for `{kind:body}` on a line of its own."""

    def tex(self, body: str) -> str:
        """TeX for `{val:body}` in a formula."""


class Keys(Extension):  # type: ignore[misc]
    """The extension. `expander` is asked for every key."""

    def __init__(self, expander: Expander) -> None:
        super().__init__()
        self.expander = expander

    def extendMarkdown(self, md: Markdown) -> None:
        """Register the processors; each number is a place among the library's own."""
        md.preprocessors.register(_Published(md, self.expander), "kv-published", 35)  # before fences are read
        md.parser.blockprocessors.register(_Blocks(md, self.expander), "kv-blocks", 24)  # after lists
        md.inlinePatterns.register(_Inline(INLINE, md, self.expander), "kv-inline", 185)  # after code and formulas
        md.treeprocessors.register(_Formulas(md, self.expander), "kv-formulas", 19)  # after inline patterns ran
        md.treeprocessors.register(_Steps(md, self.expander), "kv-steps", 18)
        md.postprocessors.register(_Bars(md), "kv-bars", 0)


class _Published(Preprocessor):  # type: ignore[misc]
    """Drops what holds for the published recordings only, and hides bars of keys from the table syntax."""

    def __init__(self, md: Markdown, expander: Expander) -> None:
        super().__init__(md)
        self.expander = expander

    def run(self, lines: list[str]) -> list[str]:
        text = PUBLISHED.sub(lambda match: match[1] if self.expander.published else "", "\n".join(lines))
        if "{published}" in text or "{/published}" in text:
            raise PageError("{published} without {/published}, or the other way round")
        return re.sub(INLINE, lambda match: match[0].replace("|", BAR), text).split("\n")


class _Bars(Postprocessor):  # type: ignore[misc]
    """Gives keys that are quoted in code their bars back."""

    def run(self, text: str) -> str:
        return text.replace(BAR, "|")


class _Blocks(BlockProcessor):  # type: ignore[misc]
    """A key alone on a line."""

    def __init__(self, md: Markdown, expander: Expander) -> None:
        super().__init__(md.parser)
        self.md = md
        self.expander = expander

    def test(self, parent: etree.Element, block: str) -> bool:
        return BLOCK.search(block) is not None

    def run(self, parent: etree.Element, blocks: list[str]) -> None:
        block = blocks.pop(0)
        match = BLOCK.search(block)
        assert match is not None
        if before := block[: match.start()].strip("\n"):
            self.parser.parseBlocks(parent, [before])
        paragraph = etree.SubElement(parent, "p")
        paragraph.text = self.md.htmlStash.store(self.expander.block(match[1], (match[2] or "").strip()))
        if after := block[match.end() :].strip("\n"):
            blocks.insert(0, after)


class _Inline(InlineProcessor):  # type: ignore[misc]
    """A key in a sentence. Headings are refused: a number in one would change its address."""

    def __init__(self, pattern: str, md: Markdown, expander: Expander) -> None:
        super().__init__(pattern, md)
        self.expander = expander

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:
        body = " ".join(m[2].replace(BAR, "|").split())
        return self.md.htmlStash.store(self.expander.inline(m[1], body)), m.start(0), m.end(0)


class _Formulas(Treeprocessor):  # type: ignore[misc]
    """`{val:…}` inside formulas, and the look-out for numbers in headings."""

    def __init__(self, md: Markdown, expander: Expander) -> None:
        super().__init__(md)
        self.expander = expander

    def run(self, root: etree.Element) -> None:
        for element in root.iter():
            if element.tag in HEADINGS:
                _no_numbers(element, self.md.htmlStash.rawHtmlBlocks)
            elif element.get("class") == "arithmatex":
                filled = re.sub(r"\{val:([^{}]+)\}", self._tex, element.text or "")
                element.text = AtomicString(filled)

    def _tex(self, match: re.Match[str]) -> str:
        return self.expander.tex(match[1].replace(BAR, "|"))


def _no_numbers(heading: etree.Element, stash: list[Any]) -> None:
    words = "".join(heading.itertext())
    for place in re.findall(rf"{STX}wzxhzdk:(\d+)", words):
        if "data-key=" in str(stash[int(place)]):
            plain = re.sub(rf"{STX}[^{ETX}]*{ETX}", "…", words).strip()
            raise PageError(f"the heading {plain!r} holds a number; that would change the heading's address")


class _Steps(Treeprocessor):  # type: ignore[misc]
    """Wraps what stands between {steps} and {/steps}: one section for each second-level heading."""

    def __init__(self, md: Markdown, expander: Expander) -> None:
        super().__init__(md)
        self.expander = expander

    def run(self, root: etree.Element) -> None:
        starts, ends = _marks(root, "{steps}"), _marks(root, "{/steps}")
        if len(starts) != len(ends) or len(starts) > 1 or (starts and starts[0] > ends[0]):
            raise PageError("{steps} and {/steps} must stand alone on their lines, once on a page")
        if starts:
            _wrap(root, starts[0], ends[0], self.expander.steps_id)


def _marks(root: etree.Element, word: str) -> list[int]:
    """The places of the paragraphs that say just `word`."""
    return [place for place, item in enumerate(root) if item.tag == "p" and (item.text or "").strip() == word]


def _wrap(root: etree.Element, start: int, end: int, name: str) -> None:
    inner = list(root)[start + 1 : end]
    if not inner or inner[0].tag != "h2":
        raise PageError("{steps} must be followed by a second-level heading")
    steps = etree.Element("kv-steps", {"figure": name})
    for item in inner:
        if item.tag == "h2":
            section = etree.SubElement(steps, "section", {"class": "kv-step"})
        section.append(item)
    for item in list(root)[start : end + 1]:
        root.remove(item)
    root.insert(start, steps)
