import inspect

import msgspec
import pytest

from dragoman.dialects.base import RestDialect, RpcDialect
from dragoman.dialects.v0_3.codec import V0_3_DIALECT, V0_3_TYPE_DIALECT
from dragoman.errors import InvalidParamsError, TaskNotFoundError
from dragoman.model.cards import AgentCapabilities, AgentCard
from dragoman.model.documents import EventDocument, TaskDocument, TaskPage
from dragoman.model.events import StreamResponse, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    Empty,
    GetTaskRequest,
    ListTaskPushNotificationConfigsResponse,
    Operation,
    SendMessageRequest,
)
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

SEND = Operation.SEND_MESSAGE
CURSOR = "n"
WORKING = TaskStatus(state=TaskState.WORKING)
TASK = Task(id="t", context_id="c", status=WORKING)
MESSAGE = Message(message_id="m", role=Role.AGENT, parts=(Part(text="x"),))
CONFIG = TaskPushNotificationConfig(id="p", task_id="t", url="u")
CARD = AgentCard(
    name="a",
    description="",
    supported_interfaces=(),
    version="",
    capabilities=AgentCapabilities(),
    default_input_modes=(),
    default_output_modes=(),
    skills=(),
)


def document(event: StreamResponse) -> EventDocument:
    return EventDocument(1, msgspec.json.encode(event))


def status_event(state: TaskState) -> EventDocument:
    update = TaskStatusUpdateEvent(task_id="t", context_id="c", status=TaskStatus(state=state))
    return document(StreamResponse(status_update=update))


# --- the port -----------------------------------------------------------------------------------


def test_the_dialect_has_all_of_the_ports_but_routes() -> None:
    port = {
        name
        for protocol in (RpcDialect, RestDialect)
        for name, _ in inspect.getmembers(protocol)
        if not name.startswith("_")
    }
    # Both JSON shapes of 0.3 share their routes, so those are not part of either.
    assert port - {"routes"} <= set(dir(V0_3_DIALECT))


def test_the_forms_have_names() -> None:
    assert (V0_3_DIALECT.name, V0_3_TYPE_DIALECT.name) == ("0.3", "0.3+type")
    assert V0_3_DIALECT.has_final
    assert V0_3_DIALECT.has_messages


def test_methods_lead_to_operations_and_back() -> None:
    assert V0_3_DIALECT.operation("message/send") is SEND
    assert V0_3_DIALECT.operation("SendMessage") is None
    assert V0_3_DIALECT.operation("tasks/send") is None
    assert V0_3_DIALECT.method(Operation.SUBSCRIBE_TO_TASK) == "tasks/resubscribe"


# --- requests -----------------------------------------------------------------------------------


def test_a_request_is_answered_in_the_form_it_came_in() -> None:
    params = b'{"message":{"messageId":"m","role":"user","parts":[{"%b":"text","text":"x"}]}}'
    for operation in (SEND, Operation.SEND_STREAMING_MESSAGE):
        reading = V0_3_DIALECT.decode_request(operation, params % b"kind")
        assert isinstance(reading.request, SendMessageRequest)
        assert reading.answer is V0_3_DIALECT
        assert reading.alias == ""
        reading = V0_3_DIALECT.decode_request(operation, params % b"type")
        assert reading.answer is V0_3_TYPE_DIALECT


def test_other_requests_are_answered_by_the_reader() -> None:
    reading = V0_3_TYPE_DIALECT.decode_request(Operation.GET_TASK, b'{"id":"t"}')
    assert reading.request == GetTaskRequest(id="t")
    assert reading.answer is V0_3_TYPE_DIALECT


@pytest.mark.parametrize("operation", Operation)
def test_params_are_an_object(operation: Operation) -> None:
    with pytest.raises(InvalidParamsError):
        V0_3_DIALECT.decode_request(operation, b"[]")


def test_a_query_is_read() -> None:
    fields = {"id": "t", "historyLength": "2"}
    request = V0_3_DIALECT.decode_query(Operation.GET_TASK, fields)
    assert request == GetTaskRequest(id="t", history_length=2)


# --- results ------------------------------------------------------------------------------------


def test_results_are_bare() -> None:
    task = b'{"kind":"task","id":"t","contextId":"c","status":{"state":"working"}}'
    for operation in (SEND, Operation.GET_TASK, Operation.CANCEL_TASK):
        assert V0_3_DIALECT.encode_result(operation, TaskDocument.of(TASK)) == task
    assert V0_3_DIALECT.encode_result(SEND, MESSAGE) == (
        b'{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"x"}]}'
    )


