"""A connection of HTTP/1.1 made of bytes, with a transport and a time in the hands of a test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, MutableMapping
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from dragoman.net.asgi import REPLY, ASGIApp, Receive, Scope, Send
from dragoman.net.http1.server import Http1Protocol
from dragoman.net.http1.watch import WatchedProtocol
from dragoman.net.limits import ConnectionLimits

__all__ = (
    "DATE",
    "GET",
    "KEEP_ALIVE_SECONDS",
    "Connection",
    "FakeLoop",
    "FakeTimer",
    "FakeTransport",
    "answering",
    "asking",
    "whole",
)

DATE = b"Mon, 16 Nov 2026 01:51:16 GMT"
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

# How long a connection may idle, by default.
KEEP_ALIVE_SECONDS = 5.0


class FakeTransport(asyncio.Transport):
    """A connection that keeps each write, and knows whether it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.is_paused = False
        self.is_closed = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("127.0.0.1", 5000), "sockname": ("127.0.0.1", 80)}.get(name, default)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False


class FakeTimer:
    """A timer that says whether it was canceled."""

    def __init__(self, at: float, callback: Callable[[], None]) -> None:
        self.at = at
        self.callback = callback
        self.is_canceled = False

    def cancel(self) -> None:
        self.is_canceled = True


class FakeLoop:
    """What a protocol needs of its loop, with a time that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[FakeTimer] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], None]) -> FakeTimer:
        self.timers.append(FakeTimer(self.now + delay, callback))
        return self.timers[-1]

    def create_task(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work)

    def pass_time(self, seconds: float) -> None:
        """Let time pass, and run the timers that are due."""
        self.now += seconds
        due = [timer for timer in self.timers if timer.at <= self.now]
        self.timers = [timer for timer in self.timers if timer.at > self.now]
        for timer in due:
            if not timer.is_canceled:
                timer.callback()


class Connection:
    """A connection to an app, made of bytes."""

    def __init__(
        self,
        app: ASGIApp,
        protocol: type[HttpToolsProtocol] = Http1Protocol,
        *,
        access_log: bool = False,
        root_path: str = "",
        limit_concurrency: int | None = None,
        **options: Any,
    ) -> None:
        config = uvicorn.Config(
            app,  # type: ignore[arg-type] - any ASGI app will do
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=access_log,
            root_path=root_path,
            limit_concurrency=limit_concurrency,
        )
        self.transport = FakeTransport()
        self.loop = FakeLoop()
        self._state = ServerState()
        self._state.default_headers = [(b"date", DATE)]
        loop = cast("asyncio.AbstractEventLoop", self.loop)
        if issubclass(protocol, WatchedProtocol):
            options = {"limits": ConnectionLimits(), **options}
        self.protocol = protocol(config, self._state, {}, loop, **options)
        self.protocol.connection_made(self.transport)

    async def request(self, data: bytes = GET) -> bytes:
        """Send bytes, wait until all is answered that can be, and return what was written."""
        before = len(self.transport.writes)
        self.protocol.data_received(data)
        await self.settle()
        return b"".join(self.transport.writes[before:])

    async def settle(self) -> None:
        """Wait until nothing is at work that could end."""
        while self._state.tasks:
            await asyncio.gather(*self._state.tasks)


def whole(status: int = 200, body: bytes = b"{}", *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    return {"type": REPLY, "status": status, "headers": headers, "body": body}


def answering(*messages: MutableMapping[str, Any]) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        for message in messages:
            await send(message)

    return app


def asking(method: bytes, *headers: bytes, version: bytes = b"1.1") -> bytes:
    lines = (method + b" / HTTP/" + version, b"Host: localhost", *headers)
    return b"".join(line + b"\r\n" for line in (*lines, b""))
