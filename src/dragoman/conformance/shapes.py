"""What objects of A2A 1.0 look like: a table of their members, and the walk along it. Pure.

The table holds what the references require (1.0 reference, section 1), in the JSON names; members
that it does not list are no mistake (R-5.7-5).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from dragoman.conformance.answers import is_object, items

__all__ = ("INTERRUPTED", "STATES", "TERMINAL", "flaws_in")

TERMINAL: Final = frozenset(
    f"TASK_STATE_{name}" for name in ("COMPLETED", "FAILED", "CANCELED", "REJECTED")
)
INTERRUPTED: Final = frozenset(f"TASK_STATE_{name}_REQUIRED" for name in ("INPUT", "AUTH"))
STATES: Final = TERMINAL | INTERRUPTED | {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}
"""R-5.5-2: the states by their names; UNSPECIFIED is none (1.0 reference, section 1)."""

_ROLES: Final = frozenset({"ROLE_USER", "ROLE_AGENT"})
# R-5.6.1-1, R-5.6.1-5: UTC, said by a Z.
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


class Member(NamedTuple):
    """One member: the kind of its value, whether it must be there, and whether it is an array."""

    kind: str
    is_required: bool = False
    is_list: bool = False


def _one(kind: str) -> Member:
    return Member(kind, is_required=True)


def _many(kind: str) -> Member:
    return Member(kind, is_list=True)


_SHAPES: Final[Mapping[str, Mapping[str, Member]]] = {
    "Task": {
        "id": _one("text"),
        "contextId": Member("text"),
        "status": _one("TaskStatus"),
        "artifacts": _many("Artifact"),
        "history": _many("Message"),
        "metadata": Member("object"),
    },
    "TaskStatus": {
        "state": _one("state"),
        "message": Member("Message"),
        "timestamp": Member("time"),
    },
    "Message": {
        "messageId": _one("text"),
        "contextId": Member("text"),
        "taskId": Member("text"),
        "role": _one("role"),
        "parts": Member("Part", is_required=True, is_list=True),
        "metadata": Member("object"),
    },
    "Part": {
        # A chunk that only carries a mark may have nothing to say.
        "text": Member("any text"),
        "raw": Member("text"),
        "url": Member("text"),
        "metadata": Member("object"),
        "filename": Member("text"),
        "mediaType": Member("text"),
    },
    "Artifact": {
        "artifactId": _one("text"),
        "name": Member("text"),
        "description": Member("text"),
        "parts": Member("Part", is_required=True, is_list=True),
        "metadata": Member("object"),
    },
    "TaskStatusUpdateEvent": {
        "taskId": _one("text"),
        "contextId": _one("text"),
        "status": _one("TaskStatus"),
    },
    "TaskArtifactUpdateEvent": {
        "taskId": _one("text"),
        "contextId": _one("text"),
        "artifact": _one("Artifact"),
        "append": Member("flag"),
        "lastChunk": Member("flag"),
    },
    "SendMessageResponse": {"task": Member("Task"), "message": Member("Message")},
    "StreamResponse": {
        "task": Member("Task"),
        "message": Member("Message"),
        "statusUpdate": Member("TaskStatusUpdateEvent"),
        "artifactUpdate": Member("TaskArtifactUpdateEvent"),
    },
    "ListTasksResponse": {
        "tasks": Member("Task", is_list=True),
        "nextPageToken": Member("any text", is_required=True),
        "pageSize": _one("number"),
        "totalSize": _one("number"),
    },
    "TaskPushNotificationConfig": {
        "id": _one("text"),
        "taskId": Member("text"),
        "url": _one("text"),
        "token": Member("any text"),
        "authentication": Member("object"),
    },
    "ListTaskPushNotificationConfigsResponse": {"configs": _many("TaskPushNotificationConfig")},
    "AgentCard": {
        "name": _one("text"),
        "description": _one("text"),
        "version": _one("text"),
        "supportedInterfaces": Member("object", is_required=True, is_list=True),
        "capabilities": _one("object"),
        "skills": Member("object", is_required=True, is_list=True),
    },
}

# R-4.1.6-1, R-3.1.1-5, R-4.3.3-1: of these members exactly one is there.
_EXACTLY_ONE: Final[Mapping[str, tuple[str, ...]]] = {
    "Part": ("text", "raw", "url", "data"),
    "SendMessageResponse": ("task", "message"),
    "StreamResponse": ("task", "message", "statusUpdate", "artifactUpdate"),
}


def flaws_in(value: object, kind: str, place: str = "") -> Iterator[str]:
    """Yield what keeps a value from being an object of a kind, each with its JSON pointer."""
    members = _SHAPES.get(kind)
    if members is None:
        flaw = _flaw_of_scalar(value, kind)
        if flaw:
            yield f"{place or '/'}: {flaw}"
        return
    if not is_object(value):
        yield f"{place or '/'}: must be an object ({kind})"
        return
    choice = _EXACTLY_ONE.get(kind, ())
    if choice and sum(name in value for name in choice) != 1:
        yield f"{place or '/'}: must have exactly one of {', '.join(choice)}"
    for name, member in members.items():
        yield from _flaws_of_member(value.get(name), member, f"{place}/{name}")


def _flaws_of_member(value: object, member: Member, place: str) -> Iterator[str]:
    # R-5.7-1. In ProtoJSON null says the same as nothing, and so does an empty text.
    if value is None:
        if member.is_required:
            yield f"{place}: is missing"
    elif value == "" and member.kind == "text" and not member.is_required:
        return
    elif not member.is_list:
        yield from flaws_in(value, member.kind, place)
    elif (listed := items(value)) is None:
        yield f"{place}: must be an array"
    elif member.is_required and not listed:
        # R-5.7-3
        yield f"{place}: must not be empty"
    else:
        for index, item in enumerate(listed):
            yield from flaws_in(item, member.kind, f"{place}/{index}")


def _flaw_of_scalar(value: object, kind: str) -> str:
    match kind:
        case "text" if not isinstance(value, str) or not value:
            return "must be a text that is not empty"
        case "any text" if not isinstance(value, str):
            return "must be a text"
        case "number" if isinstance(value, bool) or not isinstance(value, int):
            return "must be a whole number"
        case "flag" if not isinstance(value, bool):
            return "must be true or false"
        case "object" if not isinstance(value, dict):
            return "must be an object"
        case "state" if value not in STATES:
            return f"must be a TASK_STATE_ name, but is {value!r}"
        case "role" if value not in _ROLES:
            return f"must be ROLE_USER or ROLE_AGENT, but is {value!r}"
        case "time" if not isinstance(value, str) or not _TIME.fullmatch(value):
            return f"must be a time of UTC such as 2026-01-01T00:00:00.000Z, but is {value!r}"
        case _:
            return ""
