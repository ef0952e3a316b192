"""One serving process per database file, held by a lock on the file beside it."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

from dragoman.errors import UsageError
from dragoman.stores.sqlite.connection import is_full

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ("FileLock",)


class FileLock:
    """An exclusive lock on ``PATH.lock``; the kernel lifts it when the process ends, however."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._file: int | None = None

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            UsageError: another process has it, which is named; or its file cannot be written.
        """
        path = self._database.with_name(f"{self._database.name}.lock")
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _unwritable(path, error) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            process = os.read(file, 20).decode("ascii", "replace").strip() or "?"
            os.close(file)
            message = (
                f"{self._database} is already served by process {process}; "
                "stop it or use another --store"
            )
            raise UsageError(message) from error
        try:
            os.truncate(file, 0)
            os.write(file, f"{os.getpid()}\n".encode())
        except OSError as error:
            os.close(file)
            raise _unwritable(path, error) from error
        self._file = file

    def release(self) -> None:
        """Give the lock back. The file stays: removing it would race with the next process."""
        if self._file is not None:
            os.truncate(self._file, 0)
            os.close(self._file)
            self._file = None


def _unwritable(path: Path, error: OSError) -> UsageError:
    if is_full(error, path):
        return UsageError(
            f"cannot write {path}: the disk is full; make room or use another --store"
        )
    return UsageError(
        f"cannot write {path} ({error.strerror}); make it writable or use another --store"
    )
