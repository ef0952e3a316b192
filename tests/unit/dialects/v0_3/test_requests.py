import pytest

from dragoman.dialects.v0_3.encode import Writer
from dragoman.dialects.v0_3.requests import encode_request
from dragoman.model.base import JsonObject
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Request,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import TaskState

CURSOR = "n"
WRITER = Writer()
MESSAGE = Message(message_id="m", role=Role.USER, parts=(Part(text="hi"),))
WRITTEN = WRITER.message(MESSAGE)
CONFIG = TaskPushNotificationConfig(task_id="t", url="u")


@pytest.mark.parametrize(
    ("request_", "params"),
    [
        # 5.10: whether to wait is always said, and the modes are required until 0.2.5.
        (
            SendMessageRequest(message=MESSAGE),
            {
                "message": WRITTEN,
                "configuration": {"acceptedOutputModes": (), "blocking": True},
            },
        ),
        (
            SendMessageRequest(
                message=MESSAGE,
                configuration=SendMessageConfiguration(
                    accepted_output_modes=("a/b",),
                    return_immediately=True,
                    history_length=2,
                    task_push_notification_config=CONFIG,
                ),
                metadata={"k": 1},
            ),
            {
                "message": WRITTEN,
                "configuration": {
                    "acceptedOutputModes": ("a/b",),
                    "blocking": False,
                    "pushNotificationConfig": {"url": "u"},
                    "historyLength": 2,
                },
                "metadata": {"k": 1},
            },
        ),
        (GetTaskRequest(id="t"), {"id": "t"}),
        # Some servers take 0 for "all".
        (GetTaskRequest(id="t", history_length=0), {"id": "t"}),
        (GetTaskRequest(id="t", history_length=3), {"id": "t", "historyLength": 3}),
        (ListTasksRequest(), {}),
        (
            ListTasksRequest(
                context_id="c",
                status=TaskState.AUTH_REQUIRED,
                page_size=5,
                page_token=CURSOR,
                history_length=1,
                status_timestamp_after="2025-05-01T10:00:00.000Z",
                include_artifacts=False,
            ),
            {
                "contextId": "c",
                "status": "auth-required",
                "pageSize": 5,
                "pageToken": "n",
                "historyLength": 1,
                "lastUpdatedAfter": 1_746_093_600_000,
                "includeArtifacts": False,
            },
        ),
        (CancelTaskRequest(id="t", metadata={}), {"id": "t", "metadata": {}}),
        (SubscribeToTaskRequest(id="t"), {"id": "t"}),
        (CONFIG, {"taskId": "t", "pushNotificationConfig": {"url": "u"}}),
        (
            GetTaskPushNotificationConfigRequest(task_id="t", id="p"),
            {"id": "t", "pushNotificationConfigId": "p"},
        ),
        (
            DeleteTaskPushNotificationConfigRequest(task_id="t", id="p"),
            {"id": "t", "pushNotificationConfigId": "p"},
        ),
        (ListTaskPushNotificationConfigsRequest(task_id="t", page_size=5), {"id": "t"}),
        (GetExtendedAgentCardRequest(), {}),
    ],
)
def test_requests_are_written(request_: Request, params: JsonObject) -> None:
    assert encode_request(request_, WRITER) == params
