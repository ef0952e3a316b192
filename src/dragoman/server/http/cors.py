"""CORS: which web pages may read the answers (the Fetch standard, section 3.2).

A page is told by its origin. Those on the list are trusted with what the browser knows of its user;
``*`` lets every page read what a caller without credentials may, and never more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from dragoman.errors import UsageError
from dragoman.server.http.exchange import Exchange
from dragoman.server.http.media import JSON

__all__ = ("Cors", "is_preflight")

_EXPOSED: Final = (
    b"a2a-extensions, etag, retry-after, www-authenticate, x-a2a-extensions, "
    b"x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset"
)

_METHODS: Final = b"GET, HEAD, POST, DELETE"

_KEPT_SECONDS: Final = b"600"
"""How long a browser may remember a permission; no browser remembers it for longer than two hours,
and one that is withdrawn should not live on."""

_ANY: Final = "*"

_NAMES: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z, ]{1,1000}")
"""Names of headers, and what separates them."""

_VARY: Final = (b"vary", b"origin")

_Headers = tuple[tuple[bytes, bytes], ...]


def is_preflight(method: str, headers: Mapping[bytes, str]) -> bool:
    """Tell whether a browser asks, before it sends what a page wants to send."""
    return (
        method == "OPTIONS" and b"origin" in headers and b"access-control-request-method" in headers
    )


class Cors:
    """The pages that may call this agent.

    Attributes:
        allows_any: whether all of them may.
    """

    def __init__(self, origins: Iterable[str]) -> None:
        """Take origins such as ``https://app.example``, or ``*``.

        Raises:
            UsageError: one of them is no origin.
        """
        self._origins = frozenset(map(_checked, origins))
        self.allows_any: Final = _ANY in self._origins
        # One tuple for each origin: the heads of answers that carry it are all the same.
        self._answers = {origin: _answer(origin) for origin in self._origins}

    def allows(self, origin: str) -> bool:
        """Tell whether pages of this origin may call."""
        return origin in self._origins or (self.allows_any and origin != _ANY)

    async def meet(self, exchange: Exchange) -> bool:
        """Have the answer tell what a page may read of it; return whether it has been given.

        A preflight is answered here: it has no credentials, and asks for nothing.
        """
        origin = exchange.headers.get(b"origin")
        exchange.also += self.headers(origin)
        if origin is None or not is_preflight(exchange.method, exchange.headers):
            return False
        if self.allows(origin):
            asked = exchange.headers.get(b"access-control-request-headers", "")
            exchange.also += self.preflight(asked)
        await exchange.reply(204, JSON, b"")
        return True

    def headers(self, origin: str | None) -> _Headers:
        """Return what an answer tells the browser; nothing for a page that may not read it."""
        if origin is None:
            # Whoever caches the answer must know that pages would get another.
            return () if self.allows_any else (_VARY,)
        found = self._answers.get(origin)
        if found is None and self.allows_any:
            return self._answers[_ANY]
        return found or (_VARY,)

    def preflight(self, asked: str) -> _Headers:
        """Return the permission to send what a page wants to.

        Args:
            asked: the headers it wants to send. Which of them matter is for authentication and for
                authenticators to say, so they are all allowed.
        """
        names = asked if _NAMES.fullmatch(asked) else ""
        return (
            (b"access-control-allow-methods", _METHODS),
            *(((b"access-control-allow-headers", names.encode()),) if names else ()),
            (b"access-control-max-age", _KEPT_SECONDS),
        )


def _answer(origin: str) -> _Headers:
    if origin == _ANY:
        # Never with credentials: no browser would take it, and nobody should.
        return (
            (b"access-control-allow-origin", b"*"),
            (b"access-control-expose-headers", _EXPOSED),
        )
    return (
        (b"access-control-allow-origin", origin.encode()),
        (b"access-control-allow-credentials", b"true"),
        (b"access-control-expose-headers", _EXPOSED),
        _VARY,
    )


def _checked(origin: str) -> str:
    if origin == _ANY:
        return origin
    try:
        url = urlsplit(origin)
        is_origin = f"{url.scheme}://{url.netloc}" == origin and url.hostname and not url.username
    except ValueError:
        is_origin = False
    if not is_origin or not origin.isascii() or origin != origin.lower():
        raise UsageError(
            f"cors_origins: {origin!r} is no origin; write it as browsers do: https://app.example"
        )
    return origin
