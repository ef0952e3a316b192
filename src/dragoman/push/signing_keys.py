"""SigningKeys: the keys that an agent signs its notifications with, in a file.

The file is a key set (JWKS) with private keys, the newest first. It is made when it is first
needed, for its owner's eyes only. A new key is published at once, and signs when no receiver can
have an older set in its cache; those before it are published until nothing is about any more that
was signed with them. So keys are changed without a gap.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import ECKey
from msgspec import Meta, Struct

from dragoman.clock import Clock, SystemClock
from dragoman.errors import UsageError

__all__ = ("KEPT_SECONDS", "LEAD_SECONDS", "SigningKey", "SigningKeys")

LEAD_SECONDS: Final = 360
"""How long a key is published before it signs. Receivers keep a set for five minutes, as they are
told with it; one that does not know a key refuses what it has signed."""

KEPT_SECONDS: Final = 3600
"""How long a key is published after the next one was made. A signature is good for two minutes, and
the clocks of receivers differ by less than the rest."""

_CURVE: Final = "P-256"
"""That of ES256."""

_OTHERS: Final = 0o077
_FIELD = Annotated[str, Meta(min_length=1)]


class _StoredKey(Struct, frozen=True, kw_only=True):
    kty: Literal["EC"]
    crv: Literal["P-256"]
    x: _FIELD
    y: _FIELD
    d: _FIELD
    kid: _FIELD
    iat: int = 0


class _StoredSet(Struct, frozen=True):
    keys: Annotated[tuple[_StoredKey, ...], Meta(min_length=1)]


class SigningKey(Struct, frozen=True):
    """A private key, its name, and when it was made (seconds since the Unix epoch)."""

    kid: str
    key: ECKey
    made: int = 0


class SigningKeys:
    """The keys in a file, or in memory.

    What is read is kept: ``refresh`` looks whether the file has changed since, as it does when an
    operator changes the keys of an agent that runs.
    """

    def __init__(self, path: Path | None, *, clock: Clock | None = None) -> None:
        """Read the keys, or make the first one.

        Args:
            path: the file; None keeps the keys in memory, for as long as the process lives.

        Raises:
            UsageError: the file cannot be read or made, is open to others, or holds no such keys.
        """
        self._path = path
        self._clock = clock or SystemClock()
        self._stamp: tuple[int, int] | None = None
        self._keys: tuple[SigningKey, ...] = ()
        if path is None:
            self._keys = (self._new_key(),)
        elif not path.exists():
            _write(path, (self._new_key(),), is_first=True)
        self.refresh()

    @property
    def newest(self) -> SigningKey:
        """The key that was made last."""
        return self._keys[0]

    @property
    def current(self) -> SigningKey:
        """The key to sign with."""
        since = self._now() - LEAD_SECONDS
        known = (each for each in self._keys if each.made <= since)
        # The first of all has nobody to wait for.
        return next(known, self._keys[-1])

    def jwks(self) -> dict[str, list[dict[str, object]]]:
        """Return the public halves of the keys that may still be asked for, as published."""
        return {
            "keys": [
                {**each.key.as_dict(private=False), "kid": each.kid, "use": "sig", "alg": "ES256"}
                for each in self._alive()
            ]
        }

    def rotate(self, *, keeps_old: bool = True) -> None:
        """Make a new key to sign with soon; those before go when nothing they signed is about.

        Args:
            keeps_old: False drops them at once, as when somebody else may have got hold of one;
                receivers that have not heard of the new one refuse it until they look again.

        Raises:
            UsageError: the file cannot be written.
        """
        self.refresh()
        keys = (self._new_key(), *(self._alive() if keeps_old else ()))
        if self._path is None:
            self._keys = keys
        else:
            _write(self._path, keys, is_first=False)
            self.refresh()

    def refresh(self) -> None:
        """Read the file again if it has changed.

        Raises:
            UsageError: it cannot be used any more; the keys of before are kept.
        """
        if self._path is None:
            return
        try:
            found = self._path.stat()
            stamp = (found.st_mtime_ns, found.st_ino)
            if stamp == self._stamp:
                return
            _check_private(self._path, found)
            data = self._path.read_bytes()
        except OSError as problem:
            raise UsageError(f"cannot read {self._path}: {problem.strerror}") from None
        self._keys = _read(self._path, data)
        self._stamp = stamp

    def _alive(self) -> Iterator[SigningKey]:
        yield self._keys[0]
        since = self._now() - KEPT_SECONDS
        for newer, each in pairwise(self._keys):
            if newer.made > since:
                yield each

    def _new_key(self) -> SigningKey:
        key = ECKey.generate_key(_CURVE)
        return SigningKey(key.thumbprint(), key, self._now())

    def _now(self) -> int:
        return self._clock.now_ms() // 1000


def _read(path: Path, data: bytes) -> tuple[SigningKey, ...]:
    try:
        stored = msgspec.json.decode(data, type=_StoredSet)
        return tuple(
            SigningKey(each.kid, ECKey.import_key(_jwk_of(each)), each.iat) for each in stored.keys
        )
    except msgspec.DecodeError as problem:
        raise UsageError(f"{path} is no set of private keys for ES256: {problem}") from None
    except (JoseError, ValueError):
        raise UsageError(f"{path} has a key that is none of {_CURVE}") from None


def _jwk_of(stored: _StoredKey) -> dict[str, str | list[str]]:
    jwk: dict[str, str | list[str]] = msgspec.to_builtins(stored)
    del jwk["iat"]
    return jwk


def _write(path: Path, keys: tuple[SigningKey, ...], *, is_first: bool) -> None:
    """Write the file as a whole: whoever reads it, or dies here, leaves none that is half."""
    stored = {
        "keys": [
            {**each.key.as_dict(private=True), "kid": each.kid, "iat": each.made} for each in keys
        ]
    }
    content = msgspec.json.format(msgspec.json.encode(stored), indent=2)
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if is_first:
            # Of several that start at the same time, one makes the key and the others take it.
            with suppress(FileExistsError):
                os.link(fresh, path)
        else:
            fresh.replace(path)
    except OSError as problem:
        raise UsageError(f"cannot write {path}: {problem.strerror}") from None
    finally:
        with suppress(OSError):
            fresh.unlink()


def _check_private(path: Path, found: os.stat_result) -> None:
    if sys.platform != "win32" and found.st_mode & _OTHERS:
        raise UsageError(
            f"{path} holds private keys and is open to other users: chmod 600 {path}, and replace "
            "the keys if others may have read them"
        )
