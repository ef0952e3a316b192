import inspect
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialects.base import Dialect
from dragoman.dialects.v1_0.card import encode_card
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.dialects.v1_0.methods import METHODS
from dragoman.errors import FieldViolation, InvalidParamsError, JSONParseError
from dragoman.model.cards import AgentCapabilities, AgentCard
from dragoman.model.documents import EventDocument, TaskDocument, TaskPage
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    CancelTaskRequest,
    Empty,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Operation,
)
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus
from tests.support.strategies import task_values

CURSOR, END = 'n"', ""
WORKING = TaskStatus(state=TaskState.WORKING)
TASK = Task(id="t", context_id="c", status=WORKING)
ARTIFACT = Artifact(artifact_id="a", parts=(Part(text="x"),))
MESSAGE = Message(message_id="m", context_id="c", role=Role.AGENT, parts=(Part(text="x"),))
CONFIG = TaskPushNotificationConfig(id="p", task_id="t", url="https://hook.example")
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


def refusal(operation: Operation, params: bytes) -> FieldViolation:
    with pytest.raises(InvalidParamsError) as caught:
        V1_0_DIALECT.decode_request(operation, params)
    (violation,) = caught.value.violations
    return violation


def query_refusal(operation: Operation, fields: dict[str, str]) -> FieldViolation:
    with pytest.raises(InvalidParamsError) as caught:
        V1_0_DIALECT.decode_query(operation, fields)
    (violation,) = caught.value.violations
    return violation


# --- names ------------------------------------------------------------------------------------


@pytest.mark.requirement("R-9.1-3", "R-5.1-1")
def test_the_methods_are_the_eleven_rpc_names() -> None:
    assert sorted(METHODS) == [
        "CancelTask",
        "CreateTaskPushNotificationConfig",
        "DeleteTaskPushNotificationConfig",
        "GetExtendedAgentCard",
        "GetTask",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "ListTasks",
        "SendMessage",
        "SendStreamingMessage",
        "SubscribeToTask",
    ]
    assert V1_0_DIALECT.operation("SendMessage") is Operation.SEND_MESSAGE


@pytest.mark.parametrize("method", ["message/send", "sendMessage", "sendmessage", "", "tasks/get"])
def test_other_names_are_not_of_this_version(method: str) -> None:
    assert V1_0_DIALECT.operation(method) is None


def test_the_dialect_is_called_by_its_version() -> None:
    assert V1_0_DIALECT.name == "1.0"


def test_the_dialect_has_all_of_the_port() -> None:
    port = {name for name, _ in inspect.getmembers(Dialect) if not name.startswith("_")}
    assert port <= set(dir(V1_0_DIALECT))


# --- requests from JSON -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        b"",
        b"{",
        b'{"id":"x"',
        b'{"id":NaN}',
        b'{"x":Infinity}',
        b'{"id":"\xff"}',
        b'{"id":"\\ud800"}',
        b'\xef\xbb\xbf{"id":"x"}',
        b'{"id":"x"} {}',
        b"{'id':'x'}",
        b'{"id":"x",}',
        b'{"metadata":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"task_id":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"task_id":"x"',
    ],
)
def test_what_is_not_json_is_a_parse_error(params: bytes) -> None:
    for operation in (Operation.CANCEL_TASK, Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG):
        with pytest.raises(JSONParseError) as caught:
            V1_0_DIALECT.decode_request(operation, params)
        assert caught.value.message.startswith("The body is n")


@pytest.mark.parametrize("params", [b"[]", b"null", b'"x"', b"5", b"true"])
def test_params_are_an_object(params: bytes) -> None:
    violation = refusal(Operation.LIST_TASKS, params)
    assert violation.field == ""
    assert violation.description.startswith("expected object, got ")


def test_a_number_out_of_range_is_placed() -> None:
    found = refusal(Operation.CANCEL_TASK, b'{"id":"t","metadata":{"n":1e999}}')
    assert found == FieldViolation("metadata[*]", "holds a number that is out of range")
    found = refusal(Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG, b'{"task_id":1e999}')
    assert found.description == "holds a number that is out of range"


@pytest.mark.requirement("R-5.6.1-3", "R-3.3.2-9")
@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00Z"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    params = msgspec.json.encode({"statusTimestampAfter": text})
    assert refusal(Operation.LIST_TASKS, params) == FieldViolation(
        "statusTimestampAfter", "must be an RFC 3339 time such as 2026-01-31T12:00:00.000Z"
    )


def test_a_webhook_is_created_for_a_task() -> None:
    found = refusal(Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG, b'{"url":"https://h.example"}')
    assert found == FieldViolation("taskId", "is required")


@given(st.sampled_from(Operation), st.binary(max_size=60))
def test_random_bytes_raise_a2a_errors_only(operation: Operation, params: bytes) -> None:
    with suppress(JSONParseError, InvalidParamsError):
        V1_0_DIALECT.decode_request(operation, params)


