import pytest
from hypothesis import given

from dragoman.dialects.fields import Fields
from dragoman.dialects.v0_3.decode import READERS, decode_query
from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.model.base import JsonObject
from dragoman.model.operations import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Operation,
    Request,
    SubscribeToTaskRequest,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import TaskState
from tests.support.strategies import json_objects

SET = Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG
GET = Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG
DELETE = Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG
CURSOR = "n"
CONFIG = TaskPushNotificationConfig(task_id="t", url="u")


@pytest.mark.parametrize(
    ("operation", "params", "request_"),
    [
        (Operation.GET_TASK, {"id": "t"}, GetTaskRequest(id="t")),
        (Operation.GET_TASK, {"id": "t", "metadata": {"k": 1}}, GetTaskRequest(id="t")),
        (Operation.GET_TASK, {"taskId": "t"}, GetTaskRequest(id="t")),  # D8
        (Operation.GET_TASK, {"id": None, "task_id": "t"}, GetTaskRequest(id="t")),
        # 5.10: 0 asks for nothing in particular.
        (Operation.GET_TASK, {"id": "t", "historyLength": 0}, GetTaskRequest(id="t")),
        (
            *(Operation.GET_TASK, {"id": "t", "historyLength": 2}),
            GetTaskRequest(id="t", history_length=2),
        ),
        (
            *(Operation.CANCEL_TASK, {"id": "t", "metadata": {"k": 1}}),
            CancelTaskRequest(id="t", metadata={"k": 1}),
        ),
        (
            *(Operation.SUBSCRIBE_TO_TASK, {"id": "t", "historyLength": 5}),
            SubscribeToTaskRequest(id="t"),
        ),
        (Operation.GET_EXTENDED_AGENT_CARD, {"x": 1}, GetExtendedAgentCardRequest()),
        (
            *(Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS, {"id": "t"}),
            ListTaskPushNotificationConfigsRequest(task_id="t"),
        ),
        # JSON-RPC calls the task "id"; a path has "taskId", and "id" is the configuration.
        (
            *(GET, {"id": "t", "pushNotificationConfigId": "p"}),
            GetTaskPushNotificationConfigRequest(task_id="t", id="p"),
        ),
        (GET, {"id": "t"}, GetTaskPushNotificationConfigRequest(task_id="t", id="t")),
        (
            *(GET, {"taskId": "t", "id": "p"}),
            GetTaskPushNotificationConfigRequest(task_id="t", id="p"),
        ),
        (
            *(DELETE, {"id": "t", "pushNotificationConfigId": "p"}),
            DeleteTaskPushNotificationConfigRequest(task_id="t", id="p"),
        ),
        (
            *(DELETE, {"taskId": "t", "id": "p"}),
            DeleteTaskPushNotificationConfigRequest(task_id="t", id="p"),
        ),
        (SET, {"taskId": "t", "pushNotificationConfig": {"url": "u"}}, CONFIG),
        (SET, {"id": "t", "pushNotificationConfig": {"url": "u"}}, CONFIG),
        # On HTTP+JSON.
        (SET, {"taskId": "t", "config": {"pushNotificationConfig": {"url": "u"}}}, CONFIG),
        (SET, {"config": {"taskId": "t", "pushNotificationConfig": {"url": "u"}}}, CONFIG),
        (SET, {"taskId": "t", "url": "u"}, CONFIG),
        (
            *(SET, {"taskId": "t", "url": "u", "id": "p"}),
            TaskPushNotificationConfig(task_id="t", url="u", id="p"),
        ),
        (Operation.LIST_TASKS, {}, ListTasksRequest()),
        (
            Operation.LIST_TASKS,
            {
                "contextId": "c",
                "status": "input-required",
                "pageSize": 5,
                "pageToken": "n",
                "historyLength": 1,
                "lastUpdatedAfter": 1_746_093_600_000,
                "includeArtifacts": False,
                "metadata": {},
            },
            ListTasksRequest(
                context_id="c",
                status=TaskState.INPUT_REQUIRED,
                page_size=5,
                page_token=CURSOR,
                history_length=1,
                status_timestamp_after="2025-05-01T10:00:00.000Z",
                include_artifacts=False,
            ),
        ),
        (
            *(Operation.LIST_TASKS, {"lastUpdatedAfter": "2025-05-01T10:00:00"}),
            ListTasksRequest(status_timestamp_after="2025-05-01T10:00:00.000Z"),
        ),
    ],
)
def test_requests_are_read(operation: Operation, params: JsonObject, request_: Request) -> None:
    assert READERS[operation](Fields(params)) == request_


