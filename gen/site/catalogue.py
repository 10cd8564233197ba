"""The list of all figures and records that `reference/figures` shows: made at each build, never written by hand."""

from html import escape
from typing import TYPE_CHECKING, Any

from gen import artefacts, devices, findings
from gen.tables import file_of

if TYPE_CHECKING:
    from gen.site.expand import Page

HASH_DIGITS = 12
CHECKING = """\
<p>The command of an entry computes its record again from the weights. {check} Whole numbers, texts and the lengths of lists
must be the same. A number with decimals was rounded to four significant digits when it was written down and stands for all
numbers that round to it; a fresh one may lie outside them by its tolerance, which allows for machines that add in another
order. A key that ends in <code>_bound</code> holds a limit, and what is measured anew must not exceed it.</p>
<p>A key leads from <code>values</code> of a file to one number: names, and places counted from zero. In
<code>cat/kv-02</code>, <code>k.2.2.3</code> is <code>k[2][2][3]</code>: the key of position <code>2</code>, in KV head
<code>2</code>, and of its numbers the one at <code>3</code>. In <code>cat/attention-02</code> the places are position, query
head, and number or key.</p>"""


def record_anchor(record: str, own_model: str) -> str:
    """The id of a record's entry: `record-cat-kv-00`; records of other models have the model's name in it."""
    model, _, name = record.partition("/")
    return "record-" + (name if model == own_model else record).replace("/", "-")


def to_html(page: "Page") -> str:
    """Every figure, then every record by model."""
    parts = ['<h2 id="figures">Figures</h2>', '<dl class="kv-catalogue">']
    parts += [_figure(page, figure) for figure in artefacts.FIGURES]
    parts += ["</dl>", '<h2 id="records">Records</h2>', _manifest(page), _checking(page)]
    for model in page.records.models:
        label = page.records.document(f"{model}/model")["values"]["label"]
        parts += [f'<h3 id="records-{model}">{_mark(label)}</h3>', '<dl class="kv-catalogue" data-search-exclude>']
        names = page.records.names(model)
        for name in names:
            if "/" not in name:
                shards = [shard for shard in names if shard.startswith(f"{name}/")]
                parts.append(_record(page, f"{model}/{name}", [f"{model}/{shard}" for shard in shards]))
        parts.append("</dl>")
    return "\n".join([*parts, *_tables(page), *_devices(page)])


def _figure(page: "Page", figure: artefacts.Figure) -> str:
    address = page.to("" if figure.page == "index" else f"{figure.page}/") + f"#fig-{figure.id}"
    files = " · ".join(
        f'<a href="{page.to(f"assets/figures/{figure.id}.{ending}")}">{ending.upper()}</a>' for ending in ("svg", "csv", "json")
    )
    return (
        f'<dt id="figure-{figure.id}"><a href="{address}"><code>{figure.id}</code></a></dt>'
        f"<dd><strong>{page.sentence(figure.title)}</strong> {page.sentence(findings.of(figure, page.records))}<br>"
        f"On <code>{figure.page}</code> · {files}</dd>"
    )


def _manifest(page: "Page") -> str:
    return (
        f'<p>The hash of all records together is <code class="kv-hash">{page.records.data_hash}</code>. '
        f'<a href="{page.to("data/manifest.json")}">The manifest</a> has the full hash of every file.</p>'
    )


def _checking(page: "Page") -> str:
    """How one record is computed again and compared, what may differ, and how to read a key."""
    published = (
        "It compares and writes nothing: <code>python -m gen run cat</code> checks one, <code>python -m gen run</code> all."
    )
    local = "With <code>--check</code> it compares and writes nothing."
    return CHECKING.format(check=published if page.published else local)


