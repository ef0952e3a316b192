"""The request headers this server looks at, gathered in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ("gather_headers",)

_WANTED: Final = frozenset(
    {
        b"a2a-version",
        b"a2a-extensions",
        b"x-a2a-extensions",
        b"accept",
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
