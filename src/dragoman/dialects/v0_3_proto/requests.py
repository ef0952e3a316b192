"""Requests, read and written (0.x reference, 4.4, 4.5 and 5.10).

Over HTTP the ids of a request are in its path. In the JSON they stand under the names that the
routes give them (``id``, ``taskId``) and rule over the resource names of the proto beside them;
whoever sends a request moves them from there into the path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, assert_never

from dragoman.dialects.legacy.tolerant import media_type, read_timestamp
from dragoman.dialects.v0_3_proto import wire
from dragoman.dialects.v0_3_proto.decode import count, free_json, required, state_of
from dragoman.dialects.v0_3_proto.push import (
    read_creation,
    read_webhook,
    write_creation,
    write_webhook,
)
from dragoman.dialects.v0_3_proto.resources import parse_config_name, parse_task_name
from dragoman.dialects.v0_3_proto.spelling import Form
from dragoman.errors import InvalidParamsError
from dragoman.model.messages import Role
from dragoman.model.operations import (
    MAX_PAGE_SIZE,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Operation,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.push import TaskPushNotificationConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.dialects.v0_3_proto.decode import Decoder
    from dragoman.dialects.v0_3_proto.encode import Encoder
    from dragoman.model.operations import Request
    from dragoman.model.tasks import TaskState

__all__ = ("FORMS", "Body", "read_request", "write_request")

Body: TypeAlias = (
    wire.SendMessageRequest
    | wire.TaskRequest
    | wire.ListTasksRequest
    | wire.CreateConfigRequest
    | wire.ConfigRequest
    | wire.ListConfigsRequest
    | wire.GetCardRequest
)

FORMS: Final[Mapping[Operation, Form[Body]]] = {
    Operation.SEND_MESSAGE: Form(wire.SendMessageRequest),
    Operation.SEND_STREAMING_MESSAGE: Form(wire.SendMessageRequest),
    Operation.GET_TASK: Form(wire.TaskRequest),
    Operation.LIST_TASKS: Form(wire.ListTasksRequest),
    Operation.CANCEL_TASK: Form(wire.TaskRequest),
    Operation.SUBSCRIBE_TO_TASK: Form(wire.TaskRequest),
    Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG: Form(wire.CreateConfigRequest),
    Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG: Form(wire.ConfigRequest),
    Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS: Form(wire.ListConfigsRequest),
    Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG: Form(wire.ConfigRequest),
    Operation.GET_EXTENDED_AGENT_CARD: Form(wire.GetCardRequest),
}

# --- reading ------------------------------------------------------------------------------------


def read_request(operation: Operation, body: Body, values: Decoder) -> Request:
    """Return the request that a body makes.

    Raises:
        InvalidParamsError: it makes none.
    """
    match body:
        case wire.SendMessageRequest():
            return _read_send(body, values)
        case wire.TaskRequest():
            return _read_task_request(operation, body)
        case wire.ListTasksRequest():
            return _read_listing(body)
        case wire.CreateConfigRequest():
            return read_creation(body)
        case wire.ConfigRequest():
            return _read_config_request(operation, body)
        case wire.ListConfigsRequest():
            task_id = body.task_id or parse_task_name(body.parent or "")
            return ListTaskPushNotificationConfigsRequest(
                task_id=required(task_id, "taskId"),
                page_size=count(body.page_size, "pageSize") or 0,
                page_token=body.page_token or "",
            )
        case wire.GetCardRequest():
            return GetExtendedAgentCardRequest()
        case _:
            assert_never(body)


def _read_send(body: wire.SendMessageRequest, values: Decoder) -> SendMessageRequest:
    if body.message is None:
        raise InvalidParamsError.of("message", "is required")
    return SendMessageRequest(
        message=values.message(body.message, "message", Role.USER),
        configuration=body.configuration and _read_configuration(body.configuration),
        metadata=free_json(body.metadata),
    )


def _read_configuration(found: wire.SendMessageConfiguration) -> SendMessageConfiguration:
    webhook = found.push_notification
    return SendMessageConfiguration(
        accepted_output_modes=tuple(
            [media_type(mode) for mode in found.accepted_output_modes or ()]
        ),
        task_push_notification_config=webhook
        and read_webhook(webhook, "configuration.pushNotification"),
        # 5.10: 0 and absent cannot be told apart, and mean "all".
        history_length=count(found.history_length, "configuration.historyLength"),
        # 5.10: the proto's default is not to wait; without any configuration the send waits.
        return_immediately=not found.blocking,
    )


def _read_task_request(
    operation: Operation, body: wire.TaskRequest
) -> GetTaskRequest | CancelTaskRequest | SubscribeToTaskRequest:
    task_id = required(body.id or parse_task_name(body.name or ""), "id")
    if operation is Operation.CANCEL_TASK:
        return CancelTaskRequest(id=task_id, metadata=free_json(body.metadata))
    if operation is Operation.SUBSCRIBE_TO_TASK:
        return SubscribeToTaskRequest(id=task_id)
    return GetTaskRequest(id=task_id, history_length=count(body.history_length, "historyLength"))


def _read_listing(body: wire.ListTasksRequest) -> ListTasksRequest:
    return ListTasksRequest(
        context_id=body.context_id or "",
        status=_read_state_filter(body.status),
        page_size=count(body.page_size, "pageSize", most=MAX_PAGE_SIZE),
        page_token=body.page_token or "",
        history_length=count(body.history_length, "historyLength"),
        status_timestamp_after=_read_time_filter(body.last_updated_time),
        include_artifacts=body.include_artifacts,
    )


def _read_state_filter(value: wire.EnumValue | None) -> TaskState | None:
    return None if value in _ANY_STATE else state_of(value, "status")


_ANY_STATE: Final = (None, "", 0, "0", "TASK_STATE_UNSPECIFIED")


def _read_time_filter(text: str | None) -> str | None:
    if not text:
        return None
    timestamp = read_timestamp(text)
    if timestamp is None:
        expected = "must be an RFC 3339 time such as 2026-01-31T12:00:00.000Z"
        raise InvalidParamsError.of("lastUpdatedTime", expected)
    return timestamp


def _read_config_request(
    operation: Operation, body: wire.ConfigRequest
) -> GetTaskPushNotificationConfigRequest | DeleteTaskPushNotificationConfigRequest:
    task_id, config_id = parse_config_name(body.name or "")
    task_id = required(body.task_id or task_id, "taskId")
    config_id = required(body.id or config_id, "id")
    if operation is Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG:
        return GetTaskPushNotificationConfigRequest(task_id=task_id, id=config_id)
    return DeleteTaskPushNotificationConfigRequest(task_id=task_id, id=config_id)


# --- writing ------------------------------------------------------------------------------------


def write_request(request: Request, values: Encoder) -> Body:
    """Return a request as the proto has it, with the ids of the path."""
    match request:
        case SendMessageRequest():
            return wire.SendMessageRequest(
                message=values.message(request.message),
                configuration=_write_configuration(request.configuration),
                metadata=request.metadata,
            )
        case GetTaskRequest():
            # 5.10: 0 would ask for all; the caller drops what it did not want.
            return wire.TaskRequest(id=request.id, history_length=request.history_length or None)
        case CancelTaskRequest() | SubscribeToTaskRequest():
            return wire.TaskRequest(id=request.id)
        case ListTasksRequest():
            return _write_listing(request)
        case TaskPushNotificationConfig():
            return write_creation(request)
        case GetTaskPushNotificationConfigRequest() | DeleteTaskPushNotificationConfigRequest():
            return wire.ConfigRequest(task_id=request.task_id, id=request.id)
        case ListTaskPushNotificationConfigsRequest():
            return wire.ListConfigsRequest(
                task_id=request.task_id,
                page_size=request.page_size or None,
                page_token=request.page_token or None,
            )
        case GetExtendedAgentCardRequest():
            return wire.GetCardRequest()
        case _:
            assert_never(request)


def _write_configuration(asked: SendMessageConfiguration | None) -> wire.SendMessageConfiguration:
    # 5.10: peers do not agree on what an absent configuration means, so it is always said.
    asked = asked or SendMessageConfiguration()
    webhook = asked.task_push_notification_config
    return wire.SendMessageConfiguration(
        accepted_output_modes=asked.accepted_output_modes or None,
        push_notification=webhook and write_webhook(webhook),
        history_length=asked.history_length or None,
        blocking=not asked.return_immediately,
    )


def _write_listing(request: ListTasksRequest) -> wire.ListTasksRequest:
    return wire.ListTasksRequest(
        context_id=request.context_id or None,
        status=request.status and wire.STATES[request.status],
        page_size=request.page_size,
        page_token=request.page_token or None,
        history_length=request.history_length or None,
        last_updated_time=request.status_timestamp_after,
        include_artifacts=request.include_artifacts or None,
    )
