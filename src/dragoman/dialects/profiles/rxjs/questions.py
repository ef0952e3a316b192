"""Messages as the RxJS profile has them: requests for input, and parts that are tools.

A question has a member ``inputRequest`` beside its parts. What the model has as data parts, told by
their ``kind``, are parts of these kinds for a peer that is known to read them; other readers of 0.3
refuse a message with a kind of part that they do not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from msgspec.structs import replace

from dragoman.dialects.legacy.part_marks import UNKNOWN_KIND
from dragoman.dialects.legacy.tolerant import INPUT_REQUEST as MEMBER
from dragoman.model.base import is_object
from dragoman.model.client_tools import CLIENT_TOOLS, INPUT_REQUEST, TOOL_RESULT, TOOL_USE
from dragoman.model.messages import text_of

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.messages import Message
    from dragoman.model.parts import Part

__all__ = ("dress", "dress_for_tools", "has_results", "with_tool_parts")

_KINDS: Final = (TOOL_USE, TOOL_RESULT)


def dress(message: Message, is_question: bool) -> Message:  # noqa: FBT001 - of the port
    """Return a message for any peer: a question says what it wants to know."""
    if not is_question:
        return message
    metadata = message.metadata or {}
    request = metadata.get(MEMBER) or _told_in(message, metadata) or _request_of(message)
    return message if request is None else replace(message, metadata={**metadata, MEMBER: request})


def dress_for_tools(message: Message, is_question: bool) -> Message:  # noqa: FBT001 - of the port
    """Return a message for a peer that is known to have parts which are tools."""
    return with_tool_parts(dress(message, is_question))


def with_tool_parts(message: Message) -> Message:
    """Mark the parts that are tools, so that they are written as parts of these kinds."""
    if not any(_tool_kind(part) for part in message.parts):
        return message
    return replace(message, parts=tuple(_marked(part) for part in message.parts))


def has_results(message: Message) -> bool:
    """Tell whether a message answers something."""
    return any(_tool_kind(part) == TOOL_RESULT for part in message.parts)


def _told_in(message: Message, metadata: JsonObject) -> object:
    """Return what a question says itself; one without a name goes by that of its message."""
    entry = metadata.get(CLIENT_TOOLS)
    told = entry.get(INPUT_REQUEST) if is_object(entry) else None
    if is_object(told) and not told.get("requestId"):
        return {**told, "requestId": message.message_id}
    return told


def _request_of(message: Message) -> JsonObject | None:
    """Make up what a question leaves to its reader; None for several tools, which have no one id.

    The peer repeats the id in its answer: that of the tool, or else that of the question.
    """
    uses = [cast("JsonObject", part.data) for part in message.parts if _tool_kind(part) == TOOL_USE]
    if len(uses) > 1:
        return None
    return {
        "kind": "input-request",
        "requestId": uses[0].get("toolUseId") if uses else message.message_id,
        "prompt": text_of(message.parts),
        "sensitive": False,
    }


def _tool_kind(part: Part) -> str:
    data = part.data
    kind = data.get("kind") if is_object(data) else None
    return kind if isinstance(kind, str) and kind in _KINDS else ""


def _marked(part: Part) -> Part:
    kind = _tool_kind(part)
    return replace(part, metadata={UNKNOWN_KIND: kind}) if kind else part
