"""Formulas: from the TeX that Markdown marked to MathML, for all pages in one call of Node.

Nothing is typeset in the reader's browser, so formulas are there without scripts.
"""

import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path

from gen import node
from gen.errors import UserError
from gen.site.visible import runs

SCRIPT = Path(__file__).with_name("typeset.mjs")
MARKED = re.compile(r'<(span|div) class="arithmatex">\s*\\([(\[])(.*?)\\[)\]]\s*</\1>', re.DOTALL)
# What a reader must never see: a formula that Markdown or KaTeX did not recognise.
RAW_TEX = re.compile(r"\$\$|\\[()\[\]]|\\[a-zA-Z]{2,}|(?<![\w$])\$[^\s$]([^$\n]*[^\s$])?\$(?!\d)")
# Neither is it looked for where a recorded text may hold anything: in numbers, figures and code.
NOT_PROSE = frozenset({"code", "pre", "math", "figure", ".kv-num", ".kv-val", ".kv-catalogue"})


def typeset(pages: Mapping[str, str]) -> dict[str, str]:
    """The pages (name -> HTML) with every formula as MathML. Raises UserError naming page and formula."""
    found = [(name, match) for name, html in pages.items() for match in MARKED.finditer(html)]
    if not found:
        return dict(pages)
    node.module("katex")
    answers = node.run(SCRIPT, [{"tex": _tex(match), "display": match[2] == "["} for _, match in found])
    made = iter(answers)

    def replace(name: str, match: re.Match[str]) -> str:
        answer = next(made)
        if "error" in answer:
            raise UserError(f"{name}: the formula {_tex(match)!r} cannot be typeset: {answer['error']}")
        kind = "kv-math kv-math--block" if match[2] == "[" else "kv-math"
        return f'<{match[1]} class="{kind}">{answer["html"]}</{match[1]}>'

    return {name: MARKED.sub(lambda match, name=name: replace(name, match), html) for name, html in pages.items()}  # type: ignore[misc]


def _tex(match: re.Match[str]) -> str:
    # Markdown escapes a display formula twice.
    return unescape(unescape(match[3])).strip()


def raw_tex(html: str) -> str | None:
    """The first TeX that a reader would see as such; None if there is none."""
    for run in runs(html, outside=NOT_PROSE):
        if match := RAW_TEX.search(run.text):
            return match[0]
    return None
