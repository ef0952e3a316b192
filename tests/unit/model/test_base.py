"""The guards that narrow decoded JSON."""

from __future__ import annotations

import pytest

from dragoman.model.base import is_array, is_object


@pytest.mark.parametrize(
    ("value", "expected"),
    [({}, (True, False)), ([], (False, True)), ("{}", (False, False)), (None, (False, False))],
)
def test_objects_and_arrays_are_told_apart(value: object, expected: tuple[bool, bool]) -> None:
    assert (is_object(value), is_array(value)) == expected
