"""Who, what and which version: the one reader of CITATION.cff, and every form in which it is said.

BibTeX below pages and figures, `citation_*` tags and JSON-LD in the head all come from here, so they cannot disagree.
No DOI is given, because there is none, and no address where the site was built for this machine alone.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from gen.errors import UserError
from gen.paths import ROOT, shown

CC_BY = "https://creativecommons.org/licenses/by/4.0/"
HASH_DIGITS = 12  # enough to tell versions of the data apart
OWN_MACHINE = {None, "localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True)
class Work:
    """What CITATION.cff says."""

    title: str
    abstract: str
    authors: tuple[str, ...]
    version: str
    date: str  # YYYY-MM-DD


@dataclass(frozen=True)
class Source:
    """Something that can be cited: a page or a figure, and the data it shows."""

    key: str  # of the BibTeX entry
    title: str
    url: str  # empty for a site that only this machine can reach
    data_hash: str


def read(path: Path = ROOT / "CITATION.cff") -> Work:
    """The metadata of the whole work. Raises UserError naming what is missing."""
    try:
        table = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as problem:
        raise UserError(f"{shown(path)} cannot be read: {problem}.") from None
    for key in ("title", "abstract", "authors", "version", "date-released"):
        if not isinstance(table, dict) or not table.get(key):
            raise UserError(f"{shown(path)} has no {key!r}.")
    names = tuple(str(author["name"]) for author in table["authors"])
    abstract = " ".join(table["abstract"].split())
    return Work(table["title"], abstract, names, str(table["version"]), str(table["date-released"]))


def public(url: str) -> str:
    """`url`, or nothing if it leads to the machine that built the site."""
    return "" if urlsplit(url).hostname in OWN_MACHINE else url


def bibtex(work: Work, source: Source) -> str:
    """A BibTeX entry. Double braces keep a group's name and the capitals of a title as they are; styles that know neither
    `url` nor `version` show `howpublished` and the note."""
    address = {"howpublished": rf"\url{{{source.url}}}", "url": source.url} if source.url else {}
    built = "" if source.url else ". Built locally"
    fields = {
        "author": " and ".join(f"{{{_tex(name)}}}" for name in work.authors),
        "title": f"{{{_tex(source.title)}}}",
        "year": work.date[:4],
        "version": work.version,
        **address,
        "note": f"Version {work.version}. Data SHA-256 {source.data_hash[:HASH_DIGITS]}. CC BY 4.0{built}",
    }
    width = max(map(len, fields))
    lines = [f"  {name:<{width}} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@misc{{{source.key},", *lines, "}"])


def page_source(work: Work, slug: str, title: str, url: str, data_hash: str) -> Source:
    """A page: its own title, then the work's."""
    whole = work.title if title == work.title else f"{title}: {work.title}"
    return Source("kvref-" + slug.replace("/", "-"), whole, public(url), data_hash)


def figure_source(work: Work, figure: str, title: str, page_url: str, data_hash: str) -> Source:
    """A figure: its title, then the work's; the address is the figure's own."""
    whole = f"{title.rstrip('.')} (figure in: {work.title})"
    return Source(f"kvref-fig-{figure}", whole, public(f"{page_url}#fig-{figure}"), data_hash)


def tags(work: Work, source: Source) -> list[tuple[str, str]]:
    """The `citation_*` tags that reference managers read: one author a tag, dates with slashes."""
    authors = [("citation_author", name) for name in work.authors]
    return [
        ("citation_title", source.title),
        *authors,
        ("citation_publication_date", work.date.replace("-", "/")),
        *([("citation_public_url", source.url)] if source.url else []),
        ("citation_language", "en"),
    ]


def json_ld(work: Work, source: Source, description: str, site_url: str, dataset: bool = False) -> dict[str, Any]:
    """schema.org's description of a page; of the data as well where `dataset` is true."""
    common: dict[str, Any] = {
        "author": [{"@type": "Organization", "name": name} for name in work.authors],
        "datePublished": work.date,
        "version": work.version,
        "license": CC_BY,
        "isAccessibleForFree": True,
        "inLanguage": "en",
    }
    here = {"url": source.url} if source.url else {}
    whole = {"@type": "WebSite", "name": work.title, **({"url": site_url} if source.url else {})}
    page: dict[str, Any] = {"@type": "LearningResource", "name": source.title, **here}
    page |= {"description": description, "isPartOf": whole}
    if not dataset:
        return {"@context": "https://schema.org", **page, **common}
    manifest = f"{site_url}data/manifest.json"
    download = {"@type": "DataDownload", "encodingFormat": "application/json", "contentUrl": manifest}
    data = {
        "@type": "Dataset",
        "name": f"{work.title}: recorded data",
        "description": work.abstract,
        **here,
        "identifier": f"sha256:{source.data_hash}",
        "creator": common["author"],
        **({"distribution": [download]} if source.url else {}),
    }
    return {"@context": "https://schema.org", "@graph": [{**page, **common}, {**data, **common}]}


def _tex(text: str) -> str:
    """`text` with what TeX would take for a command escaped."""
    words = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\u00a0": "~", "\u202f": r"\,"}
    return re.sub(r"[&%$#_{}\\~^\u00a0\u202f]", lambda match: words.get(match[0], f"\\{match[0]}"), text)
