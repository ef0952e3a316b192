"""Every error that the protocol has a name for, by order: ``refuse TaskNotFoundError``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dragoman.agent.results import Rejected
from dragoman.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    ExtendedAgentCardNotConfiguredError,
    ExtensionSupportRequiredError,
    InternalError,
    InvalidAgentResponseError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
    PermissionDeniedError,
    PushNotificationNotSupportedError,
    RateLimitedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedOperationError,
    VersionNotSupportedError,
)

__all__ = ("REFUSALS", "refuse")

_PLAIN: Final[tuple[type[A2AError], ...]] = (
    PushNotificationNotSupportedError,
    UnsupportedOperationError,
    ContentTypeNotSupportedError,
    InvalidAgentResponseError,
    ExtendedAgentCardNotConfiguredError,
    ExtensionSupportRequiredError,
    InvalidRequestError,
    MethodNotFoundError,
    InvalidParamsError,
    InternalError,
    UnavailableError,
    UnauthenticatedError,
    PermissionDeniedError,
    RateLimitedError,
)

REFUSALS: Final[Mapping[str, Callable[[], A2AError]]] = {
    TaskNotFoundError.__name__: lambda: TaskNotFoundError("demo"),
    TaskNotCancelableError.__name__: lambda: TaskNotCancelableError("demo", "TASK_STATE_COMPLETED"),
    VersionNotSupportedError.__name__: lambda: VersionNotSupportedError("9.9", ("1.0",)),
    **{kind.__name__: kind for kind in _PLAIN},
}
"""The errors by name."""


async def refuse(text: str) -> str:
    """Answer with the error that the message names, such as "refuse TaskNotFoundError"."""
    del text
    # The route function has raised it by now if there is one of that name.
    raise Rejected(f"Name one of {', '.join(REFUSALS)}.")
