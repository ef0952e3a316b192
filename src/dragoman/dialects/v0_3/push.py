"""Webhook registrations of 0.2 and 0.3, both ways (0.x reference, 5.11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.dialects.tolerant import read_authentication
from dragoman.model.push import TaskPushNotificationConfig

if TYPE_CHECKING:
    from dragoman.dialects.fields import Fields
    from dragoman.model.base import JsonObject

__all__ = ("config_members", "read_config", "read_task_config", "task_config_members")


def read_config(config: Fields, *, task_id: str = "") -> TaskPushNotificationConfig:
    """Read a configuration. Its id is "" where the client gave none."""
    found = config.at("authentication")
    return TaskPushNotificationConfig(
        id=config.text("id"),
        task_id=task_id,
        url=config.required_text("url"),
        token=config.text("token"),
        authentication=None
        if found is None
        else read_authentication(found.texts("schemes"), found.text("credentials")),
    )


def read_task_config(pair: Fields) -> TaskPushNotificationConfig:
    """Read a configuration with its task, as a server answers it."""
    config = pair.at("pushNotificationConfig") or pair
    return read_config(config, task_id=pair.text("taskId"))


def config_members(config: TaskPushNotificationConfig) -> JsonObject:
    """Return the members of a configuration."""
    members: JsonObject = {"url": config.url}
    if config.id:
        members["id"] = config.id
    if config.token:
        members["token"] = config.token
    if config.authentication is not None:
        authentication: JsonObject = {"schemes": [config.authentication.scheme]}
        if config.authentication.credentials:
            authentication["credentials"] = config.authentication.credentials
        members["authentication"] = authentication
    return members


def task_config_members(config: TaskPushNotificationConfig) -> JsonObject:
    """Return the members of a configuration with its task."""
    return {"taskId": config.task_id, "pushNotificationConfig": config_members(config)}
