"""The objects of 0.1 (0.x reference, 2.1 and 2.4) that are read by type.

Every optional member may be null: the schema began that way, and the reference clients of the time
write all members they have no value for as null. What is further off is read by
``dragoman.dialects.legacy.tolerant``.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct

from dragoman.model.base import Count, JsonObject

__all__ = (
    "STATE_MARK",
    "DataPart",
    "FilePart",
    "Message",
    "Part",
    "SendParams",
    "TextPart",
    "Wire",
)

STATE_MARK: Final = "a2a.state"
"""The metadata that tells a rejected task from a failed one (0.x reference, 5.4)."""


class Wire(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """An object of 0.1. As in the model, each subclass repeats ``frozen`` and ``kw_only``."""


class TextPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """A text."""

    text: str
    metadata: JsonObject | None = None


class FilePart(Wire, frozen=True, kw_only=True, tag_field="type", tag="file"):
    """A file, by its content or by its address; written in many ways, so it has one reader."""

    file: JsonObject
    metadata: JsonObject | None = None


class DataPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="data"):
    """Structured data: an object, or an array, which the prose allows."""

    data: JsonObject | list[object]
    metadata: JsonObject | None = None


Part: TypeAlias = TextPart | FilePart | DataPart


class Message(Wire, frozen=True, kw_only=True):
    """One turn. ``messageId`` is no member of 0.1: peers that mix versions send one (D13)."""

    role: Literal["user", "agent"]
    parts: Annotated[tuple[Part, ...], Meta(min_length=1)]
    metadata: JsonObject | None = None
    message_id: str | None = None


class SendParams(Wire, frozen=True, kw_only=True):
    """Params of tasks/send and tasks/sendSubscribe.

    The schema has no ``acceptedOutputModes``; the reference clients send it.
    """

    id: str | None = None
    session_id: str | None = None
    message: Message
    push_notification: JsonObject | None = None
    history_length: Count | None = None
    accepted_output_modes: tuple[str, ...] | None = None
    metadata: JsonObject | None = None
