"""The leniencies of ProtoJSON (reference 2.1, 2.2), and the refusals of Q-19."""

from typing import TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialects.v1_0.decode import Form
from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.model.cards import AgentCard
from dragoman.model.messages import Message, Role
from dragoman.model.operations import ListTasksRequest, SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import TaskState
from tests.support.strategies import json_objects, json_values

T = TypeVar("T", bound=msgspec.Struct)

MESSAGE: dict[str, object] = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}
_PARTS = Form(Part)
_MESSAGES = Form(Message)
_LISTS = Form(ListTasksRequest)
_SENDS = Form(SendMessageRequest)


def read(form: Form[T], wire: object) -> T:
    return form.decode(msgspec.json.encode(wire))


def refusal(form: Form[T], wire: object) -> FieldViolation:
    with pytest.raises(InvalidParamsError) as caught:
        read(form, wire)
    (violation,) = caught.value.violations
    return violation


# --- names ------------------------------------------------------------------------------------


def test_snake_case_names_are_read() -> None:
    wire = {
        "message": {"message_id": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]},
        "configuration": {"history_length": 3, "return_immediately": True},
    }
    request = read(_SENDS, wire)
    assert request.message.message_id == "m"
    assert request.configuration is not None
    assert request.configuration.history_length == 3
    assert request.configuration.return_immediately


def test_a_snake_case_name_is_read_even_where_nothing_else_is_amiss() -> None:
    # The strict decoder alone would ignore context_id as unknown.
    assert read(_MESSAGES, MESSAGE | {"context_id": "c"}).context_id == "c"
    assert _LISTS.decode(b'{"page_size" : 5}').page_size == 5


@pytest.mark.parametrize("second", ["c", None])
def test_both_spellings_together_are_refused(second: str | None) -> None:
    violation = refusal(_MESSAGES, MESSAGE | {"contextId": "c", "context_id": second})
    assert violation == FieldViolation("contextId", "is given in two spellings")


@pytest.mark.requirement("R-5.7-5")
def test_unknown_members_are_ignored() -> None:
    assert read(_MESSAGES, MESSAGE | {"kind": "message"}) == read(_MESSAGES, MESSAGE)
    wire = MESSAGE | {"kind": "message", "role": 1}
    assert read(_MESSAGES, wire) == read(_MESSAGES, MESSAGE)


def test_of_equal_keys_the_last_counts() -> None:
    assert _LISTS.decode(b'{"pageSize":5,"pageSize":6}').page_size == 6
    assert _LISTS.decode(b'{"pageSize":5,"pageSize":"6"}').page_size == 6


# --- null -------------------------------------------------------------------------------------


def test_null_is_the_same_as_absent() -> None:
    nulls = dict.fromkeys(("contextId", "taskId", "metadata", "extensions", "referenceTaskIds"))
    assert read(_MESSAGES, MESSAGE | nulls) == read(_MESSAGES, MESSAGE)


def test_null_members_of_a_union_do_not_count() -> None:
    wire = {"text": None, "raw": None, "url": "u", "filename": None}
    assert read(_PARTS, wire) == Part(url="u")


def test_null_is_a_value_of_data() -> None:
    assert read(_PARTS, {"data": None, "filename": None}) == Part(data=None)
    assert refusal(_PARTS, {"data": None, "text": "x"}).description.startswith("needs exactly one")


def test_null_in_an_array_is_refused() -> None:
    violation = refusal(_MESSAGES, MESSAGE | {"parts": [{"text": "x"}, None]})
    assert violation == FieldViolation("parts[1]", "must not be null")
    violation = refusal(_MESSAGES, MESSAGE | {"extensions": [None]})
    assert violation == FieldViolation("extensions[0]", "must not be null")


# --- numbers and booleans ----------------------------------------------------------------------


@pytest.mark.parametrize("written", [5, 5.0, "5", "05"])
def test_an_integer_may_be_a_whole_number_or_a_text(written: object) -> None:
    assert read(_LISTS, {"pageSize": written}).page_size == 5


@pytest.mark.parametrize(
    ("written", "description"),
    [
        (5.5, "expected integer, got number"),
        ("5.0", "expected integer, got string"),
        ("", "expected integer, got string"),
        ("\u0665", "expected integer, got string"),  # a digit, but not of ours
        ("9" * 5000, "expected integer, got string"),
        (True, "expected integer, got boolean"),
        ([5], "expected integer, got array"),
    ],
)
def test_anything_else_is_no_integer(written: object, description: str) -> None:
    assert refusal(_LISTS, {"historyLength": written}) == FieldViolation(
        "historyLength", description
    )


@pytest.mark.requirement("R-3.1.4-13")
@pytest.mark.parametrize("size", [0, 101, -1, "0", 101.0, 2**40])
def test_a_page_size_outside_1_to_100_is_refused(size: object) -> None:
    assert refusal(_LISTS, {"pageSize": size}) == FieldViolation(
        "pageSize", "must be between 1 and 100"
    )


@pytest.mark.requirement("R-3.2.4-6")
@pytest.mark.parametrize("length", [-1, "-1", -1.0, 2**31])
def test_a_history_length_that_is_negative_or_no_int32_is_refused(length: object) -> None:
    description = "must be between 0 and 2147483647"
    assert refusal(_LISTS, {"historyLength": length}) == FieldViolation(
        "historyLength", description
    )
    wire = {"message": MESSAGE, "configuration": {"historyLength": length}}
    assert refusal(_SENDS, wire) == FieldViolation("configuration.historyLength", description)


