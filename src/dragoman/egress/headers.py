"""Headers that others have a say in, as HTTP can carry them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from dragoman.errors import UsageError

__all__ = ("encode_headers", "is_sendable")

_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""RFC 9110, 5.6.2: what the name of a header is made of."""

_VALUE: Final = re.compile(
    r"(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?"
)
"""RFC 9110, 5.5: what its value may hold. A line break would begin the next header; spaces at the
ends do not arrive."""

_OWN: Final = frozenset({"host", "content-length", "transfer-encoding", "connection"})
"""What a request says of itself: another ``Host`` than that of the URL leads to another place."""


def is_sendable(value: str) -> bool:
    """Tell whether a header can have this value."""
    return _VALUE.fullmatch(value) is not None


def encode_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Return headers as they are sent.

    Raises:
        UsageError: one of them cannot be sent; its value is not told.
    """
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or not is_sendable(value):
            raise UsageError(f"the header {name!r} cannot be sent: it must be one line of latin-1")
        if name.lower() in _OWN:
            raise UsageError(f"the header {name!r} cannot be chosen")
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]
