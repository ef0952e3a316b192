import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from dragoman.server.exchange import ABORT, REPLY, ASGIApp, Receive, Scope, Send
from dragoman.server.one_port import Protocol, Server

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class FakeTransport(asyncio.Transport):
    """A connection that keeps what is written to it, and knows how it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_aborted = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("127.0.0.1", 5000), "sockname": ("127.0.0.1", 80)}.get(name, default)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self.is_aborted

    def close(self) -> None:
        """Close once all is written, which is at once."""

    def abort(self) -> None:
        self.is_aborted = True


def config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type] - any ASGI app will do
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=5,
    )


class Connection:
    """A connection to an app, made of bytes."""

    def __init__(self, app: ASGIApp) -> None:
        self.transport = FakeTransport()
        self._state = ServerState()
        self._protocol = Protocol(config(app), self._state, {})
        self._protocol.connection_made(self.transport)

    async def request(self) -> None:
        """Make a request and wait until it is answered."""
        self._protocol.data_received(REQUEST)
        await asyncio.gather(*self._state.tasks)

    def lose(self) -> None:
        """End it, as the loop does after an abort."""
        self._protocol.connection_lost(None)


async def answer(send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


# --- a connection -----------------------------------------------------------------------------


async def test_an_application_may_cut_its_connection() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del receive, send
        scope["extensions"][ABORT]["call"]()
        connection.lose()

    connection = Connection(app)
    await connection.request()
    assert connection.transport.is_aborted
    assert connection.transport.written == b""


async def test_every_request_of_a_connection_has_that_way_out() -> None:
    offered: list[list[str]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        offered.append(list(scope["extensions"]))
        await answer(send)

    connection = Connection(app)
    await connection.request()
    await connection.request()
    assert offered == [[ABORT, REPLY], [ABORT, REPLY]]
    assert not connection.transport.is_aborted
    assert connection.transport.written.count(b"HTTP/1.1 204") == 2
    connection.lose()


async def test_one_connection_cannot_cut_another() -> None:
    ways: list[Callable[[], None]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        ways.append(scope["extensions"][ABORT]["call"])
        await answer(send)

    one, two = Connection(app), Connection(app)
    await one.request()
    await two.request()
    ways[0]()
    assert (one.transport.is_aborted, two.transport.is_aborted) == (True, False)
    one.lose()
    two.lose()


# --- the server -------------------------------------------------------------------------------


async def no_content(scope: Scope, receive: Receive, send: Send) -> None:
    del scope, receive
    await answer(send)


class Served:
    """A server on a free port of the loopback, and what it has told."""

    def __init__(self, before_stop: Callable[[], Awaitable[None]] | None = None) -> None:
        self.told: list[str] = []
        self._before_stop = before_stop
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = self._listener.getsockname()
        self.server = Server(
            config(no_content), on_started=self._started, before_stop=self._stopping
        )
        self.server.config.load()
        self.server.lifespan = self.server.config.lifespan_class(self.server.config)

    async def start(self) -> None:
        await self.server.startup([self._listener])

    async def stop(self) -> None:
        await self.server.shutdown([self._listener])
        self.told.append("stopped")

    def _started(self) -> None:
        self.told.append("started" if self.server.started else "starting")

    async def _stopping(self) -> None:
        self.told.append("stopping")
        if self._before_stop is not None:
            await self._before_stop()


async def test_a_server_tells_when_it_has_started_and_before_it_stops() -> None:
    served = Served()
    await served.start()
    assert served.told == ["started"]
    await served.stop()
    assert served.told == ["started", "stopping", "stopped"]


async def test_open_connections_are_served_until_the_application_is_ready_to_stop() -> None:
    async def still_served() -> None:
        writer.write(REQUEST)
        answers.append(await reader.readuntil(b"\r\n"))
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*served.address)

    answers: list[bytes] = []
    served = Served(still_served)
    await served.start()
    reader, writer = await asyncio.open_connection(*served.address)
    # A request, so that the connection has been taken.
    writer.write(REQUEST)
    await reader.readuntil(b"\r\n\r\n")
    await served.stop()
    assert answers == [b"HTTP/1.1 204 No Content\r\n"]
    writer.close()
    await writer.wait_closed()
