"""Code is cut out by name; what is gone is noticed."""

import ast
from pathlib import Path

import pytest

from gen import listings
from gen.errors import UserError

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
    assert piece.text.splitlines()[0] == "def plain(x: int) -> int:"
    assert "Says" not in piece.text
    assert piece.text.endswith("return x")


def test_a_method_with_its_decorators_and_no_indent(root: Path) -> None:
    assert listings.cut("pack.mod.Outer.size", root).text == "@property\ndef size(self) -> int:\n    return 1"
    assert listings.cut("pack.mod.Outer.wait", root).text.startswith("async def wait")
    assert listings.cut("pack.mod.Outer", root).text.startswith("class Outer:")


@pytest.mark.parametrize("name", ["pack.mod.plane", "pack.mod.Outer.sizes", "pack.none.plain", "nothing"])
def test_a_name_that_is_gone_is_refused(root: Path, name: str) -> None:
    with pytest.raises(UserError, match=name):
        listings.cut(name, root)


def test_html_is_escaped_and_roles_in_comments_are_marked(root: Path) -> None:
    made = listings.to_html("pack.mod.plain", root)
    assert '<span class="filename">pack/mod.py · plain</span>' in made
    assert 'the <span class="kv-role-query">query</span> meets every <span class="kv-role-key">key</span>' in made
    assert made.count("kv-role-") == 2
    assert "<pre><code>" in made


def test_the_tours_code_fits_and_shows_what_it_must() -> None:
    pieces = listings.pieces("tour")
    lines = [line for piece in pieces for line in piece.text.splitlines()]
    assert len(lines) <= 14
    text = "\n".join(lines)
    assert "def prefill" in text
    assert "def decode_step" in text
    assert "append" in text
    assert "scores" in text
    for piece in pieces:
        ast.parse(piece.text)
