"""The error tree, and the one table that spells each error on every binding.

DragomanError
├── A2AError                    told to a peer, in the spelling of its binding
│   ├── TaskNotFoundError · TaskNotCancelableError · PushNotificationNotSupportedError
│   ├── UnsupportedOperationError (StreamingNotSupportedError · TaskEndedError)
│   ├── ContentTypeNotSupportedError · InvalidAgentResponseError (DivergedError)
│   ├── ExtendedAgentCardNotConfiguredError · ExtensionSupportRequiredError
│   ├── VersionNotSupportedError
│   ├── JSONParseError · InvalidRequestError · InvalidParamsError (UnknownTenantError)
│   ├── MethodNotFoundError · MethodNotAllowedError
│   ├── PayloadTooLargeError · UnsupportedMediaTypeError
│   ├── InternalError · UnavailableError
│   └── UnauthenticatedError · PermissionDeniedError · RateLimitedError
├── StoreError                  the log could not do what was asked
│   ├── ConflictError           somebody else owns this task now; that append alone failed
│   ├── SentBeforeError         another replica has stored the same send first; nothing was kept
│   ├── UnreadError             a task was to end that has acknowledged messages its writer missed
│   └── StoreUnavailableError   the engine below failed; nothing of the batch is known to be stored
├── NoAnswerError               what was asked for did not come in time; raised in the agent's code
├── ToolError                   a tool of the caller's could not be used; raised in the agent's code
└── UsageError                  the program or its configuration is wrong; no peer is involved

An ``A2AError`` carries values and builds its own message. What it says reaches the peer, so it
never holds a traceback, a path of this machine or the text of a foreign exception.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from msgspec import Struct

__all__ = (
    "ERROR_DOMAIN",
    "SPELLINGS",
    "A2AError",
    "ConflictError",
    "ContentTypeNotSupportedError",
    "DivergedError",
    "DragomanError",
    "ExtendedAgentCardNotConfiguredError",
    "ExtensionSupportRequiredError",
    "FieldViolation",
    "InternalError",
    "InvalidAgentResponseError",
    "InvalidParamsError",
    "InvalidRequestError",
    "JSONParseError",
    "MethodNotAllowedError",
    "MethodNotFoundError",
    "NoAnswerError",
    "PayloadTooLargeError",
    "PermissionDeniedError",
    "PushNotificationNotSupportedError",
    "RateLimitedError",
    "SentBeforeError",
    "Spelling",
    "StoreError",
    "StoreUnavailableError",
    "StreamingNotSupportedError",
    "TaskEndedError",
    "TaskNotCancelableError",
    "TaskNotFoundError",
    "ToolError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnknownTenantError",
    "UnreadError",
    "UnsupportedMediaTypeError",
    "UnsupportedOperationError",
    "UsageError",
    "VersionNotSupportedError",
    "spelling_of",
)

ERROR_DOMAIN: Final = "a2a-protocol.org"
"""R-10.6-4, R-11.6-8: the domain of every ErrorInfo."""


class FieldViolation(Struct, frozen=True):
    """One thing that is wrong with one field of a request."""

    field: str
    description: str


class DragomanError(Exception):
    """Anything this library raises on purpose."""


class A2AError(DragomanError):
    """An error a peer is told about.

    Attributes:
        message: what the peer reads.
        metadata: machine-readable facts about this occurrence (ErrorInfo.metadata; strings, Q-18).
        violations: what is wrong with which field (BadRequest.fieldViolations).
        retry_after_seconds: when trying again may help, else None.
    """

    standard_message: ClassVar[str] = "Error"

    def __init__(
        self,
        message: str | None = None,
        *,
        metadata: dict[str, str] | None = None,
        violations: tuple[FieldViolation, ...] = (),
        retry_after_seconds: float | None = None,
    ) -> None:
        """Keep the values; the class's standard message stands in for a missing one."""
        self.message: str = message or self.standard_message
        self.metadata: dict[str, str] = metadata or {}
        self.violations = violations
        self.retry_after_seconds = retry_after_seconds
        super().__init__(self.message)


