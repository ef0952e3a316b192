import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Self, cast

import pytest
import uvicorn
import uvloop
from uvicorn.server import ServerState

from dragoman.net.asgi import ABORT, REPLY, ASGIApp, Receive, Scope, Send
from dragoman.net.http1.server import Http1Protocol
from dragoman.net.http2.protocol.frames import PREFACE
from dragoman.net.limits import ConnectionLimits
from dragoman.net.port import Server, speaking_both

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
        http=cast("type[asyncio.Protocol]", partial(Http1Protocol, limits=ConnectionLimits())),
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
        self._protocol = Http1Protocol(config(app), self._state, {}, limits=ConnectionLimits())
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


# --- its first bytes --------------------------------------------------------------------------


class Taken(asyncio.Protocol):
    """A connection that was handed over."""

    def __init__(self, on_lost: Callable[[], object]) -> None:
        self._on_lost = on_lost
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self.received += data

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._on_lost()

    def shutdown(self) -> None:
        self.transport.close()


class TakingBackend:
    """Takes connections and does nothing with them; or takes none."""

    def __init__(self) -> None:
        self.taken: asyncio.Queue[Taken] = asyncio.Queue()
        self.is_closed = False

    def accept(self, on_lost: Callable[[], object]) -> Taken | None:
        if self.is_closed:
            return None
        taken = Taken(on_lost)
        self.taken.put_nowait(taken)
        return taken


class Listening:
    """Listens on a port, and hands HTTP/2 to ``backend``."""

    def __init__(self, keep_alive_seconds: float = 5) -> None:
        self.backend = TakingBackend()
        self._state = ServerState()
        self._config = config(no_content)
        self._limits = ConnectionLimits(keep_alive_seconds=keep_alive_seconds)

    @property
    def connections(self) -> int:
        """Count the connections that uvicorn would end."""
        return len(self._state.connections)

    async def __aenter__(self) -> Self:
        accept = speaking_both(self.backend, self._limits)
        self._server = await asyncio.get_running_loop().create_server(
            lambda: accept(self._config, self._state, {}),  # type: ignore[call-arg] - as uvicorn calls it
            "127.0.0.1",
            0,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.shut_down()
        await self._server.wait_closed()

    def shut_down(self) -> None:
        """End every connection as uvicorn does."""
        for connection in tuple(self._state.connections):
            connection.shutdown()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return a new connection."""
        return await asyncio.open_connection(*self._server.sockets[0].getsockname())


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


@pytest.mark.parametrize(
    "pieces",
    [
        # At once, with what follows; byte by byte; cut in the middle.
        [PREFACE + b"settings"],
        [PREFACE[i : i + 1] for i in range(len(PREFACE))],
        [PREFACE[:10], PREFACE[10:] + b"settings"],
    ],
)
async def test_http_2_is_told_by_its_preface_however_that_comes(pieces: list[bytes]) -> None:
    async with Listening() as listening:
        _, writer = await listening.connect()
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001)
        taken = await listening.backend.taken.get()
        await asyncio.sleep(0)
        assert taken.received == b"".join(pieces)
        assert listening.connections == 1
        taken.transport.abort()
        await asyncio.sleep(0.001)
        assert listening.connections == 0
        await hang_up(writer)


async def test_http_2_is_cut_where_nobody_serves_it() -> None:
    async with Listening() as listening:
        listening.backend.is_closed = True
        reader, writer = await listening.connect()
        writer.write(PREFACE)
        with suppress(ConnectionError):
            assert await reader.read() == b""
        assert listening.connections == 0
        await hang_up(writer)


@pytest.mark.parametrize(
    ("pieces", "status"),
    [
        ([REQUEST], b"204"),
        ([REQUEST[:1], REQUEST[1:]], b"204"),
        # Methods that begin like the preface.
        ([b"P", b"OST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"], b"204"),
        ([b"PR", b"OPFIND / HTTP/1.1\r\nHost: x\r\n\r\n"], b"204"),
        # What is neither.
        ([PREFACE[:-2] + b"xx"], b"400"),
        ([b"\x16\x03\x01\x02\x00\x01"], b"400"),
    ],
)
async def test_everything_else_is_http_1(pieces: list[bytes], status: bytes) -> None:
    async with Listening() as listening:
        reader, writer = await listening.connect()
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.005)
        assert (await reader.readuntil(b"\r\n")).split()[1] == status
        assert listening.backend.taken.empty()
        await hang_up(writer)


async def test_a_connection_of_http_1_stays_one() -> None:
    async with Listening() as listening:
        reader, writer = await listening.connect()
        for _ in range(2):
            writer.write(REQUEST)
            assert await reader.readuntil(b"\r\n\r\n")
        writer.write(PREFACE)
        assert b" 400 " in await reader.readuntil(b"\r\n")
        assert listening.backend.taken.empty()
        await hang_up(writer)


@pytest.mark.parametrize("said", [b"", b"PRI * HTTP/2.0\r\n"])
async def test_a_connection_that_does_not_say_what_it_speaks_is_cut(said: bytes) -> None:
    async with Listening(keep_alive_seconds=0) as listening:
        reader, writer = await listening.connect()
        writer.write(said)
        with suppress(ConnectionError):
            assert await reader.read() == b""
        assert listening.connections == 0
        await hang_up(writer)


async def test_a_connection_that_ends_before_it_says_anything_is_forgotten() -> None:
    async with Listening() as listening:
        reader, writer = await listening.connect()
        writer.write_eof()
        assert await reader.read() == b""
        assert listening.connections == 0
        await hang_up(writer)


async def test_a_connection_that_has_said_nothing_does_not_hold_up_the_stop() -> None:
    async with Listening() as listening:
        reader, writer = await listening.connect()
        writer.write(b"P")
        while not listening.connections:  # noqa: ASYNC110 - nothing tells of an accepted connection
            await asyncio.sleep(0.001)
        listening.shut_down()
        # Its byte may have been read or not; if not, the connection is reset.
        with suppress(ConnectionError):
            assert await reader.read() == b""
        await hang_up(writer)


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


def test_what_has_come_while_the_loop_was_busy_is_read_before_patience_ends() -> None:
    async def scenario() -> bytes:
        async with Listening(keep_alive_seconds=0.05) as listening:
            reader, writer = await listening.connect()
            while not listening.connections:  # noqa: ASYNC110 - nothing tells of an accepted connection
                await asyncio.sleep(0)
            loop = asyncio.get_running_loop()
            waking, waiting = socket.socketpair()

            def block() -> None:
                """Do what code does that reads something, and then takes its time."""
                loop.remove_reader(waiting)
                writer.write(REQUEST)
                time.sleep(0.2)

            with waking, waiting:
                loop.add_reader(waiting, block)
                waking.send(b"x")
                answer = await reader.read(12)
            await hang_up(writer)
            return answer

    # This loop looks at its timers before it looks again who has something to read.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as supervisor:
        assert supervisor.run(scenario()) == b"HTTP/1.1 204"
