"""Keys, formats and the manifest."""

import pytest

from gen import io, manifest
from gen.errors import CheckFailed, UserError
from gen.forms import UnknownKey, shown_as
from gen.paths import Site
from gen.tables import Records
from tests.gen.right.conftest import VALUES, write_data


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (46080, "", "46,080"),
        (46080, "KiB", "45\u00a0KiB"),
        (23040, "KiB", "22.5\u00a0KiB"),
        (47185920, "MiB", "45\u00a0MiB"),
        (46080, "bytes", "46,080\u00a0B"),
        (46080, "B", "46,080\u00a0B"),
        (1.25 * 1024**3, "GiB", "1.25\u00a0GiB"),
        (0.3, "%", "30\u202f%"),
        (0.1234, "%", "12.3\u202f%"),
        (0.3665, "%", "36.7\u202f%"),  # a half in decimals, a little less as a binary fraction
        (0.5001, "%", "50.0\u202f%"),
        (0.00031, "%", "<\u202f0.1\u202f%"),
        (0.9997, "%", "100\u202f%"),
        (0, "%", "0\u202f%"),
        (1.2e-5, "sci", "1.2\u00a0×\u00a010⁻⁵"),
        (1e-5, "sci", "10⁻⁵"),
        (3.4e9, "sci", "3.4\u00a0×\u00a010⁹"),
        (7.81, "x", "7.8×"),
        (12.0, "x", "12×"),
        (0.062, "x", "0.062×"),
        (1.26e-3, ".2f", "0.00"),
        (8.126, ".2f", "8.13"),
        (8.125, ".2f", "8.13"),
        (1e22, ".9f", "10,000,000,000,000,000,000,000.000000000"),
        (12345.0, ".0f", "12,345"),
        (-2.5, "", "\u22122.5"),
        (-2.5, ".1f", "\u22122.5"),
        (100000.0, "", "100,000"),
        (0.123456, "", "0.1235"),
        (1.5e-6, "", "1.5\u00a0×\u00a010⁻⁶"),
        (" sat", "text", "sat"),
        ("sat", "", "sat"),
    ],
)
def test_a_number_is_written_in_one_way(value: object, form: str, shown: str) -> None:
    assert shown_as(value, form) == shown


def test_a_key_gives_value_file_and_path(records: Records) -> None:
    number = records.number("one-token.total.ratio | x")
    assert (number.text, number.exact, number.key) == ("7.8×", "7.81", "total.ratio")
    assert number.record == "smollm2-135m-instruct/one-token"
    assert records.number("cat.tokens.-1.text|text").text == "<i>"
    assert records.number("cat/kv-00.k.0.1|.1f").text == "\u22121.0"
    assert records.plain("all {val:cat.tokens_total} of {num:model.bytes|KiB}") == "all 15 of 45\u00a0KiB"


def test_a_number_says_how_far_it_can_be_trusted(records: Records) -> None:
    keys = ("model.bytes", "one-token.total.ratio", "one-token.noise_bound", "cat.prompt_text", "model.seeded|text")
    assert [records.number(key).precision for key in keys] == [
        "exact",
        "4 significant digits, tolerance ±2\u00a0×\u00a010⁻⁴",
        "a bound that every run must keep",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("one-tokn.total.ratio", "one-token"),
        ("one-token.total.ration", "one-token.total.ratio"),
        ("cat.token_total", "cat.tokens_total"),
        ("cat.tokens.9.text", "cat.tokens.0.text"),
        ("one-token.total", "one-token.total.flops"),
        ("one-token", "one-token."),
        ("cat.prompt_text.length", "cat.prompt_text"),
    ],
)
def test_an_unknown_key_names_the_nearest(records: Records, key: str, nearest: str) -> None:
    with pytest.raises(UnknownKey) as problem:
        records.number(key)
    assert key in str(problem.value)
    assert nearest in str(problem.value)


@pytest.mark.parametrize("text", ["model.bytes|MB", "model.bytes|.12f", "cat.prompt_text|KiB", "model.seeded"])
def test_a_format_that_does_not_fit_is_refused(records: Records, text: str) -> None:
    with pytest.raises(UnknownKey, match=r"format|is no number"):
        records.number(text)


def test_data_that_disagree_with_the_manifest_are_refused(site: Site) -> None:
    file = site.record("smollm2-135m-instruct", "model")
    file.write_bytes(file.read_bytes().replace(b"46080", b"46081"))
    with pytest.raises(CheckFailed, match=r"model\.json.*gen run"):
        Records(site)
    file.unlink()
    with pytest.raises(CheckFailed, match=r"missing.*gen run"):
        Records(site)


def test_a_record_that_the_manifest_does_not_have_is_refused(site: Site) -> None:
    site.record("smollm2-135m-instruct", "extra").write_bytes(b"{}")
    with pytest.raises(CheckFailed, match="not in the manifest"):
        Records(site)


def test_without_data_the_command_that_makes_them_is_named(site: Site) -> None:
    site.manifest.unlink()
    with pytest.raises(UserError, match="gen run"):
        Records(site)


def test_a_site_of_another_model_shows_that_model(site: Site) -> None:
    write_data(site, VALUES, model="gpt2")
    for file in site.model_folder("smollm2-135m-instruct").rglob("*.json"):
        file.unlink()
    assert Records(site).model == "gpt2"


FORMS = {
    "list": [],
    "null": None,
    "no values": {"identity": {"what": "x", "command": "y", "tolerance": {"absolute": 1.0}}},
    "empty identity": {"environment": {}, "identity": {}, "values": {"tokens_total": 15}},
    "values of text": {"identity": {"what": "x", "command": "y", "tolerance": {"absolute": 1.0}}, "values": "x"},
    "tolerance of text": {"identity": {"what": "x", "command": "y", "tolerance": "x"}, "values": {"tokens_total": 15}},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_recording_of_another_form_is_one_sentence_though_its_hash_agrees(site: Site, form: str) -> None:
    site.record("smollm2-135m-instruct", "cat").write_bytes(io.canonical(FORMS[form]))
    manifest.write(site, {name: io.file_sha256(path) for name, path in manifest.recordings(site).items()})
    with pytest.raises(UserError, match=r"cat\.json is not a recording: expected identity and values"):
        Records(site).number("cat.tokens_total")
