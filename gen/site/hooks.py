"""What only the site builder can do: draw what is stale, copy bundles, typeset formulas, swap data, write policies.

MkDocs calls the `on_…` functions, in the order in which they stand. The work itself is in the modules they call.
"""

import json
import logging
import os
import posixpath
import re
import sys
from html import escape
from pathlib import Path
from typing import Any

# `mkdocs` alone does not look for modules in the folder it runs in, and names this one without its package.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page as DocsPage
from mkdocs.utils import get_relative_url

from gen import draw, io, node, notebooks, paths
from gen.errors import UserError
from gen.site import cite, formulas, glossary, notebook, policy
from gen.site.expand import Page, bibtex_html
from gen.site.extension import LEFT_OVER, Keys, PageError
from gen.site.visible import runs
from gen.tables import Records

log = logging.getLogger("mkdocs.hooks.kvref")
NAMED_CODE = re.compile(r'(<div class="doc-signature highlight"|<div class="doc doc-contents [^"]*")')  # of mkdocstrings
BUNDLE = "plotly.js-cartesian-dist-min/plotly-cartesian.min.js"  # in node_modules


class Build:
    """One build: the data, the citation, and the page that is rendered just now. It is the extension's expander."""

    def __init__(self, config: MkDocsConfig) -> None:
        name = os.environ.get("KVREF_SITE", paths.PUBLISHED_NAME)
        self.site = paths.PUBLISHED if name == paths.PUBLISHED_NAME else paths.local_site(name=name)
        self.records = Records(self.site)
        self.work = cite.read()
        self.site_url = str(config.site_url).rstrip("/") + "/"
        self.published = self.site.published
        self.facts = self.records.document(f"{self.records.model}/model")["values"]
        self.open("")

    def open(self, url: str) -> Page:
        """Turn to the page at `url`."""
        self.page = Page(self.records, self.work, self.site_url, url)
        self.steps_id = self.page.steps_id
        return self.page

    def inline(self, kind: str, body: str) -> str:
        """See Page.inline; a mistake is one of the page's."""
        return self._asked(kind, body, self.page.inline, kind, body)

    def block(self, kind: str, body: str) -> str:
        """See Page.block."""
        return self._asked(kind, body, self.page.block, kind, body)

    def tex(self, body: str) -> str:
        """See Page.tex."""
        return self._asked("val", body, self.page.tex, body)

    def _asked(self, kind: str, body: str, how: Any, *arguments: str) -> str:
        try:
            return str(how(*arguments))
        except (UserError, PageError) as problem:
            raise PageError(f"{{{kind}{':' if body else ''}{body}}}: {problem}") from None


_build: Build  # of the build that is running; MkDocs keeps no state between its events


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Check the data, draw what is stale, and put the extension in."""
    global _build
    _build = Build(config)
    notebooks.check(_build.site)
    if not draw.fresh(_build.records):
        draw.draw(_build.site)
    if Path(config.site_dir) == paths.PUBLISHED.output:  # else the caller chose a place, or it is a preview
        config.site_dir = str(_build.site.output)
    config.site_url = _build.site_url
    config.markdown_extensions = [*config.markdown_extensions, Keys(_build)]
    config.extra["kv"] = {
        "stand_in": bool(_build.facts.get("seeded")),
        "published": _build.published,
        "model": escape(str(_build.records.value("model.label")[2])),
    }
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add drawn figures and the chart library; put another site's data in the place of the published."""
    if not _build.published:
        for file in [file for file in files if re.match("data/(?!geometry/)", file.src_uri)]:
            files.remove(file)
        for path in sorted(_build.site.data.rglob("*.json")):
            files.append(_copied(config, f"data/{path.relative_to(_build.site.data).as_posix()}", path))
    for one in [one for device in _build.records.devices if device.own for one in device.records]:
        files.append(_copied(config, f"data/{one.name}.json", one.path))
    for path in sorted(_build.site.figures.iterdir()):
        if path.suffix in (".svg", ".csv", ".json") and path.name != "stamp.json":
            files.append(_copied(config, f"assets/figures/{path.name}", path))
    bundle = node.module(BUNDLE.partition("/")[0]) / BUNDLE.partition("/")[2]
    files.append(_copied(config, f"assets/vendor/{bundle.name}", bundle))
    return files


