"""`python -m gen measure` from end to end on a tiny seeded model: what it writes, and how it ends when something fails."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from gen import __main__ as command
from gen import measured
from gen.measure import device, memory, passes
from gen.measure.bench import QUICK
from gen.measure.clock import ClockFault, HostTimer
from gen.measure.cpu import pays
from gen.measure.cpu import tier as processor
from gen.paths import ROOT
from tests.robust import tiny

ENDING = "tiny"
KINDS = ("products", "prefill", "decode", "pays", "paged", "batch", "memory", "others", "budget")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.make(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def small(build: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Even smaller sizes and one thread; the folder into which quick results go."""
    sizes = replace(QUICK, moved_bytes=2**16, square=32, contexts=(4, 24), prompts=(4, 16), paged=(24,), others=(6,))
    monkeypatch.setattr(processor, "QUICK", sizes)
    monkeypatch.setattr(device, "THREADS", 1)
    monkeypatch.setattr(processor, "processor", lambda: device.processor(1))
    return build / "measured-quick"


def run(*arguments: str, model: Path) -> int:
    return command.main(["measure", "--quick", "--model", str(model), *arguments])


def records(folder: Path) -> dict[str, dict[str, Any]]:
    ((_, named),) = measured.files(folder).items()
    return {id: measured.read(path) for id, path in named.items()}


def points(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, dict):
        return []
    return [value] if "error_percent" in value and "why" in value else [p for item in value.values() for p in points(item)]


