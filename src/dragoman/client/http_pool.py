"""HttpPool: connections over HTTP, and honest names for what goes wrong with them."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import httpx2

from dragoman.auth.origins import origin_of
from dragoman.client.errors import CutError, ProtocolError, TimedOutError, UnreachableError
from dragoman.client.tls import Tls
from dragoman.errors import UsageError

__all__ = ("CONNECT_SECONDS", "HttpPool", "read_body")

CONNECT_SECONDS: Final = 10.0
"""A machine that is up answers in well under a second, from anywhere."""

_WRITE_SECONDS: Final = 60.0
"""A peer that takes no byte for so long has stopped reading."""

_NO_TLS: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts nobody; for connections that are made without TLS."""

_LIMITS: Final = httpx2.Limits(
    # A stream holds its connection for as long as it lasts.
    max_connections=None,
    max_keepalive_connections=20,
    # Common servers close an idle connection after 5 seconds. Who is earlier is never caught
    # sending a request into a connection that is being closed.
    keepalive_expiry=4.0,
)


class HttpPool:
    """Connections to any number of origins, kept open between requests.

    Args:
        http: a client of the user's own to use instead; it is not closed here.
    """

    def __init__(self, tls: Tls, http: httpx2.AsyncClient | None = None) -> None:
        self._tls = tls
        self._given = http
        self._clients: dict[str, httpx2.AsyncClient] = {}

    @asynccontextmanager
    async def exchange(
        self,
        verb: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
        read_seconds: float,
    ) -> AsyncGenerator[httpx2.Response]:
        """Send a request; the body of the answer is read inside. Redirects are not followed.

        Raises:
            ClientError: no answer could be had, or not all of it.
            UsageError: the address or a header cannot be sent at all.
        """
        timeout = httpx2.Timeout(
            connect=CONNECT_SECONDS, read=read_seconds, write=_WRITE_SECONDS, pool=None
        )
        with _told_honestly(origin_of(url)):
            client = self._client(url)
            request = client.build_request(
                verb, url, headers=dict(headers), content=body or None, timeout=timeout
            )
            response = await client.send(request, stream=True, follow_redirects=False)
            try:
                yield response
            finally:
                await response.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    def _client(self, url: str) -> httpx2.AsyncClient:
        if self._given is not None:
            return self._given
        scheme = "https" if url.startswith("https:") else "http"
        client = self._clients.get(scheme)
        if client is None:
            # Loading the certificates of all authorities takes longer than a call.
            verify = (
                self._tls.http() if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            )
            client = httpx2.AsyncClient(verify=verify, limits=_LIMITS)
            self._clients[scheme] = client
        return client


async def read_body(response: httpx2.Response, limit: int) -> bytes:
    """Read the body of an answer.

    Raises:
        ProtocolError: it is larger than ``limit`` bytes.
    """
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > limit:
            origin = origin_of(str(response.url))
            raise ProtocolError(origin, f"the answer has more than {limit} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


@contextmanager
def _told_honestly(address: str) -> Generator[None]:
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
