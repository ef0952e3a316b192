"""Requests of the RxJS profile, where they are not those of 0.3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.profiles.rxjs.questions import has_results, with_tool_parts
from dragoman.errors import InvalidParamsError
from dragoman.model.base import is_object
from dragoman.model.client_tools import CLIENT_TOOLS, TOOL_RESULT, TOOL_USE, TOOLS
from dragoman.model.messages import Message, Role
from dragoman.model.operations import SendMessageConfiguration, SendMessageRequest
from dragoman.model.parts import Part

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject

__all__ = (
    "RESUME",
    "Sent",
    "answering",
    "as_answer",
    "is_followed",
    "read_envelope",
    "with_tools",
)

RESUME: Final = "tasks/resume"
"""An early name for sending the results of tools."""


class Sent(msgspec.Struct, frozen=True):
    """What stands beside the message of a send.

    Attributes:
        tools: what the sender can run, as it said it; None if it said nothing.
        has_tool_parts: the message has parts of the kind of a tool, and so its sender knows them.
        resumed: the send as a whole, if it is one that only tells results.
    """

    tools: list[object] | None = None
    has_tool_parts: bool = False
    resumed: SendMessageRequest | None = None


def read_envelope(params: bytes) -> Sent:
    """Look at a send before 0.3 reads its message.

    Raises:
        JSONParseError, InvalidParamsError: it is none.
    """
    fields = Fields(read_json(params))
    if "toolResults" in fields and "message" not in fields:
        return Sent(resumed=_read_resume(fields))
    message = fields.at("message")
    if message is None:
        raise InvalidParamsError.of("message", "is required")
    if message.get("kind") != "message":
        raise InvalidParamsError.of("message.kind", "must be 'message'")
    kinds = [Fields(item, place).get("kind") for item, place in message.items("parts")]
    has_tool_parts = TOOL_RESULT in kinds or TOOL_USE in kinds
    if TOOLS not in fields:
        return Sent(has_tool_parts=has_tool_parts)
    tools = [_tool(Fields(item, place)) for item, place in fields.items(TOOLS)]
    return Sent(tools=tools, has_tool_parts=has_tool_parts)


def is_followed(params: bytes) -> bool:
    """Tell whether params name a task as the profile does who follows it: by ``taskId`` alone."""
    if b'"taskId"' not in params:
        return False
    fields = Fields(read_json(params))
    return "taskId" in fields and "id" not in fields


def with_tools(message: Message, tools: list[object]) -> Message:
    """Return a message that declares tools itself, as the other versions have it."""
    metadata = message.metadata or {}
    entry = metadata.get(CLIENT_TOOLS)
    known = entry if is_object(entry) else {}
    return replace(message, metadata={**metadata, CLIENT_TOOLS: {**known, TOOLS: tools}})


def answering(message: Message) -> Message:
    """Return a message that names the task it answers.

    One with results is an answer to a task that it refers to, and to no other.
    """
    if message.task_id or not message.reference_task_ids or not has_results(message):
        return message
    return replace(message, task_id=message.reference_task_ids[0])


def as_answer(message: Message) -> Message:
    """Return an answer as a peer of the profile reads it: it refers to the task."""
    if not has_results(message):
        return message
    references = tuple(dict.fromkeys((message.task_id, *message.reference_task_ids)))
    return with_tool_parts(replace(message, reference_task_ids=references))


def _tool(tool: Fields) -> object:
    """Read a tool: by itself, or as what makers of models call a function."""
    function = tool.at("function")
    return tool.whole if function is None else function.whole


def _read_resume(fields: Fields) -> SendMessageRequest:
    parts = [_result(Fields(item, place)) for item, place in fields.items("toolResults")]
    if not parts:
        raise InvalidParamsError.of("toolResults", "must not be empty")
    return SendMessageRequest(
        message=Message(
            # The server makes one up, as for all that have none.
            message_id="",
            role=Role.USER,
            task_id=fields.required_text("taskId"),
            parts=tuple(parts),
        ),
        configuration=SendMessageConfiguration(return_immediately=UNSET),
    )


def _result(told: Fields) -> Part:
    data: JsonObject = {
        "kind": TOOL_RESULT,
        "toolUseId": told.required_text("toolCallId", "toolUseId"),
        "result": told.get("result"),
    }
    if (error := told.optional_text("error")) is not None:
        data["error"] = error
    if told.flag("success") is False:
        data["isError"] = True
    return Part(data=data)
