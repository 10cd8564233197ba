"""The words of the site: `glossary.yaml` as a page, and a link to it where a page uses a word for the first time.

Pages stay as they are written. Knows HTML as text and tags, but nothing about MkDocs.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

import yaml

from gen.paths import ROOT, slug
from gen.site.visible import VOID

TABLE = ROOT / "gen" / "glossary.yaml"
PAGE = "reference/glossary"
TAG = re.compile(r"<!--.*?-->|<(/?)([a-zA-Z][\w-]*)((?:\"[^\"]*\"|'[^']*'|[^'\">])*)>", re.DOTALL)
# Where a link would be in the way: in links and buttons, headings, code, formulas and figures, and in recorded words.
LEFT_ALONE = {"a", "button", "code", "data", "dt", "figure", "math", "pre", "script", "style", "summary", "svg", "th"}
LEFT_ALONE |= {f"h{level}" for level in range(1, 7)}
LEFT_CLASSES = re.compile(r'class="[^"]*\b(?:arithmatex|filename|kv-made|kv-banner)\b')


@dataclass(frozen=True)
class Term:
    """A word and what it means."""

    term: str
    words: str
    see: str  # page#section that explains it at length
    source: str  # who uses or coined the word, empty where it is everybody's
    url: str
    forms: tuple[str, ...]  # under which pages use it, none where none is clear

    @property
    def anchor(self) -> str:
        """The id of its entry."""
        return f"term-{slug(self.term)}"


@cache
def terms() -> tuple[Term, ...]:
    """All terms in the order of the alphabet."""
    entries = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    found = [_term(entry) for entry in entries]
    return tuple(sorted(found, key=lambda item: item.term.lower()))


def _term(entry: dict[str, Any]) -> Term:
    source = entry.get("from", {"source": "", "url": ""})
    return Term(entry["term"], entry["words"], entry["see"], source["source"], source["url"], _forms(entry))


def _forms(entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(entry["only"]) if "only" in entry else (entry["term"], *entry.get("also", ()))


def to_html(place: Callable[[str], str]) -> str:
    """Every term with its meaning; `place` turns `page#section` into its address."""
    entries = []
    for item in terms():
        more = f'<a href="{place(item.see)}">More on {escape(item.term)}</a>'
        if item.source:
            more += f'<br>From <a href="{escape(item.url)}"><span class="kv-what">{escape(item.source)}</span></a>'
        entries.append(f'<dt id="{item.anchor}">{escape(item.term)}</dt><dd>{escape(item.words)} {more}</dd>')
    return "<dl>\n" + "\n".join(entries) + "\n</dl>"


def linked(html: str, page: str, address: str) -> str:
    """The HTML of `page` with the first use of each term linked to its entry at `address`. The reference is left alone."""
    if page.startswith("reference/"):
        return html
    left = {item for item in terms() if item.see.partition("#")[0] != page}
    pieces: list[str] = []
    closing: list[str] = []
    end = 0
    for tag in TAG.finditer(html):
        pieces += [html[end : tag.start()] if closing else _text(html[end : tag.start()], left, address), tag[0]]
        end = tag.end()
        _step(tag, closing)
    return "".join([*pieces, _text(html[end:], left, address)])


def _step(tag: re.Match[str], closing: list[str]) -> None:
    """Keep track of what must be closed before words are linked again; empty where they may be."""
    name = (tag[2] or "").lower()
    if not name or name in VOID or tag[3].endswith("/"):
        return
    if tag[1]:
        if closing and closing[-1] == name:
            closing.pop()
    elif closing or name in LEFT_ALONE or LEFT_CLASSES.search(tag[3]):
        closing.append(name)


def _text(text: str, left: set[Term], address: str) -> str:
    """A run of text; terms that are linked in it leave `left`. The longest term counts, linked or not."""

    def link(match: re.Match[str]) -> str:
        item = _by_form()[" ".join(match[0].lower().split())]
        if item not in left:
            return match[0]
        left.remove(item)
        return f'<a class="kv-term" href="{address}#{item.anchor}">{match[0]}</a>'

    return _pattern().sub(link, text) if left and text.strip() else text


@cache
def _by_form() -> dict[str, Term]:
    return {form.lower(): item for item in terms() for form in item.forms}


@cache
def _pattern() -> re.Pattern[str]:
    ordered = sorted(_by_form(), key=len, reverse=True)
    forms = "|".join(re.escape(form).replace(r"\ ", r"\s+") for form in ordered)  # a line may end within a term
    return re.compile(rf"(?<![\w-])(?:{forms})(?![\w-])", re.IGNORECASE)
