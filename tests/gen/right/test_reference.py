"""The reference: every file has its words, every external number its source, every term one link a page."""

import ast
import re
from pathlib import Path

import pytest

from gen import io, ledger, manifest
from gen.errors import UserError
from gen.paths import PUBLISHED, ROOT
from gen.site import glossary, reference
from gen.tables import Records
from tests.gen.right.conftest import Build

# --- data files --------------------------------------------------------------------------------------------------------


def test_every_data_file_is_described_key_by_key() -> None:
    """A file of one kind, a key in one line, and no words for what is no longer there."""
    spoken: dict[str, set[str]] = {kind.id: set() for kind in reference.kinds()}
    for name in manifest.load(PUBLISHED)["files"]:
        (kind,) = [kind for kind in reference.kinds() if kind.files.fullmatch(name.removesuffix(".json"))]
        known = [key for keys, _ in kind.keys for key in keys]
        assert len(known) == len(set(known)), kind.id
        values = io.read(PUBLISHED.data / name)["values"]
        assert set(values) - set(known) == set(), f"{name}: say in gen/schema.yaml what these are"
        spoken[kind.id] |= set(values)
    for kind in reference.kinds():
        if spoken[kind.id] or not kind.id.startswith("measured-"):  # which measurements there are is up to the devices
            assert {key for keys, _ in kind.keys for key in keys} == spoken[kind.id], kind.id


# --- numbers of others -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ledger.rows())
def test_every_external_number_has_its_source(name: str) -> None:
    row = ledger.rows()[name]
    assert row.url.startswith(("https://", "../"))
    assert row.source
    assert row.date
    if ledger.is_test(row.by):
        file, _, function = row.by.partition("::")
        tree = ast.parse((ROOT / file).read_text())
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    elif row.by:
        assert row.status == "reproduced"
        assert Records(PUBLISHED).number(row.by).text


ROW = "- {id: a, claim: 'It is {value}.', value: 1, source: s, url: u, date: d, status: quoted}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ROW + ROW, r"row 1 \(a\).*id of its own"),
        (ROW.replace("quoted", "guessed"), "known status"),
        (ROW.replace("{value}", "1"), "{value}"),
        (ROW.replace("quoted", "recomputed"), "needs a test"),
        (ROW.replace(", date: d", ""), "date"),
    ],
)
def test_a_row_that_says_too_little_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "ledger.yaml").write_text(text)
    with pytest.raises(UserError, match=words):
        ledger.rows(tmp_path / "ledger.yaml")


def test_a_quoted_number_leads_to_its_row(build: Build) -> None:
    text = "# T\n\nBlocks of {quote:vllm-block-tokens} tokens.\n"
    out = build({"learn/one-token.md": text, "reference/ledger.md": "# L\n\n{ledger}\n"})
    link = re.search(r'<a class="kv-quote" href="([^"#]*)#([^"]*)">16</a>', (out / "learn/one-token/index.html").read_text())
    assert link is not None
    assert link[1] == "../../reference/ledger/"
    assert f'id="{link[2]}"' in (out / "reference/ledger/index.html").read_text()


def test_a_sentence_of_others_brings_its_source_along(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    row = ledger.Row(
        "a", "It <is> {value}, they say.", "7 × 2", "S & T", "https://x.org", "2026-11", "reproduced", "cat.tokens_total"
    )
    monkeypatch.setattr(ledger, "rows", lambda: {"a": row})
    text = "# T\n\n| what | but |\n|---|---|\n| {claim:a} | no |\n\n{claim:a}\n\n:   no\n"
    out = build({"learn/one-token.md": text, "reference/ledger.md": "# L\n\n{ledger}\n"})
    page = (out / "learn/one-token/index.html").read_text()
    claim = (
        'It &lt;is&gt; <a class="kv-quote" href="../../reference/ledger/#claim-a">7 × 2</a>, they say.</span>'
        '<small class="kv-source"><a href="https://x.org"><span class="kv-what">S &amp; T</span></a>, '
        "<time>2026-11</time></small>"
    )
    assert page.count(claim) == 2
    assert "<dt>" in page
    listed = (out / "reference/ledger/index.html").read_text()
    assert "<code>cat.tokens_total</code>" in listed


# --- words -------------------------------------------------------------------------------------------------------------


def linked(html: str, page: str = "tour") -> str:
    return re.sub(r'<a class="kv-term" href="g/#term-([^"]*)">([^<]*)</a>', r"[\2>\1]", glossary.linked(html, page, "g/"))


@pytest.mark.parametrize(
    ("html", "made"),
    [
        ("<p>A token, then tokens.</p>", "<p>A [token>token], then tokens.</p>"),
        ("<p>A KV head and a head</p>", "<p>A [KV head>kv-head] and a [head>head]</p>"),
        (
            "<p>GQA, grouped-query attention</p>",
            "<p>[GQA>grouped-query-attention], grouped-query attention</p>",
        ),
        ("<h2>Tokens</h2><p><b>Tokens</b></p>", "<h2>Tokens</h2><p><b>[Tokens>token]</b></p>"),
        (
            '<a href="x">token <em>t</em></a> <code>t</code> token',
            '<a href="x">token <em>t</em></a> <code>t</code> [token>token]',
        ),
        ('<img alt="a > token"> <br/> token', '<img alt="a > token"> <br/> [token>token]'),
        ('<figure><div>token</div></figure><span class="arithmatex">\\(token\\)</span>', None),
        ("<!-- token --> <p>subtoken token-wise multi-head key value</p>", None),
        ("<p>grouped-query\nattention</p>", "<p>[grouped-query\nattention>grouped-query-attention]</p>"),
        ("<p>keys and values</p>", "<p>[keys and values>key]</p>"),
    ],
)
def test_the_first_use_of_a_term_is_linked(html: str, made: str | None) -> None:
    assert linked(html) == (html if made is None else made)


def test_a_page_that_explains_a_term_does_not_send_its_reader_away() -> None:
    assert linked("<p>a token in a KV head</p>", "learn/prefill") == "<p>a [token>token] in a KV head</p>"
    assert linked("<p>token</p>", "reference/notation") == "<p>token</p>"


def test_a_word_that_somebody_coined_names_them() -> None:
    term = glossary.Term("swap", "Out and in.", "tour", "A & B, section 4", "https://x.org", ("swap",))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(glossary, "terms", lambda: (term,))
        html = glossary.to_html(lambda place: place)
    assert '<br>From <a href="https://x.org"><span class="kv-what">A &amp; B, section 4</span></a></dd>' in html
    for item in glossary.terms():
        assert bool(item.source) == item.url.startswith("https://")


def test_terms_are_told_apart() -> None:
    forms = [form.lower() for item in glossary.terms() for form in item.forms]
    assert sorted(forms) == sorted(set(forms))
    assert len({item.anchor for item in glossary.terms()}) == len(glossary.terms())
    assert all(item.words.endswith(".") for item in glossary.terms())
