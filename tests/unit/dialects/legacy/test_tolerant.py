import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialects.fields import Fields
from dragoman.dialects.legacy.tolerant import (
    discriminator_of,
    media_type,
    read_any_state,
    read_bytes,
    read_message,
    read_part,
    read_role,
    read_state,
    read_status,
    read_timestamp,
)
from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.model.base import JsonObject
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import TaskState, TaskStatus
from tests.support.strategies import json_values, timestamps

# --- scalars ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("submitted", TaskState.SUBMITTED),
        ("Working", TaskState.WORKING),
        ("COMPLETED", TaskState.COMPLETED),
        ("failed", TaskState.FAILED),
        ("canceled", TaskState.CANCELED),
        ("cancelled", TaskState.CANCELED),
        ("TASK_STATE_CANCELLED", TaskState.CANCELED),
        ("input-required", TaskState.INPUT_REQUIRED),
        ("input_required", TaskState.INPUT_REQUIRED),
        ("inputRequired", TaskState.INPUT_REQUIRED),
        ("TASK_STATE_INPUT_REQUIRED", TaskState.INPUT_REQUIRED),
        ("rejected", TaskState.REJECTED),
        ("auth-required", TaskState.AUTH_REQUIRED),
        # Aliases of the field.
        ("started", TaskState.SUBMITTED),
        ("pending", TaskState.SUBMITTED),
        ("queued", TaskState.SUBMITTED),
        ("running", TaskState.WORKING),
        ("in-progress", TaskState.WORKING),
        ("done", TaskState.COMPLETED),
        ("success", TaskState.COMPLETED),
        ("error", TaskState.FAILED),
        # What is no state of the model.
        ("unknown", None),
        ("TASK_STATE_UNSPECIFIED", None),
        ("dancing", None),
        ("", None),
    ],
)
def test_a_state_is_read_in_every_spelling(text: str, state: TaskState | None) -> None:
    assert read_state(text) is state


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("working", "TASK_STATE_WORKING"),
        ("done", "TASK_STATE_COMPLETED"),
        ("unknown", "TASK_STATE_UNKNOWN"),
        ("TASK_STATE_UNSPECIFIED", "TASK_STATE_UNSPECIFIED"),
        ("unspecified", "TASK_STATE_UNSPECIFIED"),
        # What A2A does not have keeps its name.
        ("on-hold", "TASK_STATE_ON_HOLD"),
        ("TASK_STATE_ON_HOLD", "TASK_STATE_ON_HOLD"),
        # What is no name has none.
        ("\x1b[2J", "TASK_STATE_UNSPECIFIED"),
        ("", "TASK_STATE_UNSPECIFIED"),
        ("x" * 100, "TASK_STATE_UNSPECIFIED"),
    ],
)
def test_any_state_that_a_peer_tells_can_be_read(text: str, name: str) -> None:
    assert read_any_state(text).value == name


@pytest.mark.parametrize(
    ("value", "role"),
    [
        ("user", Role.USER),
        ("agent", Role.AGENT),
        ("ROLE_AGENT", Role.AGENT),
        ("Agent", Role.AGENT),
        ("assistant", Role.USER),
        (None, Role.USER),
        (2, Role.USER),
    ],
)
def test_an_odd_role_is_the_one_that_fits_the_place(value: object, role: Role) -> None:
    assert read_role(value, Role.USER) is role


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("AAEC/w==", b"\x00\x01\x02\xff"),
        ("AAEC_w", b"\x00\x01\x02\xff"),
        ("AAEC\n/w= =", b"\x00\x01\x02\xff"),
        ("-_-_", b"\xfb\xff\xbf"),
        ("", b""),
        ("A", None),
        ("A=BC", None),
        ("%", None),
        ("é", None),
    ],
)
def test_base64_is_read_in_every_form(text: str, content: bytes | None) -> None:
    assert read_bytes(text) == content


@given(st.binary(max_size=20))
def test_all_bytes_read_back(content: bytes) -> None:
    assert read_bytes(base64.b64encode(content).decode()) == content
    assert read_bytes(base64.urlsafe_b64encode(content).decode().rstrip("=")) == content


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2025-05-01T10:00:00.123Z", "2025-05-01T10:00:00.123Z"),
        ("2025-05-01T10:00:00", "2025-05-01T10:00:00.000Z"),  # no offset is UTC
        ("2025-05-01T10:00:00.123456", "2025-05-01T10:00:00.123Z"),
        ("2025-05-01T10:00:00.123456789Z", "2025-05-01T10:00:00.123Z"),
        ("2025-05-01T12:00:00+02:00", "2025-05-01T10:00:00.000Z"),
        ("2025-05-01t10:00:00z", "2025-05-01T10:00:00.000Z"),
        ("2025-05-01", "2025-05-01T00:00:00.000Z"),
        ("20250501T100000Z", "2025-05-01T10:00:00.000Z"),
        ("yesterday", None),
        ("0001-01-01T00:00:00+23:00", None),
        ("", None),
    ],
)
def test_a_time_is_read_in_every_iso_form(text: str, read: str | None) -> None:
    assert read_timestamp(text) == read


