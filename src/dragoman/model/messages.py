"""Message: one conversational turn."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from msgspec import Meta

from dragoman.model.base import JsonObject, NonEmpty, Value
from dragoman.model.parts import Part

__all__ = ("Message", "Role", "text_of")


class Role(Enum):
    """Who sent a message. The proto's value 0 is "unset" and is never sent, so it has no member."""

    USER = "ROLE_USER"
    AGENT = "ROLE_AGENT"


class Message(Value, frozen=True, kw_only=True):
    """One conversational turn."""

    message_id: NonEmpty
    context_id: str = ""
    task_id: str = ""
    role: Role
    parts: Annotated[tuple[Part, ...], Meta(min_length=1)]
    metadata: JsonObject | None = None
    extensions: tuple[str, ...] = ()
    reference_task_ids: tuple[str, ...] = ()


def text_of(parts: tuple[Part, ...]) -> str:
    """Return the text parts as one text, a line each."""
    return "\n".join(part.text for part in parts if part.text is not None)
