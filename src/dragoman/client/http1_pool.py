"""Http1Pool: connections of HTTP/1.1 to any number of origins, kept open between requests."""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from dragoman.client.errors import ProtocolError, UnreachableError
from dragoman.client.http1 import Http1Connection
from dragoman.client.http1_requests import Place, place_of, write_request

__all__ = ("Http1Answer", "Http1Pool")

_KEPT: Final = 20
"""So many connections are kept that nobody uses; a stream holds its own for as long as it lasts."""

_KEPT_SECONDS: Final = 4.0
"""Common servers close an idle connection after 5 seconds. Who is earlier is never caught sending
a request into a connection that is being closed."""

_EYEBALLS_SECONDS: Final = 0.25
"""RFC 8305, 5: so much later the next address of a host is tried, too."""

_UNPACKED_BYTES: Final = 64 * 1024
"""Packed bodies are unpacked in pieces of this size, so that a limit is met before memory is."""

_EITHER: Final = 32 + zlib.MAX_WBITS
"""gzip or zlib, whichever it is."""


class Http1Answer:
    """An ``HttpAnswer`` over a connection of ours; ClientErrors tell what goes wrong with it."""

    def __init__(self, connection: Http1Connection, url: str, seconds: float) -> None:
        self._connection = connection
        self._seconds = seconds
        self.url = url
        self.status_code = connection.status
        self.headers: Mapping[str, str] = connection.headers

    async def aiter_bytes(self) -> AsyncGenerator[bytes]:
        """Iterate over the body, unpacked."""
        packed = self.headers.get("content-encoding", "identity").strip().lower() != "identity"
        unpacker = zlib.decompressobj(_EITHER) if packed else None
        while data := await self._connection.read(self._seconds):
            if unpacker is None:
                yield data
                continue
            try:
                while data:
                    if piece := unpacker.decompress(data, _UNPACKED_BYTES):
                        yield piece
                    data = unpacker.unconsumed_tail
            except zlib.error as problem:
                raise ProtocolError(self.url, f"the answer cannot be unpacked: {problem}") from None


class Http1Pool:
    """Connections of HTTP/1.1.

    Args:
        context: makes the context for TLS when it is first needed.
    """

    def __init__(self, context: Callable[[], ssl.SSLContext]) -> None:
        self._make_context = context
        self._context: ssl.SSLContext | None = None
        self._idle: list[tuple[tuple[bool, str, int], Http1Connection]] = []
        self._open: set[Http1Connection] = set()

    @asynccontextmanager
    async def exchange(
        self,
        verb: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        connect_seconds: float,
        write_seconds: float,
        read_seconds: float,
    ) -> AsyncGenerator[Http1Answer]:
        """Send a request; the body of the answer is read inside.

        Raises:
            ClientError: no answer could be had, or not all of it.
            UsageError: the address or a header cannot be sent at all.
        """
        place = place_of(url)
        request = write_request(verb, place, headers, body)
        connection = self._take(place) or await self._connect(place, connect_seconds)
        try:
            await connection.send(request, write_seconds)
            await connection.head(read_seconds)
            yield Http1Answer(connection, url, read_seconds)
        finally:
            self._give_back(place, connection)

    async def aclose(self) -> None:
        """Close the connections."""
        self._idle.clear()
        for connection in self._open:
            connection.abort()
        if self._open:
            await asyncio.wait([connection.closed for connection in self._open])

    def _take(self, place: Place) -> Http1Connection | None:
        """Return a connection that nobody uses, the one that was used last."""
        now = asyncio.get_running_loop().time()
        for index in range(len(self._idle) - 1, -1, -1):
            key, connection = self._idle[index]
            if now - connection.idle_since > _KEPT_SECONDS:
                connection.close()
                del self._idle[index]
            elif key == place[:3]:
                del self._idle[index]
                if connection.is_waiting:
                    return connection
                connection.close()
        return None

    def _give_back(self, place: Place, connection: Http1Connection) -> None:
        if not connection.is_reusable:
            connection.close()
            return
        connection.idle_since = asyncio.get_running_loop().time()
        self._idle.append((place[:3], connection))
        if len(self._idle) > _KEPT:
            self._idle.pop(0)[1].close()

    async def _connect(self, place: Place, seconds: float) -> Http1Connection:
        scheme = "https" if place.is_secure else "http"
        address = f"{scheme}://{place.authority}"
        loop = asyncio.get_running_loop()
        # uvloop tries the addresses of a host one after the other.
        is_plain = isinstance(loop, asyncio.BaseEventLoop)
        hurry: dict[str, Any] = {"happy_eyeballs_delay": _EYEBALLS_SECONDS} if is_plain else {}
        try:
            async with asyncio.timeout(seconds):
                _, connection = await loop.create_connection(
                    lambda: Http1Connection(address),
                    place.host,
                    place.port,
                    ssl=self._tls() if place.is_secure else None,
                    **hurry,
                )
        except TimeoutError:
            raise UnreachableError(address, "connecting takes too long") from None
        except OSError as problem:
            raise UnreachableError(address, str(problem) or type(problem).__name__) from problem
        self._open.add(connection)
        connection.closed.add_done_callback(lambda _: self._open.discard(connection))
        return connection

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = self._make_context()
        return self._context
