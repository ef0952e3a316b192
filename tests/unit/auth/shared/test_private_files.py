import os
import stat
import threading
from pathlib import Path

import pytest

from dragoman.auth.shared.private_files import exclusive, replace_private, try_lock


def test_a_file_is_replaced_as_a_whole_and_for_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text("old")
    path.chmod(0o644)
    # What a process that was killed has left behind.
    (tmp_path / "keys.json.new").write_text("half")
    replace_private(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["keys.json"]


def test_what_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        replace_private(tmp_path / "nowhere" / "keys.json", b"new")


def test_one_changes_a_file_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_text("0")

    def count() -> None:
        for _ in range(20):
            with exclusive(path):
                replace_private(path, str(int(path.read_text()) + 1).encode())

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "80"


def test_who_has_the_lock_has_it_alone(tmp_path: Path) -> None:
    files = [os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2)]
    try:
        assert [try_lock(file) for file in files] == [True, False]
    finally:
        for file in files:
            os.close(file)
