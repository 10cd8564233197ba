"""Generated parts of the reference: every data file with its form and hash, and every number that others computed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

import yaml

from gen import ledger
from gen.paths import ROOT

if TYPE_CHECKING:
    from gen.site.expand import Page

SCHEMA = ROOT / "gen" / "schema.yaml"
FEW = 3  # files that need no lid
QUOTE = re.compile(r"\{(?:quote|claim):([^{}]+)\}")


@dataclass(frozen=True)
class Kind:
    """Data files of one form."""

    id: str
    title: str
    files: re.Pattern[str]  # path below docs/data, without .json
    keys: tuple[tuple[tuple[str, ...], str], ...]  # names of values, and what they are


@cache
def kinds() -> tuple[Kind, ...]:
    """Every form of data file."""
    rows = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    return tuple(_kind(row) for row in rows)


def _kind(row: dict[str, Any]) -> Kind:
    keys = tuple((tuple(names.split()), words) for names, words in row["keys"].items())
    return Kind(row["id"], row["title"], re.compile(row["files"]), keys)


def data_html(page: "Page") -> str:
    """Every data file by its form: what its keys hold, and the SHA-256 of each file."""
    hashes = {name.removesuffix(".json"): digest for name, digest in page.records.hashes.items()}
    whole = f'<code class="kv-hash">{page.records.data_hash}</code>'
    parts = [f"<p>All hashes together have the hash {whole}, which citations name.</p>"]
    for kind in kinds():
        files = [name for name in hashes if kind.files.fullmatch(name)]
        if files:
            parts += [f'<h3 id="data-{kind.id}">{escape(kind.title)}</h3>', *_keys(kind), *_files(page, files, hashes)]
    return "\n".join(parts)


def _keys(kind: Kind) -> Iterator[str]:
    yield "<dl data-search-exclude>"
    for names, words in kind.keys:
        listed = ", ".join(f"<code>{escape(name)}</code>" for name in names)
        text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(words))
        yield f'<dt>{listed}</dt><dd class="kv-what">{text}</dd>'
    yield "</dl>"


def _files(page: "Page", files: list[str], hashes: dict[str, str]) -> Iterator[str]:
    lines = [
        f'<li><a href="{page.to(f"data/{name}.json")}"><code>data/{escape(name)}.json</code></a><br>'
        f'<code class="kv-hash" data-search-exclude>{hashes[name]}</code></li>'
        for name in sorted(files)
    ]
    few = len(lines) <= FEW
    yield "<ul>" if few else f"<details><summary>All {_counted(len(lines))} files</summary><ul>"
    yield from lines
    yield "</ul>" if few else "</ul></details>"


def _counted(number: int) -> str:
    return f'<data class="kv-val" value="{number}">{number}</data>'


def ledger_html(page: "Page") -> str:
    """Every external number: what it says, who says it and when, and how far it was followed."""
    used = _used()
    entries = []
    for row in ledger.rows().values():
        value = f'<data class="kv-quote" value="{escape(row.value)}">{escape(row.value)}</data>'
        facts = [_source(row), f"<strong>{row.status}</strong>" + (f" by {_by(page, row.by)}" if row.by else "")]
        facts += [f'on <a href="{page.place(slug)}"><code>{slug}</code></a>' for slug in used.get(row.id, [])]
        entries.append(f'<dt id="claim-{row.id}">{_claim(row, value)}</dt><dd>{"<br>".join(facts)}</dd>')
    return '<dl class="kv-catalogue">\n' + "\n".join(entries) + "\n</dl>"


def _claim(row: ledger.Row, value: str) -> str:
    return f'<span class="kv-what">{escape(row.claim).replace("{value}", value)}</span>'


def _source(row: ledger.Row) -> str:
    name = f'<a href="{escape(row.url)}"><span class="kv-what">{escape(row.source)}</span></a>'
    return f"{name}, <time>{escape(row.date)}</time>"


def _by(page: "Page", by: str) -> str:
    """What recomputes or reproduces a number. A recorded one is linked where its record is the published one."""
    if ledger.is_test(by) or not page.published:
        return f"<code>{escape(by)}</code>"
    return f"<code>{escape(by)}</code>, {page.inline('num', by)}"


def _used() -> dict[str, list[str]]:
    """Which pages quote which number."""
    found: dict[str, list[str]] = {}
    docs = ROOT / "docs"
    for path in sorted(docs.rglob("*.md")):
        for name in dict.fromkeys(QUOTE.findall(path.read_text(encoding="utf-8"))):
            found.setdefault(name, []).append(path.relative_to(docs).with_suffix("").as_posix())
    return found


def quote_html(page: "Page", name: str) -> str:
    """A number of the ledger in a sentence, linked to its row. Raises UserError for one that it does not have."""
    row = ledger.quoted(name)
    return f'<a class="kv-quote" href="{page.to("reference/ledger/")}#claim-{row.id}">{escape(row.value)}</a>'


def claim_html(page: "Page", name: str) -> str:
    """The ledger's sentence about a number, then who says it and when. Raises UserError for a name that it does not have."""
    row = ledger.quoted(name)
    return f'{_claim(row, quote_html(page, name))}<small class="kv-source">{_source(row)}</small>'
