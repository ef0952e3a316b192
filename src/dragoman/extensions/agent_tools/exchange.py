"""The exchange: an agent asks for tools to be run, or for input, and is told what came of it.

Both travel as data parts of ordinary messages, told by their ``kind``, so that peers which do not
know the extension pass them on as data:

    {"kind": "tool-use", "toolUseId": "...", "name": "read_file", "input": {"path": "a.txt"}}
    {"kind": "tool-result", "toolUseId": "...", "result": "...", "isError": false}

Peers of the RxJS profile have parts of these kinds instead; its dialect turns them into the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, Struct, UnsetType

from dragoman.dialects.legacy.tolerant import INPUT_REQUEST as FOREIGN_INPUT_REQUEST
from dragoman.errors import InvalidParamsError
from dragoman.model.base import JsonObject, is_object
from dragoman.model.client_tools import CLIENT_TOOLS, INPUT_REQUEST, TOOL_RESULT, TOOL_USE
from dragoman.model.messages import Message
from dragoman.model.parts import Part

__all__ = (
    "InputRequest",
    "ToolResult",
    "ToolUse",
    "input_request_in",
    "results_in",
    "uses_in",
)


class ToolUse(Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag=TOOL_USE):
    """A tool that is to be run."""

    tool_use_id: str
    name: str
    input: JsonObject = {}

    def part(self) -> Part:
        """Return the part that asks for it."""
        return Part(data=msgspec.to_builtins(self))


class ToolResult(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    tag_field="kind",
    tag=TOOL_RESULT,
):
    """What came of a tool, or of a request for input.

    Attributes:
        error: what went wrong; a result that has one counts as failed.
    """

    tool_use_id: str
    result: object = None
    error: str | None = None
    is_error: bool = False

    @property
    def has_failed(self) -> bool:
        """Tell whether it is no result."""
        return self.is_error or self.error is not None

    @property
    def value(self) -> object:
        """The result; that of an input may be wrapped as ``{"value": ...}``."""
        result = self.result
        return result["value"] if is_object(result) and result.keys() == {"value"} else result

    def content(self) -> tuple[Part, ...]:
        """Return the value as an ordinary answer would have it."""
        value = self.value
        return (Part(text=value) if isinstance(value, str) else Part(data=value),)

    def part(self) -> Part:
        """Return the part that tells it; what has not failed has a result, if only null."""
        told: JsonObject = msgspec.to_builtins(self)
        return Part(data=told if self.has_failed else {"result": None, **told})


class InputRequest(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a question wants to know.

    Attributes:
        request_id: an answer may name it as its ``toolUseId``.
        sensitive: the answer must not be kept or shown.
        input_modes: the media types that the answer may have, if the question says so.
    """

    request_id: str = ""
    prompt: str = ""
    sensitive: bool = False
    kind: str = "input-request"
    input_modes: tuple[str, ...] | UnsetType = UNSET

    def metadata(self) -> JsonObject:
        """Return it as an entry of a message's metadata."""
        return {CLIENT_TOOLS: {INPUT_REQUEST: msgspec.to_builtins(self)}}


def uses_in(parts: Sequence[Part]) -> tuple[ToolUse, ...]:
    """Return the tools that a question asks for; what is none is left out."""
    found: list[ToolUse] = []
    for part in parts:
        if _kind_of(part.data) == TOOL_USE:
            try:
                found.append(msgspec.convert(part.data, ToolUse))
            except msgspec.ValidationError:
                continue
    return tuple(found)


def results_in(parts: Sequence[Part]) -> tuple[ToolResult, ...]:
    """Return the results that an answer holds.

    Raises:
        InvalidParamsError: a part says that it is one, and is none.
    """
    found: list[ToolResult] = []
    for index, part in enumerate(parts):
        if _kind_of(part.data) == TOOL_RESULT:
            try:
                found.append(msgspec.convert(part.data, ToolResult))
            except msgspec.ValidationError as error:
                place = f"message.parts[{index}]"
                raise InvalidParamsError.of(place, f"is no tool-result: {error}") from None
    return tuple(found)


def input_request_in(message: Message | None) -> InputRequest | None:
    """Return what a question says of the input it wants, None if it says nothing of it."""
    metadata = (message.metadata if message is not None else None) or {}
    entry = metadata.get(CLIENT_TOOLS)
    told = entry.get(INPUT_REQUEST) if is_object(entry) else None
    try:
        found = told if told is not None else metadata.get(FOREIGN_INPUT_REQUEST)
        return None if found is None else msgspec.convert(found, InputRequest)
    except msgspec.ValidationError:
        return None


def _kind_of(data: object | UnsetType) -> str:
    kind = data.get("kind") if is_object(data) else None
    return kind if isinstance(kind, str) else ""
