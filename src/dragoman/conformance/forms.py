"""The forms that JSON has over JSON-RPC: that of 1.0, and that of 0.2 and 0.3. Pure.

Checks are written in 1.0. A form says what the methods of a version are called, writes a request
of 1.0 as that version has it, and reads its results as what they are in 1.0. It reads without
mercy: what it does not know it leaves as it is, for the check to stumble over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final, Protocol

from dragoman.conformance.answers import at, is_object, items, objects, text_at

__all__ = ("FORM_0_3", "FORM_1_0", "Form", "form_of")

Params = Mapping[str, object]
Json = dict[str, object]


class Form(Protocol):
    """One wire form of JSON-RPC.

    Attributes:
        has_details: the data of an error is an array of typed objects.
    """

    has_details: bool

    def method(self, operation: str) -> str:
        """Return what an operation of 1.0 is called."""
        ...

    def write(self, operation: str, params: Params) -> Params:
        """Write the params of a request."""
        ...

    def read(self, operation: str, result: object) -> object:
        """Read the result of a request, or of one event."""
        ...


class _Form10:
    """1.0 as it is (R-9.1-3)."""

    has_details = True

    def method(self, operation: str) -> str:
        return operation

    def write(self, operation: str, params: Params) -> Params:
        del operation
        return params

    def read(self, operation: str, result: object) -> object:
        del operation
        return result


# 0.x reference, 3.2.
_METHODS: Final = {
    "SendMessage": "message/send",
    "SendStreamingMessage": "message/stream",
    "GetTask": "tasks/get",
    "CancelTask": "tasks/cancel",
    "SubscribeToTask": "tasks/resubscribe",
    "CreateTaskPushNotificationConfig": "tasks/pushNotificationConfig/set",
    "GetTaskPushNotificationConfig": "tasks/pushNotificationConfig/get",
    "ListTaskPushNotificationConfigs": "tasks/pushNotificationConfig/list",
    "DeleteTaskPushNotificationConfig": "tasks/pushNotificationConfig/delete",
    "GetExtendedAgentCard": "agent/getAuthenticatedExtendedCard",
}
_KINDS: Final = {
    "task": "task",
    "message": "message",
    "status-update": "statusUpdate",
    "artifact-update": "artifactUpdate",
}
_STATES: Final = {
    name: f"TASK_STATE_{name.upper().replace('-', '_')}"
    for name in (
        *("submitted", "working", "completed", "failed", "canceled", "rejected"),
        *("input-required", "auth-required"),
    )
}
_ROLES: Final = {"user": "ROLE_USER", "agent": "ROLE_AGENT"}


class _Form03:
    """0.3 and 0.2: the ``kind`` of an object says what it is, and enums are plain words."""

    has_details = False

    def method(self, operation: str) -> str:
        return _METHODS.get(operation, operation)

    def write(self, operation: str, params: Params) -> Params:
        match operation:
            case "SendMessage" | "SendStreamingMessage":
                return _write_send(params)
            case "CreateTaskPushNotificationConfig":
                config = {name: params[name] for name in ("id", "url", "token") if name in params}
                return {"taskId": params["taskId"], "pushNotificationConfig": config}
            case "GetTaskPushNotificationConfig" | "DeleteTaskPushNotificationConfig":
                return {"id": params["taskId"], "pushNotificationConfigId": params["id"]}
            case "ListTaskPushNotificationConfigs":
                return {"id": params["taskId"]}
            case _:
                return params

    def read(self, operation: str, result: object) -> object:
        match operation:
            case "SendMessage" | "SendStreamingMessage" | "SubscribeToTask":
                return _read_tagged(result)
            case "GetTask" | "CancelTask":
                return _read_object(result)
            case "CreateTaskPushNotificationConfig" | "GetTaskPushNotificationConfig":
                return _read_config(result)
            case "ListTaskPushNotificationConfigs":
                return {"configs": [_read_config(item) for item in objects(result)]}
            case _:
                return result


def _write_send(params: Params) -> Params:
    given = params.get("message")
    message = dict(given) if is_object(given) else {}
    if message:
        parts = [{"kind": "text", **part} for part in objects(message.get("parts"))]
        message |= {"kind": "message", "role": "user", "parts": parts}
    written: Json = {**params, "message": message}
    configuration = params.get("configuration")
    if is_object(configuration):
        options = dict(configuration)
        options["blocking"] = not options.pop("returnImmediately", False)
        written["configuration"] = options
    return written


def _read_tagged(result: object) -> object:
    """Read a union: what it is, is said by ``kind``; without one nothing is known of it."""
    name = _KINDS.get(text_at(result, "kind"))
    return {name: _read_object(result)} if name else {}


def _read_config(result: object) -> object:
    inner = at(result, "pushNotificationConfig")
    return {**inner, "taskId": at(result, "taskId")} if is_object(inner) else {}


def _read_object(value: object) -> object:
    """Read an object and all that is in it, by the names of members that have changed."""
    listed = items(value)
    if listed is not None:
        return [_read_object(item) for item in listed]
    if not is_object(value):
        return value
    return {name: _READERS.get(name, _as_it_is)(item) for name, item in value.items()}


def _as_it_is(value: object) -> object:
    return value


def _read_parts(value: object) -> object:
    return value if items(value) is None else [_read_part(part) for part in objects(value)]


def _read_part(part: Json) -> Json:
    match part.get("kind"):
        case "text":
            return {"text": part.get("text")}
        case "data":
            return {"data": part.get("data")}
        case "file":
            file = part.get("file")
            content = at(file, "bytes") if at(file, "uri") is None else at(file, "uri")
            return {"url": content}
        case _:
            return {}


def _read_time(value: object) -> object:
    """Read a time of 0.3, which may be any of ISO 8601: without an offset it is one of UTC."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return value
    if moment is None:
        return value
    utc = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return utc.strftime("%Y-%m-%dT%H:%M:%SZ")


_READERS: Final[dict[str, Callable[[object], object]]] = {
    "state": lambda value: _STATES.get(str(value), value),
    "role": lambda value: _ROLES.get(str(value), value),
    "timestamp": _read_time,
    "parts": _read_parts,
    # Objects inside of objects; metadata and data are the agent's own and stay as they are.
    **dict.fromkeys(("status", "message", "history", "artifact", "artifacts"), _read_object),
}

FORM_1_0: Final[Form] = _Form10()
FORM_0_3: Final[Form] = _Form03()

_FORMS: Final[Mapping[str, Form]] = {"1.0": FORM_1_0, "0.3": FORM_0_3, "0.2": FORM_0_3}


def form_of(binding: str, version: str) -> Form | None:
    """Return the form in which a version is checked on a binding, None if it is not checked there.

    Older versions have forms of their own on the other bindings.
    """
    form = _FORMS.get(version)
    return form if binding == "JSONRPC" or form is FORM_1_0 else None
