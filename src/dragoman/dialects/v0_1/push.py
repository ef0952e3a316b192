"""The webhook of a task in 0.1 (0.x reference, 5.11). A task has one, and it has no id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.dialects.legacy.push import read_webhook
from dragoman.errors import InvalidParamsError

if TYPE_CHECKING:
    from dragoman.dialects.fields import Fields
    from dragoman.model.push import TaskPushNotificationConfig

__all__ = ("read_task_config",)


def read_task_config(pair: Fields) -> TaskPushNotificationConfig:
    """Read a webhook with its task; null, which may clear it, is not taken."""
    webhook = pair.at("pushNotificationConfig")
    if webhook is None:
        raise InvalidParamsError.of("pushNotificationConfig", "is required")
    return read_webhook(webhook, task_id=pair.required_text("id", "taskId"))
