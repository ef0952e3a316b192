"""Telling a request of the XPR network from those of the versions of A2A that share its methods.

The network's requests state no version. Its messages have parts by ``type`` and no ``messageId``,
or the params name the task (``id``), which those of no version with this method do. Its clients say
who they are in ``xpr:callerAccount``, and sign.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct, field

from dragoman.dialects.profiles.base import Claim
from dragoman.dialects.profiles.xpr.members import CALLER
from dragoman.dialects.violations import DECODER_ERRORS

__all__ = ("recognise",)

_SENDS: Final = frozenset({"message/send", "message/stream"})
_ABOUT_TASKS: Final = frozenset({"tasks/get", "tasks/cancel"})


class _Part(Struct):
    type: object = None
    kind: object = None


class _Message(Struct):
    message_id: object = field(name="messageId", default=None)
    parts: list[_Part] = []


class _Params(Struct):
    caller: object = field(name=CALLER, default=None)
    id: object = None
    message: _Message | None = None


_look: Final = msgspec.json.Decoder(_Params).decode


def recognise(method: str, params: bytes, *, is_expected: bool, is_known: bool) -> Claim:
    """Tell whether a request without a version is one of this network.

    Args:
        is_expected: something beside the request speaks for it: it is signed, or it comes to where
            callers sign.
        is_known: a version of A2A has this method.
    """
    try:
        found = _look(params)
    except DECODER_ERRORS:
        found = _Params()
    if found.caller is not None:
        return Claim.YES
    if method in _SENDS:
        message = found.message
        is_theirs = message is None or message.message_id is None or _names_task(found)
        is_told = is_expected or (method == "message/send" and _has_types(message))
        return Claim.YES if is_theirs and is_told else Claim.NO
    if method in _ABOUT_TASKS:
        return Claim.ASK_TASK
    return Claim.YES if is_expected and not is_known else Claim.NO


def _names_task(params: _Params) -> bool:
    return params.id is not None and _has_types(params.message)


def _has_types(message: _Message | None) -> bool:
    parts = message.parts if message is not None else []
    return bool(parts) and all(part.type is not None and part.kind is None for part in parts)
