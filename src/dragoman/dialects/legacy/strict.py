"""What strict readers of the old versions refuse, though the lenient ones would read it.

Strict is the last column of the table in the 0.x reference, 6.1: a server that finds out whether
its peers keep to the letter. A version checks a request by these before it reads it as ever, so the
two readers differ in what they refuse, and in nothing else. Nothing here knows a version; it is not
a dialect.
"""

from __future__ import annotations

from typing import Final

from dragoman.dialects.fields import Fields
from dragoman.errors import InvalidParamsError
from dragoman.model.base import is_array, is_object

__all__ = ("check_file", "check_parts", "check_role", "check_spelling")

_KINDS: Final = ("text", "file", "data")
_ROLES: Final = ("user", "agent")
_CONTENT: Final = (("bytes", "uri"), ("fileWithBytes", "fileWithUri"))
"""A file has one of two; the proto calls them otherwise."""

_UNKNOWN: Final = "is not one of the known values"

_FREE: Final = frozenset({"metadata", "data"})
"""Members that hold whatever the sender likes, null and any name among it."""

_PROTO_NAMES: Final = {
    "accepted_output_modes": "acceptedOutputModes",
    "context_id": "contextId",
    "history_length": "historyLength",
    "include_artifacts": "includeArtifacts",
    "last_updated_after": "lastUpdatedAfter",
    "message_id": "messageId",
    "mime_type": "mimeType",
    "page_size": "pageSize",
    "page_token": "pageToken",
    "push_notification_config": "pushNotificationConfig",
    "push_notification_config_id": "pushNotificationConfigId",
    "reference_task_ids": "referenceTaskIds",
    "task_id": "taskId",
}
"""The members of requests that the proto spells differently. Other names are just not known."""


def check_spelling(params: Fields) -> None:
    """Refuse null for absent (D19) and the names of the proto (D20), at every depth.

    Raises:
        InvalidParamsError: there is one; the violation says where.
    """
    # Not by recursion: how deep JSON may be nested is not for this function to say.
    todo: list[tuple[object, str]] = [(params.whole, params.path)]
    while todo:
        value, path = todo.pop()
        if value is None:
            raise InvalidParamsError.of(path, "must not be null")
        if is_object(value):
            members = Fields(value, path)
            for name, item in members.whole.items():
                if name in _PROTO_NAMES:
                    fault = f"is called {_PROTO_NAMES[name]}"
                    raise InvalidParamsError.of(members.place(name), fault)
                if item is None or name not in _FREE:
                    todo.append((item, members.place(name)))
        elif is_array(value):
            todo += [(item, f"{path}[{index}]") for index, item in enumerate(value)]


def check_parts(message: Fields, discriminator: str) -> None:
    """Refuse parts that do not say in this member that they are of a kind that 0.x has.

    Raises:
        InvalidParamsError: there is one, or there are no parts; the violation says where.
    """
    if "parts" not in message:
        raise InvalidParamsError.of(message.place("parts"), "is required")
    for value, place in message.items("parts"):
        part = Fields(value, place)
        if part.required_text(discriminator) not in _KINDS:
            raise InvalidParamsError.of(part.place(discriminator), _UNKNOWN)
        if (file := part.at("file")) is not None:
            check_file(file)


def check_file(file: Fields) -> None:
    """Refuse a file that is given by its content and by its address.

    Raises:
        InvalidParamsError: it is.
    """
    for content, address in _CONTENT:
        if content in file and address in file:
            raise InvalidParamsError.of(file.path, f"needs exactly one of {content}, {address}")


def check_role(message: Fields) -> None:
    """Refuse a message that does not say who speaks, in the words of 0.x (D11).

    Raises:
        InvalidParamsError: it does not.
    """
    if message.required_text("role") not in _ROLES:
        raise InvalidParamsError.of(message.place("role"), _UNKNOWN)