def _tables(page: "Page") -> list[str]:
    """What no run makes: tables kept by hand, each row with its sources."""
    parts = ['<h3 id="records-geometry">Tables kept by hand</h3>', '<dl class="kv-catalogue">']
    for file in sorted(name for name in page.records.hashes if name.startswith("geometry/")):
        record = file.removesuffix(".json")
        what = f'<span class="kv-what">{escape(page.records.document(record)["identity"]["what"])}</span>'
        parts.append(f"<dt{_id(page, record)}>{_file(page, record)}</dt><dd>{what}</dd>")
    return [*parts, "</dl>"] if len(parts) > 2 else []


def _devices(page: "Page") -> list[str]:
    """What was measured, by device; the reader's own last. It is taken once and compared with nothing."""
    parts = []
    for device in page.records.devices:
        own = ", your machine" if device.own else ""
        parts.append(f'<h3 id="records-{device.id.replace("/", "-")}">{_mark(device.environment["name"])}{own}</h3>')
        parts += ['<dl class="kv-catalogue" data-search-exclude>', *(_measured(page, one) for one in device.records), "</dl>"]
    return parts


def _measured(page: "Page", one: devices.Measurement) -> str:
    document = page.records.document(one.name)
    identity = document["identity"]
    facts = {
        "measured by": f"<code>{escape(identity['command'])}</code>",
        "device": _mark(document["environment"]["name"]),
        **({"model": _mark(identity["model"])} if identity["model"] else {}),
        "date": f"<time>{escape(str(document['environment']['date']))}</time>",
    }
    lines = "<br>".join(f"{name}: {text}" for name, text in facts.items())
    what = f'<span class="kv-what">{escape(identity["what"])}</span>'
    return f"<dt{_id(page, one.name)}>{_file(page, one.name)}</dt><dd>{what}<br>{lines}</dd>"


def _record(page: "Page", record: str, shards: list[str]) -> str:
    document = page.records.document(record)
    identity = document["identity"]
    facts = {
        "computed by": f"<code>{escape(str(identity['command']))}</code>",
        "model": _mark(identity["model"]),
        "revision": f"<code>{escape(str(identity['revision']))}</code>",
        "weights": f"<code>{escape(_weights(identity))}</code>",
        "tolerance": _tolerance(identity["tolerance"]),
        "recorded": f"<time>{escape(str(document['environment'].get('date', 'unknown')))}</time>",
    }
    lines = "<br>".join(f"{name}: {text}" for name, text in facts.items())
    files = "".join(f"<li{_id(page, name)}>{_file(page, name)}</li>" for name in shards)
    more = f"<details><summary>Files of this recording</summary><ul>{files}</ul></details>" if shards else ""
    what = f'<span class="kv-what">{escape(identity["what"])}</span>'
    return f"<dt{_id(page, record)}>{_file(page, record)}</dt><dd>{what}<br>{lines}{more}</dd>"


def _id(page: "Page", record: str) -> str:
    return f' id="{record_anchor(record, page.records.model)}"'


def _file(page: "Page", record: str) -> str:
    """A link to a file, with the beginning of its hash."""
    digits = f'<code class="kv-hash" data-search-exclude>sha256 {page.records.digest(record)[:HASH_DIGITS]}</code>'
    file = f"data/{file_of(record)}"
    return f'<a href="{page.to(file)}"><code>{escape(file)}</code></a> {digits}'


def _weights(identity: dict[str, Any]) -> str:
    """Which weights: a file's hash, or the seed of random ones."""
    if identity["weights_sha256"] is None:
        return f"random, seed {identity['seed']}"
    return f"sha256 {str(identity['weights_sha256'])[:HASH_DIGITS]}"


def _tolerance(tolerance: dict[str, float]) -> str:
    """The two limits in words: each of them holds."""
    return (
        f"at most <code>{tolerance['absolute']:g}</code>, and at most <code>{tolerance['of_largest']:g}</code> times the "
        "largest number under its key in the file"
    )


def _mark(text: object) -> str:
    """A name that may hold digits, marked as recorded."""
    return f'<data class="kv-val" value="{escape(str(text))}">{escape(str(text))}</data>'
