"""Requests of 0.2 and 0.3 other than a send: a member or two, so they have one reader only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dragoman.dialects.fields import Fields
from dragoman.dialects.legacy.tolerant import read_state, read_timestamp
from dragoman.dialects.v0_3.push import read_config
from dragoman.dialects.v0_3.send import read_history_length
from dragoman.errors import InvalidParamsError
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
    SubscribeToTaskRequest,
)
from dragoman.model.timestamps import format_timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dragoman.model.operations import Request
    from dragoman.model.push import TaskPushNotificationConfig
    from dragoman.model.tasks import TaskState

__all__ = ("READERS", "decode_query")

_INTEGER: Final = re.compile(r"-?\d{1,15}", re.ASCII)
_BOOLEANS: Final = {"true": True, "false": False}
_INTEGERS: Final = frozenset({"historyLength", "pageSize", "lastUpdatedAfter"})
_LAST_MS: Final = 253_402_300_799_999
"""The end of the year 9999: what a date can hold."""


def decode_query(operation: Operation, fields: Mapping[str, str]) -> Request:
    """Read a request from texts by JSON name; an empty text is absent."""
    values = {name: _from_text(name, text) for name, text in fields.items() if text}
    return READERS[operation](Fields(values))


def _from_text(name: str, text: str) -> object:
    if name in _INTEGERS and _INTEGER.fullmatch(text):
        return int(text)
    if name == "includeArtifacts":
        return _BOOLEANS.get(text, text)
    return text


def _task_id(fields: Fields) -> str:
    return fields.required_text("id", "taskId")  # D8


def _get_task(fields: Fields) -> GetTaskRequest:
    return GetTaskRequest(id=_task_id(fields), history_length=read_history_length(fields))


def _list_tasks(fields: Fields) -> ListTasksRequest:
    return ListTasksRequest(
        context_id=fields.text("contextId"),
        status=_state(fields),
        page_size=fields.count("pageSize", least=1, most=MAX_PAGE_SIZE),
        page_token=fields.text("pageToken"),
        history_length=read_history_length(fields),
        status_timestamp_after=_updated_after(fields),
        include_artifacts=fields.flag("includeArtifacts"),
    )


def _state(fields: Fields) -> TaskState | None:
    text = fields.text("status")
    if not text:
        return None
    state = read_state(text)
    if state is None:
        raise InvalidParamsError.of(fields.place("status"), "is not one of the known values")
    return state


def _updated_after(fields: Fields) -> str | None:
    found = fields.get("lastUpdatedAfter")
    if not isinstance(found, str):
        ms = fields.count("lastUpdatedAfter", most=_LAST_MS)
        return None if ms is None else format_timestamp(ms)
    moment = read_timestamp(found)
    if moment is None:
        raise InvalidParamsError.of("lastUpdatedAfter", "must be a time in milliseconds")
    return moment


def _cancel_task(fields: Fields) -> CancelTaskRequest:
    return CancelTaskRequest(id=_task_id(fields), metadata=fields.free("metadata"))


def _subscribe_to_task(fields: Fields) -> SubscribeToTaskRequest:
    return SubscribeToTaskRequest(id=_task_id(fields))


def _create_push_config(fields: Fields) -> TaskPushNotificationConfig:
    # On HTTP+JSON the task is in the path; the body is the pair of JSON-RPC, the pair in a member
    # ``config``, or the configuration alone (4.5).
    outer = fields.at("config") or fields
    config = outer.at("pushNotificationConfig") or outer
    task_id = fields.text("taskId") or outer.text("taskId")
    if not task_id and config is not outer:
        task_id = fields.text("id")
    if not task_id:
        raise InvalidParamsError.of("taskId", "is required")
    return read_config(config, task_id=task_id)


def _config_of(fields: Fields) -> tuple[str, str]:
    """Return the ids of a task and a configuration, the second "" if it is not given.

    JSON-RPC calls the task ``id``. A path has ``taskId``, and ``id`` is then the configuration.
    """
    task_id = fields.text("taskId")
    if task_id:
        return task_id, fields.text("pushNotificationConfigId", "id")
    return fields.required_text("id"), fields.text("pushNotificationConfigId")


def _get_push_config(fields: Fields) -> GetTaskPushNotificationConfigRequest:
    task_id, config_id = _config_of(fields)
    # 5.1: without an id it is the one that is called like the task.
    return GetTaskPushNotificationConfigRequest(task_id=task_id, id=config_id or task_id)


def _list_push_configs(fields: Fields) -> ListTaskPushNotificationConfigsRequest:
    return ListTaskPushNotificationConfigsRequest(task_id=_task_id(fields))


def _delete_push_config(fields: Fields) -> DeleteTaskPushNotificationConfigRequest:
    task_id, config_id = _config_of(fields)
    if not config_id:
        raise InvalidParamsError.of("pushNotificationConfigId", "is required")
    return DeleteTaskPushNotificationConfigRequest(task_id=task_id, id=config_id)


def _get_extended_card(fields: Fields) -> GetExtendedAgentCardRequest:
    del fields  # 4.2: it has no params
    return GetExtendedAgentCardRequest()


READERS: Final[Mapping[Operation, Callable[[Fields], Request]]] = {
    Operation.GET_TASK: _get_task,
    Operation.LIST_TASKS: _list_tasks,
    Operation.CANCEL_TASK: _cancel_task,
    Operation.SUBSCRIBE_TO_TASK: _subscribe_to_task,
    Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG: _create_push_config,
    Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG: _get_push_config,
    Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS: _list_push_configs,
    Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG: _delete_push_config,
    Operation.GET_EXTENDED_AGENT_CARD: _get_extended_card,
}
