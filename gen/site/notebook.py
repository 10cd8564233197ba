"""A notebook's page: what mkdocs-jupyter renders, with only its words, code and outputs kept.

As rendered, a page carries 600 KB of styles and scripts, among them a loader of formulas from elsewhere. Here it gets
the site's own markup, its formulas marked as in Markdown, and its links to other pages resolved. Knows nothing about
how a notebook is run.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from gen.listings import COPY
from gen.site.extension import PageError

WORDS = r'data-mime-type="text/markdown">(?P<words>.*?)</div>'
CODE = r'<div class="highlight-ipynb[^>]*><pre>(?:<span></span>)?(?P<code>.*?)</pre>'
OUTPUT = r'data-mime-type="text/plain"[^>]*>\s*<pre>(?P<output>.*?)</pre>'
PART = re.compile(f"{WORDS}|{CODE}|{OUTPUT}", re.DOTALL)
OUTPUTS = re.compile(r'class="[^"]*jp-OutputArea-output')
ANCHOR = re.compile(r'<a class="anchor-link" href="(#[^"]*)">[^<]*</a>')
PLAIN = re.compile(r'<span class="[nw]">([^<]*)</span>')  # names and blanks: half of the page, and drawn like any text
CODE_OR_FORMULA = re.compile(r"<code>.*?</code>|(?:<p>)?\$\$(?P<block>.+?)\$\$(?:</p>)?|\$(?P<inline>[^$]+)\$", re.DOTALL)
PAGE_LINK = re.compile(r'href="(?![a-z]+:)([^"#]+\.md)(#[^"]*)?"')


def facts(source: str) -> dict[str, Any]:
    """What an `.ipynb` says about its page: title, description, and the model that stands in for a trained one."""
    found: dict[str, Any] = json.loads(source)["metadata"].get("page", {})
    return found


def trimmed(html: str, name: str, address: Callable[[str], str]) -> str:
    """The page's content. `address` turns a link to a page's source into its address. Raises PageError.

    `name` is the notebook's file without its ending; page and downloads are named after it.
    """
    parts = list(PART.finditer(html))
    if len(OUTPUTS.findall(html)) != sum(part["output"] is not None for part in parts):
        raise PageError("a cell of the notebook gives something other than text, which the page would not show")
    files = f'<a href="{name}.ipynb" download>notebook</a> or <a href="../{name}.py" download>Python source</a>'
    return "\n".join([*(_part(part, address) for part in parts), f"<p>Take it with you: {files}.</p>"])


def _part(part: re.Match[str], address: Callable[[str], str]) -> str:
    if part["words"] is not None:
        words = ANCHOR.sub(r'<a class="headerlink" href="\1" title="Link to this section">¶</a>', part["words"].strip())
        words = PAGE_LINK.sub(lambda link: f'href="{address(link[1])}{link[2] or ""}"', words)
        return CODE_OR_FORMULA.sub(_marked, words)
    if part["code"] is not None:
        code = PLAIN.sub(r"\1", part["code"])
        return f'<div class="highlight kv-code kv-copied">{COPY}<pre><code>{code}</code></pre></div>'
    title = '<span class="filename">prints</span>'
    return f'<div class="highlight kv-code kv-output">{title}<pre><code>{part["output"]}</code></pre></div>'


def _marked(match: re.Match[str]) -> str:
    """A formula as Markdown would mark it; code as it is."""
    if match["block"] is not None:
        return f'<div class="arithmatex">\\[{match["block"]}\\]</div>'
    return match[0] if match["inline"] is None else f'<span class="arithmatex">\\({match["inline"]}\\)</span>'