class TaskNotFoundError(A2AError):
    """The task does not exist, or not for this caller: the two are never told apart."""

    standard_message = "Task not found"

    def __init__(self, task_id: str) -> None:
        """Name the task that was asked for."""
        super().__init__(metadata={"taskId": task_id})


class TaskNotCancelableError(A2AError):
    """The task has ended; there is nothing left to cancel."""

    standard_message = "Task cannot be canceled"

    def __init__(self, task_id: str, state: str) -> None:
        """Name the task and the state it is in."""
        super().__init__(
            f"Task cannot be canceled: it is in {state}",
            metadata={"taskId": task_id, "state": state},
        )


class PushNotificationNotSupportedError(A2AError):
    """The agent's card does not offer push notifications."""

    standard_message = "Push Notification is not supported"


class UnsupportedOperationError(A2AError):
    """The agent, or the task in its present state, does not do this."""

    standard_message = "This operation is not supported"


class StreamingNotSupportedError(UnsupportedOperationError):
    """The agent's card does not offer streaming. Only 0.1 has a code of its own for it."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__("This agent does not stream")


class TaskEndedError(UnsupportedOperationError):
    """The task has ended and does not do this any more. Only 0.1 has a code of its own for it."""

    def __init__(self, task_id: str, state: str, advice: str) -> None:
        """Name the task and its state, and say what can be done instead."""
        super().__init__(
            f"The task has ended ({state}){advice}", metadata={"taskId": task_id, "state": state}
        )


class ContentTypeNotSupportedError(A2AError):
    """A part, or a body over HTTP+JSON, has a media type that the agent cannot take."""

    standard_message = "Incompatible content types"


class InvalidAgentResponseError(A2AError):
    """The agent's own code produced something the protocol does not allow."""

    standard_message = "Invalid agent response"


class DivergedError(InvalidAgentResponseError):
    """Code that runs again has made another durable call than the one that was recorded."""

    def __init__(self, recorded: str, made: str) -> None:
        """Name both."""
        super().__init__(
            f"The agent's code took another course than before: {recorded} was recorded here, "
            f"and now it made {made}"
        )


class ExtendedAgentCardNotConfiguredError(A2AError):
    """The card promises an extended card, but none is configured."""

    standard_message = "Extended Agent Card is not configured"


class ExtensionSupportRequiredError(A2AError):
    """The card requires an extension that the request did not declare."""

    standard_message = "Extension support required"


class VersionNotSupportedError(A2AError):
    """The request asks for a protocol version that is not served here."""

    standard_message = "Protocol version not supported"

    def __init__(self, requested: str, supported: tuple[str, ...]) -> None:
        """Name what was asked for and what could be asked for instead."""
        super().__init__(
            f"A2A version {requested} is not supported here; supported: {', '.join(supported)}",
            metadata={"requestedVersion": requested, "supportedVersions": ",".join(supported)},
        )


class JSONParseError(A2AError):
    """The body is not JSON."""

    standard_message = "Invalid JSON payload"


class InvalidRequestError(A2AError):
    """The body is JSON, but not a request."""

    standard_message = "Request payload validation error"


class MethodNotFoundError(A2AError):
    """There is no such method or route."""

    standard_message = "Method not found"


class MethodNotAllowedError(A2AError):
    """The route exists, but not for this HTTP method. Only HTTP can say so."""

    standard_message = "Method not allowed"

    def __init__(self, allow: tuple[str, ...], message: str | None = None) -> None:
        """Name the methods that the route does take; they belong in the Allow header too."""
        super().__init__(message, metadata={"allow": ", ".join(allow)})
        self.allow = allow


class InvalidParamsError(A2AError):
    """A parameter is missing or wrong; the violations say which and why."""

    standard_message = "Invalid parameters"

    @classmethod
    def of(cls, field: str, description: str) -> InvalidParamsError:
        """Make the error for one field."""
        return cls(
            f"Invalid parameters: {field} {description}"
            if field
            else f"Invalid parameters: {description}",
            violations=(FieldViolation(field, description),),
        )


class UnknownTenantError(InvalidParamsError):
    """The tenant is not served here, or not to this caller: the two are never told apart."""

    def __init__(self) -> None:
        """Say so."""
        description = "is not a tenant served here"
        super().__init__(
            f"Invalid parameters: tenant {description}",
            violations=(FieldViolation("tenant", description),),
        )


