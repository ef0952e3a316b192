import json
from typing import Final

import pytest

from dragoman.dialects.legacy.part_marks import UNKNOWN_KIND
from dragoman.dialects.profiles.rxjs.requests import answering, as_answer, read_envelope, with_tools
from dragoman.errors import InvalidParamsError
from dragoman.model.client_tools import CLIENT_TOOLS
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part

TOOL = {"name": "look", "description": "Look.", "parameters": {"type": "object"}}
RESULT = Part(data={"kind": "tool-result", "toolUseId": "u-1", "result": 1})


def params(**members: object) -> bytes:
    return json.dumps(members).encode()


def message(*parts: Part, task_id: str = "", references: tuple[str, ...] = ()) -> Message:
    return Message(
        message_id="m",
        role=Role.USER,
        parts=parts or (Part(text="hi"),),
        task_id=task_id,
        reference_task_ids=references,
    )


@pytest.mark.parametrize("tool", [TOOL, {"type": "function", "function": TOOL}])
def test_tools_stand_beside_the_message(tool: object) -> None:
    assert read_envelope(params(message={"kind": "message"}, tools=[tool])).tools == [TOOL]


def test_who_says_nothing_of_tools_has_declared_none() -> None:
    assert read_envelope(params(message={"kind": "message"})).tools is None


BAD: Final[list[tuple[dict[str, object], str]]] = [
    ({}, "message is required"),
    ({"message": {}}, "message.kind must be 'message'"),
    ({"message": {"kind": "letter"}}, "message.kind must be 'message'"),
    ({"message": {"kind": "message"}, "tools": 3}, "tools expected array"),
    ({"toolResults": []}, "toolResults must not be empty"),
    ({"toolResults": [{}], "taskId": "t"}, "toolCallId is required"),
    ({"toolResults": [{"toolCallId": "u"}]}, "taskId is required"),
]


@pytest.mark.parametrize(("members", "fault"), BAD)
def test_a_send_that_is_none_is_refused(members: dict[str, object], fault: str) -> None:
    with pytest.raises(InvalidParamsError, match=fault):
        read_envelope(params(**members))


def test_tools_are_declared_by_the_message_itself() -> None:
    told = with_tools(message(), [TOOL])
    assert told.metadata == {CLIENT_TOOLS: {"tools": [TOOL]}}


def test_a_task_is_resumed_by_results() -> None:
    results = [
        {"toolCallId": "u-1", "toolName": "look", "success": True, "result": {"a": 1}},
        {"toolCallId": "u-2", "toolName": "touch", "success": False, "error": "hot"},
    ]
    resumed = read_envelope(params(taskId="t-1", toolResults=results)).resumed
    assert resumed is not None
    assert (resumed.message.task_id, resumed.message.message_id) == ("t-1", "")
    assert [part.data for part in resumed.message.parts] == [
        {"kind": "tool-result", "toolUseId": "u-1", "result": {"a": 1}},
        {
            "kind": "tool-result",
            "toolUseId": "u-2",
            "result": None,
            "error": "hot",
            "isError": True,
        },
    ]


def test_results_answer_the_task_that_is_referred_to() -> None:
    assert answering(message(RESULT, references=("t-1",))).task_id == "t-1"
    assert answering(message(RESULT, task_id="t-0", references=("t-1",))).task_id == "t-0"
    # A call of a sub-agent refers to its parent, and begins a task of its own.
    assert answering(message(references=("t-1",))).task_id == ""
    assert answering(message(RESULT)).task_id == ""


def test_an_answer_refers_to_its_task() -> None:
    sent = as_answer(message(RESULT, task_id="t-1", references=("t-0",)))
    assert sent.reference_task_ids == ("t-1", "t-0")
    assert sent.parts[0].metadata == {UNKNOWN_KIND: "tool-result"}
    plain = message(task_id="t-1")
    assert as_answer(plain) is plain
