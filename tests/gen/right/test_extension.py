"""The Markdown extension, with the same other extensions as the site has."""

import re

import markdown
import pytest
from mkdocs.config import load_config

from gen.paths import ROOT
from gen.site.extension import Keys, PageError


class Echo:
    """An expander that shows what it was asked."""

    published = True
    steps_id = "tour"

    def inline(self, kind: str, body: str) -> str:
        return f'<data data-key="{kind}">{body}</data>' if kind != "demo" else f"<a>{body}</a>"

    def block(self, kind: str, body: str) -> str:
        return f'<figure class="{kind}">{body}</figure>'

    def tex(self, body: str) -> str:
        return f"<{body}>"


@pytest.fixture(scope="module")
def settings() -> dict[str, object]:
    config = load_config(str(ROOT / "mkdocs.yml"), hooks=[])
    return {"extensions": list(config.markdown_extensions), "extension_configs": config.mdx_configs}


def html(text: str, settings: dict[str, object], expander: Echo | None = None) -> str:
    extensions = [*settings["extensions"], Keys(expander or Echo())]  # type: ignore[misc]
    return markdown.Markdown(extensions=extensions, extension_configs=settings["extension_configs"]).convert(text)


FIGURE = '<figure class="fig">cover</figure>'


@pytest.mark.parametrize(
    "text",
    [
        "{fig:cover}",
        "Words\n\n{fig:cover}\n\nmore",
        "Words\n{fig:cover}\nmore",
        "## Heading\n\n{fig:cover}",
        '=== "One"\n\n    {fig:cover}\n\n=== "Two"\n\n    text',
        "??? note\n\n    {fig:cover}",
        '??? question "Really?"\n    {fig:cover}',
        "!!! note\n\n    Words\n\n    {fig:cover}",
        "- a\n- b\n\n    {fig:cover}\n\n- c",
        "- {fig:cover}\n- b",
        "1. a\n\n    {fig:cover}",
        "Term\n:   {fig:cover}",
        "> {fig:cover}",
        '<div markdown="1">\n\n{fig:cover}\n\n</div>',
        "{fig:cover}  \nnext",
    ],
)
def test_a_figure_is_whole_wherever_it_stands(text: str, settings: dict[str, object]) -> None:
    made = html(text, settings)
    assert made.count(FIGURE) == 1
    assert f"<p>{FIGURE}" not in made
    assert "wzxhzdk" not in made


@pytest.mark.parametrize("text", ["`{fig:cover}`", "    {fig:cover}", "```\n{fig:cover}\n```", "`{num:a.b|KiB}`"])
def test_a_key_in_code_stays_as_it_is(text: str, settings: dict[str, object]) -> None:
    made = html(text, settings)
    assert "<figure" not in made
    assert "<data" not in made
    assert "{fig:cover}" in made or "{num:a.b|KiB}" in made


def test_several_keys_in_a_block(settings: dict[str, object]) -> None:
    made = html("{fig:cover}\n{code:a.b}\n{figures}", settings)
    assert re.findall(r'class="(\w+)">([\w.]*)<', made) == [("fig", "cover"), ("code", "a.b"), ("figures", "")]


@pytest.mark.parametrize(
    "text",
    [
        "a {num:a.b|KiB} b",
        "**{num:a.b|KiB}**",
        "| a | b |\n|---|---|\n| x | {num:a.b|KiB} |",
        "- {num:a.b|KiB}",
        "Term\n:   {num:a.b|KiB}",
        '??? question "{num:a.b|KiB}: yes"\n    no',
        "[{num:a.b|KiB}](x.md)",
        "*“{num:a.b|KiB}”*",
        "($x$, {num:a.b|KiB})",
    ],
)
def test_a_number_in_a_sentence(text: str, settings: dict[str, object]) -> None:
    assert html(text, settings).count('<data data-key="num">a.b|KiB</data>') == 1


def test_a_demo_may_be_broken_over_lines(settings: dict[str, object]) -> None:
    assert "<a>lanes|step:4|Show that state</a>" in html("{demo:lanes|step:4|Show\nthat state}", settings)


@pytest.mark.parametrize("text", ["# All {num:a.b}", "## {val:a.b} tokens", "Title {num:a.b}\n=====", "### x {num:a.b} {#id}"])
def test_a_number_in_a_heading_is_refused(text: str, settings: dict[str, object]) -> None:
    with pytest.raises(PageError, match="heading"):
        html(text, settings)


@pytest.mark.parametrize(
    "text", ["$2 \\times {val:a.b|KiB}$", "$$\nx = \\sqrt{{val:a.b|KiB}}\n$$", "| a |\n|--|\n| ${val:a.b|KiB}$ |"]
)
def test_a_value_in_a_formula_is_plain_tex(text: str, settings: dict[str, object]) -> None:
    made = html(text, settings)
    assert "a.b|KiB" in made
    assert "{val:" not in made
    assert "<data" not in made


def test_steps_are_sections(settings: dict[str, object]) -> None:
    made = html("# T\n\n{steps}\n\n## One {#one}\n\na\n\n{fig:cover}\n\n## Two\n\nb\n\n{/steps}\n\n## After", settings)
    steps = made[made.index("<kv-steps") : made.index("</kv-steps>")]
    assert steps.startswith('<kv-steps figure="tour"><section class="kv-step"><h2 id="one">One')
    assert steps.count("<section") == 2
    assert FIGURE in steps
    assert "After" not in steps
    assert "steps}" not in made


@pytest.mark.parametrize("text", ["{steps}\n\n## a", "a\n\n{/steps}", "{steps}\n\nno heading\n\n{/steps}"])
def test_steps_that_do_not_match_are_refused(text: str, settings: dict[str, object]) -> None:
    with pytest.raises(PageError, match="steps"):
        html(text, settings)


@pytest.mark.parametrize(
    "text", ["a\n\n{published}\n\nonly *here*\n\n{/published}\n\nb", "a {published}only *here*{/published} b"]
)
def test_sentences_about_the_published_recordings(text: str, settings: dict[str, object]) -> None:
    other = Echo()
    other.published = False
    assert "only <em>here</em>" in html(text, settings)
    assert "only" not in html(text, settings, other)
    assert "published}" not in html(text, settings) + html(text, settings, other)


def test_published_must_be_closed(settings: dict[str, object]) -> None:
    with pytest.raises(PageError, match="published"):
        html("{published}\n\na", settings)
