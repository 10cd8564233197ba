"""What each key of a page stands for, as HTML. Knows data, drawn figures and addresses, but no Markdown."""

from html import escape

from mkdocs.utils import get_relative_url

from gen import artefacts, findings, io, listings
from gen.devices import is_measured
from gen.errors import UserError
from gen.paths import shown
from gen.site import catalogue, cells, cite, glossary, measured, reference
from gen.site.extension import PageError
from gen.tables import KEY, Number, Records, file_of

FIGURES = {figure.id: figure for figure in artefacts.FIGURES}
LISTS = {"figures": catalogue.to_html, "data": reference.data_html, "ledger": reference.ledger_html}
TEX = {",": "{,}", "\u2212": "-", "×": r"\times ", "%": r"\%", "<": r"\lt ", "\u00a0": "~", "\u202f": r"\,"}


class Page:
    """Turns the keys of one page into HTML (see `gen.site.extension.Expander`)."""

    def __init__(self, records: Records, work: cite.Work, site_url: str, url: str) -> None:
        self.records = records
        self.work = work
        self.site_url = site_url
        self.url = url  # from the site's root, "learn/one-token/"
        self.slug = url.strip("/") or "index"
        self.steps_id = self.slug.rpartition("/")[2]
        self.published = records.site.published

    def to(self, target: str) -> str:
        """The address of `target` (from the site's root) as seen from this page."""
        return str(get_relative_url(target or "./", self.url))

    def place(self, place: str) -> str:
        """The address of `page` or `page#section` as seen from this page."""
        slug, sign, section = place.partition("#")
        return self.to("" if slug == "index" else f"{slug}/") + sign + section

    # --- in a sentence ---------------------------------------------------------------------------------------------

    def inline(self, kind: str, body: str) -> str:
        """HTML of a number, of a value without a link, of a number or sentence of others, or of a demo button."""
        if kind == "demo":
            return self._demo(body)
        if kind == "finding":
            name, _, otherwise = body.partition("|")
            return self.sentence(findings.sentence(name.strip(), self.records) or otherwise.strip())
        if kind in ("quote", "claim"):
            return (reference.quote_html if kind == "quote" else reference.claim_html)(self, body)
        number = self.records.number(body)
        return self._linked(number) if kind == "num" else _value(number, "kv-val", _origin(number))

    def _linked(self, number: Number) -> str:
        anchor = self.to("reference/figures/") + "#" + catalogue.record_anchor(number.record, self.records.model)
        return f'<a class="kv-num" href="{anchor}"{_origin(number)}>{_value(number)}</a>'

    def _demo(self, body: str) -> str:
        parts = [part.strip() for part in body.split("|")]
        if len(parts) != 3 or not all(parts):
            raise PageError(f"{{demo:{body}}} is not of the form {{demo:ID|field:value,…|words}}")
        name, state, words = parts
        page = _figure(name).page
        fields = io.read(self.records.site.figures / f"{name}.json")["fields"]
        for field in (choice.partition(":")[0] for choice in state.split(",")):
            if field not in fields:
                raise PageError(f"figure {name!r} has no field {field!r}; it has {', '.join(fields) or 'none'}")
        where = "" if page == self.slug else self.to("" if page == "index" else f"{page}/")
        return f'<a class="kv-demo" href="{escape(f"{where}?{name}={state}#fig-{name}")}">{escape(words)}</a>'

    def sentence(self, text: str) -> str:
        """A caption or alt sentence: escaped, its `{val:…}` as numbers with their origin."""
        pieces, end = [], 0
        for match in KEY.finditer(text):
            words = self.inline("num", match[2]) if match[1] != "is" else cells.mark(match[2])
            pieces += [escape(text[end : match.start()]), words]
            end = match.end()
        return "".join([*pieces, escape(text[end:])])

    def tex(self, body: str) -> str:
        """A number as TeX."""
        text = self.records.number(body).text.replace("\u00a0×\u00a0", "×")
        return "".join(TEX.get(letter, letter) for letter in text)

    # --- on a line of its own --------------------------------------------------------------------------------------

    def block(self, kind: str, body: str) -> str:
        """HTML of a figure, a listing, or one of the lists of the reference."""
        if kind == "fig":
            return self._drawn(body)
        if kind == "code":
            return listings.to_html(body)
        if kind == "measured":
            return measured.to_html(self, body)
        if kind == "glossary":
            return glossary.to_html(self.place)
        return LISTS[kind](self)

    def _drawn(self, name: str) -> str:
        figure = _figure(name)
        if figure.page != self.slug:
            raise PageError(f"figure {name!r} stands on page {figure.page!r} in gen/artefacts.py")
        file = self.records.site.figures / f"{name}.html"
        if not file.is_file():
            raise PageError(f"{shown(file)} is missing; `python -m gen draw {name}` makes it")
        title = f'<strong class="kv-title">{self.sentence(figure.title)}</strong>'
        finding = f'<span class="kv-finding">{self.sentence(findings.of(figure, self.records))}</span>'
        # HTML wants a caption to be first or last; the style sheet shows it above the tools.
        return (
            f'<figure class="kv-figure" id="fig-{name}" data-search-exclude>{file.read_text(encoding="utf-8")}'
            f'{self._tools(figure)}<figcaption id="fig-{name}-caption">{title} {finding}</figcaption></figure>'
        )

    def _tools(self, figure: artefacts.Figure) -> str:
        """The row below a figure: cite, link, data, pictures, licence."""
        name = figure.id
        source = cite.figure_source(
            self.work, name, self.records.plain(figure.title), self.site_url + self.url, self.records.data_hash
        )
        files = {ending: self.to(f"assets/figures/{name}.{ending}") for ending in ("svg", "csv", "json")}
        tools = [
            f'<details class="kv-tool-cite"><summary>cite</summary>{bibtex_html(self.work, source)}</details>',
            f'<a class="kv-tool-link" href="#fig-{name}">link</a>',
            f'<details class="kv-tool-data"><summary>data</summary>{self._made(name)}</details>',
            f'<a class="kv-tool-svg" href="{files["svg"]}" download>SVG</a>',
            '<button type="button" class="kv-tool-png" hidden>PNG</button>',
            f'<a class="kv-tool-csv" href="{files["csv"]}" download>CSV</a>',
            f'<a class="kv-tool-json" href="{files["json"]}" download>JSON</a>',
            f'<a class="kv-tool-licence" rel="license" href="{cite.CC_BY}">CC BY 4.0</a>',
        ]
        return f'<div class="kv-tools">{"".join(tools)}</div>'

    def _made(self, name: str) -> str:
        """How a figure was made: the files it was drawn from, each with its command."""
        items = []
        for record in io.read(self.records.site.figures / f"{name}.json")["records"]:
            anchor = self.to("reference/figures/") + "#" + catalogue.record_anchor(record, self.records.model)
            file = f"data/{file_of(record)}"
            link = f'<a href="{self.to(file)}"><code>{escape(file)}</code></a>'
            command = f"made by <code>{escape(self.records.document(record)['identity']['command'])}</code>"
            how = "kept by hand" if record.startswith("geometry/") else command
            items.append(f'<li>{link}, {how} (<a href="{anchor}">more</a>)</li>')
        return f'<ul class="kv-made">{"".join(items) or "<li>nothing: there is no record yet</li>"}</ul>'


def bibtex_html(work: cite.Work, source: cite.Source) -> str:
    """A BibTeX entry to copy."""
    entry = escape(cite.bibtex(work, source))
    return f'<div class="highlight kv-bibtex kv-copied">{listings.COPY}<pre><code>{entry}\n</code></pre></div>'


def _figure(name: str) -> artefacts.Figure:
    if name not in FIGURES:
        raise UserError(f"there is no figure {name!r}; known: {', '.join(FIGURES)}.")
    return FIGURES[name]


def _origin(number: Number) -> str:
    """Where a number comes from, as attributes."""
    facts = {"record": number.record, "key": number.key, "exact": number.exact}
    facts |= {} if is_measured(number.record) else {"precision": number.precision}  # of a time the page knows it itself
    return "".join(f' data-{name}="{escape(text)}"' for name, text in facts.items() if text)


def _value(number: Number, name: str = "", origin: str = "") -> str:
    kind = f' class="{name}"' if name else ""
    return f'<data{kind} value="{escape(number.exact)}"{origin}>{escape(number.text)}</data>'
