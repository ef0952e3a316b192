"""The headers of a request, by name: those this server looks at, or all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ("all_headers", "gather_headers")

_WANTED: Final = frozenset(
    {
        b"a2a-version",
        b"a2a-extensions",
        b"x-a2a-extensions",
        b"accept",
        b"access-control-request-headers",
        b"access-control-request-method",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"forwarded",
        b"host",
        b"if-modified-since",
        b"if-none-match",
        b"last-event-id",
        b"origin",
        b"x-forwarded-for",
        b"x-forwarded-host",
        b"x-forwarded-prefix",
        b"x-forwarded-proto",
        b"x-xpr-account",
        b"x-xpr-signature",
    }
)


def gather_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[bytes, str]:
    """Return the wanted headers; several of one name are joined by commas.

    R-3.2.6-1: names compare without case; ASGI hands them over in lower case.
    """
    found: dict[bytes, str] = {}
    for name, value in raw:
        if name in _WANTED:
            text = value.decode("latin-1")
            found[name] = f"{found[name]},{text}" if name in found else text
    return found


def all_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[bytes, str]:
    """Return every header; for authenticators, which look at what they were told to look at.

    Several of one name are joined as above. So two credentials in one header are no credential, and
    cookies, which HTTP/2 may split (RFC 9113, 8.2.3), are one header again.
    """
    found: dict[bytes, str] = {}
    for name, value in raw:
        text = value.decode("latin-1")
        if name in found:
            separator = "; " if name == b"cookie" else ","
            text = f"{found[name]}{separator}{text}"
        found[name] = text
    return found