@pytest.mark.parametrize("written", ["true", 1, "false", 0])
def test_a_boolean_is_a_json_boolean(written: object) -> None:
    violation = refusal(_LISTS, {"includeArtifacts": written})
    assert violation.field == "includeArtifacts"
    assert violation.description.startswith("expected boolean, got ")


def test_a_string_is_a_json_string() -> None:
    assert refusal(_LISTS, {"tenant": 5}).description == "expected string, got integer"


# --- bytes ------------------------------------------------------------------------------------


@given(st.binary(max_size=40), st.booleans(), st.booleans())
def test_base64_is_read_in_either_alphabet_with_or_without_padding(
    raw: bytes,
    is_url_safe: bool,  # noqa: FBT001 - hypothesis passes it by name
    is_padded: bool,  # noqa: FBT001 - hypothesis passes it by name
) -> None:
    text = msgspec.json.decode(msgspec.json.encode(raw), type=str)
    if is_url_safe:
        text = text.replace("+", "-").replace("/", "_")
    if not is_padded:
        text = text.rstrip("=")
    assert read(_PARTS, {"raw": text}).raw == raw


@pytest.mark.parametrize("written", ["AQ!=", "A", "AQI=\n", "AQ I", "=AQI", "AQI=A", "ÄÖÜß"])
def test_bad_base64_is_refused(written: str) -> None:
    assert refusal(_PARTS, {"raw": written}) == FieldViolation("raw", "is not base64")


def test_bytes_are_a_string() -> None:
    assert refusal(_PARTS, {"raw": [1]}).description == "expected base64 string, got array"


# --- enums ------------------------------------------------------------------------------------

TASK_STATES = [  # reference 1.3, numbers 1 to 8
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
]


@pytest.mark.requirement("R-5.5-2")
@pytest.mark.parametrize(("number", "name"), list(enumerate(TASK_STATES, 1)))
def test_a_task_state_may_be_its_number(number: int, name: str) -> None:
    assert read(_LISTS, {"status": number}).status is TaskState(name)
    assert read(_LISTS, {"status": name}).status is TaskState(name)


def test_a_role_may_be_its_number() -> None:
    assert read(_MESSAGES, MESSAGE | {"role": 1}).role is Role.USER
    assert read(_MESSAGES, MESSAGE | {"role": 2}).role is Role.AGENT


@pytest.mark.parametrize("unset", [0, "TASK_STATE_UNSPECIFIED", None])
def test_the_unspecified_value_is_the_same_as_absent(unset: object) -> None:
    assert read(_LISTS, {"status": unset}).status is None


@pytest.mark.requirement("R-5.5-2")
@pytest.mark.parametrize(
    "written", ["TASK_STATE_RUNNING", "working", "", 9, -1, True, False, 1.5, ["x"], {}]
)
def test_an_unknown_enum_value_is_refused(written: object) -> None:
    assert refusal(_LISTS, {"status": written}) == FieldViolation(
        "status", f"must be one of {', '.join(TASK_STATES)}"
    )


# --- objects, arrays and free data -----------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "field", "description"),
    [
        ('{"message":[]}', "message", "expected object, got array"),
        ('{"message":{"parts":{}}}', "message.parts", "expected array, got object"),
        ('{"message":{"metadata":[]}}', "message.metadata", "expected object, got array"),
        ('{"message":{"extensions":[1]}}', "message.extensions[0]", "expected string, got integer"),
        (
            '{"message":{"parts":[{"text":"x"},{}]}}',
            "message.parts[1]",
            "needs exactly one of text, raw, url, data",
        ),
    ],
)
def test_a_wrong_shape_is_named(body: str, field: str, description: str) -> None:
    assert refusal(_SENDS, msgspec.json.decode(body)) == FieldViolation(field, description)


@given(json_objects, json_values)
def test_free_data_is_left_untouched(metadata: dict[str, object], data: object) -> None:
    # The number sends it through the normaliser; names like message_id are none inside free data.
    metadata |= {"message_id": None, "taskId": [None, 5.0, "5"]}
    wire = MESSAGE | {"role": 1, "parts": [{"data": data}], "metadata": metadata}
    message = read(_MESSAGES, wire)
    assert message.metadata == metadata
    assert message.parts[0].data == data


def test_a_key_like_a_name_of_ours_in_metadata_does_no_harm() -> None:
    wire = MESSAGE | {"metadata": {"task_id": None, "taskId": 1}}
    assert read(_MESSAGES, wire).metadata == {"task_id": None, "taskId": 1}


# --- maps, which only cards have --------------------------------------------------------------

CARD: dict[str, object] = {
    "name": "a",
    "description": "",
    "version": "",
    "supportedInterfaces": [],
    "capabilities": {},
    "defaultInputModes": [],
    "defaultOutputModes": [],
    "skills": [],
}


def test_the_values_of_a_map_are_read_leniently_too() -> None:
    scheme = {"api_key_security_scheme": {"location": "header", "name": "k", "description": None}}
    card = read(Form(AgentCard), CARD | {"security_schemes": {"some_key": scheme}})
    key = card.security_schemes["some_key"].api_key_security_scheme
    assert key is not None
    assert key.name == "k"


@pytest.mark.parametrize("written", [[], {"k": None}, {"k": {}}])
def test_a_wrong_map_is_refused(written: object) -> None:
    assert refusal(Form(AgentCard), CARD | {"securitySchemes": written}).field.startswith(
        "securitySchemes"
    )
