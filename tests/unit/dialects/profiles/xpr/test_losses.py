"""What the dialect of the XPR network cannot carry, each shown with a value; and nothing else."""

from typing import Final

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from dragoman.dialects.profiles.xpr.codec import XPR_DIALECT
from dragoman.errors import (
    A2AError,
    PermissionDeniedError,
    RateLimitedError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedOperationError,
)
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTasksRequest,
    Operation,
    Request,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.parts import Part
from dragoman.model.tasks import Task, TaskState, TaskStatus
from tests.support.dialects.carrying import Showing, asked, task_back
from tests.support.losses import Form, left
from tests.support.strategies import send_message_requests, task_values

GET: Final = Operation.GET_TASK
HELLO: Final = Message(message_id="m", role=Role.USER, parts=(Part(text="hi"),))
TASK: Final = Task(id="t", context_id="c", status=TaskStatus(state=TaskState.WORKING))

shows = Showing()


# --- nothing else is lost -------------------------------------------------------------------------


@given(task_values)
def test_a_task_reads_back(task: Task) -> None:
    assert task_back("xpr", task) == left(task, "xpr")


@given(send_message_requests)
def test_a_send_reads_back(request: SendMessageRequest) -> None:
    written = XPR_DIALECT.encode_request(Operation.SEND_MESSAGE, request)
    read = XPR_DIALECT.decode_request(Operation.SEND_MESSAGE, written)
    assert read.request == left(request, "xpr")
    assert read.alias == request.message.task_id


# --- requests -------------------------------------------------------------------------------------


@shows("three-methods", "xpr")
@pytest.mark.parametrize(
    "request_",
    [
        ListTasksRequest(),
        SubscribeToTaskRequest(id="t"),
        GetTaskPushNotificationConfigRequest(task_id="t", id="h"),
        GetExtendedAgentCardRequest(),
    ],
    ids=lambda request: type(request).__name__,
)
def test_what_is_no_method_of_the_network_is_refused(form: Form, request_: Request) -> None:
    with pytest.raises(UnsupportedOperationError):
        asked(form, request_)


def test_there_are_no_streams() -> None:
    assert XPR_DIALECT.method(Operation.SEND_STREAMING_MESSAGE) is None
    with pytest.raises(UnsupportedOperationError):
        XPR_DIALECT.frame_writer()


@shows("send-configuration", "xpr")
def test_a_send_has_no_configuration(form: Form) -> None:
    configuration = SendMessageConfiguration(return_immediately=True, history_length=3)
    read = asked(form, SendMessageRequest(message=HELLO, configuration=configuration))
    assert read.configuration is None


@shows("request-metadata", "xpr")
def test_metadata_of_other_requests_is_dropped(form: Form) -> None:
    del form
    read = XPR_DIALECT.decode_request(GET, b'{"id":"t","metadata":{"a":1}}').request
    assert read == GetTaskRequest(id="t")


@shows("send-metadata", "xpr")
def test_metadata_of_a_send_is_that_of_its_message_too(form: Form) -> None:
    said = replace(HELLO, metadata={"a": 1})
    read = asked(form, SendMessageRequest(message=said, metadata={"b": 2}))
    assert read.metadata == {"b": 2}
    assert read.message.metadata == {"a": 1, "b": 2}
    begun = replace(TASK, history=(said,), metadata={"c": 3})
    assert task_back(form, begun).metadata == {"a": 1, "c": 3}


@shows("absent-when-empty", "xpr")
def test_empty_metadata_is_absent(form: Form) -> None:
    read = asked(form, SendMessageRequest(message=replace(HELLO, metadata={}), metadata={}))
    assert (read.metadata, read.message.metadata) == (None, None)
    assert asked(form, CancelTaskRequest(id="t", metadata={})).metadata is None
    assert task_back(form, replace(TASK, metadata={})) == TASK


# --- messages and tasks ---------------------------------------------------------------------------


def said_in(form: Form, message: Message) -> Message:
    status = TaskStatus(state=TaskState.WORKING, message=message)
    read = task_back(form, replace(TASK, status=status)).status.message
    assert read is not None
    return read


@shows("message-id-in-answers", "xpr")
def test_a_message_that_is_shown_has_no_id(form: Form) -> None:
    assert said_in(form, HELLO).message_id == ""


@shows("message-extensions", "xpr")
def test_a_message_does_not_name_extensions(form: Form) -> None:
    assert said_in(form, replace(HELLO, extensions=("urn:x",))).extensions == ()


@shows("reference-task-ids", "xpr")
def test_a_message_does_not_refer_to_tasks(form: Form) -> None:
    assert said_in(form, replace(HELLO, reference_task_ids=("t-0",))).reference_task_ids == ()


@shows("message-context", "xpr")
def test_a_message_is_of_the_task_around_it(form: Form) -> None:
    read = said_in(form, replace(HELLO, task_id="another", context_id=""))
    assert (read.task_id, read.context_id) == (TASK.id, TASK.context_id)


@shows("states-without-a-word", "xpr")
@pytest.mark.parametrize(
    ("state", "word"),
    [
        (TaskState.REJECTED, TaskState.FAILED),
        (TaskState("TASK_STATE_DREAMING"), TaskState.WORKING),
    ],
)
def test_states_without_a_word_have_the_nearest(
    form: Form, state: TaskState, word: TaskState
) -> None:
    assert task_back(form, replace(TASK, status=TaskStatus(state=state))).status.state is word


@shows("history", "xpr")
def test_a_task_is_shown_without_its_history(form: Form) -> None:
    assert task_back(form, replace(TASK, history=(HELLO,))) == TASK
    assert asked(form, GetTaskRequest(id="t", history_length=3)) == GetTaskRequest(id="t")


@shows("uri-beside-bytes", "xpr")
def test_of_bytes_and_uri_the_bytes_count(form: Form) -> None:
    del form
    file = {"bytes": "aGk=", "uri": "https://files.example/x", "mimeType": "text/plain"}
    artifact = {"parts": [{"type": "file", "file": file}], "index": 0}
    task = {"id": "t", "status": {"state": "working"}, "artifacts": [artifact]}
    read = XPR_DIALECT.decode_result(GET, msgspec.json.encode(task))
    assert isinstance(read, Task)
    assert read.artifacts[0].parts[0] == Part(
        raw=b"hi", media_type="text/plain", metadata={"a2a.v0.uri": "https://files.example/x"}
    )


@shows("unknown-members", "xpr")
def test_what_the_networks_own_server_adds_is_dropped(form: Form) -> None:
    del form
    task = {"id": "t", "contextId": "c", "status": {"state": "working"}}
    leaked = {**task, "owner": "alice", "createdAt": 1704067200000}
    assert XPR_DIALECT.decode_result(GET, msgspec.json.encode(leaked)) == TASK


# --- errors ---------------------------------------------------------------------------------------


@shows("not-let-in", "xpr")
@pytest.mark.parametrize(
    "problem",
    [
        UnauthenticatedError("who?"),
        PermissionDeniedError("not you"),
        RateLimitedError("slowly", retry_after_seconds=3),
        UnavailableError("later"),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_who_is_not_let_in_hears_one_code(form: Form, problem: A2AError) -> None:
    del form
    error = msgspec.json.decode(XPR_DIALECT.encode_error(problem))
    assert (error["code"], error["message"]) == (-32000, problem.message)
    read = XPR_DIALECT.decode_error(error)
    assert type(read) is UnauthenticatedError
    assert read.message == problem.message