@given(timestamps)
def test_the_times_of_the_model_stay_as_they_are(text: str) -> None:
    assert read_timestamp(text) == text


def test_a_mode_may_be_a_word() -> None:
    words = ("text", "file", "data", "json", "image/png", "")
    assert [media_type(word) for word in words] == [
        "text/plain",
        "application/octet-stream",
        "application/json",
        "application/json",
        "image/png",
        "",
    ]


# --- parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "part"),
    [
        # By kind, else by type, else by the member that is present.
        ({"kind": "text", "text": "x"}, Part(text="x")),
        ({"type": "text", "text": "x"}, Part(text="x")),
        ({"kind": None, "type": "text", "text": ""}, Part(text="")),
        ({"text": "x"}, Part(text="x")),
        ({"root": {"root": {"kind": "text", "text": "x"}}}, Part(text="x")),
        ({"kind": "text", "text": "x", "metadata": {"k": 1}}, Part(text="x", metadata={"k": 1})),
        ({"kind": "data", "data": {"a": 1}}, Part(data={"a": 1})),
        ({"type": "data", "data": [1]}, Part(data=[1])),
        # The parts of 1.0.
        (
            {"text": "x", "mediaType": "a/b", "filename": "f"},
            Part(text="x", media_type="a/b", filename="f"),
        ),
        ({"raw": "eA==", "mediaType": "a/b"}, Part(raw=b"x", media_type="a/b")),
        ({"url": "u", "filename": "f"}, Part(url="u", filename="f")),
        # Marks.
        (
            {"kind": "data", "data": {"value": 5}, "metadata": {"data_part_compat": True}},
            Part(data=5),
        ),
        (
            {
                "kind": "text",
                "text": "x",
                "metadata": {"a2a.v1": True, "mimeType": "text/markdown", "filename": "f"},
            },
            Part(text="x", media_type="text/markdown", filename="f"),
        ),
        # Unknown kinds are kept whole.
        (
            {"kind": "tool-result", "toolUseId": "t", "result": None},
            Part(
                data={"kind": "tool-result", "toolUseId": "t", "result": None},
                metadata={"a2a.v0.kind": "tool-result"},
            ),
        ),
        (
            {"type": "video", "metadata": 5},
            Part(data={"type": "video", "metadata": 5}, metadata={"a2a.v0.kind": "video"}),
        ),
    ],
)
def test_a_part_is_read_in_every_spelling(value: object, part: Part) -> None:
    assert read_part(value, "p") == part


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ({"bytes": "eA=="}, Part(raw=b"x")),
        ({"data": "eA=="}, Part(raw=b"x")),
        ({"fileWithBytes": "eA"}, Part(raw=b"x")),
        ({"bytes": ""}, Part(raw=b"")),
        (
            {"uri": "u", "name": "f", "mimeType": "a/b"},
            Part(url="u", filename="f", media_type="a/b"),
        ),
        ({"fileWithUri": "u", "mime_type": "a/b"}, Part(url="u", media_type="a/b")),
        ({"url": "u", "filename": "f", "mediaType": "a/b"}, None),
        ({"bytes": "eA==", "uri": "u"}, Part(raw=b"x", metadata={"a2a.v0.uri": "u"})),
        (
            {"name": "f", "mimeType": "a/b"},
            Part(data={"name": "f", "mimeType": "a/b"}, metadata={"a2a.v0.fileReference": True}),
        ),
        ({}, Part(data={}, metadata={"a2a.v0.fileReference": True})),
    ],
)
def test_a_file_is_read_in_every_spelling(file: JsonObject, part: Part | None) -> None:
    expected = part or Part(url="u", filename="f", media_type="a/b")
    assert read_part({"kind": "file", "file": file}, "p") == expected


def test_the_metadata_of_a_file_keeps_its_own_members() -> None:
    value = {"kind": "file", "file": {"bytes": "", "uri": "u"}, "metadata": {"k": 1}}
    assert read_part(value, "p").metadata == {"k": 1, "a2a.v0.uri": "u"}


