"""Which of the two JSON shapes of 0.3 the body of a send has (0.x reference, 4.5 and 6.2)."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from dragoman.dialects.violations import DECODER_ERRORS

__all__ = ("has_kinds", "is_proto_json")


class _Part(Struct, gc=False):
    kind: object = None
    type: object = None


class _Message(Struct, gc=False):
    content: object = None
    role: object = None
    kind: object = None
    parts: list[_Part] | None = None


class _Send(Struct, gc=False):
    message: _Message | None = None
    request: object = None


_PROTO_ROLE: Final = "ROLE_"
_SCHEMA_ROLES: Final = ("user", "agent")

_decode: Final = msgspec.json.Decoder(_Send).decode


def is_proto_json(body: bytes) -> bool:
    """Tell whether the body of a send is ProtoJSON; False is the shape of the JSON schema.

    What cannot be told is ProtoJSON, which has more speakers and reads nearly all of the other
    shape too.
    """
    try:
        send = _decode(body)
    except DECODER_ERRORS:
        return True
    message = send.message
    if message is None or _is_given(send.request, message.content):
        return True
    role = message.role
    if isinstance(role, str) and role.startswith(_PROTO_ROLE):
        return True
    return not (role in _SCHEMA_ROLES or _has_kinds(message))


def has_kinds(body: bytes) -> bool:
    """Tell whether the body of a send has ``kind`` or ``type``, as the JSON schemas alone do."""
    try:
        message = _decode(body).message
    except DECODER_ERRORS:
        return False
    return message is not None and _has_kinds(message)


def _has_kinds(message: _Message) -> bool:
    return _is_given(message.kind) or any(
        _is_given(part.kind, part.type) for part in message.parts or ()
    )


def _is_given(*members: object) -> bool:
    return any(member is not None for member in members)
