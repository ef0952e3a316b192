"""AsgiTransport: HTTP without a network, from a client of httpx2 to an ASGI application.

The transport of httpx2 hands out an answer when it is complete. Here a stream streams: each piece
of it can be read before the application goes on to the next, and who stops reading is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from typing import Any, Final

import httpx2

from dragoman.net.asgi import ASGIApp, Scope
from dragoman.server.tasks.background import BackgroundTasks

__all__ = ("AsgiTransport",)

_UNREAD_PIECES: Final = 1
"""How far an application may run ahead of its reader; over a network that is what buffers hold."""

_PEER: Final = ("127.0.0.1", 1)
"""Who calls: somebody on this machine, which is whom an agent serves that knows nobody."""


class AsgiTransport(httpx2.AsyncBaseTransport):
    """Answers the requests of an ``httpx2.AsyncClient`` by an ASGI application.

    What the application raises is raised to who asked. Starting and stopping the application
    (ASGI's lifespan) is not done here.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Call an application; each request is a task of its own on the running loop."""
        self._app = app
        self._background = BackgroundTasks()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return the answer as soon as its head is there."""
        answer = _Answer(await request.aread())
        work = answer.produce(self._app, _scope_of(request))
        self._background.spawn(work, name=f"{request.method} {request.url.path}")
        try:
            status, headers = await answer.head
        except BaseException:
            await answer.aclose()
            raise
        return httpx2.Response(status, headers=headers, stream=answer)

    async def aclose(self) -> None:
        """End the requests that are still being answered."""
        await self._background.close()


class _Answer(httpx2.AsyncByteStream):
    """One answer: the application writes it, the client reads it."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._pieces: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(_UNREAD_PIECES)
        self._is_left = asyncio.Event()
        self._is_complete = False
        self.head: asyncio.Future[tuple[int, list[tuple[bytes, bytes]]]] = (
            asyncio.get_running_loop().create_future()
        )

    async def produce(self, app: ASGIApp, scope: Scope) -> None:
        """Have the application answer; what it raises, or leaves out, is told the reader."""
        try:
            await app(scope, self._receive, self._send)
        except Exception as problem:  # noqa: BLE001 - it is the reader's to raise
            await self._fail(problem)
        else:
            if not self._is_complete:
                await self._fail(httpx2.RemoteProtocolError("the answer was not completed"))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (piece := await self._pieces.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    async def aclose(self) -> None:
        """Leave: the application is told that nobody listens."""
        self._is_left.set()
        while not self._pieces.empty():
            self._pieces.get_nowait()

    async def _receive(self) -> MutableMapping[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._is_left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            if not self.head.done():
                self.head.set_result((message["status"], list(message.get("headers", ()))))
            return
        if body := message.get("body", b""):
            await self._put(body)
        if not message.get("more_body", False):
            self._is_complete = True
            await self._put(None)

    async def _fail(self, problem: Exception) -> None:
        if self.head.done():
            await self._put(problem)
        else:
            self.head.set_exception(problem)

    async def _put(self, piece: bytes | Exception | None) -> None:
        if not self._is_left.is_set():
            await self._pieces.put(piece)


def _scope_of(request: httpx2.Request) -> Scope:
    url = request.url
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": url.scheme,
        "path": url.path,
        "raw_path": url.raw_path.partition(b"?")[0],
        "query_string": url.query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "client": _PEER,
        "server": (url.host, url.port),
    }