@pytest.mark.parametrize(
    ("value", "field", "description"),
    [
        ("x", "p", "expected object, got string"),
        ({}, "p", "needs a kind, or one of text, file, data"),
        ({"data": None}, "p", "needs a kind, or one of text, file, data"),
        ({"kind": 5}, "p.kind", "expected string, got integer"),
        ({"kind": "text"}, "p.text", "is required"),
        ({"kind": "text", "text": 5}, "p.text", "expected string, got integer"),
        ({"type": "data"}, "p.data", "is required"),
        ({"kind": "file"}, "p.file", "is required"),
        ({"kind": "file", "file": "x"}, "p.file", "expected object, got string"),
        ({"kind": "file", "file": {"bytes": "%"}}, "p.file.bytes", "is not base64"),
        ({"kind": "file", "file": {"uri": 5}}, "p.file.uri", "expected string, got integer"),
        ({"text": "x", "metadata": []}, "p.metadata", "expected object, got array"),
        ({"root": 5}, "p.root", "expected object, got integer"),
    ],
)
def test_what_is_no_part_is_refused(value: object, field: str, description: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        read_part(value, "p")
    assert caught.value.violations == (FieldViolation(field, description),)


def test_a_deep_root_is_unwrapped() -> None:
    value: object = {"text": "x"}
    for _ in range(5000):
        value = {"root": value}
    assert read_part(value, "p") == Part(text="x")


def test_the_discriminator_is_told() -> None:
    values: list[object] = [{"kind": "text"}, {"type": "text"}, {"kind": 5}, {"text": "x"}, "x"]
    assert [discriminator_of(value) for value in values] == ["kind", "type", "", "", ""]
    assert discriminator_of({"kind": "text", "type": "text"}) == "kind"


# --- messages -----------------------------------------------------------------------------------


def test_a_message_is_read_with_all_its_members() -> None:
    value = {
        "kind": "message",
        "messageId": "m",
        "role": "agent",
        "parts": [{"kind": "text", "text": "x"}],
        "taskId": "t",
        "contextId": "c",
        "metadata": {"k": 1},
        "extensions": ["e"],
        "referenceTaskIds": ["r"],
    }
    assert read_message(value, "m", role=Role.USER) == Message(
        message_id="m",
        role=Role.AGENT,
        parts=(Part(text="x"),),
        task_id="t",
        context_id="c",
        metadata={"k": 1},
        extensions=("e",),
        reference_task_ids=("r",),
    )


def test_proto_names_nulls_and_content_are_read() -> None:
    value = {"message_id": "m", "task_id": "t", "role": None, "content": [{"text": "x"}]}
    expected = Message(message_id="m", task_id="t", role=Role.AGENT, parts=(Part(text="x"),))
    assert read_message({**value, "metadata": None}, "m", role=Role.AGENT) == expected


def test_a_message_without_an_id_has_none() -> None:
    assert read_message({"parts": [{"text": "x"}]}, "", role=Role.USER).message_id == ""


@pytest.mark.parametrize(
    ("value", "field", "description"),
    [
        ({}, "m.parts", "is required"),
        ({"parts": []}, "m.parts", "must not be empty"),
        ({"parts": [{"text": 5}]}, "m.parts[0].text", "expected string, got integer"),
        ({"parts": [None]}, "m.parts[0]", "expected object, got null"),
        ({"messageId": 5, "parts": [{"text": ""}]}, "m.messageId", "expected string, got integer"),
    ],
)
def test_what_is_no_message_is_refused(value: object, field: str, description: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        read_message(value, "m", role=Role.USER)
    assert caught.value.violations == (FieldViolation(field, description),)


def test_an_input_request_is_kept_and_can_be_read() -> None:
    asked = {"kind": "input-request", "prompt": "key?", "sensitive": True, "requestId": "r"}
    read = read_message({"messageId": "m", "inputRequest": asked}, "m", role=Role.AGENT)
    assert read.metadata == {"a2a.v0.inputRequest": asked}
    assert read.parts == (Part(text="key?"),)
    value = {"parts": [{"text": "which?"}], "metadata": {"k": 1}, "inputRequest": asked}
    read = read_message(value, "m", role=Role.AGENT)
    assert read.metadata == {"k": 1, "a2a.v0.inputRequest": asked}
    assert read.parts == (Part(text="which?"),)


@given(json_values)
def test_whatever_json_comes_nothing_else_is_raised(value: object) -> None:
    for wrapped in (value, {"parts": value}, {"parts": [{"kind": "file", "file": value}]}):
        try:
            read_message(wrapped, "m", role=Role.USER)
        except InvalidParamsError:
            continue


# --- statuses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["message", "update"])
def test_a_status_is_read_with_its_message(name: str) -> None:
    message = {"messageId": "m", "parts": [{"text": "x"}]}
    status = {"state": "done", name: message, "timestamp": "2025-05-01T12:00:00+02:00"}
    assert read_status(Fields({"status": status})) == TaskStatus(
        state=TaskState.COMPLETED,
        message=Message(message_id="m", role=Role.AGENT, parts=(Part(text="x"),)),
        timestamp="2025-05-01T10:00:00.000Z",
    )


@pytest.mark.parametrize("timestamp", ["soon", 5, None])
def test_a_time_that_is_none_is_left_out(timestamp: object) -> None:
    status = {"state": "working", "timestamp": timestamp}
    assert read_status(Fields({"status": status})) == TaskStatus(state=TaskState.WORKING)


@pytest.mark.parametrize(
    ("owner", "field", "description"),
    [
        ({}, "at.status", "is required"),
        ({"status": {}}, "at.status.state", "is required"),
        ({"status": {"state": ""}}, "at.status.state", "must not be empty"),
    ],
)
def test_what_is_no_status_is_refused(owner: object, field: str, description: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        read_status(Fields(owner, "at"))
    assert caught.value.violations == (FieldViolation(field, description),)
