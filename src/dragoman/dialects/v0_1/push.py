"""Webhook registrations of 0.1, both ways (0.x reference, 5.11). A task has one, without an id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman.errors import InvalidParamsError
from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig

if TYPE_CHECKING:
    from dragoman.dialects.fields import Fields
    from dragoman.model.base import JsonObject

__all__ = ("encode_config", "read_config", "read_task_config")

_PREFERRED_SCHEMES: Final = ("bearer", "basic")


def read_config(config: Fields, task_id: str = "") -> TaskPushNotificationConfig:
    """Read a webhook."""
    return TaskPushNotificationConfig(
        task_id=task_id,
        url=config.required_text("url"),
        token=config.text("token"),
        authentication=_read_authentication(config.at("authentication")),
    )


def read_task_config(pair: Fields) -> TaskPushNotificationConfig:
    """Read a webhook with its task; null, which may clear it, is not taken."""
    config = pair.at("pushNotificationConfig")
    if config is None:
        raise InvalidParamsError.of("pushNotificationConfig", "is required")
    return read_config(config, pair.required_text("id", "taskId"))


def encode_config(config: TaskPushNotificationConfig) -> JsonObject:
    """Write a webhook, without its task."""
    written: JsonObject = {"url": config.url}
    if config.token:
        written["token"] = config.token
    if (authentication := config.authentication) is not None:
        how: JsonObject = {"schemes": [authentication.scheme]}
        if authentication.credentials:
            how["credentials"] = authentication.credentials
        written["authentication"] = how
    return written


def _read_authentication(found: Fields | None) -> AuthenticationInfo | None:
    if found is None:
        return None
    # The model holds one scheme; one without a name is none.
    schemes = sorted(filter(None, found.texts("schemes")), key=_rank)
    if not schemes:
        return None
    return AuthenticationInfo(scheme=schemes[0], credentials=found.text("credentials"))


def _rank(scheme: str) -> int:
    name = scheme.lower()
    return (*_PREFERRED_SCHEMES, name).index(name)