def test_the_whole_tier(model: Path, small: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(model=model) == 0
    assert f"{len(KINDS) + 1} records in" in capfd.readouterr().err
    made = records(small)
    assert set(made) == {"ceilings", *(f"{kind}-{ENDING}" for kind in KINDS)}
    rows = yaml.safe_load((ROOT / "gen" / "schema.yaml").read_text(encoding="utf-8"))
    for id, document in made.items():
        identity = document["identity"]
        assert (identity["quick"], identity["kind"]) == (True, id.removesuffix(f"-{ENDING}"))
        assert (identity["seed"], identity["model"]) == ((None, None) if id == "ceilings" else (0, "tiny"))
        assert identity["command"] == f"python -m gen measure --device cpu --quick --model {model}"
        (row,) = [row for row in rows if re.fullmatch(row["files"], f"measured/x/{id}")]
        assert {key for keys in row["keys"] for key in keys.split()} == set(document["values"]), id
    assert all(one["predicted"]["ms"] > 0 for document in made.values() for one in points(document["values"]))
    assert len(points(made["decode-tiny"]["values"])) == 6
    _makes_sense({id.removesuffix("-tiny"): document["values"] for id, document in made.items()})


def _makes_sense(values: dict[str, dict[str, Any]]) -> None:
    concat = values["decode"]["at"]["24"]["concat"]["predicted"]
    rows = range(22, 24)  # kept before each of the sample's two steps
    token = 2 * 2 * 2 * 8 * 4  # K and V, layers, heads, numbers, bytes
    assert concat["copied_bytes"] == sum(rows) * token // 2
    assert values["memory"]["caches"]["contiguous-float32"]["tensor_bytes"] == values["memory"]["tokens"] * token
    assert values["memory"]["caches"]["contiguous-bfloat16"]["error_percent"] == 0.0
    assert abs(values["memory"]["weights"]["error_percent"]) < 1
    assert (values["paged"]["at"]["24"]["blocks"], values["paged"]["at"]["24"]["tail_tokens"]) == (2, 8)
    assert values["paged"]["at"]["24"]["shuffled_attention_ratio"]["bound"] == 1.15
    assert values["budget"]["products_share"]["bound"] == 0.8
    assert values["budget"]["speedup"]["bound"] == 1.4
    assert set(values["others"]["decode"]["6"]) == {"kvref", "dynamic", "static", "dynamic_ratio", "static_ratio"}


def test_one_record_takes_the_ceilings_that_are_there(model: Path, small: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("prefill", model=model) == 0
    assert set(records(small)) == {"ceilings", "prefill-tiny"}  # needed, so measured first
    before = records(small)["ceilings"]
    capfd.readouterr()
    assert run("products", model=model) == 0
    assert "ceilings" not in capfd.readouterr().err
    made = records(small)
    assert made["ceilings"] == before
    peak = before["values"]["products"]["float32"]["flops_per_second"]
    assert made["prefill-tiny"]["values"]["at"]["4"]["predicted"]["flops_per_second"] == peak


def test_what_cannot_be_asked_for(model: Path, small: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        (["nothing"], "Unknown measurement 'nothing': expected ceilings, products"),
        (["--write"], "its numbers are not for --write"),
        (["--device", "cuda"], "sees no CUDA device here"),
    ):
        assert run(*arguments, model=model) == 2
        assert words in capfd.readouterr().err
    assert command.main(["measure", "--write", "--model", str(model)]) == 2
    assert "default model's times only" in capfd.readouterr().err
    assert not small.exists()


# --- when something fails ----------------------------------------------------------------------------------------------


def fail_at(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, problem: BaseException) -> None:
    def fails(*_: Any) -> dict[str, Any]:
        raise problem

    monkeypatch.setattr(module, name, fails)


def test_stopped_half_way(model: Path, small: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("ceilings", "decode", model=model) == 0
    before = {path: path.read_bytes() for path in small.rglob("*.json")}
    calls = iter(range(40))

    def impatient(self: HostTimer, work: Any) -> float:
        work()
        if next(calls) > 35:
            raise KeyboardInterrupt
        return 1.0

    monkeypatch.setattr(HostTimer, "__call__", impatient)
    assert run("products", "decode", model=model) == 130
    told = capfd.readouterr().err
    assert "Stopped. Complete and kept: products-tiny. Nothing else was overwritten; the samples taken so far are in" in told
    assert {path: path.read_bytes() for path in before} == before
    (journal,) = small.rglob("samples.jsonl")
    last = json.loads(journal.read_text().splitlines()[-1])
    assert (last["id"], last["label"]) == ("decode-tiny", "context 4")
    assert sum(len(taken) for taken in last["samples_ms"].values()) > 0


@pytest.mark.parametrize(
    "problem",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nlong advice"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
    ],
)
def test_out_of_memory_costs_one_record(
    problem: Exception, model: Path, small: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    fail_at(monkeypatch, passes, "_prefill", problem)
    assert run("products", "prefill", "memory", model=model) == 2
    told = capfd.readouterr().err
    assert "prefill-tiny: out of memory, nothing of it was written." in told
    assert "advice" not in told
    assert set(records(small)) == {"ceilings", "products-tiny", "memory-tiny"}


def test_a_device_that_vanishes_ends_the_run(
    model: Path, small: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    problem = RuntimeError("CUDA error: unspecified launch failure\nCompile with TORCH_USE_CUDA_DSA")
    fail_at(monkeypatch, memory, "measure", problem)
    fail_at(monkeypatch, passes, "_prefill", problem)
    assert run("products", "prefill", "memory", model=model) == 2
    told = capfd.readouterr().err
    assert re.search(r"error: .* failed during prefill-tiny: CUDA error: unspecified launch failure\. Complete", told)
    assert "TORCH_USE" not in told
    assert set(records(small)) == {"ceilings", "products-tiny"}


def test_a_mistake_of_ours_keeps_its_traceback(model: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_at(monkeypatch, passes, "_prefill", RuntimeError("shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="shapes"):
        run("prefill", model=model)


def test_a_clock_that_jumps_ends_the_run(
    model: Path, small: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("ceilings", model=model) == 0

    def jumps(self: HostTimer, work: Any) -> float:
        raise ClockFault("The clock jumped: it said 1 ms, a second clock 900 ms")

    monkeypatch.setattr(HostTimer, "__call__", jumps)
    assert run("prefill", model=model) == 2
    told = capfd.readouterr().err
    assert "this round does not count" in told
    assert re.search(r"error: The clock jumped.*nothing can be timed here\. No record was complete\.", told)
    assert set(records(small)) == {"ceilings"}


def test_transformers_is_missing(
    model: Path, small: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    assert run("products", "others", model=model) == 2
    assert "transformers is not installed" in capfd.readouterr().err
    assert set(records(small)) == {"ceilings", "products-tiny"}


# --- parts -------------------------------------------------------------------------------------------------------------


def test_the_context_from_which_a_cache_pays() -> None:
    def one(best: float, lopsided: bool = False) -> dict[str, Any]:
        return {"of_minima": best, "median_of_pairs": best, "lopsided": lopsided}

    assert pays.first_that_pays([(1, one(0.9)), (2, one(1.2)), (4, one(1.05)), (8, one(1.3)), (16, one(2.0))]) == 8
    assert pays.first_that_pays([(1, one(1.3)), (2, one(1.5))]) == 1
    assert pays.first_that_pays([(1, one(1.3)), (2, one(1.0))]) is None
    assert pays.first_that_pays([(1, one(1.3, lopsided=True)), (2, one(1.5))]) is None
    assert pays.first_that_pays([(1, one(1.3, lopsided=True)), (2, one(1.0)), (4, one(1.5))]) == 4


def test_a_processor_has_a_name_that_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    found = device.processor(1)
    assert found == device.processor(1) or found.facts["load_at_start"] is not None
    assert found.slug == device.slug(f"{found.name} {found.facts['cores']} cores")
    assert __import__("platform").node() not in json.dumps([found.slug, found.name])
    monkeypatch.setattr(device, "_linux_name", lambda: "")
    monkeypatch.setattr(device, "_mac_name", lambda: (_ for _ in ()).throw(subprocess.SubprocessError))
    assert device.processor_name()

