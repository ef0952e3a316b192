"""Requests of HTTP/1.1 as they stand on the wire. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote, urlsplit

from dragoman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ("Place", "place_of", "write_request")

_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""RFC 9110, 5.6.2: what the name of a header is made of."""

_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
"""RFC 9110, 5.5: what its value may hold; a line break would begin the next header."""

_TARGET: Final = re.compile(r"[\x21-\x7e]+")
_SAFE: Final = "!$%&'()*+,/:;=?@[]~"
_PORTS: Final = {"http": 80, "https": 443}


class Place(NamedTuple):
    """Where a URL leads: whom to connect to, and what to ask there.

    Attributes:
        authority: what the header Host says.
    """

    is_secure: bool
    host: str
    port: int
    authority: str
    target: str


def place_of(url: str) -> Place:
    """Take a URL of http or https apart.

    Raises:
        UsageError: it cannot be called.
    """
    try:
        parts = urlsplit(url)
        usual = _PORTS[parts.scheme]
        port = parts.port or usual
        host = parts.hostname or ""
        if not host.isascii():
            host = host.encode("idna").decode("ascii")
    except (KeyError, ValueError):
        raise UsageError(f"{url!r} is no http or https URL") from None
    if not _TARGET.fullmatch(host):
        raise UsageError(f"{url!r} is no http or https URL")
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    if not _TARGET.fullmatch(target):
        target = quote(target, safe=_SAFE)
    shown = f"[{host}]" if ":" in host else host
    authority = shown if port == usual else f"{shown}:{port}"
    return Place(parts.scheme == "https", host, port, authority, target)


def write_request(verb: str, place: Place, headers: Mapping[str, str], body: bytes) -> bytes:
    """Write a request.

    Raises:
        UsageError: a header cannot be sent.
    """
    lines = [f"{verb} {place.target} HTTP/1.1\r\nHost: {place.authority}\r\n"]
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise UsageError(f"the header {name!r} cannot be sent to {place.authority}")
        lines.append(f"{name}: {value}\r\n")
    if body or verb == "POST":
        lines.append(f"Content-Length: {len(body)}\r\n")
    lines.append("\r\n")
    return "".join(lines).encode("latin-1") + body
