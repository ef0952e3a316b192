"""Webhooks, read and written (0.x reference, 4.5 and 5.11).

The proto has a webhook inside a ``TaskPushNotificationConfig``, whose resource name tells the task;
the model has one flat value.
"""

from __future__ import annotations

from dragoman.dialects.legacy.push import read_authentication
from dragoman.dialects.v0_3_proto import wire
from dragoman.dialects.v0_3_proto.decode import required
from dragoman.dialects.v0_3_proto.resources import (
    config_name,
    parse_config_name,
    parse_task_name,
    task_name,
)
from dragoman.model.push import TaskPushNotificationConfig

__all__ = (
    "read_config",
    "read_creation",
    "read_webhook",
    "write_config",
    "write_creation",
    "write_webhook",
)


def read_webhook(
    found: wire.PushNotificationConfig, path: str, *, task_id: str = "", config_id: str = ""
) -> TaskPushNotificationConfig:
    """Return a webhook.

    Args:
        task_id: the task it belongs to, "" where that is implied (in a send).
        config_id: the id to use where the webhook has none itself.
    """
    told = found.authentication
    return TaskPushNotificationConfig(
        id=found.id or config_id,
        task_id=task_id,
        url=required(found.url, f"{path}.url".removeprefix(".")),
        token=found.token or "",
        authentication=told and read_authentication(told.schemes or (), told.credentials or ""),
    )


def read_config(found: wire.TaskPushNotificationConfig, path: str) -> TaskPushNotificationConfig:
    """Return a webhook that a server has answered; its resource name tells the ids."""
    task_id, config_id = parse_config_name(found.name or "")
    place = f"{path}.name".removeprefix(".")
    return _read_inner(found, path, required(found.task_id or task_id, place), config_id)


def read_creation(found: wire.CreateConfigRequest) -> TaskPushNotificationConfig:
    """Return the webhook of a request, which may be the whole request or its inner parts alone.

    The id in its resource name is not looked at: where the client has chosen none, the Python SDK
    of 0.3 writes ``None`` there.
    """
    inner = found.config or found
    named, _ = parse_config_name(inner.name or "")
    task_id = found.task_id or parse_task_name(found.parent or "") or inner.task_id or named
    path = "" if found.config is None else "config"
    return _read_inner(inner, path, required(task_id, "taskId"), found.config_id or "")


def write_webhook(config: TaskPushNotificationConfig) -> wire.PushNotificationConfig:
    """Return a webhook as it stands in a send."""
    authentication = config.authentication
    return wire.PushNotificationConfig(
        id=config.id or None,
        url=config.url,
        token=config.token or None,
        authentication=authentication
        and wire.AuthenticationInfo(
            schemes=(authentication.scheme,), credentials=authentication.credentials or None
        ),
    )


def write_config(config: TaskPushNotificationConfig) -> wire.TaskPushNotificationConfig:
    """Return a webhook under its resource name, which takes a missing id for the task's."""
    return wire.TaskPushNotificationConfig(
        name=config_name(config.task_id, config.id or config.task_id),
        push_notification_config=write_webhook(config),
    )


def write_creation(config: TaskPushNotificationConfig) -> wire.CreateConfigRequest:
    """Return the whole request; ``taskId`` is for the path."""
    return wire.CreateConfigRequest(
        task_id=config.task_id,
        parent=task_name(config.task_id),
        config_id=config.id or config.task_id,
        config=write_config(config),
    )


def _read_inner(
    found: wire.TaskPushNotificationConfig, path: str, task_id: str, config_id: str
) -> TaskPushNotificationConfig:
    inner = found.push_notification_config
    if inner is None:
        return read_webhook(found, path, task_id=task_id, config_id=config_id)
    place = f"{path}.pushNotificationConfig".removeprefix(".")
    return read_webhook(inner, place, task_id=task_id, config_id=config_id)
