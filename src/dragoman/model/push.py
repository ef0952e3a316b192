"""Webhook registrations."""

from __future__ import annotations

from dragoman.model.base import NonEmpty, Value

__all__ = ("AuthenticationInfo", "TaskPushNotificationConfig")


class AuthenticationInfo(Value, frozen=True, kw_only=True):
    """How the agent authenticates to a webhook."""

    scheme: NonEmpty
    credentials: str = ""


class TaskPushNotificationConfig(Value, frozen=True, kw_only=True):
    """One webhook of one task."""

    tenant: str = ""
    id: str = ""
    task_id: str = ""
    url: NonEmpty
    token: str = ""
    authentication: AuthenticationInfo | None = None
