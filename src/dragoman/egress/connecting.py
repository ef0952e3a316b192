"""PinnedBackend: connections to addresses that were checked, and to no others.

The check is made where the connection is: between them there is nothing that could look the name up
again. TLS and HTTP above still speak to the name, so that SNI, certificate and ``Host`` are right.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import ip_address
from typing import Final, cast

import httpcore2

from dragoman.egress.networks import Address
from dragoman.egress.policy import EgressPolicy
from dragoman.egress.resolving import Resolver

__all__ = ("PinnedBackend",)

_MOST_TRIED: Final = 3
"""Of the addresses of a host. All are checked; where these do not answer, others seldom do."""


class PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections for a pool of httpcore2."""

    def __init__(self, policy: EgressPolicy, resolver: Resolver) -> None:
        self._policy = policy
        self._resolver = resolver
        self._inner = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

    async def addresses_of(self, host: str, port: int) -> tuple[Address, ...]:
        """Return the addresses of a host; every one of them may be called.

        One that may not spoils all: a name that leads inside at times is not to be trusted at
        others.

        Raises:
            DestinationRefusedError: one of them must not be called.
            OSError: there is none, or it cannot be found out now.
        """
        literal = _literal(host)
        found = (literal,) if literal is not None else await self._resolver.resolve(host)
        for address in found:
            self._policy.check_address(host, port, address)
        if not found:
            raise OSError("the name has no address")
        return found

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is httpcore2's
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to a host, at an address that was checked.

        Raises:
            DestinationRefusedError: it must not be called; no connection was tried.
            ConnectError, ConnectTimeout: those of httpcore2.
        """
        seconds = self._policy.connect_seconds if timeout is None else timeout
        try:
            async with asyncio.timeout(seconds) as deadline:
                addresses = await self.addresses_of(host, port)
                end = deadline.when() or 0.0
                return await self._first_of(addresses[:_MOST_TRIED], port, end, socket_options)
        except TimeoutError:
            raise httpcore2.ConnectTimeout("connecting takes too long") from None
        except OSError as problem:
            raise httpcore2.ConnectError(str(problem) or type(problem).__name__) from problem

    async def _first_of(
        self,
        addresses: tuple[Address, ...],
        port: int,
        end: float,
        options: Iterable[httpcore2.SOCKET_OPTION] | None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address that answers; each gets its share of the time."""
        loop = asyncio.get_running_loop()
        *others, last = map(str, addresses)
        # An address is not resolved: what is called is what was checked.
        for number, address in enumerate(others):
            share = (end - loop.time()) / (len(addresses) - number)
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return await self._inner.connect_tcp(
                    address, port, timeout=share, socket_options=options
                )
        return await self._inner.connect_tcp(last, port, socket_options=options)


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
