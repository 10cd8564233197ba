"""Measurements on pages: with none, one and several devices, and the reader's own beside them. None is named by a page."""

import json
import re
from pathlib import Path

import pytest

from gen import artefacts, devices, figures, findings, io, measured
from gen.errors import CheckFailed, UserError
from gen.paths import Site
from gen.site import measured as tables
from gen.site.visible import runs
from gen.tables import Records, UnknownKey
from tests.gen.right import made_measured as made
from tests.gen.right.conftest import MODEL, Build
from tests.gen.right.test_published import CHROME, ORIGINS, has_digit

ROWS = [row for row in artefacts.FIGURES if row.measured]
KINDS = "\n\n".join(f"{{measured:{name}}}" for name in tables.TABLES_OF)
TEXT = f"# T\n\n**{{finding:budget|Nothing yet.}}**\n\n{KINDS}\n"


def page(build: Build) -> str:
    found = re.search(r"<article.*?</article>", (build({"measure/x.md": TEXT}) / "measure/x/index.html").read_text(), re.DOTALL)
    assert found is not None
    return found[0]


def own(slug: str = "my-cpu", busy: bool = False) -> None:
    made.write(measured.own(), slug, made.CPU | {"name": "Mine"}, made.processor(busy))


# --- what there is ------------------------------------------------------------------------------------------------------


def test_devices_are_found_in_their_folders(site: Site) -> None:
    assert devices.found(site) == ()
    made.publish(site, "a-gpu", graphics=True)
    made.publish(site)
    own()
    found = devices.found(site)
    assert [one.id for one in found] == ["measured/made-up-cpu", "measured/a-gpu", "own/my-cpu"]  # real weights first
    assert [one.own for one in found] == [False, False, True]
    assert [one.label for one in found] == [
        "Made-up CPU 7 @ 2.20GHz with 2 threads",
        "Made-up GPU 9",
        "yours: Mine with 2 threads",
    ]
    assert [entry["id"] for entry in devices.offered(found, ["prefill"])] == [
        *("measured/made-up-cpu", "measured/a-gpu/gpt2-small", "measured/a-gpu/llama-3-8b", "own/my-cpu"),
    ]
    assert [entry["id"] for entry in devices.offered(found, ["decode"])] == ["measured/made-up-cpu", "own/my-cpu"]
    random = devices.offered(found, ["prefill"])[1]["credit"]
    assert "random weights" in random
    assert "random" not in devices.offered(found, ["prefill"])[0]["credit"]


def test_a_quick_run_is_no_measurement(site: Site) -> None:
    made.publish(site)
    path = site.data / "measured" / "made-up-cpu" / "decode.json"
    document = io.read(path)
    document["identity"]["quick"] = True
    path.write_bytes(io.canonical(document))
    with pytest.raises(CheckFailed, match=r"decode\.json.*quick run.*delete"):
        devices.found(site)


def test_a_number_is_read_from_a_measurement(site: Site) -> None:
    made.publish(site)
    own()
    records = Records(site)
    number = records.number("measured/made-up-cpu/decode.at.1024.contiguous.measured.min_ms|ms")
    assert number.record == "measured/made-up-cpu/decode"
    assert number.key == "at.1024.contiguous.measured.min_ms"
    assert re.fullmatch(r"42\.\d\u00a0ms", number.text)
    assert number.precision == "4 significant digits, measured once"
    assert records.number("own/my-cpu/pays.from_tokens").precision == "exact"
    assert records.digest(number.record) == records.hashes["measured/made-up-cpu/decode.json"]
    assert re.fullmatch(r"[0-9a-f]{64}", records.digest("own/my-cpu/pays"))
    with pytest.raises(UnknownKey, match="nearest: measured/made-up-cpu/decode"):
        records.number("measured/made-up-cpu/decod.x")


# --- sentences ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", findings.SENTENCES)
def test_a_sentence_comes_with_a_record_and_says_what_it_says(site: Site, name: str) -> None:
    assert findings.sentence(name, Records(site)) is None
    made.publish(site)
    said = Records(site).plain(findings.sentence(name, Records(site)) or "")
    assert said.endswith(".")
    assert not re.search(r"[{}]|None|nan|True|False", said)
    own("another", busy=True)
    assert Records(site).plain(findings.sentence(name, Records(site)) or "") == said, "the published device speaks"


def test_no_verdict_is_given_for_a_busy_machine(site: Site) -> None:
    made.publish(site, busy=True)
    records = Records(site)
    budget, pays = (records.plain(findings.sentence(name, records) or "") for name in ("budget", "pays"))
    assert "the bound of at least 80\u202f% is held" in budget
    assert "no verdict" in budget
    assert "cannot be said" in pays
    assert "lie too far apart" in pays


def test_an_unknown_sentence_is_named(site: Site) -> None:
    with pytest.raises(UserError, match=r"'x'.*known: .*budget"):
        findings.sentence("x", Records(site))


def test_every_sentence_and_reason_is_one_that_is_used() -> None:
    assert {row.finding for row in ROWS} <= set(findings.SENTENCES)
    for row in ROWS:
        assert row.finding
        assert row.alt == artefacts.UNMEASURED


# --- tables -------------------------------------------------------------------------------------------------------------


def test_with_no_record_a_page_says_so(build: Build) -> None:
    html = page(build)
    assert "<strong>Nothing yet.</strong>" in html
    assert html.count("There is no record yet") == len(tables.ALONE)
    assert "kv-device" not in html


