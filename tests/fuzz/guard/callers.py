"""Callers of a guarded agent: good credentials of both kinds, and credentials gone wrong."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Final

from dragoman.auth.incoming.key_records import KeyRecord, change_keys, digest_of
from dragoman.clock import SystemClock
from dragoman.testing.clock import FakeClock
from tests.support.auth.issuing import Issuer, packed

__all__ = ("Callers", "Header")

Header = tuple[bytes, bytes]

_EACH: Final = 40
"""Callers of each kind: none of them is alone stopped by how often it asks."""

_DAY: Final = 86_400


class Callers:
    """Knows the keys and tokens that the agent takes, and makes up others.

    Attributes:
        keys_file, jwks_file: what the agent is given.
        secrets: what must never be found in a log.
    """

    def __init__(self, folder: Path) -> None:
        """Make keys and tokens, and write what the agent needs to know of them."""
        self.keys_file = folder / "keys.json"
        self.jwks_file = folder / "jwks.json"
        keys = [f"key-{number:03d}-of-a-known-caller" for number in range(_EACH)]
        change_keys(self.keys_file, lambda _: tuple(map(_record, range(_EACH), keys)))
        issuer = Issuer(FakeClock(SystemClock().now_ms()))
        self.jwks_file.write_text(json.dumps(issuer.jwks))
        later = issuer.clock.now_ms() // 1000 + _DAY
        tokens = [issuer.token(sub=f"s-{number}", exp=later) for number in range(_EACH)]
        self.secrets = [*keys, *tokens]
        self._keys = [key.encode() for key in keys]
        self._tokens = [token.encode() for token in tokens]
        others = Issuer(issuer.clock)
        claims = issuer.claims(exp=later)
        self._bad_tokens = [
            token.encode()
            for token in (
                issuer.token(exp=later - 2 * _DAY),
                issuer.token(exp=later, aud="https://other.example"),
                issuer.token(exp=later, iss="https://other.example"),
                issuer.token(exp=later, sub=None),
                issuer.token(exp=None),
                issuer.token(exp="soon"),
                issuer.token(exp=later, header={"kid": "unknown"}),
                issuer.token(exp=later, header={"alg": "HS256"}),
                others.token(exp=later),
                f"{packed({'alg': 'none'})}.{packed(claims)}.",
                "a.b.c",
                "..",
            )
        ]

    def good(self, chance: Random) -> Header:
        """Return credentials that are good."""
        if chance.random() < 0.6:
            return b"X-API-Key", chance.choice(self._keys)
        return b"Authorization", b"Bearer " + chance.choice(self._tokens)

    def any(self, chance: Random) -> list[Header]:
        """Return credentials that are good more often than not; several, or none at all."""
        if chance.random() < 0.75:
            return [self.good(chance)]
        token = chance.choice(self._bad_tokens)
        key = chance.choice(self._keys)
        wrong: list[list[Header]] = [
            [],
            [(b"Authorization", b"Bearer " + token)],
            [(b"Authorization", token)],
            [(b"Authorization", b"Basic " + key)],
            [(b"Authorization", b"Bearer " + _changed(chance.choice(self._tokens), chance))],
            [(b"Authorization", b"bearer  " + chance.choice(self._tokens))],
            [(b"Authorization", b"Bearer " + b"x" * chance.choice((1, 10_000, 20_000)))],
            [(b"X-API-Key", _changed(key, chance))],
            [(b"X-API-Key", key), (b"X-API-Key", chance.choice(self._keys))],
            [(b"X-API-Key", b"")],
            [(b"X-API-Key", b"\xff\xfe" + key)],
            # One that is not good does not spoil another that is.
            [(b"X-API-Key", key), (b"Authorization", b"Bearer " + token)],
            [(b"X-API-Key", b"nobody"), (b"Authorization", b"Bearer " + token)],
        ]
        return chance.choice(wrong)


def _changed(secret: bytes, chance: Random) -> bytes:
    """Return a secret with one character changed."""
    at = chance.randrange(len(secret))
    return secret[:at] + b"%c" % chance.randrange(33, 127) + secret[at + 1 :]


def _record(number: int, key: str) -> KeyRecord:
    """Return what is kept of a key; some are limited, and some are not good any more."""
    return KeyRecord(
        id=f"k{number}",
        hash=digest_of(key),
        owner=f"caller-{number}",
        scopes=("read",) if number % 2 else (),
        tenants=("acme",) if number % 10 == 3 else None,
        created="2026-01-01T00:00:00Z",
        revoked="2026-01-02T00:00:00Z" if number % 20 == 5 else "",
    )
