"""A well-formed send of 0.2 and 0.3, as one typed decode reads it (0.x reference, 3.4).

Whatever does not fit is read again, member by member, by ``dragoman.dialects.legacy.tolerant``. So
these Structs hold only what most requests are made of: what is rarer, or written in many ways
(configurations, files), stays JSON here and has a single reader.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from dragoman.model.base import JsonObject, NonEmpty

__all__ = ("DataPart", "FilePart", "Message", "MessageSendParams", "Part", "TextPart")


class _Wire(Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """An object of the wire: names in camel case."""


class TextPart(_Wire, frozen=True, kw_only=True, tag_field="kind", tag="text"):
    """A text."""

    text: str
    metadata: JsonObject | None = None


class FilePart(_Wire, frozen=True, kw_only=True, tag_field="kind", tag="file"):
    """A file, by content or by address."""

    file: JsonObject
    metadata: JsonObject | None = None


class DataPart(_Wire, frozen=True, kw_only=True, tag_field="kind", tag="data"):
    """Structured data: always an object."""

    data: JsonObject
    metadata: JsonObject | None = None


Part = TextPart | FilePart | DataPart


class Message(_Wire, frozen=True, kw_only=True, tag_field="kind", tag="message"):
    """One turn. Its ``kind`` may be missing, as in nearly all examples of the text (D10)."""

    message_id: NonEmpty
    role: Literal["user", "agent"]
    parts: Annotated[tuple[Part, ...], Meta(min_length=1)]
    task_id: str = ""
    context_id: str = ""
    metadata: JsonObject | None = None
    extensions: tuple[str, ...] = ()
    reference_task_ids: tuple[str, ...] = ()


class MessageSendParams(_Wire, frozen=True, kw_only=True):
    """The params of message/send and message/stream.

    ``id`` and ``task_id`` are not of the schema: some peers continue a task by them (8.1 X8).
    """

    message: Message
    configuration: JsonObject | None = None
    metadata: JsonObject | None = None
    id: str = ""
    task_id: str = ""