_names = ("id", "taskId", "task_id", "message", "parts", "text", "raw", "data", "role", "metadata")
_fragments = st.sampled_from(
    (
        *"{}[],:",
        *("null", "true", "5", "5.5", "1e999", '""', '"ROLE_USER"'),
        *(f'"{name}"' for name in _names),
    )
)


@given(st.sampled_from(Operation), st.lists(_fragments, max_size=30).map("".join))
def test_random_json_raises_a2a_errors_only(operation: Operation, params: str) -> None:
    with suppress(JSONParseError, InvalidParamsError):
        V1_0_DIALECT.decode_request(operation, params.encode())


# --- requests from a query --------------------------------------------------------------------


@pytest.mark.requirement("R-11.5-2")
def test_a_query_is_read_by_json_name() -> None:
    fields = {
        "contextId": "c",
        "status": "TASK_STATE_WORKING",
        "pageSize": "10",
        "pageToken": CURSOR,
        "historyLength": "0",
        "statusTimestampAfter": "2025-11-09T10:30:00Z",
        "includeArtifacts": "true",
        "tenant": "acme",
    }
    assert V1_0_DIALECT.decode_query(Operation.LIST_TASKS, fields) == ListTasksRequest(
        context_id="c",
        status=TaskState.WORKING,
        page_size=10,
        page_token=CURSOR,
        history_length=0,
        status_timestamp_after="2025-11-09T10:30:00Z",
        include_artifacts=True,
        tenant="acme",
    )


def test_ids_come_from_the_query_too() -> None:
    decode = V1_0_DIALECT.decode_query
    assert decode(Operation.GET_TASK, {"id": "5"}) == GetTaskRequest(id="5")
    assert decode(
        Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG, {"id": "p", "taskId": "t"}
    ) == GetTaskPushNotificationConfigRequest(id="p", task_id="t")
    assert decode(
        Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS, {"taskId": "t", "pageSize": "0"}
    ) == ListTaskPushNotificationConfigsRequest(task_id="t")


@pytest.mark.parametrize(
    "name",
    ["status", "pageSize", "historyLength", "statusTimestampAfter", "includeArtifacts", "tenant"],
)
def test_an_empty_text_is_absent(name: str) -> None:
    assert V1_0_DIALECT.decode_query(Operation.LIST_TASKS, {name: ""}) == ListTasksRequest()


def test_unknown_names_are_ignored() -> None:
    fields = {"A2A-Version": "1.0", "page_size": "7", "status[]": "x"}
    assert V1_0_DIALECT.decode_query(Operation.LIST_TASKS, fields) == ListTasksRequest()


@pytest.mark.requirement("R-11.5-5")
def test_nested_objects_do_not_come_from_a_query() -> None:
    fields = {"id": "t", "metadata": "{}"}
    request = V1_0_DIALECT.decode_query(Operation.CANCEL_TASK, fields)
    assert request == CancelTaskRequest(id="t")


@pytest.mark.requirement("R-3.1.4-13", "R-3.2.4-6")
@pytest.mark.parametrize(
    ("name", "text", "description"),
    [
        ("pageSize", "0", "must be between 1 and 100"),
        ("pageSize", "101", "must be between 1 and 100"),
        ("pageSize", "ten", "expected integer, got string"),
        ("pageSize", "1.5", "expected integer, got string"),
        ("historyLength", "-1", "must be between 0 and 2147483647"),
        ("includeArtifacts", "yes", "expected boolean, got string"),
        ("includeArtifacts", "True", "expected boolean, got string"),
        ("includeArtifacts", "1", "expected boolean, got string"),
    ],
)
def test_a_wrong_query_value_is_refused(name: str, text: str, description: str) -> None:
    found = query_refusal(Operation.LIST_TASKS, {name: text})
    assert found == FieldViolation(name, description)


@pytest.mark.parametrize("text", ["TASK_STATE_RUNNING", "9", "working"])
def test_an_unknown_status_does_not_list_everything(text: str) -> None:
    found = query_refusal(Operation.LIST_TASKS, {"status": text})
    assert found.description.startswith("must be one of TASK_STATE_SUBMITTED, ")


def test_a_status_may_be_its_number_in_a_query() -> None:
    request = V1_0_DIALECT.decode_query(Operation.LIST_TASKS, {"status": "2"})
    assert request == ListTasksRequest(status=TaskState.WORKING)


def test_a_missing_id_is_refused() -> None:
    assert query_refusal(Operation.GET_TASK, {"id": ""}) == FieldViolation("id", "is required")


names = ["tenant", "id", "taskId", "status", "pageSize", "historyLength", "includeArtifacts"]


@given(st.sampled_from(Operation), st.dictionaries(st.sampled_from(names), st.text(max_size=5)))
def test_random_queries_raise_a2a_errors_only(operation: Operation, fields: dict[str, str]) -> None:
    with suppress(InvalidParamsError):
        V1_0_DIALECT.decode_query(operation, fields)


