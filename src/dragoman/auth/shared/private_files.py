"""Files that are the user's alone: replaced as a whole, and changed by one process at a time."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ("exclusive", "replace_private", "try_lock")

_PAUSE_SECONDS: Final = 0.02
"""Between two tries to get the lock; whoever has it writes one file."""

_PATIENCE_SECONDS: Final = 10.0
"""How long to try. Whoever holds it longer hangs."""


def replace_private(path: Path, content: bytes) -> None:
    """Write a file that nobody else can read; a reader sees the old one or the new one.

    Raises:
        OSError: it cannot be written; the old one is as it was.
    """
    fresh = path.with_name(f"{path.name}.new")
    # Whoever was killed here has left one behind.
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


@contextmanager
def exclusive(path: Path) -> Generator[None]:
    """Keep other processes from changing a file inside; reading is always possible.

    Raises:
        OSError: there is no place for the lock beside the file.
        TimeoutError: another process keeps it.
    """
    lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until = time.monotonic() + _PATIENCE_SECONDS
        while not try_lock(lock):
            if time.monotonic() > until:
                raise TimeoutError(f"{path} is being changed by another process")
            time.sleep(_PAUSE_SECONDS)
        yield
    finally:
        # Closing it gives the lock back.
        os.close(lock)


def try_lock(file: int) -> bool:
    """Lock an open file for this process alone; tell whether nobody else has it."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
