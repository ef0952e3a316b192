"""The keys that a card's signature may be made with: given, or fetched from where that is allowed.

A ``jku`` in a signature is the word of whoever made the card. It is followed to addresses on an
allow-list, by https or on this machine, and nowhere else.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final, TypeAlias, cast
from urllib.parse import urlsplit

import httpx2
import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, JWKRegistry, OKPKey, RSAKey

from dragoman.auth.errors import AuthorizationServerError
from dragoman.auth.fetching import get_json
from dragoman.auth.origins import is_confidential, origin_of
from dragoman.clock import Clock, SystemClock
from dragoman.errors import UsageError
from dragoman.model.base import JsonObject

__all__ = ("Key", "KeysOutOfReachError", "NoKeyError", "TrustedKeys", "read_key")

Key: TypeAlias = RSAKey | ECKey | OKPKey
"""An asymmetric one: who can verify with a shared secret can sign with it."""

_KEPT_MS: Final = 300_000
"""How long a fetched key set is good: a key that is withdrawn is gone after that."""

_AGAIN_MS: Final = 10_000
"""A set in which a key is missing is fetched again, but not more often than this."""

_RSA_BITS: Final = 2048
"""RFC 7518, 3.3: none is smaller."""


class NoKeyError(Exception):
    """There is no key for a signature; the message says why."""


class KeysOutOfReachError(NoKeyError):
    """The address of the keys gives no answer, or none with keys; it may later."""


def read_key(key: Mapping[str, object]) -> Key:
    """Read a key (JWK), public or private.

    Raises:
        NoKeyError: it is none that a card is signed with; says why.
    """
    kind = key.get("kty")
    # Shared secrets are not even looked at.
    if kind not in ("RSA", "EC", "OKP"):
        raise NoKeyError(f"a key of type {kind!r} is not accepted")
    if kind == "RSA" and _bits(key.get("n")) < _RSA_BITS:
        raise NoKeyError(f"a key of RSA has at least {_RSA_BITS} bits")
    try:
        found = JWKRegistry.import_key(cast("dict[str, str | list[str]]", dict(key)))
    except (JoseError, ValueError, TypeError) as error:
        raise NoKeyError(f"the key cannot be read: {error}") from None
    return cast("Key", found)


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
        self._given = [key for one in sets for key in _keys_in(_read_set(one))]
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
        in_force = [key for key in found if _is_in_force(key, self._clock.now_ms() / 1000)]
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
        keys = _keys_in(answer.body)
        self._fetched[url] = (now_ms, keys)
        return keys


def _read_set(given: Mapping[str, object] | str | Path) -> Mapping[str, object]:
    if isinstance(given, Mapping):
        return given
    try:
        return msgspec.json.decode(Path(given).read_bytes(), type=dict[str, object])
    except OSError as error:
        raise UsageError(f"cannot read {given}: {error.strerror}") from None
    except msgspec.DecodeError:
        raise UsageError(f"{given} is no key set (JWKS)") from None


def _keys_in(key_set: Mapping[str, object]) -> list[JsonObject]:
    keys = key_set.get("keys")
    members = cast("list[object]", keys) if isinstance(keys, list) else []
    return [cast("JsonObject", one) for one in members if isinstance(one, dict)]


def _named(kid: str, keys: Iterable[JsonObject]) -> list[JsonObject]:
    return [key for key in keys if key.get("kid") == kid]


def _is_in_force(key: JsonObject, now: float) -> bool:
    """Look at what OpenID Federation (8.7) adds to a key: when it is good, and that it is not."""
    start, end = key.get("nbf"), key.get("exp")
    return (
        "revoked" not in key
        and not (isinstance(start, int | float) and now < start)
        and not (isinstance(end, int | float) and now >= end)
    )


def _bits(number: object) -> int:
    try:
        return int.from_bytes(urlsafe_b64decode(f"{number}==")).bit_length()
    except ValueError:
        return 0


def _safe(url: str) -> str:
    if not is_confidential(url):
        raise UsageError(f"keys are fetched by https alone, and {url!r} is not")
    return url if urlsplit(url).path.strip("/") else origin_of(url)


def _is_allowed(url: str, allowed: Collection[str]) -> bool:
    try:
        return is_confidential(url) and (url in allowed or origin_of(url) in allowed)
    except (UsageError, ValueError):
        return False
