"""The keys that a card's signature may be made with: given, or fetched from where that is allowed.

A ``jku`` in a signature is the word of whoever made the card. It is followed to addresses on an
allow-list, by https or on this machine, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx2

from dragoman.auth.outgoing.errors import AuthorizationServerError
from dragoman.auth.outgoing.origins import is_confidential, origin_of
from dragoman.auth.shared.fetching import get_json
from dragoman.auth.shared.key_sets import Key, NoKeyError, is_in_force, keys_in, read_key, read_set
from dragoman.clock import Clock, SystemClock
from dragoman.errors import UsageError
from dragoman.model.base import JsonObject

__all__ = ("KeysOutOfReachError", "TrustedKeys")

_KEPT_MS: Final = 300_000
"""How long a fetched key set is good: a key that is withdrawn is gone after that."""

_AGAIN_MS: Final = 10_000
"""A set in which a key is missing is fetched again, but not more often than this."""


class KeysOutOfReachError(NoKeyError):
    """The address of the keys gives no answer, or none with keys; it may later."""


class TrustedKeys:
    """Keys by ``kid``, from sets that were given and from addresses that are allowed."""

    def __init__(
        self,
        *sets: Mapping[str, object] | str | Path,
        jku: Collection[str] = (),
        http: httpx2.AsyncClient | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Take key sets (JWKS), each as data or as a file, and the allow-list for ``jku``.

        Args:
            jku: origins (``https://keys.example``), of which every address is allowed, or whole
                URLs, of which exactly that one is.

        Raises:
            UsageError: a set cannot be read, or an address is neither https nor on this machine.
        """
        self._given = [key for one in sets for key in keys_in(read_set(one))]
        self._allowed = tuple(map(_safe, jku))
        self._http = http
        self._clock: Clock = clock or SystemClock()
        self._fetched: dict[str, tuple[int, list[JsonObject]]] = {}

    async def find(self, kid: str, jku: str) -> tuple[Key, ...]:
        """Return the keys of that name which are in force; mostly one.

        R-8.4.3-1, R-8.4.3-5: a key that was given is as good as one that ``jku`` leads to.

        Raises:
            NoKeyError: there is none; says why.
        """
        found = _named(kid, self._given)
        if not found and jku:
            found = _named(kid, await self._fetch(jku, kid))
        if not found:
            raise NoKeyError("the key is not known")
        # R-8.4.3-6.
        in_force = [key for key in found if is_in_force(key, self._clock.now_ms() / 1000)]
        if not in_force:
            raise NoKeyError("the key has expired or was revoked")
        return tuple(map(read_key, in_force))

    async def _fetch(self, url: str, kid: str) -> list[JsonObject]:
        # R-8.4.3-4.
        if not _is_allowed(url, self._allowed):
            raise NoKeyError(f"the key is said to be at {url!r}, which is not on the allow-list")
        now_ms = self._clock.now_ms()
        fetched_ms, keys = self._fetched.get(url, (now_ms - _KEPT_MS, []))
        if now_ms - fetched_ms < (_KEPT_MS if _named(kid, keys) else _AGAIN_MS):
            return keys
        try:
            answer = await get_json(self._http, url)
        except AuthorizationServerError as error:
            raise KeysOutOfReachError(str(error)) from error
        if answer.status != 200:
            raise KeysOutOfReachError(f"{url} answers with HTTP status {answer.status}")
        keys = keys_in(answer.body)
        self._fetched[url] = (now_ms, keys)
        return keys


def _named(kid: str, keys: Iterable[JsonObject]) -> list[JsonObject]:
    return [key for key in keys if key.get("kid") == kid]


def _safe(url: str) -> str:
    if not is_confidential(url):
        raise UsageError(f"keys are fetched by https alone, and {url!r} is not")
    return url if urlsplit(url).path.strip("/") else origin_of(url)


def _is_allowed(url: str, allowed: Collection[str]) -> bool:
    try:
        return is_confidential(url) and (url in allowed or origin_of(url) in allowed)
    except (UsageError, ValueError):
        return False
