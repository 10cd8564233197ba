"""Code as it ran: a function, class or method of `kvref`, cut out of its source by name and never imported.

A page asks for `kvref.cache.contiguous.ContiguousCache.append`; what it prints is that definition without its
docstring. A name that is gone stops the build, so a page cannot show code that no longer is.
"""

import ast
import html
import re
import textwrap
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.python import PythonLexer

from gen.errors import UserError
from gen.paths import ROOT

# Listings of more than one piece: name -> (qualified name, first words of its first and last line; none: the whole).
NAMED: dict[str, tuple[tuple[str, str | None, str | None], ...]] = {
    "tour": (
        ("kvref.generate.prefill", None, None),
        ("kvref.generate.decode_step", None, None),
        ("kvref.cache.contiguous.ContiguousCache.append", None, None),
        ("kvref.ops.attention.written_out", None, None),
    ),
}
# Words in comments that carry the colour of their role in figures and formulas.
ROLES = {"query": "query", "queries": "query", "key": "key", "keys": "key", "value": "value", "values": "value",
         "weight": "weight", "weights": "weight"}  # fmt: skip
# Shown by a script where there is one to press it.
COPY = '<button type="button" class="kv-copy" hidden>copy</button>'
_ROLE_WORD = re.compile(r"\b(" + "|".join(ROLES) + r")\b")
_COMMENT = re.compile(r'(<span class="c1">)(.*?)(</span>)')


@dataclass(frozen=True)
class Piece:
    """Lines of one definition."""

    name: str  # qualified
    file: str  # from the repository's root
    text: str


def cut(name: str, root: Path = ROOT) -> Piece:
    """The definition called `name`, dedented, without its docstring. Raises UserError with the nearest names."""
    file, symbols = _module(name, root)
    source = file.read_text(encoding="utf-8")
    node: ast.AST = ast.parse(source)
    for symbol in symbols:
        known = _definitions(node)
        if symbol not in known:
            close = ", ".join(get_close_matches(symbol, known, n=3, cutoff=0.0)) or "none"
            raise UserError(f"no definition {name!r} in {file.relative_to(root)}; nearest: {close}.")
        node = known[symbol]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    lines = source.splitlines()
    first = min([node.lineno, *(item.lineno for item in node.decorator_list)]) - 1
    body = lines[first : node.end_lineno]
    if ast.get_docstring(node) is not None:
        start, end = node.body[0].lineno - 1 - first, (node.body[0].end_lineno or 0) - first
        del body[start:end]
    text = textwrap.dedent("\n".join(body)).strip("\n")
    return Piece(name, file.relative_to(root).as_posix(), text)


def _module(name: str, root: Path) -> tuple[Path, list[str]]:
    """The file that defines `name`, and the names to follow inside it."""
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        file = root.joinpath(*parts[:length]).with_suffix(".py")
        if file.is_file():
            return file, parts[length:]
    raise UserError(f"no module holds {name!r}.")


def _definitions(node: ast.AST) -> dict[str, ast.AST]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {item.name: item for item in getattr(node, "body", []) if isinstance(item, kinds)}


def _part(piece: Piece, first: str | None, last: str | None) -> Piece:
    """The lines of a piece from the one that begins with `first` to the one that begins with `last`."""
    if first is None or last is None:
        return piece
    lines = piece.text.splitlines()
    starts = [line.strip().startswith(first) for line in lines]
    ends = [line.strip().startswith(last) for line in lines]
    if True not in starts or True not in ends[starts.index(True) :]:
        raise UserError(f"{piece.name} has no lines from {first!r} to {last!r}.")
    begin = starts.index(True)
    text = textwrap.dedent("\n".join(lines[begin : ends.index(True, begin) + 1]))
    return Piece(piece.name, piece.file, text)


def pieces(name: str, root: Path = ROOT) -> list[Piece]:
    """What the listing `name` consists of: one of NAMED, or a single definition."""
    if name in NAMED:
        return [_part(cut(qualified, root), first, last) for qualified, first, last in NAMED[name]]
    return [cut(name, root)]


def to_html(name: str, root: Path = ROOT) -> str:
    """The listing as highlighted HTML, each piece below the name of its file and definition."""
    blocks = []
    for piece in pieces(name, root):
        code = highlight(piece.text, PythonLexer(), HtmlFormatter(nowrap=True)).rstrip("\n")
        title = f"{piece.file} · {piece.name.removeprefix(piece.file[:-3].replace('/', '.') + '.')}"
        blocks.append(
            f'<div class="highlight kv-code kv-copied"><span class="filename">{html.escape(title)}</span>{COPY}'
            f"<pre><code>{_COMMENT.sub(_coloured, code)}\n</code></pre></div>"
        )
    return "\n".join(blocks)


def _coloured(match: re.Match[str]) -> str:
    """A comment with its role words marked."""
    marked = _ROLE_WORD.sub(lambda word: f'<span class="kv-role-{ROLES[word[1]]}">{word[1]}</span>', match[2])
    return match[1] + marked + match[3]
