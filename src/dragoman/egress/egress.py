"""Egress: the way out to addresses that somebody else has named.

It is a transport of httpx2, because that is what fetches cards, keys and tokens: a client that is
given this transport keeps these rules, whatever it is told to follow. Webhooks use ``ask``, which
has neither cookies nor redirects.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import aclosing, contextmanager
from types import TracebackType
from typing import Final, Self

import httpcore2
import httpx2
from msgspec import Struct

from dragoman.egress.connecting import PinnedBackend
from dragoman.egress.errors import NoAnswerError
from dragoman.egress.headers import encode_headers
from dragoman.egress.policy import EgressPolicy
from dragoman.egress.resolving import Resolver, SystemResolver
from dragoman.egress.urls import read_url

__all__ = ("Answer", "Egress")

_KEPT: Final = 20
_KEPT_SECONDS: Final = 4.0
"""Common servers close an idle connection after 5 seconds. Who is earlier is never caught sending
a request into a connection that is being closed."""

_ERRORS: Final[Mapping[type[Exception], type[httpx2.TransportError]]] = {
    httpcore2.ConnectTimeout: httpx2.ConnectTimeout,
    httpcore2.ReadTimeout: httpx2.ReadTimeout,
    httpcore2.WriteTimeout: httpx2.WriteTimeout,
    httpcore2.PoolTimeout: httpx2.PoolTimeout,
    httpcore2.ConnectError: httpx2.ConnectError,
    httpcore2.ReadError: httpx2.ReadError,
    httpcore2.WriteError: httpx2.WriteError,
    httpcore2.LocalProtocolError: httpx2.LocalProtocolError,
    httpcore2.RemoteProtocolError: httpx2.RemoteProtocolError,
    httpcore2.UnsupportedProtocol: httpx2.UnsupportedProtocol,
}


class Answer(Struct, frozen=True, kw_only=True):
    """What an address has answered.

    Attributes:
        headers: by name in lower case.
        body: its beginning, as it came on the wire.
        is_whole: the body has ended within the bounds of bytes and of time.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_whole: bool


class Egress(httpx2.AsyncBaseTransport):
    """Calls what a policy allows, at addresses that were checked, and nothing else.

    Every request has its URL checked; every connection is made to an address that was checked for
    it. Environment and proxies have no say.

    Args:
        context: whom to trust by TLS; the authorities of this machine if it is None.
        max_connections: at the same time; who comes then has to wait.
    """

    def __init__(
        self,
        policy: EgressPolicy | None = None,
        *,
        resolver: Resolver | None = None,
        context: ssl.SSLContext | None = None,
        max_connections: int = 100,
    ) -> None:
        self.policy: Final = policy or EgressPolicy()
        self._own_resolver: SystemResolver | None = None
        if resolver is None:
            resolver = self._own_resolver = SystemResolver()
        self._backend = PinnedBackend(self.policy, resolver)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context or httpx2.create_ssl_context(trust_env=False),
            max_connections=max_connections,
            max_keepalive_connections=_KEPT,
            keepalive_expiry=_KEPT_SECONDS,
            network_backend=self._backend,
        )

    async def check(self, url: str) -> None:
        """Check a URL and all addresses of its host, as they are now; nothing is sent.

        Raises:
            DestinationRefusedError: it must not be called.
            NoAnswerError: its host has no address, or it cannot be found out now.
        """
        place = read_url(url, self.policy)
        try:
            async with asyncio.timeout(self.policy.connect_seconds):
                await self._backend.addresses_of(place.host, place.port)
        except OSError as problem:  # TimeoutError is one.
            raise NoAnswerError(place.host, str(problem) or "its name is not resolved") from problem

    async def ask(
        self, verb: str, url: str, *, headers: Mapping[str, str], body: bytes = b""
    ) -> Answer:
        """Send one request, and return its answer; a redirect is an answer like any other.

        Once there is a status, the rest of the answer is taken as far as it comes within bounds.

        Raises:
            DestinationRefusedError: it must not be called; nothing was sent.
            NoAnswerError: no status came.
            UsageError: a header cannot be sent; nothing was.
        """
        place = read_url(url, self.policy)
        # Nobody here unpacks an answer.
        sent = [*encode_headers(headers), (b"Accept-Encoding", b"identity")]
        request = httpx2.Request(verb, place.url, headers=sent, content=body or None)
        request.extensions["timeout"] = {"connect": self.policy.connect_seconds}
        try:
            async with asyncio.timeout(self.policy.total_seconds) as deadline:
                answer = await self._send(request)
        except (*_ERRORS, TimeoutError) as problem:
            raise NoAnswerError(place.host, _finding(problem)) from problem
        taken = bytearray()
        try:
            async with asyncio.timeout_at(deadline.when()):
                is_whole = await _take(answer, taken, self.policy.max_answer_bytes)
        except (*_ERRORS, TimeoutError):
            is_whole = False
        finally:
            await answer.aclose()
        return Answer(
            status=answer.status,
            headers=dict(httpx2.Headers(answer.headers)),
            body=bytes(taken),
            is_whole=is_whole,
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Serve a client of httpx2.

        Raises:
            DestinationRefusedError: the rules forbid it; nothing was sent.
            TransportError: those of httpx2.
        """
        with _as_httpx2():
            answer = await self._send(request)
        return httpx2.Response(
            answer.status,
            headers=answer.headers,
            stream=_Body(answer),
        )

    async def _send(self, request: httpx2.Request) -> httpcore2.Response:
        """Send a request; what httpx2 has made of its URL is checked, whatever was before."""
        url = request.url
        read_url(str(url), self.policy)
        return await self._pool.handle_async_request(
            httpcore2.Request(
                request.method,
                httpcore2.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._pool.aclose()
        if self._own_resolver is not None:
            self._own_resolver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self.aclose()


class _Body(httpx2.AsyncByteStream):
    """The body of an answer, for httpx2."""

    def __init__(self, answer: httpcore2.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_httpx2():
            async with aclosing(self._answer.aiter_stream()) as pieces:
                async for piece in pieces:
                    yield piece

    async def aclose(self) -> None:
        """Give up the rest."""
        await self._answer.aclose()


@contextmanager
def _as_httpx2() -> Generator[None]:
    """Raise the errors of httpcore2 as those of httpx2, which have the same names."""
    try:
        yield
    except tuple(_ERRORS) as problem:
        raise _ERRORS[type(problem)](str(problem)) from problem


def _finding(problem: Exception) -> str:
    """Tell what has happened; most errors of the network below have no words of their own."""
    if isinstance(problem, TimeoutError | httpcore2.TimeoutException):
        return "it takes too long"
    return str(problem) or "the connection was lost"


async def _take(answer: httpcore2.Response, taken: bytearray, most: int) -> bool:
    """Read a body as far as there is room; tell whether that is all of it."""
    async with aclosing(answer.aiter_stream()) as pieces:
        async for piece in pieces:
            if len(taken) + len(piece) > most:
                taken += piece[: most - len(taken)]
                return False
            taken += piece
    return True
