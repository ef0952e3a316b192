"""Key records: the keys and passwords of callers, as hashes, in one file.

An API key of ours is 256 random bits, so a plain SHA-256 of it is enough: there is nothing to
guess, and a slow hash would only slow down every request. Passwords, which people choose, are kept
as ``dragoman.auth.incoming.passwords`` has it.

``dragoman keys`` writes the file, and a server only reads it. When a key was last used is kept in a
second file beside it, so the first may be read-only to the server.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from dragoman.auth.incoming.authenticator import Principal
from dragoman.auth.shared.private_files import exclusive, replace_private
from dragoman.errors import UsageError
from dragoman.model.timestamps import parse_timestamp

__all__ = ("KeyRecord", "change_keys", "digest_of", "merge_uses", "read_keys", "read_uses")

_FORM: Final = 1
"""The form of the file; one that is newer is not read."""


class KeyRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What is kept of one key, or of one user and password.

    Attributes:
        id: its name, which is no secret; the user's for a password.
        hash: ``sha256:…`` of a key, ``scrypt:…`` of a password.
        owner: whose it is.
        tenants: where it may be used; None for all.
        created, expires, revoked: times (RFC 3339); "" for never.
    """

    id: str
    hash: str
    owner: str
    scopes: tuple[str, ...] = ()
    tenants: tuple[str, ...] | None = None
    created: str
    expires: str = ""
    revoked: str = ""

    def __post_init__(self) -> None:
        """Refuse what a hand may have written wrong."""
        if not self.id or not self.owner:
            raise ValueError("id and owner must not be empty")
        for time in filter(None, (self.created, self.expires, self.revoked)):
            parse_timestamp(time)

    @property
    def is_password(self) -> bool:
        """Tell whether it is a user's."""
        return self.hash.startswith("scrypt:")

    @property
    def expires_ms(self) -> int:
        """When it expires; 0 for never."""
        return parse_timestamp(self.expires) if self.expires else 0

    def is_good(self, now_ms: int) -> bool:
        """Tell whether it is neither revoked nor expired."""
        return not self.revoked and (not self.expires or now_ms < self.expires_ms)

    def principal(self, prefix: str) -> Principal:
        """Return who shows it."""
        return Principal(
            owner=prefix + self.owner,
            scopes=frozenset(self.scopes),
            tenants=None if self.tenants is None else frozenset(self.tenants),
            expires_ms=self.expires_ms,
        )


class _Document(Struct, frozen=True):
    keys: tuple[KeyRecord, ...]
    form: int = _FORM


def digest_of(key: str) -> str:
    """Return what is kept of an API key."""
    return f"sha256:{sha256(key.encode()).hexdigest()}"


def read_keys(path: Path) -> tuple[KeyRecord, ...]:
    """Read the file.

    Raises:
        FileNotFoundError: there is none.
        UsageError: it cannot be read, is no file of ours, or others may change it.
    """
    try:
        content = path.read_bytes()
        _check_writers(path)
        document = msgspec.json.decode(content, type=_Document)
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise UsageError(f"cannot read {path}: {problem.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise UsageError(f"cannot read {path}: {problem}") from None
    if document.form != _FORM:
        raise UsageError(f"{path} was written by another version of this program")
    return document.keys


def change_keys(
    path: Path, change: Callable[[tuple[KeyRecord, ...]], tuple[KeyRecord, ...]]
) -> None:
    """Change the file, which is made if there is none, while no other process does.

    Raises:
        UsageError: it cannot be read or written.
    """
    try:
        with exclusive(path):
            known = read_keys(path) if path.exists() else ()
            content = msgspec.json.encode(_Document(change(known)))
            replace_private(path, msgspec.json.format(content, indent=2) + b"\n")
    except OSError as problem:
        raise UsageError(f"cannot write {path}: {problem.strerror or problem}") from None


def read_uses(path: Path) -> dict[str, str]:
    """Return when each key of the file was last used, by id; what cannot be read is not known."""
    try:
        return msgspec.json.decode(_uses_path(path).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def merge_uses(path: Path, uses: Mapping[str, str]) -> None:
    """Write when keys were last used; several servers may do so, and the latest time counts.

    Raises:
        OSError: it cannot be written.
    """
    known = read_uses(path)
    latest = {key: max(when, known.get(key, "")) for key, when in uses.items()}
    replace_private(_uses_path(path), msgspec.json.encode({**known, **latest}))


def _uses_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.used")


def _check_writers(path: Path) -> None:
    """Refuse a file into which others could write a key of their own."""
    if sys.platform == "win32":
        # There modes say nothing.
        return
    found = path.stat()
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or found.st_uid not in (0, os.getuid()):
        raise UsageError(
            f"{path} can be changed by other users, who could let themselves in: "
            f"make it yours alone with chmod 600 {path}"
        )
