import pytest

from dragoman.cli.chat.terminal import Draft


@pytest.mark.parametrize(
    ("lines", "entry"),
    [
        (["hello"], "hello"),
        ([""], ""),
        (["one\\", "two\\", "three"], "one\ntwo\nthree"),  # continued by a backslash
        (['"""one', "two", 'three"""'], "one\ntwo\nthree"),  # a block
        (['"""', "one", '"""'], "one"),  # with the quotes on lines of their own
        (['"""one"""'], "one"),  # on one line
        (['"""one\\', '"""'], "one\\"),  # in a block a backslash is one
        (['one"""'], 'one"""'),  # quotes that open nothing
        (['"""', "", '"""'], ""),  # an empty line
    ],
)
def test_lines_make_an_entry(lines: list[str], entry: str) -> None:
    draft = Draft()
    *first, last = lines
    for line in first:
        assert draft.add(line) is None
        assert draft.is_begun
    assert draft.add(last) == entry
    assert not draft.is_begun


def test_after_an_entry_comes_another() -> None:
    draft = Draft()
    assert draft.add("one\\") is None
    assert draft.add("two") == "one\ntwo"
    assert draft.add("three") == "three"
