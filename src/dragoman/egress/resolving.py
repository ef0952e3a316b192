"""Resolving: the port that turns names into addresses, and the one of this machine."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Final, Protocol

from dragoman.egress.networks import Address

__all__ = ("Resolver", "SystemResolver")

_THREADS: Final = 8
"""A name server that keeps silent holds a thread for many seconds. These are threads of our own, so
that nothing else of the program waits for it."""


class Resolver(Protocol):
    """Finds the addresses of hosts."""

    async def resolve(self, host: str) -> tuple[Address, ...]:
        """Return all addresses of a host, the preferred one first.

        Raises:
            OSError: there is none, or it cannot be found out now.
        """
        ...


class SystemResolver:
    """The resolver of the operating system."""

    def __init__(self) -> None:
        """Start no thread before there is a name."""
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="dragoman-resolver")

    async def resolve(self, host: str) -> tuple[Address, ...]:
        """Return all addresses of a host, in the order of the operating system (RFC 6724)."""
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, _look_up, host)
        return tuple(dict.fromkeys(ip_address(each[4][0]) for each in found))

    def close(self) -> None:
        """Resolve no more; whoever still waits for a name server is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str) -> list[tuple[int, int, int, str, tuple[str, int]]]:
    try:
        return socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)  # pyright: ignore[reportReturnType] - the address is a pair, or four values for IPv6
    except UnicodeError as problem:  # A name that the codec of Python refuses.
        raise OSError(str(problem)) from None
