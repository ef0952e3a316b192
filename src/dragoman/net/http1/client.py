"""Http1Pool: an HTTP/1.1 client. Connections to any number of origins are kept between requests."""

from __future__ import annotations

import asyncio
import re
import ssl
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

from dragoman.errors import UsageError
from dragoman.net.http1.client_connection import Http1Connection, Http1Errors

__all__ = ("Endpoint", "Http1Answer", "Http1Pool", "endpoint_of", "write_request")

_KEPT: Final = 20
"""So many connections are kept that nobody uses; a stream holds its own for as long as it lasts."""

_KEPT_SECONDS: Final = 4.0
"""Common servers close an idle connection after 5 seconds. Who is earlier is never caught sending
a request into a connection that is being closed."""

_EYEBALLS_SECONDS: Final = 0.25
"""RFC 8305, 5: so much later the next address of a host is tried, too."""

_UNPACKED_BYTES: Final = 64 * 1024
"""Packed bodies are unpacked in pieces of this size, so that a limit is met before memory is."""

_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""RFC 9110, 5.6.2: what the name of a header is made of."""

_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
"""RFC 9110, 5.5: what its value may hold; a line break would begin the next header."""

_TARGET: Final = re.compile(r"[\x21-\x7e]+")
_SAFE: Final = "!$%&'()*+,/:;=?@[]~"
_PORTS: Final = {"http": 80, "https": 443}

_EITHER: Final = 32 + zlib.MAX_WBITS
"""gzip or zlib, whichever it is."""


class Http1Answer:
    """An answer; its body is still to be read."""

    def __init__(
        self, connection: Http1Connection, url: str, seconds: float, errors: Http1Errors
    ) -> None:
        self._connection = connection
        self._errors = errors
        self._seconds = seconds
        self.url = url
        self.status_code: Final = connection.status
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
                finding = f"the answer cannot be unpacked: {problem}"
                raise self._errors.malformed(self.url, finding) from None


class Http1Pool:
    """Connections of HTTP/1.1.

    Args:
        context: makes the context for TLS when it is first needed.
        errors: the exceptions to raise when something goes wrong.
    """

    def __init__(self, context: Callable[[], ssl.SSLContext], errors: Http1Errors) -> None:
        self._errors = errors
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
            Exception: one of ``Http1Errors``: no answer could be had, or not all of it.
            UsageError: the address or a header cannot be sent at all.
        """
        endpoint = endpoint_of(url)
        request = write_request(verb, endpoint, headers, body)
        connection = self._take(endpoint) or await self._connect(endpoint, connect_seconds)
        try:
            await connection.send(request, write_seconds)
            await connection.head(read_seconds)
            yield Http1Answer(connection, url, read_seconds, self._errors)
        finally:
            self._give_back(endpoint, connection)

    async def aclose(self) -> None:
        """Close the connections."""
        self._idle.clear()
        for connection in self._open:
            connection.abort()
        if self._open:
            await asyncio.wait([connection.closed for connection in self._open])

    def _take(self, endpoint: Endpoint) -> Http1Connection | None:
        """Return a connection that nobody uses, the one that was used last."""
        now = asyncio.get_running_loop().time()
        for index in range(len(self._idle) - 1, -1, -1):
            key, connection = self._idle[index]
            if now - connection.idle_since > _KEPT_SECONDS:
                connection.close()
                del self._idle[index]
            elif key == endpoint[:3]:
                del self._idle[index]
                if connection.is_waiting:
                    return connection
                connection.close()
        return None

    def _give_back(self, endpoint: Endpoint, connection: Http1Connection) -> None:
        if not connection.is_reusable:
            connection.close()
            return
        connection.idle_since = asyncio.get_running_loop().time()
        self._idle.append((endpoint[:3], connection))
        if len(self._idle) > _KEPT:
            self._idle.pop(0)[1].close()

    async def _connect(self, endpoint: Endpoint, seconds: float) -> Http1Connection:
        scheme = "https" if endpoint.is_secure else "http"
        address = f"{scheme}://{endpoint.authority}"
        loop = asyncio.get_running_loop()
        # uvloop tries the addresses of a host one after the other.
        is_plain = isinstance(loop, asyncio.BaseEventLoop)
        hurry: dict[str, Any] = {"happy_eyeballs_delay": _EYEBALLS_SECONDS} if is_plain else {}
        try:
            async with asyncio.timeout(seconds):
                _, connection = await loop.create_connection(
                    lambda: Http1Connection(address, self._errors),
                    endpoint.host,
                    endpoint.port,
                    ssl=self._tls() if endpoint.is_secure else None,
                    **hurry,
                )
        except TimeoutError:
            raise self._errors.unreachable(address, "connecting takes too long") from None
        except OSError as problem:
            raise self._errors.unreachable(
                address, str(problem) or type(problem).__name__
            ) from problem
        self._open.add(connection)
        connection.closed.add_done_callback(lambda _: self._open.discard(connection))
        return connection

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = self._make_context()
        return self._context


# --- requests as they stand on the wire ---------------------------------------------------------


class Endpoint(NamedTuple):
    """What a URL addresses: the host to connect to, and the target to request there.

    Attributes:
        authority: what the header Host says.
    """

    is_secure: bool
    host: str
    port: int
    authority: str
    target: str


def endpoint_of(url: str) -> Endpoint:
    """Take a URL of http or https apart.

    Raises:
        UsageError: it cannot be called.
    """
    try:
        parts = urlsplit(url)
        usual = _PORTS[parts.scheme]
        port = parts.port or usual
        host = parts.hostname or ""
        if not host.isascii():
            host = host.encode("idna").decode("ascii")
    except (KeyError, ValueError):
        raise UsageError(f"{url!r} is no http or https URL") from None
    if not _TARGET.fullmatch(host):
        raise UsageError(f"{url!r} is no http or https URL")
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    if not _TARGET.fullmatch(target):
        target = quote(target, safe=_SAFE)
    shown = f"[{host}]" if ":" in host else host
    authority = shown if port == usual else f"{shown}:{port}"
    return Endpoint(parts.scheme == "https", host, port, authority, target)


def write_request(verb: str, endpoint: Endpoint, headers: Mapping[str, str], body: bytes) -> bytes:
    """Write a request.

    Raises:
        UsageError: a header cannot be sent.
    """
    lines = [f"{verb} {endpoint.target} HTTP/1.1\r\nHost: {endpoint.authority}\r\n"]
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise UsageError(f"the header {name!r} cannot be sent to {endpoint.authority}")
        lines.append(f"{name}: {value}\r\n")
    if body or verb == "POST":
        lines.append(f"Content-Length: {len(body)}\r\n")
    lines.append("\r\n")
    return "".join(lines).encode("latin-1") + body
