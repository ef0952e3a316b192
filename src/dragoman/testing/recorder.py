"""The recorder: a client of HTTP that writes down in a Wire what it sends and receives."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import httpx2
import msgspec

from dragoman.auth.shared.redaction import redacted_headers, redacted_url
from dragoman.bindings.sse import Parser
from dragoman.testing.wire import Exchange, Frame, Request, Response, Wire

__all__ = ("RecordingTransport", "recording")

_STREAM: Final = "text/event-stream"


@asynccontextmanager
async def recording(wire: Wire) -> AsyncGenerator[httpx2.AsyncClient]:
    """Give a client for ``connect`` that records what is said to a real agent over HTTP.

    Used as ``async with recording(wire) as http, connect(url, http=http) as agent:``.
    """
    transport = RecordingTransport(httpx2.AsyncHTTPTransport(), wire)
    async with httpx2.AsyncClient(transport=transport) as client:
        yield client


class RecordingTransport(httpx2.AsyncBaseTransport):
    """Passes requests on, and writes them down with what comes back."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, wire: Wire) -> None:
        """Write to a wire; the inner transport is closed with this one."""
        self._inner = inner
        self._wire = wire

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Pass a request on; it is on the wire whatever becomes of it."""
        exchange = Exchange(
            request=Request(
                method=request.method,
                path=redacted_url(request.url.raw_path.decode()),
                headers=_shown(request.headers),
                body=_decoded(await request.aread()),
            )
        )
        self._wire.exchanges.append(exchange)
        response = await self._inner.handle_async_request(request)
        answer = Response(status=response.status_code, headers=_shown(response.headers))
        exchange.response = answer
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - of an async transport
        is_stream = response.headers.get("content-type", "").startswith(_STREAM)
        recorded = _Frames if is_stream else _Body
        response.stream = recorded(response.stream, answer, response.headers)
        return response

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


class _Body(httpx2.AsyncByteStream):
    """A body that is written down when all of it was read."""

    def __init__(
        self, inner: httpx2.AsyncByteStream, answer: Response, headers: httpx2.Headers
    ) -> None:
        self._inner = inner
        self._answer = answer
        self._headers = headers

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks: list[bytes] = []
        async for chunk in self._inner:
            chunks.append(chunk)
            yield chunk
        # It came as it was sent, perhaps compressed; a whole response knows how to read it.
        whole = httpx2.Response(
            self._answer.status, headers=self._headers, content=b"".join(chunks)
        )
        self._answer.body = _decoded(whole.content)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Frames(_Body):
    """A stream whose frames are written down as they come."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parser = Parser()
        async for chunk in self._inner:
            for event in parser.feed(chunk):
                frame = Frame(id=event.id, event=event.event, data=_decoded(event.data))
                self._answer.frames.append(frame)
            yield chunk


def _shown(headers: httpx2.Headers) -> dict[str, str]:
    return redacted_headers({name.lower(): value for name, value in headers.items()})


def _decoded(body: bytes) -> object:
    """Return the JSON of a body, or its text if it is none; None if it is empty."""
    if not body:
        return None
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body.decode("utf-8", "replace")
