"""How much of a reply's text may be shown."""

import pytest

from kvref.reply import shown


@pytest.mark.parametrize(
    ("text", "stops", "ended", "expected"),
    [
        ("a cat", (), False, ("a cat", False)),
        ("a cat\ufffd", (), False, ("a cat", False)),  # a character begins
        ("a cat\ufffd\ufffd", (), True, ("a cat\ufffd\ufffd", False)),  # and never ends
        ("a \ufffd cat", (), False, ("a \ufffd cat", False)),  # bytes that are no character
        ("a cat. The", ("END",), False, ("a cat. The", False)),
        ("a cat. E", ("END",), False, ("a cat. ", False)),  # perhaps a stop text
        ("a cat. EN", ("END",), False, ("a cat. ", False)),
        ("a cat. EN", ("END",), True, ("a cat. EN", False)),
        ("a cat. END and", ("END",), False, ("a cat. ", True)),
        ("a cat. END", ("END",), True, ("a cat. ", True)),
        ("a b c", ("c", "b"), False, ("a ", True)),  # the first in the text, not in the list
        ("xaab", ("aac",), False, ("xaab", False)),
        ("xaa", ("aac",), False, ("x", False)),
        ("xaaa", ("aac", "ab"), False, ("xa", False)),  # the longest beginning of any
        ("EN\ufffd", ("END",), False, ("", False)),
    ],
)
def test_shown(text: str, stops: tuple[str, ...], ended: bool, expected: tuple[str, bool]) -> None:
    assert shown(text, stops, ended) == expected
