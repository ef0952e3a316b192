import pytest

from dragoman.testing.wire import missing


@pytest.mark.parametrize(
    "expected",
    [
        # Members, at any depth, may be left out.
        {},
        {"a": 1},
        {"b": {"c": [1, {"d": None}]}},
        # Anything at all.
        ...,
        {"a": ..., "b": {"c": [..., ...]}},
        # A tuple is as good as a list.
        {"b": {"c": (1, {"d": None})}},
    ],
)
def test_what_is_contained_is_not_missing(expected: object) -> None:
    found = {"a": 1, "b": {"c": [1, {"d": None, "e": "x"}], "f": True}}
    assert list(missing(expected, found)) == []


@pytest.mark.parametrize(
    ("expected", "found", "lines"),
    [
        ({"a": 1}, {"a": 2}, ["$.a is 2, not 1"]),
        ({"a": 1}, {"b": 1}, ["$.a is missing"]),
        ({"a": ...}, {}, ["$.a is missing"]),
        ({"a": {"b": 1}}, {"a": {"b": "1"}}, ["$.a.b is '1', not 1"]),
        # Every place is told, not only the first.
        ({"a": 1, "b": 2}, {"b": 3}, ["$.a is missing", "$.b is 3, not 2"]),
        # Lists are compared as a whole.
        ([1], [1, 2], ["$ has 2 elements, not 1"]),
        ([2, 1], [1, 2], ["$[0] is 1, not 2", "$[1] is 2, not 1"]),
        # Another kind of value.
        ({"a": []}, {"a": {}}, ["$.a is {}, not []"]),
        ({"a": True}, {"a": 1}, ["$.a is 1, not True"]),
        ({"a": 0}, {"a": False}, ["$.a is False, not 0"]),
        ({"a": {}}, {"a": None}, ["$.a is None, not {}"]),
    ],
)
def test_what_is_missing_is_told_by_its_place(
    expected: object, found: object, lines: list[str]
) -> None:
    assert [lack.line for lack in missing(expected, found)] == lines


def test_what_is_missing_has_a_size() -> None:
    expected = {"a": {"b": [1, {"c": 2}]}, "d": 3}
    assert [lack.size for lack in missing(expected, {"a": None, "d": 4})] == [5, 1]
    assert [lack.size for lack in missing(expected, {"d": 3})] == [5]