# --- results -----------------------------------------------------------------------------------


@pytest.mark.requirement("R-9.4-1", "R-3.1.1-5")
def test_send_message_wraps_a_task_or_a_message() -> None:
    encode = V1_0_DIALECT.encode_result
    assert encode(Operation.SEND_MESSAGE, TaskDocument.of(TASK)) == (
        b'{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}'
    )
    assert encode(Operation.SEND_MESSAGE, MESSAGE) == (
        b'{"message":{"messageId":"m","contextId":"c","role":"ROLE_AGENT","parts":[{"text":"x"}]}}'
    )


@pytest.mark.parametrize("operation", [Operation.GET_TASK, Operation.CANCEL_TASK])
def test_a_task_that_was_asked_for_is_bare(operation: Operation) -> None:
    assert V1_0_DIALECT.encode_result(operation, TaskDocument.of(TASK)) == (
        b'{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}'
    )


@pytest.mark.requirement("R-3.1.4-4")
def test_an_empty_page_has_all_four_members() -> None:
    page = TaskPage(tasks=(), next_page_token=END, page_size=50, total_size=0)
    assert V1_0_DIALECT.encode_result(Operation.LIST_TASKS, page) == (
        b'{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}'
    )


@pytest.mark.requirement("R-3.1.4-1", "R-3.1.4-3")
def test_listed_tasks_have_artifacts_only_when_asked_for() -> None:
    documents = (
        TaskDocument.of(TASK),
        TaskDocument.of(msgspec.structs.replace(TASK, artifacts=(ARTIFACT,))),
    )
    asked = TaskPage(tasks=documents, next_page_token=CURSOR, page_size=2, total_size=5)
    wire = msgspec.json.decode(V1_0_DIALECT.encode_result(Operation.LIST_TASKS, asked))
    assert [task["artifacts"] for task in wire["tasks"]] == [
        [],
        [{"artifactId": "a", "parts": [{"text": "x"}]}],
    ]
    assert (wire["nextPageToken"], wire["pageSize"], wire["totalSize"]) == (CURSOR, 2, 5)
    bare = tuple(document.without_artifacts() for document in documents)
    unasked = TaskPage(tasks=bare, next_page_token=END, page_size=2, total_size=5)
    wire = msgspec.json.decode(V1_0_DIALECT.encode_result(Operation.LIST_TASKS, unasked))
    assert not any("artifacts" in task for task in wire["tasks"])


@given(st.lists(task_values, max_size=3))
def test_a_page_reads_back(tasks: list[Task]) -> None:
    documents = tuple(TaskDocument.of(task) for task in tasks)
    page = TaskPage(tasks=documents, next_page_token=CURSOR, page_size=3, total_size=9)
    wire = V1_0_DIALECT.encode_result(Operation.LIST_TASKS, page)
    assert msgspec.json.decode(wire, type=ListTasksResponse) == ListTasksResponse(
        tasks=tuple(tasks), next_page_token=CURSOR, page_size=3, total_size=9
    )


def test_the_other_results_are_written_as_they_are() -> None:
    encode = V1_0_DIALECT.encode_result
    config = b'{"id":"p","taskId":"t","url":"https://hook.example"}'
    assert encode(Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG, CONFIG) == config
    assert encode(Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG, Empty()) == b"{}"
    configs = ListTaskPushNotificationConfigsResponse(configs=(CONFIG,))
    assert encode(Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS, configs) == (
        b'{"configs":[' + config + b"]}"
    )


@pytest.mark.parametrize("wire", [b"{}", b"null", b""])
def test_what_is_deleted_is_answered_with_nothing_however_that_is_written(wire: bytes) -> None:
    operation = Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG
    assert V1_0_DIALECT.decode_result(operation, wire) == Empty()


def test_a_card_has_its_required_members_even_when_empty() -> None:
    wire = V1_0_DIALECT.encode_result(Operation.GET_EXTENDED_AGENT_CARD, CARD)
    assert wire == encode_card(CARD)
    assert msgspec.json.decode(wire) == {
        "name": "a",
        "description": "",
        "supportedInterfaces": [],
        "version": "",
        "capabilities": {},
        "defaultInputModes": [],
        "defaultOutputModes": [],
        "skills": [],
    }


def test_an_event_is_sent_as_it_is_stored() -> None:
    event = EventDocument(3, b'{"statusUpdate":{}}')
    writer = V1_0_DIALECT.frame_writer()
    assert writer.write(event) == (event.json,)
    assert not writer.has_ended


def test_a_webhook_is_told_the_event() -> None:
    event = EventDocument(3, b'{"statusUpdate":{}}')
    assert V1_0_DIALECT.encode_notification(event, TaskDocument.of(TASK)) is event.json
