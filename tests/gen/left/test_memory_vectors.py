"""The cases that hold the page's calculator to Python's are those that Python gives today."""

from tests.js import memory_vectors


def test_vectors_are_up_to_date() -> None:
    stored = memory_vectors.FILE.read_text(encoding="utf-8")
    assert stored == memory_vectors.text(), "`python tests/js/memory_vectors.py` writes them anew"
    assert memory_vectors.FILE.stat().st_size <= 200_000


def test_there_are_cases_of_every_kind() -> None:
    cases = memory_vectors.made()
    assert len(cases["sizes"]) + len(cases["configs"]) >= 1000
    refused = [case for case in cases["sizes"] if isinstance(case[-1], str)]
    assert 20 <= len(refused) <= len(cases["sizes"]) // 2