@pytest.mark.parametrize(
    ("operation", "params", "field", "description"),
    [
        (Operation.GET_TASK, {}, "id", "is required"),
        (Operation.GET_TASK, {"id": ""}, "id", "must not be empty"),
        (Operation.GET_TASK, {"id": 5}, "id", "expected string, got integer"),
        (
            *(Operation.GET_TASK, {"id": "t", "historyLength": -1}),
            *("historyLength", "must be between 0 and 2147483647"),
        ),
        (Operation.CANCEL_TASK, {"metadata": {}}, "id", "is required"),
        (Operation.SUBSCRIBE_TO_TASK, {}, "id", "is required"),
        (GET, {"pushNotificationConfigId": "p"}, "id", "is required"),
        (DELETE, {"id": "t"}, "pushNotificationConfigId", "is required"),
        (SET, {"pushNotificationConfig": {"url": "u"}}, "taskId", "is required"),
        (SET, {"url": "u", "id": "p"}, "taskId", "is required"),
        (
            *(SET, {"taskId": "t", "pushNotificationConfig": {}}),
            *("pushNotificationConfig.url", "is required"),
        ),
        (Operation.LIST_TASKS, {"status": "odd"}, "status", "is not one of the known values"),
        (Operation.LIST_TASKS, {"pageSize": 0}, "pageSize", "must be between 1 and 100"),
        (
            *(Operation.LIST_TASKS, {"lastUpdatedAfter": "soon"}),
            *("lastUpdatedAfter", "must be a time in milliseconds"),
        ),
    ],
)
def test_what_is_wrong_is_named(
    operation: Operation, params: JsonObject, field: str, description: str
) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        READERS[operation](Fields(params))
    assert caught.value.violations == (FieldViolation(field, description),)


def test_a_query_is_read_as_the_json_it_stands_for() -> None:
    fields = {"id": "5", "historyLength": "2", "unknown": "x", "metadata": ""}
    assert decode_query(Operation.GET_TASK, fields) == GetTaskRequest(id="5", history_length=2)
    listed = decode_query(
        Operation.LIST_TASKS,
        {"pageSize": "5", "includeArtifacts": "true", "lastUpdatedAfter": "0", "status": "working"},
    )
    assert listed == ListTasksRequest(
        page_size=5,
        include_artifacts=True,
        status=TaskState.WORKING,
        status_timestamp_after="1970-01-01T00:00:00.000Z",
    )


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"id": "t", "historyLength": "two"}, "historyLength"), ({"historyLength": "2"}, "id")],
)
def test_a_query_that_does_not_fit_is_refused(fields: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        decode_query(Operation.GET_TASK, fields)
    assert caught.value.violations[0].field == field


def test_a_flag_in_a_query_is_true_or_false() -> None:
    with pytest.raises(InvalidParamsError):
        decode_query(Operation.LIST_TASKS, {"includeArtifacts": "yes"})


@pytest.mark.parametrize("operation", READERS)
@given(params=json_objects)
def test_whatever_json_comes_nothing_else_is_raised(
    operation: Operation, params: JsonObject
) -> None:
    for value in (params, {**params, "id": "t", "taskId": "t", "url": "u"}):
        try:
            READERS[operation](Fields(value))
        except InvalidParamsError:
            continue
