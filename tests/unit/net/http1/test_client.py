import asyncio
import gzip
import ssl
import zlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from dragoman.client.errors import ProtocolError, UnreachableError
from dragoman.errors import UsageError
from dragoman.net.http1 import client
from dragoman.net.http1.client import Http1Answer, Http1Pool
from tests.support.net.http1_errors import ERRORS
from tests.support.serving import free_port

LONG = b"to be or not " * 20_000


class Host:
    """A server that answers with the body it was given, and counts its connections."""

    def __init__(self) -> None:
        self.url = ""
        self.connections = 0
        self.seen: list[bytes] = []
        self.head = b""
        self.body = b"ok"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                self.seen.append(await reader.readuntil(b"\r\n\r\n"))
                length = b"Content-Length: %d\r\n" % len(self.body)
                writer.write(b"HTTP/1.1 200 OK\r\n" + length + self.head + b"\r\n" + self.body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


@pytest.fixture
async def host() -> AsyncGenerator[Host]:
    host = Host()
    server = await asyncio.start_server(host.serve, "127.0.0.1", 0)
    host.url = "http://127.0.0.1:{1}".format(*server.sockets[0].getsockname())
    yield host
    server.close()


@asynccontextmanager
async def opened() -> AsyncGenerator[Http1Pool]:
    pool = Http1Pool(ssl.create_default_context, ERRORS)
    try:
        yield pool
    finally:
        await pool.aclose()


def asked(
    pool: Http1Pool, url: str, headers: Mapping[str, str] | None = None, connect_seconds: float = 5
) -> AbstractAsyncContextManager[Http1Answer]:
    return pool.exchange(
        "GET",
        url,
        headers=headers or {},
        body=b"",
        connect_seconds=connect_seconds,
        write_seconds=5,
        read_seconds=5,
    )


async def get(pool: Http1Pool, url: str, **headers: str) -> bytes:
    async with asked(pool, url, headers) as answer:
        assert (answer.status_code, answer.url) == (200, url)
        return b"".join([piece async for piece in answer.aiter_bytes()])


async def test_connections_are_used_again(host: Host) -> None:
    async with opened() as pool:
        for _ in range(5):
            assert await get(pool, f"{host.url}/x", a="b") == b"ok"
    assert host.connections == 1
    assert host.seen[0].startswith(b"GET /x HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"a: b\r\n" in host.seen[0]


async def test_requests_at_the_same_time_have_a_connection_each(host: Host) -> None:
    async with opened() as pool:
        assert await asyncio.gather(*(get(pool, host.url) for _ in range(30))) == [b"ok"] * 30
        assert host.connections == 30
        assert await asyncio.gather(*(get(pool, host.url) for _ in range(20))) == [b"ok"] * 20
        # No more than that were kept.
        assert host.connections == 30
        await asyncio.gather(*(get(pool, host.url) for _ in range(21)))
        assert host.connections == 31


async def test_connections_are_not_used_for_another_origin(host: Host) -> None:
    other = Host()
    server = await asyncio.start_server(other.serve, "127.0.0.1", 0)
    other.url = "http://127.0.0.1:{1}".format(*server.sockets[0].getsockname())
    async with opened() as pool:
        for _ in range(3):
            await get(pool, host.url)
            await get(pool, other.url)
    server.close()
    assert (host.connections, other.connections) == (1, 1)


async def test_a_connection_that_has_idled_too_long_is_not_used_again(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened() as pool:
        await get(pool, host.url)
        monkeypatch.setattr(client, "_KEPT_SECONDS", -1.0)
        await get(pool, host.url)
    assert host.connections == 2


async def test_a_connection_whose_answer_was_not_read_is_not_used_again(host: Host) -> None:
    host.body = b"x" * 4_000_000
    async with opened() as pool:
        async with asked(pool, host.url):
            pass
        await get(pool, host.url)
    assert host.connections == 2


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        (b"gzip", gzip.compress(LONG)),
        (b"deflate", zlib.compress(LONG)),
        (b"identity", LONG),
    ],
)
async def test_what_is_packed_is_unpacked(host: Host, encoding: bytes, packed: bytes) -> None:
    host.head, host.body = b"Content-Encoding: " + encoding + b"\r\n", packed
    async with opened() as pool:
        assert await get(pool, host.url) == LONG


async def test_what_cannot_be_unpacked_is_told(host: Host) -> None:
    host.head = b"Content-Encoding: gzip\r\n"
    async with opened() as pool:
        with pytest.raises(ProtocolError, match="cannot be unpacked"):
            await get(pool, host.url)


async def test_what_blows_up_comes_in_small_pieces(host: Host) -> None:
    host.head = b"Content-Encoding: gzip\r\n"
    host.body = gzip.compress(b"\x00" * 50_000_000)
    async with (
        opened() as pool,
        asked(pool, host.url) as answer,
    ):
        pieces = answer.aiter_bytes()
        assert len(await anext(pieces)) <= 64 * 1024
        await pieces.aclose()


async def test_nobody_listens() -> None:
    async with opened() as pool:
        with pytest.raises(UnreachableError):
            await get(pool, f"http://127.0.0.1:{free_port()}/")
        with pytest.raises(UnreachableError):
            await get(pool, "http://nobody.invalid/")


async def test_who_is_not_spoken_to_in_tls_has_no_connection(host: Host) -> None:
    async with opened() as pool:
        with pytest.raises(UnreachableError, match="takes too long"):
            async with asked(pool, host.url.replace("http:", "https:"), connect_seconds=0.1):
                pass


async def test_what_cannot_be_sent_is_told_before_a_connection_is_made(host: Host) -> None:
    async with opened() as pool:
        with pytest.raises(UsageError):
            await get(pool, host.url, evil="x\r\ny: z")
    assert host.connections == 0


async def test_who_is_canceled_leaves_no_connection_behind(host: Host) -> None:
    host.head, host.body = b"", b""

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    url = "http://127.0.0.1:{1}".format(*server.sockets[0].getsockname())
    async with opened() as pool:
        asking = asyncio.ensure_future(get(pool, url))
        await asyncio.sleep(0.05)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    server.close()
