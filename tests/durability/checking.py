"""Every rule of the store, held against what a server has left behind or is just writing."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from dragoman.stores.sqlite.maintenance import check_database, looking_at

__all__ = ("check_remains", "check_store")


def check_store(path: Path) -> None:
    """Assert that all is in order in a database, beside a server that may be using it."""
    with looking_at(path) as connection:
        findings = list(check_database(connection, lambda _, __: None))
    assert findings == []


def check_remains(path: Path) -> None:
    """Assert the same of what a crash has left, on a copy: the next start finds it untouched."""
    with TemporaryDirectory() as folder:
        for file in path.parent.glob(f"{path.name}*"):
            # What is in shared memory is made anew, as after a power cut.
            if not file.name.endswith(("-shm", ".lock")):
                shutil.copy(file, folder)
        check_store(Path(folder, path.name))