def _copied(config: MkDocsConfig, address: str, path: Path) -> File:
    return File.generated(config, address, abs_src_path=str(path))


def on_page_markdown(markdown: str, page: DocsPage, config: MkDocsConfig, files: Files) -> str:
    """Turn to the next page."""
    _build.open(page.url)
    if page.file.src_uri.endswith(".ipynb"):
        page.meta.update(notebook.facts(markdown))
    if not page.meta.get("description"):
        raise PageError("the page has no description in its head")
    return markdown


def on_page_content(html: str, page: DocsPage, config: MkDocsConfig, files: Files) -> str:
    """Trim a notebook; refuse a page on which a key was left as it was written; link terms where they are first used."""
    if page.file.src_uri.endswith(".ipynb"):
        html = notebook.trimmed(html, page.file.name, lambda link: _address(link, page, files))
    html = NAMED_CODE.sub(r"\1 data-search-exclude", html)  # names are found; the rest was a third of what every page loads
    for run in runs(html, outside=formulas.NOT_PROSE):
        if found := LEFT_OVER.search(run.text):
            raise PageError(f"{found[0]} was not recognised: keys for figures and code stand alone on a line")
    if files.get_file_from_path(f"{glossary.PAGE}.md") is None:
        return html
    return glossary.linked(html, _build.page.slug, _build.page.place(glossary.PAGE))


def _address(link: str, page: DocsPage, files: Files) -> str:
    """The address of the page whose source `link` names, as seen from `page`."""
    target = files.get_file_from_path(posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), link)))
    if target is None:
        raise PageError(f"there is no page {link!r}")
    return str(get_relative_url(target.url, page.url))


def on_env(env: Any, config: MkDocsConfig, files: Files) -> Any:
    """Typeset the formulas of all pages at once."""
    pages = {file.src_uri: file.page for file in files.documentation_pages() if file.page}
    done = formulas.typeset({name: page.content or "" for name, page in pages.items()})
    for name, page in pages.items():
        page.content = done[name]
        if found := formulas.raw_tex(done[name]):
            raise UserError(f"{name}: {found!r} would be shown as raw TeX; formulas need blank lines around $$.")
    return env


def on_page_context(context: Any, page: DocsPage, config: MkDocsConfig, nav: Any) -> Any:
    """What the template says about citing."""
    slug, title = _build.open(page.url).slug, str(page.meta.get("title") or page.title)
    source = cite.page_source(_build.work, slug, title, _build.site_url + page.url, _build.records.data_hash)
    described = cite.json_ld(
        _build.work, source, page.meta["description"], _build.site_url, dataset=slug == "reference/figures"
    )
    context["kv"] = {
        "tags": [(name, escape(text)) for name, text in cite.tags(_build.work, source)],
        "json_ld": json.dumps(described, ensure_ascii=False).replace("<", "\\u003c"),
        "bibtex": bibtex_html(_build.work, source),
    }
    return context


def on_post_page(output: str, page: DocsPage, config: MkDocsConfig) -> str:
    """The page's policy, from the scripts it really holds."""
    return policy.with_policy(output)


def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:
    """The same for 404.html, which is no page."""
    return policy.with_policy(output_content) if template_name.endswith(".html") else output_content


def on_build_error(error: Exception) -> None:
    """End with one sentence: MkDocs has already printed a page's mistake, with its name.

    A copy that failed names two files; it is the second that could not be written.
    """
    if isinstance(error, PageError):
        raise Abort("The site was not built.")
    if isinstance(error, UserError):
        raise Abort(f"error: {error}")
    if isinstance(error, OSError):
        raise Abort(f"error: {io.disk_sentence(Path(error.filename2 or error.filename or _build.site.output), error)}")
