"""A notebook's page: the site's own markup, formulas and links, and nothing of what was rendered around them."""

import gzip
import re
from pathlib import Path

import pytest

from gen import notebooks
from gen.paths import ROOT
from gen.site import notebook
from gen.site.extension import PageError
from tests.gen.right.conftest import Build

WORDS = '<div class="jp-RenderedMarkdown" data-mime-type="text/markdown">\n{}\n</div>'


def trimmed(html: str) -> str:
    return notebook.trimmed(html, "name", lambda link: f"to:{link}")


def test_words_keep_their_links_and_formulas() -> None:
    made = trimmed(
        WORDS.format(
            '<h2 id="a">A<a class="anchor-link" href="#a">¶</a></h2><p>$x_1$, <code>$HOME</code> and <code>a$</code></p>'
            '<p>$$y &lt; 1$$</p><p><a href="../learn/decode.md#grid">d</a> <a href="https://x.org/a.md">e</a></p>'
        )
    )
    assert '<span class="arithmatex">\\(x_1\\)</span>, <code>$HOME</code> and <code>a$</code>' in made
    assert '<div class="arithmatex">\\[y &lt; 1\\]</div>' in made
    assert 'href="to:../learn/decode.md#grid"' in made
    assert 'href="https://x.org/a.md"' in made
    assert '<a class="headerlink" href="#a" title="Link to this section">' in made


def test_an_output_that_would_not_be_shown_is_refused() -> None:
    with pytest.raises(PageError, match="other than text"):
        trimmed('<div class="jp-RenderedImage jp-OutputArea-output" data-mime-type="image/png"><img src="x"></div>')


@pytest.fixture
def page(build: Build) -> Path:
    name = "sixty-lines"
    text = notebooks.file(name).read_text()
    stand_ins = {f"learn/{page}.md": "# T\n\nw\n" for page in ("one-token", "decode")}
    out = build({**stand_ins, f"notebooks/{name}.ipynb": text})
    return out / "notebooks" / name


def test_the_page_is_small_and_whole(page: Path) -> None:
    html = (page / "index.html").read_text()
    article = html[html.index("<article") : html.index("</article>")]
    assert len(article.encode()) < 28_000
    assert len(gzip.compress(html.encode(), mtime=0)) < 10_000
    assert "jp-" not in html
    assert "mathjax" not in html.lower()
    assert "mermaid" not in article
    assert "small seeded model of this notebook" in html
    assert article.count("<math") >= 4
    assert article.count("kv-output") == 2
    assert "largest difference between the logits" in article
    assert '<a href="../../learn/one-token/">' in article


def test_what_it_offers_to_take_along_is_there(page: Path) -> None:
    assert (page / "sixty-lines.ipynb").read_bytes() == notebooks.file("sixty-lines").read_bytes()
    hrefs = re.findall(r'<a href="([^"]*)" download>', (page / "index.html").read_text())
    assert hrefs == ["sixty-lines.ipynb", "../sixty-lines.py"]
    assert (ROOT / "docs" / "notebooks" / "sixty-lines.py").is_file()
