"""Webhooks as all old forms write them: an address, a token and a list of schemes.

Versions differ in what they call the task that a webhook belongs to, and in whether the webhook has
an id of its own; both are left to them (0.x reference, 5.11). Nothing here knows a version; it is
not a dialect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dragoman.dialects.fields import Fields
    from dragoman.model.base import JsonObject

__all__ = ("read_authentication", "read_webhook", "webhook_members")

_COMMON_SCHEMES: Final = ("bearer", "basic")


def read_webhook(
    webhook: Fields, *, task_id: str = "", config_id: str = ""
) -> TaskPushNotificationConfig:
    """Read a webhook.

    Args:
        task_id: the task it belongs to, "" where that is implied (in a send).
        config_id: what it is called, "" where it has no name.

    Raises:
        InvalidParamsError: it has no address, or a member of the wrong type.
    """
    found = webhook.at("authentication")
    return TaskPushNotificationConfig(
        id=config_id,
        task_id=task_id,
        url=webhook.required_text("url"),
        token=webhook.text("token"),
        authentication=None
        if found is None
        else read_authentication(found.texts("schemes"), found.text("credentials")),
    )


def read_authentication(schemes: Iterable[str], credentials: str) -> AuthenticationInfo | None:
    """Choose among the schemes of a webhook, of which the model holds one; None if it has none."""
    named = sorted(filter(None, schemes), key=_rank)
    return AuthenticationInfo(scheme=named[0], credentials=credentials) if named else None


def webhook_members(config: TaskPushNotificationConfig) -> JsonObject:
    """Return the members of a webhook, without its id and its task; what is empty is left out."""
    members: JsonObject = {"url": config.url}
    if config.token:
        members["token"] = config.token
    if config.authentication is not None:
        authentication: JsonObject = {"schemes": [config.authentication.scheme]}
        if config.authentication.credentials:
            authentication["credentials"] = config.authentication.credentials
        members["authentication"] = authentication
    return members


def _rank(scheme: str) -> int:
    # Those that most webhooks understand come first, the others in their order.
    name = scheme.lower()
    return (*_COMMON_SCHEMES, name).index(name)
