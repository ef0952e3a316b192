import json
import math
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman._proto.messages import message_class
from dragoman.bindings.grpc.well_known import (
    Proto,
    UnreadableError,
    read_duration,
    read_struct,
    read_timestamp,
    read_value,
    write_duration,
    write_struct,
    write_timestamp,
    write_value,
)
from dragoman.model.timestamps import parse_timestamp
from tests.support.strategies import timestamps

EXACT = 2**53

Struct = message_class("google.protobuf.Struct")
Value = message_class("google.protobuf.Value")
Timestamp = message_class("google.protobuf.Timestamp")
Duration = message_class("google.protobuf.Duration")

exact_values: st.SearchStrategy[object] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-EXACT, EXACT)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def value_of(item: object) -> Proto:
    value: Proto = Value()
    write_value(value, item)
    return Value.FromString(value.SerializeToString())


@given(exact_values)
def test_json_reads_back(item: object) -> None:
    assert read_value(value_of(item)) == item


@given(st.dictionaries(st.text(max_size=3), exact_values, max_size=3))
def test_objects_read_back(items: dict[str, object]) -> None:
    struct: Proto = Struct()
    write_struct(struct, items)
    assert read_struct(Struct.FromString(struct.SerializeToString())) == items


@pytest.mark.parametrize(
    ("number", "kind"),
    [(1.0, int), (-0.0, int), (float(EXACT), int), (float(EXACT * 2), float), (0.5, float)],
)
def test_integral_numbers_become_integers_as_far_as_they_are_exact(
    number: float, kind: type
) -> None:
    read = read_value(value_of(number))
    assert read == number
    assert type(read) is kind


def test_true_stays_a_boolean() -> None:
    assert read_value(value_of(True)) is True  # noqa: FBT003 - a JSON value


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have_are_refused_and_written_as_null(number: float) -> None:
    value: Proto = Value()
    value.number_value = number
    with pytest.raises(UnreadableError, match="a number that JSON does not have"):
        read_value(value)
    assert read_value(value_of(number)) is None


def test_an_integer_beyond_all_doubles_is_written_as_text() -> None:
    assert read_value(value_of(10**400)) == str(10**400)


def test_a_value_without_content_is_null() -> None:
    assert read_value(Value()) is None


def test_empty_containers_are_not_null() -> None:
    assert read_value(value_of({})) == {}
    assert read_value(value_of([])) == []


# --- times --------------------------------------------------------------------------------------


def timestamp(seconds: int, nanos: int = 0) -> Proto:
    made: Proto = Timestamp()
    made.seconds = seconds
    made.nanos = nanos
    return made


@given(timestamps)
def test_times_read_back(text: str) -> None:
    made: Proto = Timestamp()
    write_timestamp(made, text)
    assert read_timestamp(made) == text


@pytest.mark.parametrize(
    ("seconds", "nanos", "text"),
    [
        (0, 0, "1970-01-01T00:00:00.000Z"),
        (0, 5_000_000, "1970-01-01T00:00:00.005Z"),
        (1, 1, "1970-01-01T00:00:01.000000001Z"),
        (-1, 999_000_000, "1969-12-31T23:59:59.999Z"),
        # The zero time of Go.
        (-62_135_596_800, 0, "0001-01-01T00:00:00.000Z"),
        (253_402_300_799, 0, "9999-12-31T23:59:59.000Z"),
    ],
)
def test_a_time_is_read_to_the_nanosecond(seconds: int, nanos: int, text: str) -> None:
    assert read_timestamp(timestamp(seconds, nanos)) == text
    assert parse_timestamp(text) == seconds * 1000 + math.ceil(nanos / 1_000_000)


@pytest.mark.parametrize(
    ("seconds", "nanos"),
    [(253_402_300_800, 0), (-62_135_596_801, 0), (2**62, 0), (0, -1), (0, 1_000_000_000)],
)
def test_what_is_no_time_is_refused(seconds: int, nanos: int) -> None:
    with pytest.raises(UnreadableError):
        read_timestamp(timestamp(seconds, nanos))


def test_a_text_that_is_no_time_is_not_written() -> None:
    made: Proto = message_class("lf.a2a.v1.TaskStatus")()
    write_timestamp(made.timestamp, "yesterday")
    assert not made.HasField("timestamp")


@pytest.mark.parametrize("text", ["0s", "1s", "1.5s", "0.25s", "3600s"])
def test_delays_read_back(text: str) -> None:
    made: Proto = Duration()
    write_duration(made, text)
    assert read_duration(made) == text


def test_a_place_is_named_from_the_top() -> None:
    problem = UnreadableError("is wrong").within("data").within("[2]").within("parts")
    assert problem.path == "parts[2].data"
    assert UnreadableError("is wrong").within("metadata").path == "metadata"


@pytest.mark.parametrize("is_object", [True, False])
def test_what_is_nested_too_deeply_for_readers_is_written_as_text(*, is_object: bool) -> None:
    deep: object = "x"
    for _ in range(150):
        deep = {"a": deep} if is_object else [deep]
    value: Proto = Value()
    write_value(value, deep)
    # A reader takes it, with room for the messages around it.
    value = Value.FromString(value.SerializeToString())
    seen, expected = read_value(value), deep
    while isinstance(seen, (dict, list)):
        key = "a" if isinstance(seen, dict) else 0
        seen, expected = cast("Any", seen)[key], cast("Any", expected)[key]
    assert json.loads(cast("str", seen)) == expected
