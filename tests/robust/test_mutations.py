"""200 spoilt inputs: files, flags and addresses. Each ends in an answer or in one sentence, never in a traceback."""

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gen.__main__
from gen import manifest, paths
from gen.draw import draw
from gen.errors import UserError

FILES_SEEDS = range(110)
FLAGS_SEEDS = range(90)

Mutation = Callable[[bytes, random.Random], bytes]


def flipped(data: bytes, chance: random.Random) -> bytes:
    """One bit is another."""
    at = chance.randrange(max(len(data), 1))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :] if data else b"\x01"


def cut(data: bytes, chance: random.Random) -> bytes:
    """The end is missing."""
    return data[: chance.randrange(len(data) + 1)]


def doubled(data: bytes, chance: random.Random) -> bytes:
    """A piece stands twice."""
    at = chance.randrange(len(data) + 1)
    return data[:at] + data[at : at + chance.randrange(200)] + data[at:]


def zeroed(data: bytes, chance: random.Random) -> bytes:
    """A piece became zeros, as after a crash."""
    at, size = chance.randrange(len(data) + 1), chance.randrange(1, 500)
    return data[:at] + bytes(min(size, len(data) - at)) + data[at + size :]


def noise(_data: bytes, chance: random.Random) -> bytes:
    """Something else altogether."""
    return chance.randbytes(chance.randrange(300))


def other_value(data: bytes, chance: random.Random) -> bytes:
    """Still JSON, but one value is of another kind or size."""
    try:
        document = json.loads(data)
    except ValueError:
        return flipped(data, chance)
    holder = document
    while isinstance(holder, dict) and holder:
        key = chance.choice(sorted(holder))
        if not isinstance(holder[key], dict) or not holder[key] or chance.random() < 0.2:
            holder[key] = chance.choice([None, -1, 0, 1e308, 2**70, "", "x", [], {}, [[]], True, 1.5, "\ud800"])
            break
        holder = holder[key]
    return json.dumps(document).encode("utf-8", "surrogatepass")


MUTATIONS: list[Mutation] = [flipped, cut, doubled, zeroed, noise, other_value]


def ends_well(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Run a command here; any exception but argparse's exit is what a user would see as a traceback."""
    try:
        code = gen.__main__.main(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    said = capsys.readouterr()
    assert code in (0, 1, 2), (arguments, code)
    assert "Traceback" not in said.out + said.err
    if code:
        assert said.err.strip(), f"{arguments}: exit {code} and no word"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Everything that would be written goes into a folder of this test."""
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    monkeypatch.setenv("KVREF_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.parametrize("seed", FILES_SEEDS)
def test_spoilt_model(seed: int, tiny_model: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(seed)
    model = shutil.copytree(tiny_model, elsewhere / "tiny")
    victim = chance.choice(sorted(path for path in model.iterdir() if path.name != "source.json"))
    if seed % 10 == 0:
        victim.unlink()
    elif seed % 10 == 1:
        victim.unlink()
        victim.mkdir()
    else:
        victim.write_bytes(chance.choice(MUTATIONS)(victim.read_bytes(), chance))
    ends_well(["run", "--show", "model", "cost", "--model", str(model), "--prompt", "the cat"], capsys)


@pytest.mark.parametrize("seed", range(40))
def test_spoilt_data(seed: int, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages refuse data that is not as the manifest says; a spoilt manifest is no way around that."""
    chance = random.Random(seed)
    site = paths.local_site(name="spoilt")
    shutil.copytree(paths.PUBLISHED.data, site.data)
    files = sorted(site.data.rglob("*.json"))
    victim = site.manifest if seed % 4 == 0 else chance.choice(files)
    before = victim.read_bytes()
    after = chance.choice(MUTATIONS)(before, chance)
    victim.write_bytes(after)
    if before == after or json_equal(before, after):
        return
    with pytest.raises(UserError, match=r"gen (run|measure)"):
        manifest.verify(site)
    with pytest.raises(UserError):
        draw(site)


def json_equal(before: bytes, after: bytes) -> bool:
    """True if both say the same, as a space more does."""
    try:
        return bool(json.loads(before) == json.loads(after))
    except ValueError:
        return False


WORDS = [
    "run", "draw", "fetch", "--show", "--check", "--write", "--model", "--prompt", "--name", "--device", "-h", "--", "",
    " ", "cat", "model", "cover", "lanes", "site", "../x", "/", ".", "nothing.gguf", "/dev/null", "\x00", "\ud800", "é" * 300,
    "a" * 5000, "-1", "--model=", "--prompt=", "--name=CON", "--name=../../x", "--prompt=" + "word " * 400, "🐈", "None",
    "--model=gpt-5", "--write=1", "%s", "{fig:cover}", "*",
]  # fmt: skip


def flags(chance: random.Random) -> Iterator[str]:
    yield chance.choice(["run", "draw", "draw", "fetch", *WORDS])
    for _ in range(chance.randrange(5)):
        yield chance.choice(WORDS)


@pytest.mark.parametrize("seed", FLAGS_SEEDS)
def test_odd_flags(
    seed: int, tiny_model: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No network, and the default model is the tiny one: a flag that happens to be valid costs little."""
    monkeypatch.setattr("gen.fetch._bring", unreachable)
    monkeypatch.setattr(paths, "PUBLISHED", paths.local_site(name="published"))
    arguments = list(flags(random.Random(seed)))
    if "--write" in arguments:
        arguments.remove("--write")
    ends_well(arguments, capsys)


def unreachable(*_arguments: object) -> None:
    """Stands in for the download."""
    raise UserError("could not be downloaded; check the network.")
