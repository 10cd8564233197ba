"""What is said about citing: one source, every form of it the same."""

import json
import re
from pathlib import Path

import pytest
import yaml

from gen.errors import UserError
from gen.paths import ROOT
from gen.site import cite
from gen.tables import Records
from tests.gen.right.conftest import Build

CFF = yaml.safe_load((ROOT / "CITATION.cff").read_text())


def field(entry: str, name: str) -> str:
    found = re.search(rf"^\s*{name}\s*= {{(.*)}},$", entry, re.MULTILINE)
    assert found, entry
    return found[1].strip("{}")


def test_citation_file_is_what_its_format_asks_for() -> None:
    assert CFF["cff-version"] == "1.2.0"
    assert CFF["message"]
    assert [author["name"] for author in CFF["authors"]] == ["The kvref authors"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", CFF["date-released"])
    assert "doi" not in CFF
    assert "identifiers" not in CFF


SITE = "https://example.org/kv/"


def test_page_tags_json_ld_bibtex_and_file_agree(build: Build, records: Records) -> None:
    page_text = "---\ntitle: One & two\ndescription: Words.\n---\n\n# T\n\n{fig:lanes}\n"
    html = (build({"learn/one-token.md": page_text}, site_url=SITE) / "learn/one-token/index.html").read_text()
    tags = dict(re.findall(r'<meta name="citation_(\w+)" content="([^"]*)">', html))
    described = json.loads(re.findall(r'ld\+json">(.*?)</script>', html)[0])
    page, figure = sorted(re.findall(r"@misc\{.*?\n\}", html, re.DOTALL), key=lambda text: "kvref-fig" in text)
    url = f"{SITE}learn/one-token/"
    assert tags["title"] == "One &amp; two: The KV cache, measured"
    assert described["name"] == "One & two: The KV cache, measured"
    assert field(page, "title") == "One \\&amp; two: The KV cache, measured"
    assert field(figure, "title") == "Two lanes (figure in: The KV cache, measured)"
    for entry in (page, figure):
        assert field(entry, "author") == tags["author"] == described["author"][0]["name"] == "The kvref authors"
        assert field(entry, "version") == described["version"] == CFF["version"]
        assert field(entry, "year") == tags["publication_date"][:4] == CFF["date-released"][:4]
        assert f"Version {CFF['version']}. Data SHA-256 {records.data_hash[:12]}" in field(entry, "note")
        assert field(entry, "howpublished") == rf"\url{{{field(entry, 'url')}"
        assert "locally" not in entry
        assert "doi" not in entry.lower()
    assert tags["publication_date"].replace("/", "-") == described["datePublished"] == CFF["date-released"]
    assert field(page, "url") == tags["public_url"] == described["url"] == url
    assert field(figure, "url") == f"{url}#fig-lanes"
    assert re.findall(r'<link rel="canonical" href="([^"]*)"', html) == [url]
    assert page.startswith("@misc{kvref-learn-one-token,")
    assert figure.startswith("@misc{kvref-fig-lanes,")


def test_the_address_is_one_setting(build: Build) -> None:
    html = (build({}, site_url=SITE) / "index.html").read_text()
    assert "127.0.0.1" not in html
    assert html.count(f"{SITE}#fig-cover") == 2  # \\url{…} and url


def test_a_site_built_for_this_machine_gives_no_address(build: Build) -> None:
    out = build({})
    for page in ("index.html", "reference/figures/index.html"):
        html = (out / page).read_text()
        assert [line for line in html.splitlines() if "127.0.0.1" in line and "canonical" not in line] == []
        assert "CC BY 4.0. Built locally}" in html
        assert "url" not in re.findall(r'ld\+json">(.*?)</script>', html)[0].lower()


def test_the_data_are_described_where_they_are_listed(build: Build, records: Records) -> None:
    html = (build({}, site_url=SITE) / "reference/figures/index.html").read_text()
    page, data = json.loads(re.findall(r'ld\+json">(.*?)</script>', html)[0])["@graph"]
    assert page["@type"] == "LearningResource"
    assert data["@type"] == "Dataset"
    assert data["identifier"] == f"sha256:{records.data_hash}"
    assert data["distribution"][0]["contentUrl"] == f"{SITE}data/manifest.json"
    assert html.index("ld+json") < html.index("</head>")


@pytest.mark.parametrize("key", ["title", "authors", "version", "date-released"])
def test_a_missing_field_is_named(tmp_path: Path, key: str) -> None:
    file = tmp_path / "CITATION.cff"
    file.write_text(yaml.safe_dump({name: value for name, value in CFF.items() if name != key}))
    with pytest.raises(UserError, match=key):
        cite.read(file)


def test_tex_cannot_be_smuggled_into_bibtex() -> None:
    source = cite.Source("key", r"50% of $x_1 & {y} \input", "https://example.org/", "0" * 64)
    assert r"50\% of \$x\_1 \& \{y\} \textbackslash{}input" in cite.bibtex(cite.read(), source)
