"""Requests of 0.2 and 0.3 as a client writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from dragoman.dialects.v0_3.encode import STATES
from dragoman.dialects.v0_3.push import config_members, task_config_members
from dragoman.model.base import is_object
from dragoman.model.client_tools import CLIENT_TOOLS, TOOLS
from dragoman.model.operations import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.timestamps import parse_timestamp

if TYPE_CHECKING:
    from dragoman.dialects.v0_3.encode import Writer
    from dragoman.model.base import JsonObject
    from dragoman.model.operations import Request

__all__ = ("encode_request",)


def encode_request(request: Request, writer: Writer) -> JsonObject:
    """Return the params of a request."""
    match request:
        case SendMessageRequest():
            return _send(request, writer)
        case GetTaskRequest():
            return _with_history({"id": request.id}, request.history_length)
        case ListTasksRequest():
            return _list_tasks(request)
        case CancelTaskRequest():
            return _with_metadata({"id": request.id}, request.metadata)
        case SubscribeToTaskRequest():
            return {"id": request.id}
        case TaskPushNotificationConfig():
            return task_config_members(request)
        case GetTaskPushNotificationConfigRequest() | DeleteTaskPushNotificationConfigRequest():
            return {"id": request.task_id, "pushNotificationConfigId": request.id}
        case ListTaskPushNotificationConfigsRequest():
            return {"id": request.task_id}
        case GetExtendedAgentCardRequest():
            return {}
        case _:
            assert_never(request)


def _send(request: SendMessageRequest, writer: Writer) -> JsonObject:
    configuration = request.configuration or SendMessageConfiguration()
    options: JsonObject = {
        # 3.4: required until 0.2.5 wherever there is a configuration.
        "acceptedOutputModes": configuration.accepted_output_modes,
        # 5.10: what its absence means is written nowhere, so it is always said.
        "blocking": not configuration.return_immediately,
    }
    if configuration.task_push_notification_config is not None:
        options["pushNotificationConfig"] = config_members(
            configuration.task_push_notification_config
        )
    members: JsonObject = {
        "message": writer.message(request.message),
        "configuration": _with_history(options, configuration.history_length),
    }
    entry = (request.message.metadata or {}).get(CLIENT_TOOLS)
    if is_object(entry) and (tools := entry.get(TOOLS)) is not None:
        # Where the RxJS agent looks for them; others leave it out.
        members[TOOLS] = tools
    return _with_metadata(members, request.metadata)


def _list_tasks(request: ListTasksRequest) -> JsonObject:
    members: JsonObject = {}
    if request.context_id:
        members["contextId"] = request.context_id
    if request.status is not None:
        members["status"] = STATES[request.status]
    if request.page_size is not None:
        members["pageSize"] = request.page_size
    if request.page_token:
        members["pageToken"] = request.page_token
    if request.status_timestamp_after is not None:
        members["lastUpdatedAfter"] = parse_timestamp(request.status_timestamp_after)
    if request.include_artifacts is not None:
        members["includeArtifacts"] = request.include_artifacts
    return _with_history(members, request.history_length)


def _with_history(members: JsonObject, length: int | None) -> JsonObject:
    # 5.10: 0 would be read as "all" by some servers; the client drops the history itself.
    return {**members, "historyLength": length} if length else members


def _with_metadata(members: JsonObject, metadata: JsonObject | None) -> JsonObject:
    return members if metadata is None else {**members, "metadata": metadata}
