"""SigningKeys: the keys that an agent signs its notifications with, in a file.

The file is a key set (JWKS) with private keys, the newest first. It is made when it is first
needed, for its owner's eyes only. All of its keys are published; the newest signs. So keys are
changed without a gap: what was signed with the one before can still be verified.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import ECKey
from msgspec import Meta, Struct

from dragoman.errors import UsageError

__all__ = ("MOST_KEYS", "SigningKey", "SigningKeys")

MOST_KEYS: Final = 3
"""Kept and published. A signature is good for minutes, so the one before would do."""

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


class _StoredSet(Struct, frozen=True):
    keys: Annotated[tuple[_StoredKey, ...], Meta(min_length=1)]


class SigningKey(Struct, frozen=True):
    """A private key and its name."""

    kid: str
    key: ECKey


class SigningKeys:
    """The keys in a file.

    What is read is kept: ``refresh`` looks whether the file has changed since, as it does when an
    operator changes the keys of an agent that runs.
    """

    def __init__(self, path: Path) -> None:
        """Read the keys, or make the first one.

        Raises:
            UsageError: the file cannot be read or made, is open to others, or holds no such keys.
        """
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._keys: tuple[SigningKey, ...] = ()
        if not path.exists():
            _write(path, (_new_key(),), is_first=True)
        self.refresh()

    @property
    def newest(self) -> SigningKey:
        """The key to sign with."""
        return self._keys[0]

    def jwks(self) -> dict[str, object]:
        """Return the public halves of all keys, as they are published."""
        return {
            "keys": [
                {**each.key.as_dict(private=False), "kid": each.kid, "use": "sig", "alg": "ES256"}
                for each in self._keys
            ]
        }

    def rotate(self) -> None:
        """Make a new key to sign with; the oldest goes when there are more than ``MOST_KEYS``.

        Raises:
            UsageError: the file cannot be written.
        """
        self.refresh()
        _write(self._path, (_new_key(), *self._keys)[:MOST_KEYS], is_first=False)
        self.refresh()

    def refresh(self) -> None:
        """Read the file again if it has changed.

        Raises:
            UsageError: it cannot be used any more; the keys of before are kept.
        """
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


def _new_key() -> SigningKey:
    key = ECKey.generate_key(_CURVE)
    return SigningKey(key.thumbprint(), key)


def _read(path: Path, data: bytes) -> tuple[SigningKey, ...]:
    try:
        stored = msgspec.json.decode(data, type=_StoredSet)
        return tuple(
            SigningKey(each.kid, ECKey.import_key(msgspec.to_builtins(each)))
            for each in stored.keys
        )
    except msgspec.DecodeError as problem:
        raise UsageError(f"{path} is no set of private keys for ES256: {problem}") from None
    except (JoseError, ValueError):
        raise UsageError(f"{path} has a key that is none of {_CURVE}") from None


def _write(path: Path, keys: tuple[SigningKey, ...], *, is_first: bool) -> None:
    """Write the file as a whole: whoever reads it, or dies here, leaves none that is half."""
    stored = {"keys": [{**each.key.as_dict(private=True), "kid": each.kid} for each in keys]}
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
