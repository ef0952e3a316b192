"""Passwords: what is kept of them. Slow on purpose, because people choose them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from hashlib import scrypt
from hmac import compare_digest
from secrets import token_bytes
from typing import Final

from dragoman.errors import UsageError

__all__ = ("DECOY", "MOST_PASSWORD", "check_hash", "hash_password", "is_password")

_COST: Final = (1 << 14, 8, 5)
"""n, r, p: 16 MiB, some 0.2 seconds; one of the settings that OWASP counts as equally strong, and
the one that takes the least memory from a server which checks several at once."""

_SALT_BYTES: Final = 16
_HASH_BYTES: Final = 32
_MEMORY: Final = 256 << 20
"""What a hash made elsewhere may cost at most."""

MOST_PASSWORD: Final = 1024
"""Bytes; what is longer is no password, and would only cost time."""


def hash_password(password: str) -> str:
    """Return what to keep of a password: ``scrypt:n:r:p:salt:hash``.

    Raises:
        UsageError: it is empty or too long.
    """
    if not 0 < len(password.encode()) <= MOST_PASSWORD:
        raise UsageError(f"a password has 1 to {MOST_PASSWORD} bytes")
    salt = token_bytes(_SALT_BYTES)
    fields = (*map(str, _COST), _text(salt), _text(_hashed(password, salt, _COST, _HASH_BYTES)))
    return ":".join(("scrypt", *fields))


def is_password(password: str, kept: str) -> bool:
    """Tell whether this is the password; takes its time, whatever the answer.

    Raises:
        UsageError: what was kept is no hash of a password.
    """
    cost, salt, wanted = _read(kept)
    if len(password.encode()) > MOST_PASSWORD:
        return False
    return compare_digest(_hashed(password, salt, cost, len(wanted)), wanted)


def check_hash(kept: str) -> None:
    """Refuse what is no hash of a password.

    Raises:
        UsageError: it is none. It is not repeated: it may be the password itself.
    """
    _read(kept)


def _hashed(password: str, salt: bytes, cost: tuple[int, int, int], size: int) -> bytes:
    n, r, p = cost
    return scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=_MEMORY, dklen=size)


def _read(kept: str) -> tuple[tuple[int, int, int], bytes, bytes]:
    try:
        name, n, r, p, salt, wanted = kept.split(":")
        cost = (int(n), int(r), int(p))
        found = (cost, b64decode(salt, validate=True), b64decode(wanted, validate=True))
    except ValueError:
        raise UsageError("what is kept of a password must come from hash_password") from None
    is_sound = name == "scrypt" and min(cost) > 0 and len(found[2]) >= _HASH_BYTES
    if not is_sound or 128 * cost[0] * cost[1] >= _MEMORY:
        raise UsageError("what is kept of a password must come from hash_password")
    return found


def _text(data: bytes) -> str:
    return b64encode(data).decode()


DECOY: Final = ":".join(("scrypt", *map(str, _COST), _text(bytes(16)), _text(bytes(32))))
"""The hash of no password that anybody knows: for names that nobody has, so that they take as
long."""
