"""What peers of the old versions write, and what we take it for.

Readers from plain JSON to the model, shared by all old forms (0.x reference, 5.3, 5.4, 5.6, 5.7,
6.1 and 8). They take every spelling that has been seen in the field and raise InvalidParamsError,
which names the path, for the rest. Nothing here knows a version; it is not a dialect.
"""

from __future__ import annotations

import binascii
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from msgspec import UNSET
from msgspec.structs import replace

from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.legacy.part_marks import FILE_REFERENCE, UNKNOWN_KIND, URI, lift_part
from dragoman.errors import InvalidParamsError
from dragoman.model.base import is_object
from dragoman.model.client_tools import CLIENT_TOOLS, TOOL_USE
from dragoman.model.messages import Message, Role, text_of
from dragoman.model.parts import Part
from dragoman.model.tasks import UNSPECIFIED, TaskState, TaskStatus

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject

__all__ = (
    "INPUT_REQUEST",
    "discriminator_of",
    "media_type",
    "read_any_part",
    "read_any_state",
    "read_bytes",
    "read_file",
    "read_message",
    "read_part",
    "read_role",
    "read_said",
    "read_state",
    "read_status",
    "read_timestamp",
)

INPUT_REQUEST: Final = "a2a.v0.inputRequest"
"""The message's metadata holds what came as its member ``inputRequest``."""

# --- scalars ------------------------------------------------------------------------------------

_PREFIX: Final = "taskstate"
_BY_NAME: Final = {
    state.value.lower().replace("_", "").removeprefix(_PREFIX): state for state in TaskState
}
# 5.4: seen in the field; the reference RxJS agent starts with "started".
_ALIASES: Final = {
    "cancelled": TaskState.CANCELED,
    "started": TaskState.SUBMITTED,
    "pending": TaskState.SUBMITTED,
    "queued": TaskState.SUBMITTED,
    "running": TaskState.WORKING,
    "inprogress": TaskState.WORKING,
    "done": TaskState.COMPLETED,
    "success": TaskState.COMPLETED,
    "error": TaskState.FAILED,
}
_STATES: Final = {**_ALIASES, **_BY_NAME}
_ROLES: Final = {"user": Role.USER, "agent": Role.AGENT}
_MODES: Final = {
    "text": "text/plain",
    "file": "application/octet-stream",
    "data": "application/json",
    "json": "application/json",
}
_TO_STANDARD: Final = str.maketrans("-_", "+/")


def read_state(text: str) -> TaskState | None:
    """Read a state in any case, with or without ``-``, ``_`` and the proto's prefix.

    None is "unknown", "unspecified" and whatever else is no state of the model.
    """
    return _STATES.get(text.lower().replace("-", "").replace("_", "").removeprefix(_PREFIX))


def read_any_state(text: str) -> TaskState:
    """Read the state that a peer tells of a task; one that A2A does not have keeps its name (5.4).

    What cannot be a name is "unspecified".
    """
    if (state := read_state(text)) is not None:
        return state
    name = text.upper().replace("-", "_").removeprefix("TASK_STATE_")
    try:
        return TaskState(f"TASK_STATE_{name}")
    except ValueError:
        return UNSPECIFIED


def read_role(value: object, otherwise: Role) -> Role:
    """Read a role; what is absent or odd is taken for the one that fits the place (5.6)."""
    if not isinstance(value, str):
        return otherwise
    return _ROLES.get(value.lower().removeprefix("role_"), otherwise)


def read_bytes(text: str) -> bytes | None:
    """Read base64 in either alphabet, padded or not, with whitespace; None if it is none."""
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        bare = "".join(text.split()).rstrip("=").translate(_TO_STANDARD)
    try:
        return binascii.a2b_base64(bare + "=" * (-len(bare) % 4), strict_mode=True)
    except ValueError:
        return None


def read_timestamp(text: str) -> str | None:
    """Read any ISO 8601 time, without offset as UTC, as the model writes it; None if it is none."""
    try:
        moment = datetime.fromisoformat(text.strip().upper())
        utc = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return utc.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def media_type(text: str) -> str:
    """Return the media type that a mode stands for; 0.1 says ``text`` for ``text/plain``."""
    return _MODES.get(text, text)


# --- parts --------------------------------------------------------------------------------------

_BYTES: Final = ("bytes", "fileWithBytes", "raw", "data")
_ADDRESS: Final = ("uri", "fileWithUri", "url")
_NAME: Final = ("name", "filename")
_TYPE: Final = ("mimeType", "mediaType")


def discriminator_of(value: object) -> str:
    """Tell by which member the kind of a part is known: ``kind``, ``type``, or "" if by neither."""
    if is_object(value):
        for name in ("kind", "type"):
            if isinstance(value.get(name), str):
                return name
    return ""


def read_part(value: object, path: str) -> Part:
    """Read a part: known by ``kind``, else by ``type``, else by the member that is present."""
    part = Fields(value, path)
    while not discriminator_of(part.whole) and (inner := part.at("root")) is not None:
        part = inner
    kind = part.text("kind", "type") or _kind_by_member(part, path)
    match kind:
        case "text":
            return _read_content(part, text=part.optional_text("text"))
        case "data":
            return _read_content(part, data=part.get("data"))
        case "file":
            file = part.at("file")
            if file is None:
                raise InvalidParamsError.of(part.place("file"), "is required")
            return read_file(file, part.free("metadata"))
        case "raw" | "url":  # D11: the parts of 1.0
            return read_file(part, part.free("metadata"))
        case _:
            return Part(data=part.whole, metadata={UNKNOWN_KIND: kind})


