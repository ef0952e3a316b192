"""One request to a webhook and its answer, over plain ASGI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec

from dragoman.errors import (
    A2AError,
    MethodNotAllowedError,
    PayloadTooLargeError,
    UnauthenticatedError,
    UnsupportedMediaTypeError,
    spelling_of,
)

__all__ = ("ASGIApp", "DisconnectedError", "Exchange", "Receive", "Scope", "Send")

# ASGI's messages are dictionaries of anything, by its specification.
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

_JSON_TYPES: Final = frozenset({"application/json", "application/a2a+json"})
_PROBLEM: Final = "application/problem+json"


class DisconnectedError(Exception):
    """The sender is gone; there is nobody to answer."""


class Exchange:
    """One request and its answer.

    Attributes:
        headers: by name in lower case; several of one name are joined by commas.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self.method: str = scope["method"]
        self.headers: dict[str, str] = {}
        for raw_name, raw_value in scope["headers"]:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            known = self.headers.get(name)
            self.headers[name] = value if known is None else f"{known}, {value}"
        self._query: str = scope.get("query_string", b"").decode("latin-1")

    def query(self, name: str) -> str | None:
        """Return what the query says under a name, None if nothing."""
        return next(iter(parse_qs(self._query, keep_blank_values=True).get(name, ())), None)

    def check_type(self) -> None:
        """Refuse a body that says it is no JSON; parameters and a missing label do not matter.

        Raises:
            UnsupportedMediaTypeError: it says so.
        """
        label = self.headers.get("content-type")
        if label is not None and label.partition(";")[0].strip().lower() not in _JSON_TYPES:
            raise UnsupportedMediaTypeError(
                "Content-Type must be application/a2a+json or application/json"
            )

    async def read_body(self, limit: int) -> bytes:
        """Read the body.

        Raises:
            PayloadTooLargeError: it is larger than ``limit`` bytes; the rest is left unread.
            DisconnectedError: the sender has gone away.
        """
        told = self.headers.get("content-length", "")
        if told.isdecimal() and int(told) > limit:
            raise _too_large(limit)
        body = bytearray()
        is_whole = False
        while not is_whole:
            message = await self._receive()
            if message["type"] != "http.request":
                raise DisconnectedError
            body += message.get("body", b"")
            if len(body) > limit:
                raise _too_large(limit)
            is_whole = not message.get("more_body", False)
        return bytes(body)

    async def reply(
        self, status: int, body: bytes = b"", content_type: str = "", **headers: str
    ) -> None:
        """Answer; underscores in the names of headers stand for hyphens."""
        if body:
            headers |= {"content-type": content_type, "x-content-type-options": "nosniff"}
        if status != HTTPStatus.NO_CONTENT:
            headers["content-length"] = str(len(body))
        written = [
            (name.replace("_", "-").encode(), value.encode("latin-1", "replace"))
            for name, value in headers.items()
        ]
        await self._send({"type": "http.response.start", "status": status, "headers": written})
        await self._send({"type": "http.response.body", "body": body})

    async def refuse(self, error: A2AError) -> None:
        """Answer with a problem (RFC 9457)."""
        status = HTTPStatus(spelling_of(error).http)
        problem = {"title": status.phrase, "status": status.value, "detail": error.message}
        headers: dict[str, str] = {}
        if error.retry_after_seconds is not None:
            headers["retry_after"] = str(max(1, round(error.retry_after_seconds)))
        match error:
            case MethodNotAllowedError():
                headers["allow"] = ", ".join(error.allow)
            case UnauthenticatedError():
                # RFC 9110, 11.6.1: every 401 names a scheme.
                headers["www_authenticate"] = "Bearer"
            case PayloadTooLargeError():
                # What is left unread would be taken for the next request.
                headers["connection"] = "close"
            case _:
                pass
        await self.reply(status, msgspec.json.encode(problem), _PROBLEM, **headers)


def _too_large(limit: int) -> PayloadTooLargeError:
    return PayloadTooLargeError(f"The body must not be larger than {limit} bytes")
