import asyncio
import select
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import cast

import pytest

from dragoman.client.errors import CutError, ProtocolError, TimedOutError
from dragoman.net.http1.client_connection import Http1Connection
from tests.support.net.http1_errors import ERRORS

REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SHORT = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Server = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def answering(*pieces: bytes, is_ended: bool = False) -> Server:
    """Answer each request with pieces that come one after the other."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
            if is_ended:
                return

    return serve


@asynccontextmanager
async def connected(serve: Server) -> AsyncGenerator[Http1Connection]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                await serve(reader, writer)
        finally:
            writer.transport.abort()

    async with asyncio.TaskGroup() as group:
        handlers: list[asyncio.Task[None]] = []

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            handlers.append(group.create_task(handle(reader, writer)))

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: Http1Connection("a", ERRORS), host, port
        )
        try:
            yield connection
        finally:
            connection.abort()
            await connection.closed
            server.close()
            for handler in handlers:
                handler.cancel()


def stop_reading(writer: asyncio.StreamWriter) -> None:
    cast("asyncio.Transport", writer.transport).pause_reading()


async def ask(connection: Http1Connection, request: bytes = REQUEST) -> bytes:
    await connection.send(request, 5)
    await connection.head(5)
    return await rest(connection)


async def rest(connection: Http1Connection) -> bytes:
    body = b""
    while data := await connection.read(5):
        body += data
    return body


async def test_an_answer_is_read_and_the_connection_used_again() -> None:
    async with connected(answering(SHORT)) as connection:
        for _ in range(3):
            assert await ask(connection) == b"ok"
            assert connection.status == 200
            assert connection.is_reusable
            assert connection.is_waiting
        connection.close()
        await connection.closed
        assert not connection.is_waiting


@pytest.mark.parametrize("has_poll", [True, False])
async def test_a_peer_that_hangs_up_after_its_answer_is_noticed_before_the_next_request(
    monkeypatch: pytest.MonkeyPatch, *, has_poll: bool
) -> None:
    if not has_poll:
        monkeypatch.delattr(select, "poll")
    async with connected(answering(SHORT, is_ended=True)) as connection:
        assert await ask(connection) == b"ok"
        deadline = time.monotonic() + 10
        while connection.is_waiting:
            assert time.monotonic() < deadline
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("pieces", "body"),
    [
        ((b"HTTP/1.1 200 OK\r\nContent-", b"Length: 4\r\n\r\nto", b"be"), b"tobe"),
        ((CHUNKED + b"2\r\nto\r\n", b"2\r\nbe\r\n0\r\n\r\n"), b"tobe"),
        ((b"HTTP/1.1 204 No Content\r\n\r\n",), b""),
        ((b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n",), b""),
        # RFC 9110, 15.2: what only says that an answer will come.
        ((b"HTTP/1.1 100 Continue\r\nX-A: 1\r\n\r\n", SHORT), b"ok"),
        ((b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + SHORT,), b"ok"),
    ],
)
async def test_bodies_come_in_every_frame(pieces: tuple[bytes, ...], body: bytes) -> None:
    async with connected(answering(*pieces)) as connection:
        assert await ask(connection) == body
        assert connection.is_reusable
        assert "link" not in connection.headers
        assert "x-a" not in connection.headers


async def test_headers_go_by_names_in_lower_case_and_repeated_ones_are_joined() -> None:
    head = b"HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nETag: \xfc\r\nContent-Length: 0\r\n\r\n"
    async with connected(answering(head)) as connection:
        await ask(connection)
        assert connection.headers == {"x-a": "1, 2", "etag": "ü", "content-length": "0"}


async def test_trailers_are_no_headers() -> None:
    wire = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Late: 1\r\n\r\n"
    async with connected(answering(wire)) as connection:
        await ask(connection)
        assert "x-late" not in connection.headers


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    wire = b"HTTP/1.1 200 OK\r\n\r\nto be"
    async with connected(answering(wire, is_ended=True)) as connection:
        assert await ask(connection) == b"to be"
        assert not connection.is_reusable


@pytest.mark.parametrize(
    "wire",
    [
        b"",
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nto",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nto\r\n",
    ],
)
async def test_what_ends_too_soon_was_cut(wire: bytes) -> None:
    async with connected(answering(wire, is_ended=True)) as connection:
        with pytest.raises(CutError, match="hung up"):
            await ask(connection)
        assert not connection.is_reusable


@pytest.mark.parametrize(
    "wire",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        # RFC 9112, 6.3: two lengths are an attack.
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-A: " + b"x" * 300_000,
    ],
)
async def test_what_is_no_answer_is_told(wire: bytes) -> None:
    async with connected(answering(wire)) as connection:
        with pytest.raises(ProtocolError):
            await ask(connection)
        assert not connection.is_reusable


@pytest.mark.parametrize(
    "wire",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        # The second would be taken for the answer to the next request.
        SHORT + SHORT,
    ],
)
async def test_a_connection_that_cannot_be_trusted_is_not_used_again(wire: bytes) -> None:
    async with connected(answering(wire)) as connection:
        assert await ask(connection) == b"ok"
        assert not connection.is_reusable


async def test_who_speaks_without_being_asked_is_cut_off() -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(SHORT)
        await writer.drain()
        await asyncio.Event().wait()

    async with connected(serve) as connection:
        await asyncio.wait_for(asyncio.shield(connection.closed), 5)
        await connection.send(REQUEST, 5)
        with pytest.raises(CutError):
            await connection.head(5)


async def test_who_does_not_answer_is_not_waited_for() -> None:
    async with connected(answering()) as connection:
        await connection.send(REQUEST, 5)
        with pytest.raises(TimedOutError):
            await connection.head(0.01)


async def test_who_stops_in_the_middle_is_not_waited_for() -> None:
    wire = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nto"
    async with connected(answering(wire)) as connection:
        await connection.send(REQUEST, 5)
        await connection.head(5)
        assert await connection.read(5) == b"to"
        with pytest.raises(TimedOutError):
            await connection.read(0.01)


async def test_who_does_not_listen_is_not_waited_for() -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stop_reading(writer)
        await asyncio.Event().wait()

    async with connected(serve) as connection:
        with pytest.raises(TimedOutError):
            await connection.send(b"x" * 64_000_000, 0.05)


async def test_an_answer_may_come_before_all_was_sent() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        await writer.drain()
        stop_reading(writer)
        await asyncio.Event().wait()

    async with connected(serve) as connection:
        assert await ask(connection, REQUEST + b"x" * 64_000_000) == b"no"
        assert connection.status == 413


async def test_a_large_body_is_not_taken_in_before_it_is_read() -> None:
    size = 32_000_000
    sent = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        while sent < size:
            writer.write(b"x" * 64_000)
            await writer.drain()
            sent += 64_000

    async with connected(serve) as connection:
        await connection.send(REQUEST, 5)
        await connection.head(5)
        before = -1
        while before != sent:  # until the server is held up
            before = sent
            await asyncio.sleep(0.1)
        assert sent < size
        assert not connection.is_reusable
        assert len(await rest(connection)) == size
        assert connection.is_reusable
