"""Webhooks of 0.2 and 0.3, both ways (0.x reference, 5.11). A task may have several, by id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.dialects.legacy.push import read_webhook, webhook_members

if TYPE_CHECKING:
    from dragoman.dialects.fields import Fields
    from dragoman.model.base import JsonObject
    from dragoman.model.push import TaskPushNotificationConfig

__all__ = ("config_members", "read_config", "read_task_config", "task_config_members")


def read_config(config: Fields, *, task_id: str = "") -> TaskPushNotificationConfig:
    """Read a configuration. Its id is "" where the client gave none."""
    return read_webhook(config, task_id=task_id, config_id=config.text("id"))


def read_task_config(pair: Fields) -> TaskPushNotificationConfig:
    """Read a configuration with its task, as a server answers it."""
    config = pair.at("pushNotificationConfig") or pair
    return read_config(config, task_id=pair.text("taskId"))


def config_members(config: TaskPushNotificationConfig) -> JsonObject:
    """Return the members of a configuration."""
    members = webhook_members(config)
    return {**members, "id": config.id} if config.id else members


def task_config_members(config: TaskPushNotificationConfig) -> JsonObject:
    """Return the members of a configuration with its task."""
    return {"taskId": config.task_id, "pushNotificationConfig": config_members(config)}
