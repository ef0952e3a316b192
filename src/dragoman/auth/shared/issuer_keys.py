"""IssuerKeys: the public keys of who signs tokens, without a stampede to fetch them.

Anybody can send a token that names a key nobody knows. So the set of keys is fetched by one request
for all that wait, a key that is not in it has it fetched anew at most every few seconds, and an
address that has just failed is left alone as long. Who shows a key that is known never waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import httpx2
from msgspec import Struct

from dragoman.auth.outgoing.errors import AuthorizationServerError
from dragoman.auth.outgoing.origins import is_confidential
from dragoman.auth.shared.fetching import get_json
from dragoman.auth.shared.key_sets import Key, NoKeyError, is_in_force, keys_in, read_key, read_set
from dragoman.clock import Clock
from dragoman.errors import UnauthenticatedError, UnavailableError, UsageError
from dragoman.model.base import JsonObject

__all__ = ("IssuerKeys", "Locate")

Locate: TypeAlias = Callable[[], Awaitable[str]]
"""Finds out where the keys are; raises AuthorizationServerError."""

_KEPT_MS: Final = 300_000
"""How long a fetched set is good: a key that is withdrawn is gone after that."""

_STALE_MS: Final = 3_600_000
"""How long it is good if it cannot be fetched again: an issuer may be down for an hour before its
callers are locked out."""

_AGAIN_MS: Final = 10_000
"""The least time from one fetch to the next, whatever came of it."""

_SOON_MS: Final = 1_000
"""The same after a fetch whose request was given up: nobody can keep others from the keys that way,
nor have them fetched all the time."""

_MOST_KEYS: Final = 64
"""Of a set; issuers have two or three, very large ones a dozen."""

_MOST_TRIED: Final = 4
"""For a token that names no key: how many it is tried with."""

_logger: Final = logging.getLogger(__name__)


class _Known(Struct, frozen=True):
    document: JsonObject
    key: Key


class IssuerKeys:
    """Keys by ``kid``, from a key set (JWKS) that was given, or fetched from one address.

    An issuer may change its keys at any time: a key that is new has the set fetched anew.
    """

    def __init__(
        self,
        *,
        keys: Mapping[str, object] | str | Path | None = None,
        url: str = "",
        locate: Locate | None = None,
        whose: str = "the issuer",
        http: httpx2.AsyncClient | None = None,
        clock: Clock,
    ) -> None:
        """Take a key set as data or as a file, or the URL of one, or both.

        Args:
            locate: finds out the URL, before each fetch.
            whose: the keys are, for messages.

        Raises:
            UsageError: the set cannot be read or has no key to verify with, or the URL is none to
                fetch keys from.
        """
        self._given = () if keys is None else _usable(keys_in(read_set(keys)))
        if keys is not None and not self._given:
            raise UsageError("the key set has no key that signatures can be verified with")
        if url and not is_confidential(url):
            raise UsageError(f"keys are fetched by https alone, and {url!r} is not")
        self._url = url
        self._locate = locate
        self._whose = whose
        self._http = http
        self._clock = clock
        self._lock = asyncio.Lock()
        self._fetched: tuple[_Known, ...] = ()
        self._fetched_ms = -_STALE_MS
        self._tried_ms = -_AGAIN_MS
        self._is_failing = False

    async def find(self, kid: str) -> tuple[Key, ...]:
        """Return the keys of that name which are in force; "" stands for a token that names none.

        Raises:
            UnauthenticatedError: there is none.
            UnavailableError: they could not be fetched; trying again may help.
        """
        found = self._known(kid, _KEPT_MS)
        if not found and (self._url or self._locate):
            async with self._lock:
                # Who has waited here finds what the one before has got.
                if not self._known(kid, _KEPT_MS):
                    await self._fetch_again()
            found = self._known(kid, _STALE_MS)
        if found:
            return found
        if self._is_failing:
            raise UnavailableError(
                f"The keys of {self._whose} cannot be fetched now",
                retry_after_seconds=_AGAIN_MS / 1000,
            )
        raise UnauthenticatedError("The JWT cannot be verified: the key is not known")

    def _known(self, kid: str, kept_ms: int) -> tuple[Key, ...]:
        now_ms = self._clock.now_ms()
        is_kept = now_ms - self._fetched_ms < kept_ms
        known = self._given + (self._fetched if is_kept else ())
        if kid:
            known = tuple(one for one in known if one.document.get("kid") == kid)
        in_force = [one.key for one in known if is_in_force(one.document, now_ms / 1000)]
        return tuple(in_force[:_MOST_TRIED])

    async def _fetch_again(self) -> None:
        """Fetch the set, unless that was tried just now; what comes of it is in the members."""
        now_ms = self._clock.now_ms()
        if now_ms - self._tried_ms < _AGAIN_MS:
            return
        # So it stands if this request is cancelled on the way: the next one tries, but soon only.
        self._is_failing, self._tried_ms = True, now_ms - _AGAIN_MS + _SOON_MS
        try:
            documents = await self._fetch()
        except AuthorizationServerError as error:
            self._tried_ms = now_ms
            _logger.warning("the keys of %s cannot be fetched: %s", self._whose, error)
            return
        self._is_failing, self._tried_ms = False, now_ms
        self._fetched, self._fetched_ms = _usable(documents), now_ms

    async def _fetch(self) -> list[JsonObject]:
        url = self._url or (await self._locate() if self._locate else "")
        answer = await get_json(self._http, url)
        if answer.status != 200:
            raise AuthorizationServerError(url, f"answers with HTTP status {answer.status}")
        return keys_in(answer.body)


def _usable(documents: Iterable[JsonObject]) -> tuple[_Known, ...]:
    """Read the keys that signatures can be verified with; a set may have others beside them."""
    found: list[_Known] = []
    for document in documents:
        # RFC 7517, 4.2: a key for encryption is none to verify with.
        if document.get("use", "sig") != "sig":
            continue
        try:
            found.append(_Known(document, read_key(document)))
        except NoKeyError:
            continue
    return tuple(found[:_MOST_KEYS])