class PayloadTooLargeError(A2AError):
    """The body is larger than this server reads."""

    standard_message = "Request body too large"


class UnsupportedMediaTypeError(A2AError):
    """The body is labelled as something other than JSON, or compressed."""

    standard_message = "Unsupported media type"


class InternalError(A2AError):
    """We broke it. The peer gets an id to quote; the log has the rest."""

    standard_message = "Internal error"


class UnavailableError(A2AError):
    """Not now: busy, shutting down, or the store is out of reach. Trying again may help."""

    standard_message = "Service unavailable"

    def __init__(self, message: str | None = None, *, retry_after_seconds: float = 1.0) -> None:
        """Say when to come back."""
        super().__init__(message, retry_after_seconds=retry_after_seconds)


class UnauthenticatedError(A2AError):
    """The request does not say who is calling, or not credibly.

    Attributes:
        challenges: what would be credible, as ``WWW-Authenticate`` says it (RFC 9110, 11.6.1). It
            is told on every binding (R-3.3.2-4, R-3.3.2-5): on those without headers as metadata.
    """

    standard_message = "Authentication required"

    def __init__(
        self,
        message: str | None = None,
        *,
        challenges: tuple[str, ...] = (),
        metadata: dict[str, str] | None = None,
        violations: tuple[FieldViolation, ...] = (),
        retry_after_seconds: float | None = None,
    ) -> None:
        """Say what to show instead."""
        told = {"wwwAuthenticate": ", ".join(challenges)} if challenges else {}
        super().__init__(
            message,
            metadata={**told, **(metadata or {})},
            violations=violations,
            retry_after_seconds=retry_after_seconds,
        )
        self.challenges = challenges


class PermissionDeniedError(A2AError):
    """The caller is known and may not do this."""

    standard_message = "Permission denied"
    skill_id: str = ""
    """The skill that it may not use; "" if it is about something else, or not to be told."""

    @classmethod
    def for_want_of(cls, scopes: Iterable[str], skill_id: str = "") -> PermissionDeniedError:
        """Make the error for a caller who was not granted these scopes (R-3.3.2-7)."""
        missing = sorted(scopes)
        error = cls(
            f"Permission denied: this needs the scope {', '.join(missing)}",
            metadata={"missingScopes": " ".join(missing)},
        )
        error.skill_id = skill_id
        return error


class RateLimitedError(A2AError):
    """The caller asks too often."""

    standard_message = "Rate limit exceeded"


class StoreError(DragomanError):
    """The log could not do what was asked."""


class ConflictError(StoreError):
    """An append lost its compare-and-set: somebody else has written to the task meanwhile."""

    def __init__(self, task_id: str) -> None:
        """Name the task whose append was refused."""
        super().__init__(f"task {task_id} was changed by another writer")
        self.task_id = task_id


class SentBeforeError(StoreError):
    """What came with a send was refused: the same message was sent, and stored, before."""

    def __init__(self, message_id: str) -> None:
        """Name the message."""
        super().__init__(f"message {message_id[:100]!r} was stored before by another replica")
        self.message_id = message_id


class UnreadError(StoreError):
    """The end of a task was refused: something came into its inbox that its writer has not seen."""

    def __init__(self, task_id: str) -> None:
        """Name the task."""
        super().__init__(f"task {task_id} has messages that nobody has taken up")
        self.task_id = task_id


class StoreUnavailableError(StoreError):
    """The storage engine failed (disk full, database gone)."""


class NoAnswerError(DragomanError, TimeoutError):
    """What the agent asked for did not come in time.

    Attributes:
        timeout_seconds: how long it was waited for, None if that is not known.
    """

    def __init__(self, message: str, *, timeout_seconds: float | None = None) -> None:
        """Say what did not come."""
        super().__init__(message)
        self.timeout_seconds = timeout_seconds


class ToolError(DragomanError):
    """A tool of the caller's could not be used, or has failed.

    Attributes:
        tool: its name; "" where the caller was asked for input and has given none.
    """

    def __init__(self, tool: str, message: str) -> None:
        """Keep what the caller, or the check of the arguments, has said."""
        super().__init__(message)
        self.tool = tool


