"""The PostgreSQL that servers of a run share, with everything on that makes it keep its word.

It stands for a machine of its own: its CPU time is told apart from that of the servers, and with
two cores it gets that of the load generator, which leaves most of it free.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.postgres import PostgresServer

__all__ = ("Database",)

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Database:
    """One PostgreSQL server, and a fresh database in it for whoever asks."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="dragoman-bench-"))
        self._server = PostgresServer(self._folder, is_durable=True)
        self._server.start()

    def create(self, name: str) -> str:
        """Return the address of a new database."""
        return self._server.create_database(name)

    def processes(self) -> Iterator[int]:
        """Yield the ids of its processes, the one that starts the others first."""
        yield self._server.pid
        yield from (pid for pid, parent in _parents() if parent == self._server.pid)

    def cpu_seconds(self) -> float:
        """Return the CPU time that all of its processes have used, also those that have ended."""
        first = _fields(self._server.pid)
        # Its own, and what it has inherited from those that ended.
        ticks = sum(int(field) for field in first[11:15])
        for pid, parent in _parents():
            if parent == self._server.pid:
                fields = _fields(pid)
                ticks += sum(int(field) for field in fields[11:13])
        return ticks / _TICKS_PER_SECOND

    def stop(self) -> None:
        """End it and remove what it kept."""
        self._server.stop(immediately=True)
        shutil.rmtree(self._folder, ignore_errors=True)


def _parents() -> Iterator[tuple[int, int]]:
    """Yield every process with its parent."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            fields = _fields(int(folder.name))
            if fields:
                yield int(folder.name), int(fields[1])


def _fields(pid: int) -> list[str]:
    """Return what the kernel says of a process, from its state on; nothing if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    return stat[stat.rindex(")") + 2 :].split()
