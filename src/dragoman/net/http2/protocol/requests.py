"""The head of a request: which lists of headers are one (RFC 9113, 8.2 and 8.3)."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from dragoman.net.http2.protocol.hpack import Headers

__all__ = ("Head", "MalformedError", "check_trailers", "read_head")

_NAME: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+")
"""A field name is a token in lower case."""
_BAD_VALUE: Final = re.compile(rb"[\x00\r\n]|^[ \t]|[ \t]$")
_PSEUDO: Final = (b":method", b":path", b":scheme", b":authority")
_OF_CONNECTIONS: Final = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"}
)
_MAX_DIGITS: Final = 18


class MalformedError(ValueError):
    """These headers are no request."""


class Head(Struct, frozen=True, gc=False):
    """What a request says before its body.

    Attributes:
        fields: its headers, in lower case, without those that begin with a colon.
        length: how long its body says it is.
    """

    method: bytes
    path: bytes
    fields: Headers
    length: int | None


def read_head(headers: Headers) -> Head:
    """Read the headers of a request.

    Raises:
        MalformedError: they are none.
    """
    count = 0
    while count < len(headers) and headers[count][0].startswith(b":"):
        count += 1
    pseudo, fields = headers[:count], headers[count:]
    known = dict(pseudo)
    # 8.3: each at most once, none that is unknown.
    if len(known) != count or not known.keys() <= set(_PSEUDO):
        raise MalformedError("A pseudo-header is unknown, or there twice")
    if any(_BAD_VALUE.search(value) for value in known.values()):
        raise MalformedError("A pseudo-header has a value that none can have")
    check_trailers(fields)
    method, path = known.get(b":method"), known.get(b":path")
    # 8.3.1: only CONNECT has no path, and nobody can connect through here.
    if not method or not path or not known.get(b":scheme"):
        raise MalformedError("A pseudo-header is missing")
    return Head(method, path, fields, _length(fields))


def check_trailers(fields: Headers) -> None:
    """Check what may stand after a body, and behind the pseudo-headers before it.

    Raises:
        MalformedError: a name or a value is not allowed.
    """
    for name, value in fields:
        if _NAME.fullmatch(name) is None:
            raise MalformedError("A header has a name that none can have")
        if _BAD_VALUE.search(value):
            raise MalformedError("A header has a value that none can have")
        # 8.2.2: these belong to HTTP/1.1.
        if name in _OF_CONNECTIONS or (name == b"te" and value != b"trailers"):
            raise MalformedError("A header is of a connection, not of a request")


def _length(fields: Headers) -> int | None:
    told = {value for name, value in fields if name == b"content-length"}
    if not told:
        return None
    value = told.pop()
    if told or not value.isdigit() or len(value) > _MAX_DIGITS:
        raise MalformedError("The length of the body is not a number")
    return int(value)
