import json
from typing import cast

import pytest
from hypothesis import given

from dragoman.bindings.nesting import is_nested_deeper_than
from tests.support.strategies import json_values


def depth_of(value: object) -> int:
    match value:
        case dict():
            members = cast("dict[str, object]", value).values()
        case list():
            members = cast("list[object]", value)
        case _:
            return 0
    return 1 + max(map(depth_of, members), default=0)


@pytest.mark.parametrize(
    ("body", "depth"),
    [
        # Nothing is nested.
        (b"1", 0),
        (b'"[[[["', 0),
        # Arrays and objects count alike, in any order.
        (b"[]", 1),
        (b"{}", 1),
        (b'{"a":[{"b":[]}]}', 4),
        (b'[{"a":[{}]}]', 4),
        # Side by side is not inside.
        (b"[[],[],{}]", 2),
        # What stands in a string is no bracket, escapes or not.
        (b'["[{",{"]\\"[[":1}]', 2),
        (b'["\\\\",[]]', 2),
    ],
)
def test_depth_is_counted(body: bytes, depth: int) -> None:
    assert not is_nested_deeper_than(depth, body)
    assert depth == 0 or is_nested_deeper_than(depth - 1, body)


@given(json_values)
def test_depth_is_that_of_the_value(value: object) -> None:
    body = json.dumps(value).encode()
    depth = depth_of(value)
    assert not is_nested_deeper_than(depth, body)
    assert depth == 0 or is_nested_deeper_than(depth - 1, body)


@pytest.mark.parametrize(
    "body",
    [
        # Never closed, and then a little more.
        b"[" * 1_000_000 + b"[" * 200 + b"]" * 200,
        # Up and down, always below the limit.
        (b"[" * 150 + b"]" * 150) * 3_000,
        # A string that does not end, full of escapes.
        b'[[["' + b'\\"' * 500_000,
    ],
)
@pytest.mark.timeout(5)
def test_no_body_takes_more_time_than_its_length_warrants(body: bytes) -> None:
    is_nested_deeper_than(200, body)
