"""What is written and what is left out: reference section 2.2."""

import weakref

import msgspec
import pytest

from dragoman.model.cards import AgentCapabilities
from dragoman.model.messages import Message, Role, text_of
from dragoman.model.operations import (
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SendMessageConfiguration,
)
from dragoman.model.parts import Part
from dragoman.model.security import MutualTlsSecurityScheme, SecurityRequirement, SecurityScheme
from dragoman.model.tasks import UNSPECIFIED, Task, TaskState, TaskStatus


def wire(value: msgspec.Struct) -> object:
    return msgspec.json.decode(msgspec.json.encode(value))


@pytest.mark.requirement("R-5.5-1", "R-5.5-2")
def test_names_are_camel_case_and_enums_are_their_proto_names() -> None:
    message = Message(message_id="m", context_id="c", role=Role.USER, parts=(Part(text="x"),))
    assert wire(message) == {
        "messageId": "m",
        "contextId": "c",
        "role": "ROLE_USER",
        "parts": [{"text": "x"}],
    }


def test_zero_scalars_and_empty_arrays_are_left_out() -> None:
    task = Task(id="t", status=TaskStatus(state=TaskState.WORKING))
    assert wire(task) == {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (SendMessageConfiguration(history_length=0), {"historyLength": 0}),
        (GetTaskRequest(id="t", history_length=0), {"id": "t", "historyLength": 0}),
        (ListTasksRequest(include_artifacts=False), {"includeArtifacts": False}),
        (AgentCapabilities(streaming=False), {"streaming": False}),
        # No explicit presence here: zero is unset.
        (ListTaskPushNotificationConfigsRequest(task_id="t", page_size=0), {"taskId": "t"}),
    ],
)
def test_optional_fields_are_written_even_at_zero(value: msgspec.Struct, expected: object) -> None:
    assert wire(value) == expected


def test_an_empty_message_that_is_set_is_written() -> None:
    scheme = SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme())
    assert wire(scheme) == {"mtlsSecurityScheme": {}}
    assert wire(SecurityRequirement()) == {}


@pytest.mark.requirement("R-4.1.6-1")
@pytest.mark.parametrize(
    ("part", "kind", "expected"),
    [
        (Part(text=""), "text", {"text": ""}),
        (Part(raw=b""), "raw", {"raw": ""}),
        (Part(url=""), "url", {"url": ""}),
        # null is a value of data.
        (Part(data=None), "data", {"data": None}),
    ],
)
def test_a_chosen_member_is_written_even_when_empty(
    part: Part, kind: str, expected: object
) -> None:
    assert part.kind == kind
    assert wire(part) == expected


@pytest.mark.requirement("R-4.1.6-1")
def test_a_part_holds_exactly_one_content() -> None:
    with pytest.raises(ValueError, match="exactly one of text, raw, url, data"):
        Part()
    with pytest.raises(ValueError, match="exactly one of text, raw, url, data"):
        Part(text="", data=None)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Part(text="x"), "text/plain"),
        (Part(data=1), "application/json"),
        (Part(raw=b"x"), ""),
        (Part(text="x", media_type="text/html"), "text/html"),
    ],
)
def test_a_missing_media_type_is_inferred(part: Part, expected: str) -> None:
    assert part.effective_media_type == expected


def test_the_text_of_parts_is_one_line_each() -> None:
    assert text_of((Part(text="a"), Part(data=1), Part(text=""), Part(text="b"))) == "a\n\nb"


def test_states_are_active_interrupted_or_terminal() -> None:
    assert [state for state in TaskState if state.is_terminal] == [
        TaskState.COMPLETED,
        TaskState.FAILED,
        TaskState.CANCELED,
        TaskState.REJECTED,
    ]
    assert [state for state in TaskState if state.is_interrupted] == [
        TaskState.INPUT_REQUIRED,
        TaskState.AUTH_REQUIRED,
    ]


def test_a_state_that_a2a_does_not_have_keeps_its_name_and_is_no_member() -> None:
    paused = TaskState("TASK_STATE_PAUSED")
    assert (paused.name, paused.value) == ("PAUSED", "TASK_STATE_PAUSED")
    assert paused is TaskState("TASK_STATE_PAUSED")
    assert paused not in list(TaskState)
    for state in (paused, UNSPECIFIED, TaskState("TASK_STATE_HALF_COMPLETED")):
        assert (state.is_member, state.is_terminal, state.is_interrupted) == (False, False, False)
        status = TaskStatus(state=state)
        assert msgspec.json.decode(msgspec.json.encode(status), type=TaskStatus) == status


@pytest.mark.parametrize("name", ["", "paused", "TASK_STATE_", "TASK_STATE_\n", "TASK_STATE_ä", 9])
def test_what_is_no_name_of_a_state_is_none(name: object) -> None:
    with pytest.raises(ValueError, match="is not a valid TaskState"):
        TaskState(name)


def test_a_peer_cannot_fill_the_memory_with_states() -> None:
    seen = [weakref.ref(TaskState(f"TASK_STATE_X{number}")) for number in range(1000)]
    assert sum(state() is not None for state in seen) < 100
    assert TaskState("TASK_STATE_UNSPECIFIED") is UNSPECIFIED
