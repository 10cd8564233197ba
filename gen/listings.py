"""Code as it ran: a function, class or method of `kvref`, cut out of its source by name and never imported.

A page asks for `kvref.cache.contiguous.ContiguousCache.append`; what it prints is that definition without its
docstring and without types, its signature on one line: the body's lines are those of the source. A name that is gone
stops the build, so a page cannot show code that no longer is.
"""

import ast
import html
import re
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.python import PythonLexer

from gen.errors import UserError
from gen.paths import ROOT

# Listings of more than one definition, printed as one.
NAMED: dict[str, tuple[str, ...]] = {
    "tour": (
        "kvref.model.layers.Attention.__call__",
        "kvref.cache.contiguous.ContiguousCache.append",
        "kvref.ops.attention.written_out",
    ),
    "lanes": ("kvref.generate._recompute_loop", "kvref.generate._decode_loop"),
}
LEFT_OUT = "types left out"
# Words in comments that carry the colour of their role in figures and formulas.
ROLES = {"query": "query", "queries": "query", "key": "key", "keys": "key", "value": "value", "values": "value",
         "weight": "weight", "weights": "weight"}  # fmt: skip
# Shown by a script where there is one to press it.
COPY = '<button type="button" class="kv-copy" hidden>copy</button>'
_ROLE_WORD = re.compile(r"\b(" + "|".join(ROLES) + r")\b")
_COMMENT = re.compile(r'(<span class="c1">)(.*?)(</span>)')


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Edit = tuple[int, int, list[str]]  # lines from … to (not included), and what takes their place


@dataclass(frozen=True)
class Piece:
    """One definition."""

    name: str  # qualified
    file: str  # from the repository's root
    text: str

    @property
    def title(self) -> str:
        """The file and the name within it."""
        return f"{self.file} · {self.name.removeprefix(self.file[:-3].replace('/', '.') + '.')}"


def cut(name: str, root: Path = ROOT) -> Piece:
    """The definition called `name`, dedented, without docstrings and types. Raises UserError with the nearest names."""
    file, symbols = _module(name, root)
    source = file.read_text(encoding="utf-8")
    node: ast.AST = ast.parse(source)
    for symbol in symbols:
        known = _definitions(node)
        if symbol not in known:
            close = ", ".join(get_close_matches(symbol, known, n=3, cutoff=0.0)) or "none"
            raise UserError(f"no definition {name!r} in {file.relative_to(root)}; nearest: {close}.")
        node = known[symbol]
    assert isinstance(node, Definition)
    lines = source.splitlines()
    first = min([node.lineno, *(item.lineno for item in node.decorator_list)]) - 1
    end = node.end_lineno or len(lines)
    for start, stop, instead in sorted(_edits(node, lines), reverse=True):  # from below, so that numbers stay right
        lines[start:stop] = instead
        end += len(instead) - (stop - start)
    text = textwrap.dedent("\n".join(lines[first:end])).strip("\n")
    return Piece(name, file.relative_to(root).as_posix(), text)


def _edits(node: Definition, lines: Sequence[str]) -> Iterator[Edit]:
    """What is printed otherwise than it is written, in `node` and in everything defined inside it."""
    for item in ast.walk(node):
        if not isinstance(item, Definition):
            continue
        if not isinstance(item, ast.ClassDef):
            yield item.lineno - 1, _header_end(item, lines), [" " * item.col_offset + _signature(item)]
        if ast.get_docstring(item) is not None:
            text = item.body[0]
            rest = [] if len(item.body) > 1 else [" " * text.col_offset + "pass"]
            yield text.lineno - 1, text.end_lineno or text.lineno, rest


def _header_end(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> int:
    """The number of lines up to the colon of a signature, which may be broken over several."""
    below = iter(f"{line}\n" for line in lines[node.lineno - 1 :])
    tokens = tokenize.generate_tokens(lambda: next(below, ""))
    return node.lineno - 1 + next(token.end[0] for token in tokens if token.type == tokenize.NEWLINE)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Name, parameters and defaults: `def attend(q, k, causal=True):`."""
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    names = [item.arg for item in plain[: len(plain) - len(given.defaults)]]
    names += [_default(*pair) for pair in zip(plain[len(names) :], given.defaults, strict=True)]
    names += [f"*{given.vararg.arg}"] if given.vararg else []
    names += [_default(*pair) for pair in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    names += [f"**{given.kwarg.arg}"] if given.kwarg else []
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return f"{word} {node.name}({', '.join(names)}):"


def _default(parameter: ast.arg, value: ast.expr | None) -> str:
    return parameter.arg if value is None else f"{parameter.arg}={ast.unparse(value)}"


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


def pieces(name: str, root: Path = ROOT) -> list[Piece]:
    """What the listing `name` consists of: one of NAMED, or a single definition."""
    return [cut(qualified, root) for qualified in NAMED.get(name, (name,))]


def to_html(name: str, root: Path = ROOT) -> str:
    """The listing as highlighted HTML below the name of its file and definition; of several, each has its name above."""
    parts = pieces(name, root)
    title, text = parts[0].title, parts[0].text
    if len(parts) > 1:
        title = " · ".join(dict.fromkeys(part.file for part in parts))
        text = "\n\n".join(f"# {part.title}\n{part.text}" for part in parts)
    code = highlight(text, PythonLexer(), HtmlFormatter(nowrap=True)).rstrip("\n")
    return (
        f'<div class="highlight kv-code kv-copied"><span class="filename">{html.escape(title)} · {LEFT_OUT}</span>{COPY}'
        f"<pre><code>{_COMMENT.sub(_coloured, code)}\n</code></pre></div>"
    )


def _coloured(match: re.Match[str]) -> str:
    """A comment with its role words marked."""
    marked = _ROLE_WORD.sub(lambda word: f'<span class="kv-role-{ROLES[word[1]]}">{word[1]}</span>', match[2])
    return match[1] + marked + match[3]
