from hypothesis import given
from hypothesis import strategies as st

from dragoman.cli.views.labels import Lines, cleaned, printable


def test_a_field_is_one_line() -> None:
    assert Lines().field("Task", "a\nb\r\nc").text() == "Task: a b c\n"
    assert Lines().field("Name", "").text() == "Name:\n"


def test_a_block_ends_with_an_empty_line_and_holds_none() -> None:
    assert Lines().block("Text", "one\n\ntwo").text() == "Text:\n  one\n  \n  two\n\n"


def test_a_gap_is_one_empty_line() -> None:
    assert Lines().field("A", 1).gap().gap().text() == "A: 1\n\n"
    assert Lines().block("A", "b").gap().text() == "A:\n  b\n\n"
    assert Lines().gap().text() == ""


def test_lines_are_added_as_they_are() -> None:
    assert Lines().field("A", 1).add(Lines().field("B", 2)).text() == "A: 1\nB: 2\n"


def test_control_characters_are_dropped() -> None:
    assert cleaned("\x1b[31m\x00a\tb\x9b\u202e\u2028c\x7f") == "[31ma\tbc"
    assert printable("a\x1b[2J\r\nb\rc\n\x07") == "a[2J\nb\nc\n"


@given(st.text())
def test_content_can_neither_end_a_block_nor_pass_for_a_field(content: str) -> None:
    first, *inner, empty, rest = Lines().block("Text", content).text().split("\n")
    assert (first, empty, rest) == ("Text:", "", "")
    assert all(line.startswith("  ") for line in inner)
    assert not any(ord(char) < 32 and char != "\t" for line in inner for char in line)
