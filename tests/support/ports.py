"""Ports for servers that go away and come back to the same one."""

from __future__ import annotations

import socket
from random import SystemRandom
from typing import Final

__all__ = ("steady_port",)

_RANGE: Final = range(15_000, 32_000)
"""Below what systems give to connections of clients, which take any port that is free just then,
also that of a server which is being restarted."""


def steady_port() -> int:
    """Return a port nobody listens on, and that no client is given while its server is away."""
    chance = SystemRandom()
    for _ in range(1000):
        port = chance.choice(_RANGE)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")
