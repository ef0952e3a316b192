"""1.0 in the words of 0.3: row D12 of the 0.x reference, section 6.1.

Clients that have moved to the methods of 1.0 may still write messages as they used to. The dialect
of 1.0 knows nothing of that; here what it refuses is put into its words and read again. So all its
rules hold: what it requires, such as a ``messageId``, is required in these words too.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import msgspec

from dragoman.dialects.base import Reading
from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.legacy.push import read_webhook
from dragoman.dialects.legacy.tolerant import read_part
from dragoman.dialects.v1_0.codec import V1_0
from dragoman.errors import InvalidParamsError
from dragoman.model.base import JsonObject, is_object
from dragoman.model.messages import Role
from dragoman.model.operations import REQUEST_TYPES, Operation, SendMessageRequest

__all__ = ("MIXED_DIALECT", "Mixed")

_ROLES: Final[JsonObject] = {"user": Role.USER, "agent": Role.AGENT}
_PART_WORDS: Final = frozenset({"kind", "type", "file"})


class Mixed(V1_0):
    """1.0 that also reads a send in the words of 0.3: roles, parts, ``blocking``, the webhook.

    Whatever can be read as 1.0 is, the answer is in 1.0, and so is a refusal: the one that 1.0 has
    for the request as it came. 1.0 ignores ``blocking``, as any word it does not know, where early
    texts of 1.0 have it instead of ``returnImmediately``; so a send with that word is put into the
    words of 1.0 first.
    """

    __slots__ = ()

    def decode_request(self, operation: Operation, params: bytes) -> Reading:
        """Read a request from a JSON object."""
        if REQUEST_TYPES[operation] is not SendMessageRequest:
            return super().decode_request(operation, params)
        if b'"blocking"' in params:
            with suppress(InvalidParamsError):
                return super().decode_request(operation, _in_words_of_1_0(params))
        try:
            return super().decode_request(operation, params)
        except InvalidParamsError:
            with suppress(InvalidParamsError):
                return super().decode_request(operation, _in_words_of_1_0(params))
            raise


def _in_words_of_1_0(params: bytes) -> bytes:
    """Return a send with the words of 0.3 replaced; the others stay as they are.

    Raises:
        InvalidParamsError: it is a send in neither.
    """
    send = Fields(read_json(params))
    written = dict(send.whole)
    if (message := send.at("message")) is not None:
        written["message"] = _message(message)
    if (configuration := send.at("configuration")) is not None:
        written["configuration"] = _configuration(configuration)
    return msgspec.json.encode(written)


def _message(message: Fields) -> JsonObject:
    role = message.get("role")
    return {
        **message.whole,
        "role": _ROLES.get(role, role) if isinstance(role, str) else role,
        "parts": [_part(value, place) for value, place in message.items("parts")],
    }


def _part(value: object, place: str) -> object:
    if is_object(value) and not _PART_WORDS.isdisjoint(value):
        return read_part(value, place)
    return value


def _configuration(configuration: Fields) -> JsonObject:
    written = dict(configuration.whole)
    if (is_blocking := configuration.flag("blocking")) is not None:
        written.setdefault("returnImmediately", not is_blocking)
    if (webhook := configuration.at("pushNotificationConfig")) is not None:
        config = read_webhook(webhook, config_id=webhook.text("id"))
        written.setdefault("taskPushNotificationConfig", config)
    return written


MIXED_DIALECT: Final = Mixed()
