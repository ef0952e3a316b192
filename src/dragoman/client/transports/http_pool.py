"""HttpPool: connections over HTTP, whose failures are raised as ClientErrors."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Final, Protocol
from urllib.request import getproxies

import httpx2

from dragoman.auth.outgoing.origins import origin_of
from dragoman.client.errors import CutError, ProtocolError, TimedOutError, UnreachableError
from dragoman.client.transports.tls import Tls
from dragoman.errors import UsageError
from dragoman.net.http1.client import Http1Pool
from dragoman.net.http1.client_connection import Http1Errors

__all__ = ("CONNECT_SECONDS", "HttpAnswer", "HttpPool", "read_body")

CONNECT_SECONDS: Final = 10.0
"""A machine that is up answers in well under a second, from anywhere."""

_WRITE_SECONDS: Final = 60.0
"""A peer that takes no byte for so long has stopped reading."""

_BODY_SECONDS: Final = 300.0
"""How long all of an answer may take to come: one that drips in byte by byte is never silent."""

_ENCODINGS: Final = ("gzip", "deflate")
"""Those that blow up what comes by a thousand at most, and never twice. Others know no bounds."""

_NO_TLS: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts nobody; for connections that are made without TLS."""

_ERRORS: Final = Http1Errors(
    unreachable=UnreachableError,
    cut=CutError,
    malformed=ProtocolError,
    timed_out=TimedOutError,
)

_LIMITS: Final = httpx2.Limits(
    # A stream holds its connection for as long as it lasts.
    max_connections=None,
    max_keepalive_connections=20,
    # Common servers close an idle connection after 5 seconds. Who is earlier is never caught
    # sending a request into a connection that is being closed.
    keepalive_expiry=4.0,
)


class HttpAnswer(Protocol):
    """The head of an answer, and its body as it comes."""

    @property
    def status_code(self) -> int:
        """Return the status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the headers; whoever asks for one gives its name in lower case."""
        ...

    @property
    def url(self) -> object:
        """Return the URL that has answered; its ``str`` counts."""
        ...

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Iterate over the body, unpacked. It can be done once.

        Raises:
            ClientError: the rest of it does not come. Other clients of HTTP have their own errors.
        """
        ...


class HttpPool:
    """Connections to any number of origins, kept open between requests.

    Args:
        http: a client of the user's own to use instead; it is not closed here.

    Where no proxy is in between, connections are ours (``Http1Pool``): they cost a fraction.
    """

    def __init__(self, tls: Tls, http: httpx2.AsyncClient | None = None) -> None:
        self._tls = tls
        self._given = http
        self._clients: dict[str, httpx2.AsyncClient] = {}
        self._direct = None if http or getproxies() else Http1Pool(self._context, _ERRORS)

    @asynccontextmanager
    async def exchange(
        self,
        verb: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
        read_seconds: float,
    ) -> AsyncGenerator[HttpAnswer]:
        """Send a request; the body of the answer is read inside. Redirects are not followed.

        Raises:
            ClientError: no answer could be had, or not all of it.
            UsageError: the address or a header cannot be sent at all.
        """
        if self._direct is not None:
            async with self._direct.exchange(
                verb,
                url,
                headers={"Accept-Encoding": ", ".join(_ENCODINGS), **headers},
                body=body,
                connect_seconds=CONNECT_SECONDS,
                write_seconds=_WRITE_SECONDS,
                read_seconds=read_seconds,
            ) as answer:
                _check_encoding(answer)
                yield answer
            return
        timeout = httpx2.Timeout(
            connect=CONNECT_SECONDS, read=read_seconds, write=_WRITE_SECONDS, pool=None
        )
        with _as_client_errors(origin_of(url)):
            client = self._client(url)
            request = client.build_request(
                verb,
                url,
                headers={"Accept-Encoding": ", ".join(_ENCODINGS), **headers},
                content=body or None,
                timeout=timeout,
            )
            async with _within(CONNECT_SECONDS + _WRITE_SECONDS + read_seconds, url):
                response = await client.send(request, stream=True, follow_redirects=False)
            try:
                _check_encoding(response)
                yield response
            finally:
                await response.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        if self._direct is not None:
            await self._direct.aclose()
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    def _context(self) -> ssl.SSLContext:
        return httpx2.create_ssl_context(self._tls.http())

    def _client(self, url: str) -> httpx2.AsyncClient:
        if self._given is not None:
            return self._given
        scheme = "https" if url.startswith("https:") else "http"
        client = self._clients.get(scheme)
        if client is None:
            # Loading the certificates of all authorities takes longer than a call.
            verify = self._tls.http() if scheme == "https" else _NO_TLS
            client = httpx2.AsyncClient(verify=verify, limits=_LIMITS)
            self._clients[scheme] = client
        return client


async def read_body(response: HttpAnswer, limit: int, seconds: float = _BODY_SECONDS) -> bytes:
    """Read the body of an answer.

    Raises:
        ProtocolError: it is larger than ``limit`` bytes.
        TimedOutError: it takes longer than ``seconds`` in all.
    """
    chunks: list[bytes] = []
    size = 0
    async with _within(seconds, str(response.url)):
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if size > limit:
                origin = origin_of(str(response.url))
                raise ProtocolError(origin, f"the answer has more than {limit} bytes")
            chunks.append(chunk)
    return b"".join(chunks)


def _check_encoding(response: HttpAnswer) -> None:
    """Refuse what would be unpacked without bounds."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity", *_ENCODINGS):
        finding = f"the answer is encoded as {encoding!r}, which was not asked for"
        raise ProtocolError(origin_of(str(response.url)), finding)


@asynccontextmanager
async def _within(seconds: float, url: str) -> AsyncGenerator[None]:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise TimedOutError(f"{origin_of(url)} did not answer in time") from None


@contextmanager
def _as_client_errors(address: str) -> Generator[None]:
    try:
        yield
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as problem:
        raise UnreachableError(address, _reason(problem)) from problem
    except httpx2.TimeoutException as problem:
        raise TimedOutError(f"{address} did not answer in time") from problem
    except (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, httpx2.InvalidURL) as problem:
        raise UsageError(f"a request to {address} cannot be sent: {problem}") from problem
    except httpx2.DecodingError as problem:
        raise ProtocolError(address, _reason(problem)) from problem
    except httpx2.TransportError as problem:
        raise CutError(address, _reason(problem)) from problem


def _reason(problem: Exception) -> str:
    return str(problem) or type(problem).__name__
