import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.errors import UsageError
from dragoman.stores.sqlite.connection import is_full
from dragoman.stores.sqlite.lock import FileLock


def failure(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    return error


def test_a_system_that_has_no_room_says_so(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    assert is_full(OSError(errno.ENOSPC, "No space left on device"), path)
    assert is_full(OSError(errno.EDQUOT, "Disk quota exceeded"), path)
    assert not is_full(PermissionError(errno.EACCES, "Permission denied"), path)


def test_sqlite_says_when_a_database_finds_no_room(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.execute("PRAGMA max_page_count = 2")
        with pytest.raises(sqlite3.OperationalError) as caught:
            connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
    assert is_full(caught.value, path)


class _Disk:
    """What the system tells of a disk; only what is asked for."""

    f_frsize = 4096

    def __init__(self, pages: int) -> None:
        self.f_bavail = pages

    def tell(self, _path: Path) -> "_Disk":
        return self


def test_a_failure_of_input_and_output_means_a_full_disk_only_if_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = failure(sqlite3.SQLITE_IOERR_SHMSIZE)
    monkeypatch.setattr(os, "statvfs", _Disk(3).tell)
    assert is_full(error, tmp_path / "tasks.db")
    # Nothing else is taken for it, however little is left.
    assert not is_full(failure(sqlite3.SQLITE_READONLY), tmp_path / "tasks.db")
    assert not is_full(sqlite3.OperationalError("without a code"), tmp_path / "tasks.db")
    monkeypatch.setattr(os, "statvfs", _Disk(3000).tell)
    assert not is_full(error, tmp_path / "tasks.db")


def test_a_disk_that_is_gone_is_not_called_full(tmp_path: Path) -> None:
    assert not is_full(failure(sqlite3.SQLITE_IOERR), tmp_path / "gone" / "tasks.db")


def test_a_lock_that_finds_no_room_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(_file: int, _content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "tasks.db"
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        with pytest.raises(UsageError, match=r"tasks\.db\.lock: the disk is full; make room"):
            FileLock(path).acquire()
    lock = FileLock(path)
    lock.acquire()
    lock.release()
