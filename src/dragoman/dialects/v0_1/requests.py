"""Requests in the words of 0.1, for calling an agent of that version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from dragoman.dialects.legacy.push import webhook_members
from dragoman.dialects.v0_1.encode import Writer, described
from dragoman.errors import UnsupportedOperationError
from dragoman.model.operations import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.push import TaskPushNotificationConfig

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.operations import Request

__all__ = ("encode_request",)

_encode: Final = msgspec.json.Encoder().encode
_WRITER: Final = Writer()


def encode_request(request: Request) -> bytes:
    """Write the params of a request.

    In 0.1 the client names the task. ``message.task_id`` is that name, of a new task too: the
    client makes one up before it comes here. If it is "", the required ``id`` is missing.

    Raises:
        UnsupportedOperationError: the request is one that 0.1 does not have.
    """
    return _encode(_params(request))


def _params(request: Request) -> JsonObject:
    match request:
        case SendMessageRequest():
            return _send(request)
        case GetTaskRequest(id=task_id, history_length=length):
            return {"id": task_id, "historyLength": length} if length else {"id": task_id}
        case CancelTaskRequest(id=task_id, metadata=metadata):
            return described({"id": task_id}, metadata)
        case SubscribeToTaskRequest(id=task_id):
            return {"id": task_id}
        case TaskPushNotificationConfig():
            return _WRITER.push_config(request)
        case GetTaskPushNotificationConfigRequest(task_id=task_id):
            return {"id": task_id}
        case ListTaskPushNotificationConfigsRequest(task_id=task_id):
            return {"id": task_id}
        case DeleteTaskPushNotificationConfigRequest(task_id=task_id):
            return {"id": task_id, "pushNotificationConfig": None}
        case _:
            raise UnsupportedOperationError


def _send(request: SendMessageRequest) -> JsonObject:
    message, configuration = request.message, request.configuration
    written: JsonObject = {}
    if message.task_id:
        written["id"] = message.task_id
    if message.context_id:
        written["sessionId"] = message.context_id
    written["message"] = _WRITER.message(message)
    if configuration is not None:
        if (config := configuration.task_push_notification_config) is not None:
            written["pushNotification"] = webhook_members(config)
        if configuration.history_length:
            written["historyLength"] = configuration.history_length
        if configuration.accepted_output_modes:
            written["acceptedOutputModes"] = configuration.accepted_output_modes
    return described(written, request.metadata)
