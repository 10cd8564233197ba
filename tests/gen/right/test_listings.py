"""Code is cut out by name; what is gone is noticed."""

import ast
import re
from pathlib import Path

import pytest

from gen import listings
from gen.errors import UserError
from gen.paths import ROOT

WIDTH = 90  # columns

SOURCE = '''"""A module."""


def plain(x: int) -> int:
    """Says what it does.

    At length.
    """
    # the query meets every key
    y = "# value"  # no role here: keyboard
    return x


class Outer:
    """A class."""

    @property
    def size(self) -> int:
        """Its size."""
        return 1

    async def wait(self) -> None:
        pass
'''


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "mod.py").write_text(SOURCE)
    return tmp_path


def test_a_function_without_its_docstring(root: Path) -> None:
    piece = listings.cut("pack.mod.plain", root)
    assert piece.file == "pack/mod.py"
    assert piece.text.splitlines()[0] == "def plain(x):"
    assert "Says" not in piece.text
    assert piece.text.endswith("return x")


def test_a_method_with_its_decorators_and_no_indent(root: Path) -> None:
    assert listings.cut("pack.mod.Outer.size", root).text == "@property\ndef size(self):\n    return 1"
    assert listings.cut("pack.mod.Outer.wait", root).text.startswith("async def wait")
    whole = listings.cut("pack.mod.Outer", root).text
    assert whole.startswith("class Outer:")
    assert "-> int" not in whole
    assert "Its size" not in whole
    ast.parse(whole)


def test_a_signature_is_one_line_of_names_and_defaults(root: Path) -> None:
    source = (
        "class A:\n    def f(\n        self,\n        a: int,\n        b: str = ')',\n        *rest: int,\n"
        "        c: float,\n        d: int | None = None,  # why\n        **more: int,\n    ) -> dict[str, int]:\n"
        "        # the body as it stands\n        here: int = a\n\n        return {'x': here}\n"
        '\n    def nothing(self) -> None:\n        """Only words."""\n'
    )
    (root / "pack" / "more.py").write_text(source)
    made = listings.cut("pack.more.A.f", root).text
    assert made.splitlines()[0] == "def f(self, a, b=')', *rest, c, d=None, **more):"
    assert made.splitlines()[1:] == ["    # the body as it stands", "    here: int = a", "", "    return {'x': here}"]
    assert listings.cut("pack.more.A.nothing", root).text == "def nothing(self):\n    pass"


@pytest.mark.parametrize("name", ["pack.mod.plane", "pack.mod.Outer.sizes", "pack.none.plain", "nothing"])
def test_a_name_that_is_gone_is_refused(root: Path, name: str) -> None:
    with pytest.raises(UserError, match=name):
        listings.cut(name, root)


def test_html_is_escaped_and_roles_in_comments_are_marked(root: Path) -> None:
    made = listings.to_html("pack.mod.plain", root)
    assert '<span class="filename">pack/mod.py · plain · types left out</span>' in made
    assert 'the <span class="kv-role-query">query</span> meets every <span class="kv-role-key">key</span>' in made
    assert made.count("kv-role-") == 2
    assert "<pre><code>" in made


def on_pages() -> list[str]:
    """Every listing that a page prints."""
    texts = [path.read_text() for path in sorted((ROOT / "docs").rglob("*.md"))]
    return sorted({name for text in texts for name in re.findall(r"^\{code:([^}]+)\}$", text, re.MULTILINE)})


@pytest.mark.parametrize("name", on_pages())
def test_code_on_pages_is_read_without_scrolling(name: str) -> None:
    """What fits the text's width at 1280 px in the size that page.css gives code."""
    wide = [line for piece in listings.pieces(name) for line in piece.text.splitlines() if len(line) > WIDTH]
    assert wide == []


def test_several_definitions_are_one_listing() -> None:
    made = listings.to_html("tour")
    assert made.count("<pre>") == made.count('class="filename"') == 1
    for piece in listings.pieces("tour"):
        assert f"# {piece.title}" in made


def test_the_tours_code_fits_and_shows_what_it_must() -> None:
    pieces = listings.pieces("tour")
    lines = [line for piece in pieces for line in piece.text.splitlines()]
    assert len(lines) <= 14
    text = "\n".join(lines)
    assert "self.project" in text
    assert "cache.append" in text
    assert "scores" in text
    for piece in pieces:
        ast.parse(piece.text)