def test_a_page_has_its_four_members() -> None:
    page = TaskPage(
        tasks=(TaskDocument.of(TASK).without_artifacts(),),
        next_page_token=CURSOR,
        page_size=1,
        total_size=2,
    )
    assert msgspec.json.decode(V0_3_DIALECT.encode_result(Operation.LIST_TASKS, page)) == {
        "tasks": [{"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}}],
        "totalSize": 2,
        "pageSize": 1,
        "nextPageToken": "n",
    }


def test_webhooks_are_a_bare_list_and_delete_answers_null() -> None:
    config = b'{"taskId":"t","pushNotificationConfig":{"url":"u","id":"p"}}'
    operation = Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS
    assert V0_3_DIALECT.encode_result(operation, CONFIG) == config
    listed = ListTaskPushNotificationConfigsResponse(configs=(CONFIG,))
    assert V0_3_DIALECT.encode_result(operation, listed) == b"[" + config + b"]"
    assert V0_3_DIALECT.encode_result(operation, Empty()) == b"null"


def test_the_extended_card_is_one_of_0_3() -> None:
    written = V0_3_DIALECT.encode_result(Operation.GET_EXTENDED_AGENT_CARD, CARD)
    assert msgspec.json.decode(written)["protocolVersion"] == "0.3.0"


def test_who_knows_parts_by_type_gets_both_names() -> None:
    artifact = Artifact(artifact_id="a", parts=(Part(text="x"),))
    task = msgspec.structs.replace(TASK, artifacts=(artifact,))
    written = V0_3_TYPE_DIALECT.encode_result(SEND, TaskDocument.of(task))
    assert msgspec.json.decode(written)["artifacts"] == [
        {
            "artifactId": "a",
            "index": 0,
            "parts": [{"kind": "text", "type": "text", "text": "x"}],
        }
    ]


# --- streams ------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", TaskState)
def test_a_stream_ends_where_the_task_stops(state: TaskState) -> None:
    stops = state.is_terminal or state.is_interrupted
    writer = V0_3_DIALECT.frame_writer()
    (frame,) = writer.write(status_event(TaskState.WORKING))
    assert b'"final":false' in frame
    assert not writer.has_ended
    (frame,) = writer.write(status_event(state))
    assert (b'"final":true' in frame) is writer.has_ended is stops


def test_a_stream_that_begins_with_a_finished_task_ends_at_once() -> None:
    task = msgspec.structs.replace(TASK, status=TaskStatus(state=TaskState.REJECTED))
    writer = V0_3_DIALECT.frame_writer()
    first, last = writer.write(document(StreamResponse(task=task)))
    assert first.startswith(b'{"kind":"task"')
    assert last == (
        b'{"kind":"status-update","taskId":"t","contextId":"c",'
        b'"status":{"state":"rejected"},"final":true}'
    )
    assert writer.has_ended


def test_a_working_task_does_not_end_the_stream() -> None:
    writer = V0_3_DIALECT.frame_writer()
    assert len(writer.write(document(StreamResponse(task=TASK)))) == 1
    assert not writer.has_ended


def test_a_message_ends_the_stream() -> None:
    writer = V0_3_DIALECT.frame_writer()
    writer.write(document(StreamResponse(message=MESSAGE)))
    assert writer.has_ended


def test_readers_of_one_form_share_the_spelling() -> None:
    event = status_event(TaskState.WORKING)
    frames = V0_3_DIALECT.frame_writer().write(event)
    assert V0_3_DIALECT.frame_writer().write(event) is frames
    assert V0_3_TYPE_DIALECT.frame_writer().write(event) is not frames


# --- errors -------------------------------------------------------------------------------------


def test_errors_are_those_of_0_3() -> None:
    error = msgspec.json.decode(V0_3_DIALECT.encode_error(TaskNotFoundError("t")))
    assert error == {
        "code": -32001,
        "message": "Task not found",
        "data": {"reason": "TASK_NOT_FOUND", "taskId": "t"},
    }
    read = V0_3_DIALECT.decode_error(error)
    assert type(read) is TaskNotFoundError
    assert read.metadata == {"taskId": "t"}


def test_http_errors_are_those_of_0_3() -> None:
    status, body = V0_3_DIALECT.encode_http_error(TaskNotFoundError("t"))
    assert status == 404
    assert type(V0_3_DIALECT.decode_http_error(status, body)) is TaskNotFoundError


def test_a_webhook_is_told_the_whole_task() -> None:
    event = EventDocument(2, b'{"statusUpdate":{}}')
    task = TaskDocument.of(TASK)
    told = V0_3_DIALECT.encode_notification(event, task)
    assert told == V0_3_DIALECT.encode_result(Operation.GET_TASK, task)
    assert msgspec.json.decode(told)["kind"] == "task"
