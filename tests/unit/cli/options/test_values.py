from collections.abc import Callable

import pytest

from dragoman.cli.options import values
from dragoman.model.tasks import TaskState


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("2s", 2), ("1m30s", 90), ("1h", 3600), ("7", 7), ("0", 0), ("0.25", 0.25)],
)
def test_a_duration_is_read_as_seconds(text: str, seconds: float) -> None:
    assert values.duration(text) == seconds


@pytest.mark.parametrize("text", ["", "fast", "1x", "s", "-1s", "1 s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a duration such as"):
        values.duration(text)


@pytest.mark.parametrize("text", ["1", "true", "YES", "On"])
def test_a_switch_may_be_on(text: str) -> None:
    assert values.boolean(text) is True


@pytest.mark.parametrize("text", ["0", "False", "no", "OFF"])
def test_a_switch_may_be_off(text: str) -> None:
    assert values.boolean(text) is False


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("jsonrpc", "JSONRPC"),
        ("JSON-RPC", "JSONRPC"),
        ("rest", "HTTP+JSON"),
        ("Http-Json", "HTTP+JSON"),
        ("grpc", "GRPC"),
        ("https://bindings.example/mine", "https://bindings.example/mine"),
    ],
)
def test_a_binding_has_several_names(text: str, name: str) -> None:
    assert values.binding(text) == name


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("X-A:1", ("X-A", "1")),
        ("X-A: 1", ("X-A", "1")),
        ("X-A:  1", ("X-A", " 1")),
        ("X-A=1", ("X-A", "1")),
        # Whichever comes first.
        ("X-A:b=c", ("X-A", "b=c")),
        ("X-A=b:c", ("X-A", "b:c")),
    ],
)
def test_a_parameter_has_a_colon_or_an_equals_sign(text: str, pair: tuple[str, str]) -> None:
    assert values.parameter(text) == pair


def test_several_parameters_are_split_where_a_name_follows() -> None:
    assert values.split_parameters("A:1,2, B=3,C:4,5") == ["A:1,2", "B=3", "C:4,5"]
    assert values.split_list(" a, b ,,c") == ["a", "b", "c"]


@pytest.mark.parametrize("text", ["input-required", "INPUT_REQUIRED", "TASK_STATE_INPUT_REQUIRED"])
def test_a_state_has_a_short_name(text: str) -> None:
    assert values.task_state(text) is TaskState.INPUT_REQUIRED


def test_a_json_object_is_read() -> None:
    assert values.json_object('{"a": [1]}') == {"a": [1]}


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (values.text, ""),
        (values.boolean, "maybe"),
        (values.count, "-1"),
        (values.count, "1.5"),
        (values.count, "99999999999"),
        (values.port, "-1"),
        (values.port, "65536"),
        (values.page_size, "0"),
        (values.page_size, "101"),
        (values.choice("a", "b"), "c"),
        (values.version, "1"),
        (values.version, "latest"),
        (values.binding, "smoke"),
        (values.json_object, "[1]"),
        (values.json_object, "{"),
        (values.parameter, "no separator"),
        (values.parameter, ": no name"),
        (values.task_state, "lost"),
        (values.timestamp, "yesterday"),
    ],
)
def test_what_cannot_be_read_says_what_it_must_be(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(ValueError, match=r"^must ") as refused:
        read(text)
    # The text may be a secret.
    assert len(text) < 4 or text not in str(refused.value)


def test_numbers_are_read() -> None:
    assert (values.count("0"), values.page_size("100")) == (0, 100)
    assert (values.port("0"), values.port("65535")) == (0, 65535)
    assert values.version(" 0.3 ") == "0.3"
    assert values.choice("text", "json")("JSON") == "json"
    assert values.timestamp("2026-01-31T12:00:00Z") == "2026-01-31T12:00:00Z"
