"""Measured records: their form, where they lie, and what never replaces a good one."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from gen import io, manifest, measured, publish
from gen.errors import CheckFailed, UserError
from gen.measure.jobs import Job, Subject, document
from gen.measure.samples import Series, ratio
from gen.measure.store import Store, busy
from gen.paths import Site
from gen.records import TOLERANCE, Record

DEVICE = "some-cpu-2-cores"
QUIET = Series((10.0, 10.1, 10.2, 10.0, 10.3, 10.1, 10.0, 10.2))
BUSY = Series((5.0, 9.0, 9.5, 9.2, 9.1, 9.3, 9.0, 9.4))
FACTS = {"date": "2026-01-01", "machine": "m", "python": "3.11", "torch": "2", "name": "n", "memory_bytes": 1, "threads": 2}
JOB = Job("prefill", "prefill", "measure/predicted", "A prompt", lambda bench: {})


def made(series: Series = QUIET, **values: Any) -> dict[str, Any]:
    everything = {"tokens": [4], "at": {"4": {"measured": series.timing(), "ratio": ratio(series, QUIET, least=0.5)}}, **values}
    return document(JOB, Subject("m"), "python -m gen measure --device cpu", DEVICE, False, FACTS, everything)


@pytest.fixture
def store(build: Path) -> Store:
    return Store(DEVICE)


@pytest.fixture
def site(build: Path) -> Site:
    """A site with one recording, as `gen run` makes it."""
    found = Site("t")
    identity = {"what": "w", "page": "tour", "command": "python -m gen run cost", "model": "m", "revision": "1"}
    record = Record("cost", identity | {"weights_sha256": "0", "seed": None, "tolerance": TOLERANCE}, {"flops": [1, 2]})
    publish.write(found, "m", [record], complete=True)
    return found


def test_a_record_is_written_where_the_local_site_finds_it(store: Store, build: Path) -> None:
    assert "prefill.json" in store.write("prefill", made())
    assert measured.files(measured.own()) == {DEVICE: {"prefill": build / "measured" / DEVICE / "prefill.json"}}
    assert measured.check(measured.own()) == 1
    assert store.read("prefill") == json.loads(io.canonical(made()))


def test_quick_results_lie_apart(build: Path) -> None:
    Store(DEVICE, quick=True).write("prefill", made())
    assert measured.files(measured.own()) == {}


def test_a_published_record_is_listed_and_survives_a_run(site: Site) -> None:
    store = Store(DEVICE, site)
    store.check()
    store.write("prefill", made())
    name = f"measured/{DEVICE}/prefill.json"
    assert manifest.verify(site)["files"][name] == io.file_sha256(store.path("prefill"))
    identity = json.loads(site.record("m", "cost").read_bytes())["identity"]
    record = Record("cost", identity, {"flops": [1, 3]})
    publish.write(site, "m", [record], complete=True)
    assert name in manifest.verify(site)["files"]
    publish.check(site, "m", [record], complete=False)


def test_a_run_does_not_bless_a_changed_measurement(site: Site) -> None:
    store = Store(DEVICE, site)
    store.write("prefill", made())
    path = store.path("prefill")
    path.write_bytes(path.read_bytes().replace(b"10.3", b"10.4"))
    identity = json.loads(site.record("m", "cost").read_bytes())["identity"]
    with pytest.raises(CheckFailed, match=r"prefill\.json: expected SHA-256 .* `python -m gen measure --write`"):
        publish.write(site, "m", [Record("cost", identity, {"flops": [1, 2]})], complete=True)
    for ids in ([], ["decode"]):
        with pytest.raises(CheckFailed, match="SHA-256"):
            store.check(ids)


@pytest.mark.parametrize("lost", [True, False])
def test_the_command_that_a_sentence_names_mends_a_measurement(site: Site, lost: bool) -> None:
    store = Store(DEVICE, site)
    store.write("prefill", made())
    if lost:
        store.path("prefill").unlink()
    else:
        store.path("prefill").write_text("{")
    with pytest.raises(CheckFailed, match="`python -m gen measure --write`"):
        store.check()
    store.check(["prefill"])  # as it is about to be measured
    store.write("prefill", made())
    store.check()


@pytest.mark.parametrize("earlier", [True, False])
def test_a_record_that_cannot_be_listed_is_as_before(site: Site, earlier: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(DEVICE, site)
    if earlier:
        store.write("prefill", made())
    before = {path: path.read_bytes() for path in site.data.rglob("*") if path.is_file()}

    def full(*_: Any) -> None:
        raise UserError("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(manifest, "write", full)
        with pytest.raises(UserError, match="full"):
            store.write("prefill", made(Series((20.0, 20.2) * 4)))
    assert {path: path.read_bytes() for path in site.data.rglob("*") if path.is_file()} == before
    store.check()


def test_a_lost_manifest_is_made_again_with_the_measurements(site: Site) -> None:
    Store(DEVICE, site).write("prefill", made())
    site.manifest.unlink()
    identity = json.loads(site.record("m", "cost").read_bytes())["identity"]
    publish.write(site, "m", [Record("cost", identity, {"flops": [1, 2]})], complete=True)
    assert f"measured/{DEVICE}/prefill.json" in manifest.verify(site)["files"]


def test_a_check_looks_at_the_form(site: Site) -> None:
    store = Store(DEVICE, site)
    store.write("prefill", made())
    path, document = store.path("prefill"), made()
    document["values"]["at"]["4"]["measured"]["min_ms"] = 9.0
    path.write_bytes(io.canonical(document))
    files = manifest.load(site)["files"] | {f"measured/{DEVICE}/prefill.json": io.file_sha256(path)}
    manifest.write(site, files)
    identity = json.loads(site.record("m", "cost").read_bytes())["identity"]
    with pytest.raises(CheckFailed, match=r"values\.at\.4\.measured\.min_ms: expected 10 from the samples beside it, got 9"):
        publish.check(site, "m", [Record("cost", identity, {"flops": [1, 2]})], complete=False)


def spoil(document: dict[str, Any], keys: str, value: Any) -> dict[str, Any]:
    spoilt = copy.deepcopy(document)
    holder: Any = spoilt
    *path, last = keys.split(".")
    for key in path:
        holder = holder[key]
    holder[last] = value
    return spoilt


@pytest.mark.parametrize(
    ("keys", "value", "words"),
    [
        ("values.at.4.measured.median_ms", 3.0, "median_ms: expected 10.1"),
        ("values.at.4.measured.spread", 3.0, "spread: expected 1.01"),
        ("values.at.4.measured.max_ms", 10**400, "max_ms: expected"),  # more than a float can be
        ("values.at.4.measured.samples_ms", [1.0] * 7, "at least 8 samples, got 7"),
        ("values.at.4.measured.samples_ms", [1.0, 0.0] * 4, "times above zero"),
        ("values.at.4.measured.samples_ms", "10", "times above zero"),
        ("values.at.4.ratio.lopsided", True, "expected none where minimum and median disagree"),
        ("values.at.4.ratio.of_minima", -1.0, "expected ratios above zero"),
        ("identity.device", "another", "the name of its folder"),
        ("identity.what", "", "expected words"),
        ("identity.more", 1, "identity: expected"),
        ("environment", {}, "environment: date"),
        ("values", [], "keys of their own"),
        ("more", 1, "expected environment, identity, values"),
    ],
)
def test_a_wrong_form_is_named(store: Store, keys: str, value: Any, words: str) -> None:
    path = store.path("prefill")
    path.parent.mkdir(parents=True)
    path.write_bytes(io.canonical(spoil(made(), keys, value)))
    with pytest.raises(CheckFailed, match=words):
        measured.read(path)
    assert store.read("prefill") is None
    with pytest.raises(UserError, match="was not kept"):
        store.write("decode", spoil(made(), keys, value))
    assert not store.path("decode").exists()


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b'{"identity":1}', b"NaN"])
def test_what_is_no_record_is_refused(store: Store, data: bytes) -> None:
    path = store.path("prefill")
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    with pytest.raises(CheckFailed, match=r"prefill\.json"):
        measured.read(path)


def test_a_busy_machine_replaces_no_quiet_record(store: Store) -> None:
    assert "the machine was busy" in store.write("prefill", made(BUSY))  # better than nothing
    store.write("prefill", made(QUIET))
    before = store.path("prefill").read_bytes()
    with pytest.raises(CheckFailed, match=r"busy during prefill \(1 uneven series\).*was kept"):
        store.write("prefill", made(BUSY))
    assert store.path("prefill").read_bytes() == before
    assert (busy(made(BUSY)["values"]), busy(made(QUIET)["values"])) == (1, 0)


def test_samples_are_kept_as_they_come(store: Store) -> None:
    store.note("prefill", "4 tokens", {"prefill": [1.0, 2.0]})
    store.note("prefill", "8 tokens", {"prefill": []})
    store.note("decode", "context 4", {"concat": [3.0]})
    lines = [json.loads(line) for line in store.journal.read_text().splitlines()]
    assert [line["label"] for line in lines] == ["4 tokens", "context 4"]
    assert lines[0]["samples_ms"] == {"prefill": [1.0, 2.0]}


def test_nowhere_to_write_is_said_before_anything_is_timed(store: Store, build: Path) -> None:
    build.mkdir()
    (build / "measured").write_text("a file")
    with pytest.raises(UserError, match="is a file: expected a folder"):
        store.check()
