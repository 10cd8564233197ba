"""Checking and writing a site's recordings: what is refused, what is kept, what a kill leaves."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gen import io, manifest, publish
from gen.errors import CheckFailed, UserError
from gen.paths import ROOT, Site
from gen.records import TOLERANCE, Bound, Record

MODEL = "m"


def identity(id: str, **changes: Any) -> dict[str, Any]:
    made = {"what": f"what {id} is", "page": "tour", "command": f"python -m gen run {id} --name t", "model": MODEL}
    made |= {"revision": "1", "weights_sha256": "0" * 64, "seed": None, "tolerance": TOLERANCE}
    return made | changes


def records() -> list[Record]:
    return [
        Record("cat", identity("cat"), {"ids": [1, 2, 3], "rms": [1.2345678, 0.5]}),
        Record("cat/kv-00", identity("cat"), {"k": [[0.123456, 2.0]], "v": [[-0.5, 0.25]]}),
        Record("cost", identity("cost"), {"flops": [10, 20], "intensity": [1.0, 2.5]}),
    ]


@pytest.fixture
def site(build: Path) -> Site:
    found = Site("t")
    publish.write(found, MODEL, records(), complete=True)
    return found


def edit(site: Site, id: str, change: Any) -> None:
    path = site.record(MODEL, id)
    document = json.loads(path.read_bytes())
    change(document)
    path.write_bytes(io.canonical(document))


def bless(site: Site) -> None:
    """Make the manifest agree with whatever is on disk."""
    manifest.write(site, {name: io.file_sha256(path) for name, path in manifest.recordings(site).items()})


def test_what_was_written_passes(site: Site):
    sentence = publish.check(site, MODEL, records(), complete=True)
    assert sentence.startswith("21 numbers, worst deviation 0")
    assert set(manifest.verify(site)["files"]) == {f"recomputed/m/{r.id}.json" for r in records()}


@pytest.mark.parametrize("with_manifest", [False, True])
def test_one_value_shifted_by_ten_tolerances_fails_by_name(site: Site, with_manifest: bool):
    def shift(document: dict[str, Any]) -> None:
        document["values"]["k"][0][0] += 10 * min(TOLERANCE["absolute"], TOLERANCE["of_largest"] * 2.0)

    edit(site, "cat/kv-00", shift)
    if with_manifest:
        bless(site)
    with pytest.raises(CheckFailed) as caught:
        publish.check(site, MODEL, records(), complete=True)
    message = str(caught.value)
    for part in ("m/cat/kv-00.json", "values.k[0][0]", "expected 0.1255", "got 0.123456", "python -m gen run cat --name t"):
        assert part in message
    if not with_manifest:
        with pytest.raises(CheckFailed, match=r"kv-00\.json: expected SHA-256"):
            manifest.verify(site)


def test_one_hash_changed_fails_both_checks(site: Site):
    files = dict(manifest.load(site)["files"])
    files["recomputed/m/cost.json"] = "f" * 64
    manifest.write(site, files)
    for check in (lambda: manifest.verify(site), lambda: publish.check(site, MODEL, records(), complete=True)):
        with pytest.raises(CheckFailed, match=r"cost\.json: expected SHA-256 f{64}"):
            check()


def test_the_hash_of_hashes_is_checked(site: Site):
    table = manifest.load(site)
    io.write(site.manifest, io.canonical({**table, "data_hash": "0" * 64}))
    with pytest.raises(CheckFailed, match="data_hash"):
        manifest.verify(site)


def test_missing_and_surplus_files_fail(site: Site):
    site.record(MODEL, "extra").write_bytes(b"{}\n")
    with pytest.raises(CheckFailed, match=r"extra\.json is not in the manifest"):
        manifest.verify(site)
    with pytest.raises(CheckFailed, match="leftover"):
        publish.check(site, MODEL, records(), complete=True)
    site.record(MODEL, "extra").unlink()
    site.record(MODEL, "cost").unlink()
    with pytest.raises(CheckFailed, match=r"cost\.json is in the manifest but missing"):
        manifest.verify(site)
    with pytest.raises(CheckFailed, match=r"expected 'a recording', got 'nothing'"):
        publish.check(site, MODEL, records(), complete=True)


def test_the_identity_is_compared_and_the_environment_is_not(site: Site):
    edit(site, "cost", lambda document: document["environment"].update(torch="0.0", date="1999-01-01"))
    bless(site)
    publish.check(site, MODEL, records(), complete=True)
    edit(site, "cost", lambda document: document["identity"].update(revision="2"))
    with pytest.raises(CheckFailed, match=r"identity\.revision: expected '2', got '1'"):
        publish.check(site, MODEL, records(), complete=True)


def test_a_manifest_that_is_none_is_one_sentence(site: Site):
    for text in (b"", b"[]", b'{"files":3}', b"\xff"):
        site.manifest.write_bytes(text)
        with pytest.raises(UserError):
            manifest.verify(site)
    site.manifest.unlink()
    with pytest.raises(UserError, match=r"manifest\.json is missing"):
        manifest.verify(site)


def test_numbers_that_still_agree_are_left_alone(site: Site):
    before = site.record(MODEL, "cat").read_bytes()
    close = records()
    close[0].values["rms"][0] += 2e-5  # another last digit, within the tolerance
    publish.write(site, MODEL, close, complete=True)
    assert site.record(MODEL, "cat").read_bytes() == before
    close[0].values["rms"][0] += 2e-2
    assert "1 files changed" in publish.write(site, MODEL, close, complete=True)
    assert b"1.255" in site.record(MODEL, "cat").read_bytes()
    manifest.verify(site)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"identity":[],"values":3,"environment":{}}', b"\xff"])
def test_a_damaged_file_is_named_and_mended(site: Site, damage: bytes):
    site.record(MODEL, "cost").write_bytes(damage)
    with pytest.raises(CheckFailed, match=r"m/cost\.json: the file: expected .*\n.*python -m gen run cost"):
        publish.check(site, MODEL, records(), complete=True)
    publish.write(site, MODEL, records(), complete=True)
    publish.check(site, MODEL, records(), complete=True)


def test_a_complete_run_sweeps_what_it_no_longer_makes(site: Site):
    part = site.record(MODEL, "cat").with_name(".cat.json.x.part")
    part.write_bytes(b"half")
    publish.write(site, MODEL, records()[:2], complete=False)
    assert site.record(MODEL, "cost").is_file()
    publish.write(site, MODEL, records()[:2], complete=True)
    assert not site.record(MODEL, "cost").exists()
    assert not part.exists()
    manifest.verify(site)


def test_a_file_over_the_budget_is_not_published(build: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("gen.paths.ROOT", tmp_path)
    big = [Record("big", identity("big"), {"x": [float(i) for i in range(80_000)]})]
    with pytest.raises(UserError, match="big takes"):
        publish.write(Site("site"), MODEL, big, complete=True)
    assert not (tmp_path / "docs/data/recomputed/m/big.json").exists()


@pytest.mark.parametrize("bad", [math.nan, math.inf, Bound(math.nan)])
def test_a_number_that_is_none_leaves_everything_as_it_was(site: Site, bad: object):
    before = {path: path.read_bytes() for path in site.data.rglob("*.json")}
    spoilt = records()
    spoilt[0].values["ids"] = [4, 5, 6]
    spoilt[-1].values["intensity"] = [bad, 2.5]
    with pytest.raises(UserError, match=r"^The record cost cannot be written: .*finite"):
        publish.write(site, MODEL, spoilt, complete=True)
    assert {path: path.read_bytes() for path in site.data.rglob("*.json")} == before


def test_too_much_altogether_leaves_everything_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("gen.paths.ROOT", tmp_path)
    monkeypatch.setattr(publish, "TOTAL_LIMIT_BYTES", 100)
    with pytest.raises(UserError, match="All recordings take"):
        publish.write(Site("site"), MODEL, records(), complete=True)
    assert list(tmp_path.rglob("*.json")) == []


KILLED = """
import os, sys
from gen import io, paths, publish
from pathlib import Path
sys.path.insert(0, {here!r})
import test_publish as t
paths.BUILD = Path({build!r})
replace, count = os.replace, [0]
def dying(*a):
    if count[0] == {after}:
        os.kill(os.getpid(), 9)
    count[0] += 1
    replace(*a)
io.os.replace = dying
publish.write(paths.Site("t"), t.MODEL, t.records(), complete=True)
"""


@pytest.mark.parametrize("after", [0, 2, 3])
def test_a_killed_write_is_noticed_and_can_be_run_again(build: Path, after: int):
    code = KILLED.format(here=str(Path(__file__).parent), build=str(build), after=after)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert done.returncode == -9
    site = Site("t")
    with pytest.raises(UserError):
        manifest.verify(site)
    publish.write(site, MODEL, records(), complete=True)
    publish.check(site, MODEL, records(), complete=True)
    assert list(site.data.rglob("*.part")) == []
