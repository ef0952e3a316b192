"""Tells a full disk from all else that may be wrong with a file."""

from __future__ import annotations

import errno
import os
import sqlite3
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ("is_full",)

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})

_LITTLE_BYTES: Final = 64 * 1024
"""Less than this is no room: SQLite's index of its log grows by 32 KiB."""

_PRIMARY: Final = 0xFF
"""The part of a code of SQLite that says what kind of failure it is."""


def is_full(error: Exception, path: Path) -> bool:
    """Tell whether a failure to write a file means that there is no room left for it.

    SQLite says so of the database and its log. For the index of the log it only speaks of input
    and output, and keeps to itself what the system said; the system is asked anew then.
    """
    if isinstance(error, OSError):
        return error.errno in _FULL
    kind = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    return kind == sqlite3.SQLITE_FULL or (kind == sqlite3.SQLITE_IOERR and _is_little_left(path))


def _is_little_left(path: Path) -> bool:
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _LITTLE_BYTES
