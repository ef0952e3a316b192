import json

import msgspec
import pytest

from dragoman.dialects.base import Reading
from dragoman.dialects.profiles.rxjs.profile import (
    RXJS_DIALECT,
    RXJS_REST_DIALECT,
    RXJS_REST_TOOLS_DIALECT,
    RXJS_TOOLS_DIALECT,
)
from dragoman.errors import InvalidParamsError, TaskNotFoundError
from dragoman.model.client_tools import CLIENT_TOOLS
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.events import StreamResponse, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskRequest,
    Operation,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.parts import Part
from dragoman.model.tasks import Task, TaskState, TaskStatus

SEND = Operation.SEND_MESSAGE
TOOL = {"name": "look", "description": "Look.", "parameters": {"type": "object"}}
WORDS = {
    "kind": "message",
    "role": "user",
    "messageId": "m-1",
    "parts": [{"kind": "text", "text": "hi"}],
}
USE = Part(data={"kind": "tool-use", "toolUseId": "u-1", "name": "look", "input": {}})


def read(**params: object) -> tuple[SendMessageRequest, str]:
    reading = RXJS_DIALECT.decode_request(SEND, json.dumps(params).encode())
    assert isinstance(reading.request, SendMessageRequest)
    return reading.request, reading.answer.name


def question() -> StreamResponse:
    message = Message(message_id="q", role=Role.AGENT, parts=(Part(text="Please"), USE))
    status = TaskStatus(state=TaskState.INPUT_REQUIRED, message=message)
    return StreamResponse(
        status_update=TaskStatusUpdateEvent(task_id="t", context_id="c", status=status)
    )


def document(event: StreamResponse) -> EventDocument:
    return EventDocument(1, msgspec.json.encode(event))


def test_who_declares_tools_is_answered_with_parts_that_are_tools() -> None:
    request, form = read(message=WORDS, tools=[TOOL])
    assert request.message.metadata == {CLIENT_TOOLS: {"tools": [TOOL]}}
    assert form == RXJS_TOOLS_DIALECT.name
    assert read(message=WORDS)[1] == RXJS_DIALECT.name


def test_who_answers_is_known_to_speak_the_profile() -> None:
    result = {"kind": "tool-result", "toolUseId": "u-1", "result": 1}
    words = {**WORDS, "parts": [result], "referenceTaskIds": ["t-1"]}
    request, form = read(message=words)
    assert (request.message.task_id, form) == ("t-1", RXJS_TOOLS_DIALECT.name)
    # As data, which readers of other versions know.
    assert request.message.parts == (Part(data=result),)
    resumed, form = read(taskId="t-1", toolResults=[{"toolCallId": "u-1", "result": 1}])
    assert (resumed.message.task_id, form) == ("t-1", RXJS_TOOLS_DIALECT.name)


def test_who_answers_in_data_may_speak_plain_0_3() -> None:
    result = {"kind": "data", "data": {"kind": "tool-result", "toolUseId": "u-1", "result": 1}}
    request, form = read(message={**WORDS, "parts": [result], "taskId": "t-1"})
    assert (request.message.parts[0].data, form) == (result["data"], RXJS_DIALECT.name)


def test_on_routes_there_are_forms_of_their_own() -> None:
    params = json.dumps({"message": WORDS, "tools": [TOOL]}).encode()
    assert RXJS_REST_DIALECT.decode_request(SEND, params).answer is RXJS_REST_TOOLS_DIALECT
    found = RXJS_REST_DIALECT.decode_query(Operation.GET_TASK, {"id": "t"})
    assert found == GetTaskRequest(id="t")


def test_a_message_must_say_that_it_is_one() -> None:
    with pytest.raises(InvalidParamsError, match="must be 'message'"):
        read(message={**WORDS, "kind": "task"})


def test_a_question_does_not_end_a_stream() -> None:
    writer = RXJS_DIALECT.frame_writer()
    (frame,) = writer.write(document(question()))
    told = json.loads(frame)
    assert (told["final"], writer.has_ended) == (False, False)
    message = told["status"]["message"]
    assert message["inputRequest"]["requestId"] == "u-1"
    assert message["parts"][1] == {"kind": "data", "data": USE.data}


def test_the_end_does() -> None:
    writer = RXJS_DIALECT.frame_writer()
    status = TaskStatus(state=TaskState.COMPLETED)
    update = TaskStatusUpdateEvent(task_id="t", context_id="c", status=status)
    (frame,) = writer.write(document(StreamResponse(status_update=update)))
    assert (json.loads(frame)["final"], writer.has_ended) == (True, True)


def test_whoever_knows_tools_gets_them_as_parts() -> None:
    (frame,) = RXJS_TOOLS_DIALECT.frame_writer().write(document(question()))
    assert json.loads(frame)["status"]["message"]["parts"][1] == USE.data


def test_a_task_is_followed_by_getting_it() -> None:
    subscribe = Operation.SUBSCRIBE_TO_TASK
    assert RXJS_DIALECT.method(subscribe) == "tasks/get"
    written = RXJS_DIALECT.encode_request(subscribe, SubscribeToTaskRequest(id="t"))
    assert written == b'{"taskId":"t"}'
    get = GetTaskRequest(id="t", history_length=3)
    written = RXJS_DIALECT.encode_request(Operation.GET_TASK, get)
    assert written == b'{"taskId":"t","historyLength":3}'
    reading = RXJS_DIALECT.decode_request(Operation.GET_TASK, written)
    assert reading == Reading(get, RXJS_DIALECT)


def test_all_else_is_0_3() -> None:
    assert RXJS_DIALECT.operation("tasks/resume") is SEND
    assert RXJS_DIALECT.operation("tasks/cancel") is Operation.CANCEL_TASK
    assert RXJS_DIALECT.operation("tasks/dance") is None
    cancel = CancelTaskRequest(id="t")
    assert RXJS_DIALECT.encode_request(Operation.CANCEL_TASK, cancel) == b'{"id":"t"}'
    task = Task(id="t", context_id="c", status=TaskStatus(state=TaskState.WORKING))
    told = RXJS_DIALECT.encode_result(Operation.GET_TASK, TaskDocument.of(task))
    assert RXJS_DIALECT.decode_result(Operation.GET_TASK, told) == task
    assert RXJS_DIALECT.decode_event(told) == StreamResponse(task=task)
    assert RXJS_DIALECT.encode_notification(document(question()), TaskDocument.of(task)) == told


def test_an_answer_is_written_as_the_profile_has_it() -> None:
    result = Part(data={"kind": "tool-result", "toolUseId": "u-1", "result": 1})
    message = Message(message_id="m", role=Role.USER, task_id="t", parts=(result,))
    written = json.loads(RXJS_DIALECT.encode_request(SEND, SendMessageRequest(message=message)))
    assert written["message"]["parts"] == [result.data]
    assert written["message"]["referenceTaskIds"] == ["t"]


def test_errors_are_those_of_the_profile() -> None:
    error = json.loads(RXJS_DIALECT.encode_error(TaskNotFoundError("t")))
    assert error["data"] == {"taskId": "t", "reason": "task-not-found"}
    assert isinstance(RXJS_DIALECT.decode_error(error), TaskNotFoundError)
    status, body = RXJS_DIALECT.encode_http_error(TaskNotFoundError("t"))
    assert isinstance(RXJS_DIALECT.decode_http_error(status, body), TaskNotFoundError)


def test_what_a_task_failed_for_follows_its_end() -> None:
    last_error = RXJS_DIALECT.http.last_error
    assert last_error is not None
    assert last_error(question()) == b""