class UsageError(DragomanError):
    """The program or its configuration is wrong; the message says what to do."""


class Spelling(Struct, frozen=True):
    """How one error is written on each binding."""

    jsonrpc: int
    http: int
    grpc: str
    grpc_code: int
    reason: str


# Section 6 of the 1.0 reference (v1.0.1 columns, Q-05). R-5.4-1.
SPELLINGS: Final[dict[type[A2AError], Spelling]] = {
    TaskNotFoundError: Spelling(-32001, 404, "NOT_FOUND", 5, "TASK_NOT_FOUND"),
    TaskNotCancelableError: Spelling(-32002, 400, "FAILED_PRECONDITION", 9, "TASK_NOT_CANCELABLE"),
    PushNotificationNotSupportedError: Spelling(
        -32003, 400, "FAILED_PRECONDITION", 9, "PUSH_NOTIFICATION_NOT_SUPPORTED"
    ),
    UnsupportedOperationError: Spelling(
        -32004, 400, "FAILED_PRECONDITION", 9, "UNSUPPORTED_OPERATION"
    ),
    ContentTypeNotSupportedError: Spelling(
        -32005, 400, "INVALID_ARGUMENT", 3, "CONTENT_TYPE_NOT_SUPPORTED"
    ),
    InvalidAgentResponseError: Spelling(-32006, 500, "INTERNAL", 13, "INVALID_AGENT_RESPONSE"),
    ExtendedAgentCardNotConfiguredError: Spelling(
        -32007, 400, "FAILED_PRECONDITION", 9, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
    ),
    ExtensionSupportRequiredError: Spelling(
        -32008, 400, "FAILED_PRECONDITION", 9, "EXTENSION_SUPPORT_REQUIRED"
    ),
    VersionNotSupportedError: Spelling(
        -32009, 400, "FAILED_PRECONDITION", 9, "VERSION_NOT_SUPPORTED"
    ),
    JSONParseError: Spelling(-32700, 400, "INVALID_ARGUMENT", 3, "INVALID_REQUEST"),
    InvalidRequestError: Spelling(-32600, 400, "INVALID_ARGUMENT", 3, "INVALID_REQUEST"),
    MethodNotFoundError: Spelling(-32601, 404, "NOT_FOUND", 5, "METHOD_NOT_FOUND"),
    # HTTP 405 has no gRPC counterpart; UNIMPLEMENTED is what gRPC says to an unknown method.
    MethodNotAllowedError: Spelling(-32601, 405, "UNIMPLEMENTED", 12, "METHOD_NOT_ALLOWED"),
    InvalidParamsError: Spelling(-32602, 400, "INVALID_ARGUMENT", 3, "INVALID_PARAMS"),
    PayloadTooLargeError: Spelling(-32600, 413, "OUT_OF_RANGE", 11, "PAYLOAD_TOO_LARGE"),
    UnsupportedMediaTypeError: Spelling(
        -32600, 415, "INVALID_ARGUMENT", 3, "UNSUPPORTED_MEDIA_TYPE"
    ),
    InternalError: Spelling(-32603, 500, "INTERNAL", 13, "INTERNAL_ERROR"),
    UnavailableError: Spelling(-32603, 503, "UNAVAILABLE", 14, "UNAVAILABLE"),
    # The references leave these three numbers open; Q-14 and DESIGN section 6 choose them.
    UnauthenticatedError: Spelling(-31401, 401, "UNAUTHENTICATED", 16, "UNAUTHENTICATED"),
    PermissionDeniedError: Spelling(-31403, 403, "PERMISSION_DENIED", 7, "PERMISSION_DENIED"),
    RateLimitedError: Spelling(-31429, 429, "RESOURCE_EXHAUSTED", 8, "RATE_LIMITED"),
}


def spelling_of(error: A2AError) -> Spelling:
    """Return how an error is written; a class without a row of its own is written as its base."""
    for kind in type(error).__mro__:
        if kind in SPELLINGS:
            return SPELLINGS[kind]
    return SPELLINGS[InternalError]
