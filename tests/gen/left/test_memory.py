"""The calculator on the command line: right numbers, clear sentences, no torch."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gen import geometry as module
from gen.__main__ import main
from gen.errors import UserError
from gen.geometry import find, geometry, rows
from gen.paths import ROOT
from gen.words import binary, both, exact
from tests.configs import QWEN3_4B


def asked(capsys: pytest.CaptureFixture[str], *flags: str) -> dict[str, Any]:
    assert main(["memory", *flags, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refused(capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    """The one sentence of a mistake; exit code 2 and nothing else."""
    assert main(["memory", *flags]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("gpt2", "gpt-2-small"),
        ("gpt2-xl", "gpt-2-xl"),
        ("GPT-2 small", "gpt-2-small"),
        ("llama-2-7b", "llama-2-7b"),
        ("meta-llama/Meta-Llama-3-8B", "llama-3-8b"),
        ("Meta-Llama-3-8B", "llama-3-8b"),
        ("qwen2.5-7b", "qwen2-5-7b"),
        ("LLAMA_3_8B", "llama-3-8b"),
    ],
)
def test_a_model_by_any_of_its_names(name: str, id: str) -> None:
    assert find(name)["id"] == id


def test_names_lead_to_one_model_each() -> None:
    for id, row in rows().items():
        assert all(find(name)["id"] == id for name in (id, row["name"], row["hf_id"]))
        assert geometry(row).name == row["name"]


def test_the_example_of_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    flags = "--model llama-3-8b --tokens 4096 --batch 16 --dtype fp16 --device-memory 80"
    found = asked(capsys, *flags.split())
    assert found["bytes_per_token"] == 131_072
    assert found["bytes_per_request"] == 512 * 2**20
    assert found["bytes"] == 8 * 2**30
    assert found["formula"] == "32 layers × 2 × 8 KV heads × 128 × 4,096 tokens × 2 B"
    assert found["requests_that_fit"] == 130
    main(["memory", *flags.split()])
    said = capsys.readouterr().out
    assert "cache    8,589,934,592 B = 8 GiB for 16 requests of 4,096 tokens, fp16" in said
    assert "16,060,522,496 B ≈ 14.96 GiB" in said


@pytest.mark.parametrize(
    ("flags", "field", "expected"),
    [
        ("--model llama-2-70b", "bytes", 5 * 2**28),
        ("--model llama-2-7b --batch 16", "bytes", 32 * 2**30),
        ("--model falcon-7b", "bytes_per_token", 8192),
        ("--model deepseek-v3", "bytes_per_token", 70_272),
        ("--model gpt-oss-120b", "bytes_per_token_windows_full", 36_864),
        ("--model gemma-3-27b", "bytes_per_token", 496 * 1024),
        ("--model gemma-3-27b", "bytes_per_token_windows_full", 80 * 1024),
        ("--model llama-3-8b --tokens 17 --block-size 16", "bytes", 32 * 131_072),
        ("--model llama-3-8b --tensor-parallel 16", "bytes", 64 * 2**20),
        ("--model llama-3-8b --tensor-parallel 16", "notes", ["each KV head is kept by 2 devices"]),
        ("--model llama-3-8b --dtype int4", "bytes_per_token", 36_864),
        ("--model gpt2", "notes", ["GPT-2 small has 1,024 positions: 4,096 tokens are arithmetic only"]),
        ("--model minimax-m2.5 --device-memory 80", "requests_that_fit", None),
        ("--model llama-2-7b --device-memory 8", "requests_that_fit", 0),
        ("--model kimi-linear-48b-a3b", "state_bytes_per_request", 41_943_040),
    ],
)
def test_published_numbers(capsys: pytest.CaptureFixture[str], flags: str, field: str, expected: Any) -> None:
    assert asked(capsys, *flags.split())[field] == expected


def test_a_config_of_the_readers_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(QWEN3_4B))
    assert asked(capsys, "--config", str(file))["bytes_per_token"] == 147_456
    file.write_text(json.dumps({"text_config": QWEN3_4B}))
    assert asked(capsys, "--config", str(file))["bytes_per_token"] == 147_456
    assert asked(capsys, "--config", str(file))["notes"] == []
    file.write_text(json.dumps({"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64}))
    assert "no model_type is given" in asked(capsys, "--config", str(file))["notes"][0]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "cannot be read as JSON"),
        (b"\xff\xfe", "cannot be read as JSON"),
        (b"[" * 100_000, "cannot be read as JSON"),
        (b"[1]", "expected an object with a model's sizes, got list"),
        (b"{}", "num_hidden_layers is missing"),
        (json.dumps(QWEN3_4B | {"num_attention_heads": None}).encode(), "num_attention_heads is missing"),
        (json.dumps(QWEN3_4B | {"num_key_value_heads": 5}).encode(), "32 query heads cannot share 5 KV heads evenly"),
        (json.dumps(QWEN3_4B | {"model_type": "nothing"}).encode(), "model_type 'nothing' is not known"),
    ],
)
def test_a_config_that_does_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, sentence: str) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(content)
    assert sentence in refused(capsys, "--config", str(file))


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ("", "one of the arguments --model --config --models is required"),
        ("--model nothing-like-it", "there is no model 'nothing-like-it'; nearest:"),
        ("--model gpt2 --config x", "not allowed with argument"),
        ("--model gpt2 --tokens -5", "tokens: expected a whole number of at least 1, got -5"),
        ("--model gpt2 --tokens 0", "at least 1, got 0"),
        ("--model gpt2 --tokens 1e3", "expected a whole number of at most 1,000,000,000,000, got '1e3'"),
        (f"--model gpt2 --tokens {'9' * 5000}", "expected a whole number of at most"),
        ("--model gpt2 --batch 0", "batch: expected"),
        ("--model gpt2 --block-size 0", "block size: expected"),
        ("--model gpt2 --tensor-parallel 5", "tensor parallel 5: 12 query heads do not divide evenly"),
        ("--model gpt2 --dtype fp12", "invalid choice: 'fp12'"),
        ("--model gpt2 --device-memory 0", "--device-memory: expected more than 0 GiB, got 0"),
        ("--model gpt2 --device-memory 1/0", "expected a number of GiB of at most 1,000,000,000,000, got '1/0'"),
        ("--model gpt2 --device-memory nan", "expected a number of GiB of at most 1,000,000,000,000, got 'nan'"),
        ("--model gpt2 --device-memory 1e5000", "expected a number of GiB of at most 1,000,000,000,000, got '1e5000'"),
        ("--model gpt2 --device-memory 1e99999999", "got '1e99999999'"),
        ("--model gpt2 --device-memory 1e-99999999", "got '1e-99999999'"),
        ("--model gpt2 --device-memory 1e13", "got '1e13'"),
        ("--model gpt2 --weight-bits 3", "invalid choice: 3"),
        ("--config /nowhere/config.json", "is missing"),
        ("--config /", "cannot be read as JSON"),
        ("--model gpt2 --frobnicate", "unrecognized arguments"),
    ],
)
def test_mistakes_are_one_sentence(capsys: pytest.CaptureFixture[str], flags: str, sentence: str) -> None:
    assert sentence in refused(capsys, *flags.split())


def test_the_list_of_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "--models"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 53
    assert [line.split("\t")[0] for line in lines if line.endswith("not verified")] == [
        "glm-4-5",
        "kimi-linear-48b-a3b",
        "qwen3-8-2-4t-a95b",
    ]


def test_sizes_in_words() -> None:
    assert [binary(size) for size in (0, 1023, 1024, 1536, 2**30, 5 * 2**28, 10**13)] == [
        "0 B",
        "1,023 B",
        "1 KiB",
        "1.5 KiB",
        "1 GiB",
        "1.25 GiB",
        "9,313 GiB",
    ]
    assert both(1280 * 2**20) == "1,342,177,280 B = 1.25 GiB"
    assert both(1_342_177_281) == "1,342,177,281 B ≈ 1.25 GiB"
    assert both(900) == exact(900) == "900 B"


def test_an_unknown_model_is_a_users_mistake() -> None:
    with pytest.raises(UserError, match="nearest"):
        find("")


def test_no_torch_is_loaded() -> None:
    script = (
        "import sys; from gen.__main__ import main; code = main(['memory', '--model', 'gpt2']);"
        "print([name for name in ('torch', 'numpy', 'tokenizers', 'plotly') if name in sys.modules]); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the table that a test may spoil."""
    found = tmp_path / "models.json"
    found.write_bytes(module.TABLE.read_bytes())
    monkeypatch.setattr(module, "TABLE", found)
    rows.cache_clear()
    yield found
    rows.cache_clear()


def test_a_table_other_than_the_published_is_refused(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "--models"]) == 0
    assert capsys.readouterr().out
    table.write_bytes(table.read_bytes().replace(b"4096", b"4097", 1))
    for flags in (["--models"], ["--model", "gpt2"]):
        assert main(["memory", *flags]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert "models.json: expected SHA-256" in err
    table.unlink()
    assert "models.json is missing" in refused(capsys, "--models")


@pytest.mark.parametrize("key", ["evidence", "verified", "name", "source", "hf_id"])
def test_a_row_that_lacks_something_is_one_sentence(table: Path, key: str) -> None:
    document = json.loads(table.read_bytes())
    del document["values"]["models"]["gpt-2-small"][key]
    table.write_text(json.dumps(document))
    with pytest.raises(UserError, match="is not the table of models"):
        rows()