def test_a_device_appears_by_itself_with_its_name_its_date_and_its_samples(build: Build, site: Site) -> None:
    made.publish(site)
    html = page(build)
    assert html.count('<details class="kv-device"') == len(tables.TABLES_OF)
    assert html.count("There is no record yet") == 0
    assert html.count("Made-up CPU 7 @ 2.20GHz with 2 threads</data>") >= len(tables.TABLES_OF)
    assert html.count("<time>2026-11-29</time>") == len(tables.TABLES_OF)
    assert 'href="../../data/measured/made-up-cpu/decode.json"' in html
    assert "keeps to" in html
    assert "products" in html
    assert "your machine" not in html
    assert [run.text for run in runs(html, outside=ORIGINS | CHROME) if has_digit(run)] == []


def test_a_second_device_and_the_readers_own_stand_beside_it(build: Build, site: Site) -> None:
    made.publish(site)
    made.publish(site, "made-up-gpu", graphics=True)
    own(busy=True)
    html = page(build)
    assert html.count(">your machine<") == len(tables.TABLES_OF)
    for name in ("Made-up GPU 9", "gpt2-small", "llama-3-8b"):
        assert f">{name}</data>" in html
    assert "Left out for want of memory" in html
    assert "Left out for want of time" in html
    assert "<em>uneven</em>" in html
    assert "none: too uneven" in html
    assert [run.text for run in runs(html, outside=ORIGINS | CHROME) if has_digit(run)] == []


def test_every_number_leads_to_an_entry_and_a_file(build: Build, site: Site) -> None:
    made.publish(site)
    own()
    out = build({"measure/x.md": TEXT})
    listed, html = ((out / name / "index.html").read_text() for name in ("reference/figures", "measure/x"))
    anchors = set(re.findall(r'class="kv-num" href="[^"]*#(record-[^"]*)"', html))
    assert {"record-measured-made-up-cpu-decode", "record-own-my-cpu-decode"} <= anchors
    assert [anchor for anchor in anchors if f'id="{anchor}"' not in listed] == []
    for name, key, exact in re.findall(r'data-record="([^"]*)" data-key="([^"]*)" data-exact="([^"]*)"', html):
        value = json.loads((out / "data" / f"{name}.json").read_text())["values"]
        for step in key.split("."):
            value = value[int(step)] if isinstance(value, list) else value[step]
        assert json.loads(exact) == value, key


def test_an_unknown_table_stops_the_build(build: Build, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Exception, match="not built"):
        build({"measure/x.md": "# T\n\n{measured:speed}\n"})
    assert "no table 'speed' of measurements; known: devices" in caplog.text


def test_every_reason_of_the_rule_has_its_words() -> None:
    rule = (Path(findings.__file__).parent / "measure" / "predict.py").read_text()
    named = {word for word in re.findall(r"`([a-z-]+)`", rule.split('"""')[1]) if "." not in word}
    assert named <= set(tables_why())


def tables_why() -> dict[str, tuple[str, str]]:
    from gen.site.cells import WHY

    return WHY


# --- pictures -----------------------------------------------------------------------------------------------------------


def drawn(site: Site, tmp_path: Path) -> dict[str, dict[str, object]]:
    entries = [
        {
            "id": row.id, "picture": row.picture, "tag": f"kv-{row.picture}", "label": row.title,
            "texts": {"title": row.title, "alt": row.alt, "source": ""}, "plotly": None, "reads": [],
            "context": {"figure": row.id, "options": dict(row.options), "state": {}, "recordings": [],
                        "devices": devices.offered(devices.found(site), row.measured, {MODEL: "The model"})},
        }
        for row in ROWS
    ]  # fmt: skip
    return figures.run_node(entries, tmp_path, devices.found(site))


def test_pictures_with_no_device_say_so(site: Site, tmp_path: Path) -> None:
    for name, one in drawn(site, tmp_path).items():
        assert "No device has been measured yet." in str(one["html"]), name
        assert "<select" not in str(one["html"])
        assert one["records"] == []
        assert len(one["cells"]) == 1  # type: ignore[arg-type]


def test_pictures_with_two_devices_offer_both_and_hold_every_sample(site: Site, tmp_path: Path) -> None:
    made.publish(site)
    own()
    for name, one in drawn(site, tmp_path).items():
        html, cells = str(one["html"]), one["cells"]
        assert html.count('<option value="') == 2, name
        assert '<option value="own/my-cpu">yours: Mine with 2 threads</option>' in html
        assert "undefined" not in html + str(one["svg"])
        assert "NaN" not in html + str(one["svg"])
        assert all(record.startswith("measured/made-up-cpu/") for record in one["records"])  # type: ignore[attr-defined]
        assert cells
        for cell in cells:  # type: ignore[attr-defined]
            value = io.read(devices.path(site, cell["record"]))["values"]
            for step in cell["key"].split("."):
                value = value[int(step)] if isinstance(value, list) else value[step]
            assert value == cell["value"], (name, cell)
    samples = [cell["key"] for cell in drawn(site, tmp_path)["decode-time"]["cells"]]  # type: ignore[index]
    assert sum("samples_ms" in key for key in samples) == 8 * (6 + 6 + 4)


def test_a_table_of_many_rows_shows_some_and_says_so(build: Build, site: Site) -> None:
    values = made.processor()
    batches = [2**n for n in range(24)]
    one = values["batch"]["at"]["256"]["1"]
    values["batch"] |= {"batches": {"256": batches}, "at": {"256": {str(batch): one for batch in batches}}}
    made.write(measured.own(), "many", made.CPU, {"batch": values["batch"]})
    html = page(build)
    rows = html.split("tokens a second")[1].split("</tbody>")[0].count("<tr><td>")
    assert rows == 16
    assert re.search(r">8</data> more in the file\.", html)
    assert f"{2**23:,}" in html
