"""What the built files say, read without a browser: citation, addresses, policy, size."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from tests.site.pages import ROOT, SITE, addresses, figures, html_file, named, pages

RAW_TEX = re.compile(r"\$\$|\\\(|\\\[|\\frac|\\begin\{|\\operatorname|\\text\{|\\mathrm|\\cdot")
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "form": "action"}


class Reader(HTMLParser):
    """Every tag with its attributes, and the inline scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)

    def meta(self, name: str) -> list[str]:
        return [a.get("content") or "" for tag, a in self.tags if tag == "meta" and a.get("name") == name]


def read(page: str) -> Reader:
    return Reader(html_file(page).read_text())


def test_the_site_is_built() -> None:
    assert len(addresses()) >= 5, "site/ is not built: run `make pages` first."


@pytest.mark.parametrize("page", pages(), ids=named)
def test_nothing_is_loaded_from_elsewhere(page: str) -> None:
    foreign = [
        attributes[LOADING[tag]]
        for tag, attributes in read(page).tags
        if tag in LOADING and re.match(r"(https?:)?//", attributes.get(LOADING[tag]) or "")
        if not (tag == "link" and attributes.get("rel") in ("canonical", "next", "prev", "license", "alternate"))
    ]
    assert foreign == []


def test_no_stylesheet_loads_from_elsewhere() -> None:
    for sheet in SITE.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", sheet.read_text()) == [], sheet.name


@pytest.mark.parametrize("page", pages(), ids=named)
def test_policy_names_every_inline_script(page: str) -> None:
    reader = read(page)
    policies = [a["content"] or "" for tag, a in reader.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1
    assert "default-src 'self'" in policies[0]
    assert "unsafe-eval" not in policies[0]
    scripts = policies[0].split("script-src")[1].split(";")[0]
    assert "unsafe-inline" not in scripts
    data_blocks = [a for tag, a in reader.tags if tag == "script" and (a.get("type") or "").endswith("json")]
    inline = [text for text in reader.scripts if text.strip()]
    named_scripts = [
        text for text in inline if base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in scripts
    ]
    assert len(inline) - len(named_scripts) <= len(data_blocks)


@pytest.mark.parametrize("page", [page for page in pages() if page != "404.html"], ids=named)
def test_page_can_be_cited(page: str) -> None:
    reader = read(page)
    assert len(reader.meta("citation_title")) == 1
    assert reader.meta("citation_author") == ["The kvref authors"]
    assert re.fullmatch(r"\d{4}[-/]\d\d[-/]\d\d", reader.meta("citation_publication_date")[0])
    assert reader.meta("description")[0]
    start, end = (html_file(page).read_text().find(part) for part in ("application/ld+json", "</head>"))
    assert 0 < start < end, "JSON-LD stands in the head"
    blocks = re.findall(r'<script type="application/ld\+json">(.*?)</script>', html_file(page).read_text(), re.DOTALL)
    assert json.loads(blocks[0])["@context"]
    version = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert version
    assert version[1] in html_file(page).read_text(), "the version of CITATION.cff"


def test_no_invented_doi() -> None:
    for page in pages():
        assert not re.search(r"zenodo\.\d|10\.\d{4,}/(?:zenodo|x+|0+)", html_file(page).read_text()), page


def test_every_page_is_among_the_published() -> None:
    """tests/site/published.txt holds the addresses that are kept for ever; a new page has to be added to it."""
    kept = (ROOT / "tests" / "site" / "published.txt").read_text().split()
    assert {named(page) for page in pages()} == {line for line in kept if "#" not in line}


def test_figure_ids_are_unique() -> None:
    ids = [figure for _, figure in figures()]
    assert sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize("page", pages(), ids=named)
def test_every_figure_has_a_caption_a_name_and_its_data(page: str) -> None:
    blocks = re.findall(r'<figure[^>]*id="fig-.*?</figure>', html_file(page).read_text(), re.DOTALL)
    for block in blocks:
        assert len(re.sub(r"<.*?>", "", block.split("<figcaption")[1].split("</figcaption>")[0])) > 40
        for word in ("cite", "link", "data", "SVG", "PNG", "CSV", "CC BY 4.0"):
            assert word in block, word
        for address in re.findall(r'href="([^"]+\.(?:svg|csv|json))"', block):
            assert (html_file(page).parent / address).resolve().is_file(), address


def test_search_index_is_small_and_plain() -> None:
    index = SITE / "search" / "search_index.json"
    assert index.stat().st_size < 1_000_000
    assert RAW_TEX.findall(index.read_text()) == []


def test_page_html_is_small() -> None:
    for page in pages():
        assert html_file(page).stat().st_size <= 400_000, page
