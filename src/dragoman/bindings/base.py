"""What the JSON bindings share."""

from __future__ import annotations

from dragoman.dialects.violations import NOT_UTF8
from dragoman.errors import JSONParseError

__all__ = ("require_utf8",)


def require_utf8(body: bytes) -> None:
    """Check the encoding of a whole body (R-14.1.1-1, Q-19).

    The JSON decoder looks only into the strings it keeps, and would let bad bytes pass in members
    that are ignored.

    Raises:
        JSONParseError: the body is not UTF-8.
    """
    if body.isascii():
        return
    try:
        body.decode()
    except UnicodeDecodeError:
        raise JSONParseError(NOT_UTF8) from None