def read_any_part(value: object, path: str) -> Part:
    """Read a part of an answer; what is no part that we know is kept as it came, as data."""
    try:
        return read_part(value, path)
    except InvalidParamsError:
        if isinstance(value, str):
            return Part(text=value)
        kind = (value.get("kind") or value.get("type")) if is_object(value) else None
        return Part(data=value, metadata={UNKNOWN_KIND: kind} if isinstance(kind, str) else None)


def _kind_by_member(part: Fields, path: str) -> str:
    for name in ("text", "file", "data", "raw", "url"):
        if name in part:
            return name
    raise InvalidParamsError.of(path, "needs a kind, or one of text, file, data")


def _read_content(part: Fields, *, text: str | None = None, data: object = None) -> Part:
    if text is None and data is None:
        raise InvalidParamsError.of(part.place(part.text("kind", "type")), "is required")
    return lift_part(
        Part(
            text=text,
            data=UNSET if data is None else data,
            metadata=part.free("metadata"),
            filename=part.text("filename"),
            media_type=part.text("mediaType"),
        )
    )


def read_file(file: Fields, metadata: JsonObject | None) -> Part:
    """Read the file of a part; one without content is a mere reference."""
    name, mime_type = file.text(*_NAME), file.text(*_TYPE)
    encoded, address = file.optional_text(*_BYTES), file.optional_text(*_ADDRESS)
    if encoded is not None:
        raw = read_bytes(encoded)
        if raw is None:
            raise InvalidParamsError.of(file.place("bytes"), "is not base64")
        if address:
            metadata = {**(metadata or {}), URI: address}
        return Part(raw=raw, filename=name, media_type=mime_type, metadata=metadata)
    if address is not None:
        return Part(url=address, filename=name, media_type=mime_type, metadata=metadata)
    reference = {"name": name, "mimeType": mime_type}
    return Part(
        data={member: text for member, text in reference.items() if text},
        metadata={**(metadata or {}), FILE_REFERENCE: True},
    )


# --- messages -----------------------------------------------------------------------------------


def read_message(value: object, path: str, *, role: Role) -> Message:
    """Read a message.

    Args:
        role: who speaks if the message does not say: the user in a request, the agent in a reply.

    Returns:
        the message; its id is "" where the sender gave none.
    """
    message = Fields(value, path)
    parts = tuple([read_part(item, place) for item, place in message.items("parts", "content")])
    read = _with_parts(message, parts, role)
    if not read.parts:
        fault = "must not be empty" if "parts" in message else "is required"
        raise InvalidParamsError.of(message.place("parts"), fault)
    return read


def read_said(value: object, path: str) -> Message:
    """Read a message of an answer; no part is lost, and one without parts says nothing.

    Returns:
        the message; its id is "" where the agent gave none.
    """
    message = Fields(value, path)
    parts = tuple([read_any_part(item, place) for item, place in message.items("parts", "content")])
    read = _with_parts(message, parts, Role.AGENT)
    return read if read.parts else replace(read, parts=(Part(text=""),))


def _with_parts(message: Fields, parts: tuple[Part, ...], role: Role) -> Message:
    metadata = message.free("metadata")
    parts += tuple([_tool_call(Fields(item, place)) for item, place in message.items("toolCalls")])
    request = message.at("inputRequest")
    if request is not None and CLIENT_TOOLS not in (metadata or {}):
        # 8.2 A8: 1.0 has no such member, and whoever does not know the mark still reads the prompt.
        metadata = {**(metadata or {}), INPUT_REQUEST: request.whole}
        if not text_of(parts):
            parts = (*parts, Part(text=request.text("prompt")))
    return Message(
        message_id=message.text("messageId"),
        context_id=message.text("contextId"),
        task_id=message.text("taskId"),
        role=read_role(message.get("role"), role),
        parts=parts,
        metadata=metadata,
        extensions=message.texts("extensions"),
        reference_task_ids=message.texts("referenceTaskIds"),
    )


def _tool_call(call: Fields) -> Part:
    """Read a tool that is asked for in the words of those who make models, as a part of its own."""
    function = call.at("function") or call
    given = function.get("arguments")
    if isinstance(given, str):
        given = read_json(given.encode())
    data: JsonObject = {
        "kind": TOOL_USE,
        "toolUseId": call.required_text("id"),
        "name": function.required_text("name"),
        "input": {} if given is None else given,
    }
    return Part(data=data, metadata={UNKNOWN_KIND: TOOL_USE})


# --- statuses -----------------------------------------------------------------------------------


def read_status(owner: Fields) -> TaskStatus:
    """Read the status of a task or an event."""
    status = owner.at("status")
    if status is None:
        raise InvalidParamsError.of(owner.place("status"), "is required")
    message, timestamp = status.at("message", "update"), status.get("timestamp")
    return TaskStatus(
        state=read_any_state(status.required_text("state")),
        message=message and read_said(message.whole, message.path),
        # 5.3: a time that is none is left out.
        timestamp=read_timestamp(timestamp) if isinstance(timestamp, str) else None,
    )
