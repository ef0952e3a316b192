"""Key sets (JWKS): what stands in them, read one key at a time. Pure but for files."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias, cast

import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, JWKRegistry, OctKey, OKPKey, RSAKey

from dragoman.errors import UsageError
from dragoman.model.base import JsonObject, is_array, is_object

__all__ = ("Key", "NoKeyError", "is_in_force", "keys_in", "read_key", "read_set")

Key: TypeAlias = RSAKey | ECKey | OKPKey
"""An asymmetric one: who can verify with a shared secret can sign with it."""

_RSA_BITS: Final = 2048
"""RFC 7518, 3.3: none is smaller."""


class NoKeyError(Exception):
    """There is no key for a signature; the message says why."""


def read_key(key: Mapping[str, object]) -> Key:
    """Read a key (JWK), public or private.

    Raises:
        NoKeyError: it is none that is accepted; says why.
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
    if isinstance(found, OctKey):
        raise NoKeyError("a shared secret is not accepted")
    return found


def read_set(given: Mapping[str, object] | str | Path) -> Mapping[str, object]:
    """Return a key set that was given as data or as a file.

    Raises:
        UsageError: the file cannot be read, or is none.
    """
    if isinstance(given, Mapping):
        return given
    try:
        return msgspec.json.decode(Path(given).read_bytes(), type=dict[str, object])
    except OSError as error:
        raise UsageError(f"cannot read {given}: {error.strerror}") from None
    except msgspec.DecodeError:
        raise UsageError(f"{given} is no key set (JWKS)") from None


def keys_in(key_set: Mapping[str, object]) -> list[JsonObject]:
    """Return the keys of a set; what is none is left out."""
    keys = key_set.get("keys")
    return [one for one in keys if is_object(one)] if is_array(keys) else []


def is_in_force(key: JsonObject, now: float) -> bool:
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
