"""The relay between real sockets, on both event loops that serve."""

import asyncio
import socket
import ssl
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from dragoman.server import relay
from dragoman.server.relay import Near
from dragoman.server.tls import Tls, read_tls
from tests.unit.server.certificates import Files, write_files

LOOPS = [
    pytest.param(("asyncio", {"use_uvloop": False}), id="asyncio"),
    pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop"),
]

FIRST = b"first "
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(scope="module", params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return request.param


@pytest.fixture
def folder() -> Generator[Path]:
    """A folder with a short name: a unix socket has room for about a hundred characters."""
    with tempfile.TemporaryDirectory(prefix="relay-") as name:
        yield Path(name)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


class Accepting(asyncio.Protocol):
    """Accepts a connection and has it carried on."""

    def __init__(self, pipe: "Pipe") -> None:
        self._pipe = pipe

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        near = Near(transport)  # type: ignore[arg-type] - a transport of uvloop is none of asyncio's
        self._pipe.near.set_result(near)
        self._pipe.carry(near)


class Pipe:
    """A relay between ``client`` and ``server``; ``carried`` ends with it."""

    def __init__(self, folder: Path, group: asyncio.TaskGroup, stall_seconds: float) -> None:
        self._stall_seconds = stall_seconds
        loop = asyncio.get_running_loop()
        self.folder = folder
        self.near: asyncio.Future[Near] = loop.create_future()
        self.far: asyncio.Future[Streams] = loop.create_future()
        self._group = group

    async def open(self, tls: Tls | None, trust: str, greeting: bytes) -> None:
        self._greeting = greeting
        self._server = await asyncio.start_unix_server(self._called, self.folder / "server")
        self._accepting = await asyncio.get_running_loop().create_server(
            lambda: Accepting(self), "127.0.0.1", 0, ssl=tls.context if tls else None
        )
        address = self._accepting.sockets[0].getsockname()
        context = ssl.create_default_context(cafile=trust) if trust else None
        self.client: Streams = await asyncio.open_connection(*address, ssl=context)

    def carry(self, near: Near) -> None:
        work = near.carry(
            FIRST,
            to=str(self.folder / "server"),
            bound_to=str(self.folder / "client"),
            stall_seconds=self._stall_seconds,
        )
        self.carried = self._group.create_task(work)

    async def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(self._greeting)
        self.far.set_result((reader, writer))

    async def close(self) -> None:
        self._accepting.close()
        self._server.close()
        for _, writer in (self.client, await self.far):
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()
        await asyncio.wait([self.carried])


@asynccontextmanager
async def relayed(
    folder: Path,
    tls: Tls | None = None,
    trust: str = "",
    *,
    stall_seconds: float = 60.0,
    greeting: bytes = b"",
) -> AsyncGenerator[tuple[Pipe, Streams, Streams]]:
    """Open a pipe; give it with its client and its server."""
    async with asyncio.TaskGroup() as group:
        pipe = Pipe(folder, group, stall_seconds)
        await pipe.open(tls, trust, greeting)
        try:
            yield pipe, pipe.client, await pipe.far
        finally:
            await pipe.close()


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return write_files(tmp_path)


async def test_what_was_read_already_comes_first_and_then_both_ways(folder: Path) -> None:
    async with relayed(folder) as (_, client, server):
        client[1].write(b"and then")
        assert await server[0].readexactly(14) == b"first and then"
        server[1].write(b"answer")
        assert await client[0].readexactly(6) == b"answer"


async def test_a_server_that_speaks_first_is_heard(folder: Path) -> None:
    async with relayed(folder, greeting=b"welcome") as (_, client, _):
        assert await client[0].readexactly(7) == b"welcome"


async def test_the_server_sees_the_path_that_this_end_is_bound_to(folder: Path) -> None:
    async with relayed(folder) as (_, _, server):
        assert server[1].get_extra_info("peername") == str(folder / "client")
        assert names_in(folder) == ["server"]


async def test_a_server_that_ends_ends_the_client_after_its_last_bytes(folder: Path) -> None:
    async with relayed(folder) as (pipe, client, server):
        server[1].write(b"x" * 1_000_000)
        server[1].close()
        assert len(await client[0].read(-1)) == 1_000_000
        client[1].close()
        await pipe.carried


async def test_a_client_that_ends_ends_the_server(folder: Path) -> None:
    async with relayed(folder) as (pipe, client, server):
        client[1].close()
        await server[0].read(-1)
        server[1].close()
        await pipe.carried


async def test_a_client_that_breaks_ends_the_server(folder: Path) -> None:
    async with relayed(folder) as (pipe, client, server):
        raw = client[1].get_extra_info("socket")
        # Closing with this option resets the connection.
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client[1].transport.abort()
        with suppress(ConnectionError):
            await server[0].read(-1)
        await pipe.carried


async def test_one_direction_may_end_before_the_other(folder: Path) -> None:
    async with relayed(folder) as (pipe, client, server):
        client[1].write(b"all")
        client[1].write_eof()
        assert await server[0].read(-1) == b"first all"
        server[1].write(b"still here")
        server[1].write_eof()
        assert await client[0].read(-1) == b"still here"
        await pipe.carried


async def test_under_tls_the_end_of_one_direction_is_the_end_of_both(
    folder: Path, files: Files
) -> None:
    tls = read_tls(files.server, files.server_key)
    async with relayed(folder, tls, files.ca) as (pipe, client, server):
        client[1].write(b"secret")
        assert await server[0].readexactly(12) == b"first secret"
        server[1].write(b"answer")
        server[1].write_eof()
        assert await client[0].read(-1) == b"answer"
        client[1].close()
        await pipe.carried


@pytest.mark.parametrize("is_secure", [False, True])
@pytest.mark.parametrize("from_client", [True, False])
async def test_a_side_that_does_not_read_stops_the_other_and_no_memory_is_taken(
    folder: Path, files: Files, *, from_client: bool, is_secure: bool
) -> None:
    tls = read_tls(files.server, files.server_key) if is_secure else None
    async with relayed(folder, tls, files.ca if is_secure else "") as (pipe, client, server):
        await server[0].readexactly(len(FIRST))
        writer = client[1] if from_client else server[1]
        reader = server[0] if from_client else client[0]
        # The reader is stopped by its own limit, so the socket behind it fills up.
        sent = 0
        try:
            async with asyncio.timeout(10):
                while sent < 64_000_000:
                    writer.write(b"x" * 100_000)
                    sent += 100_000
                    async with asyncio.timeout(0.3):
                        await writer.drain()
        except TimeoutError:
            pass
        assert sent < 20_000_000
        near = await pipe.near
        held = near.transport.get_write_buffer_size()
        assert near.other is not None
        held += near.other.transport.get_write_buffer_size()
        assert held < 1_000_000
        # And nothing is lost once it reads on.
        assert len(await reader.readexactly(sent)) == sent


async def stuff(server: Streams, near: Near) -> None:
    """Write to a client that does not read until the relay holds bytes for it."""
    while near.transport.get_write_buffer_size() == 0:
        server[1].write(b"x" * 100_000)
        await asyncio.sleep(0.001)


async def test_a_client_that_takes_nothing_any_more_is_cut(folder: Path) -> None:
    async with relayed(folder, stall_seconds=0.1) as (pipe, client, server):
        client[1].transport.pause_reading()  # type: ignore[attr-defined] - asyncio types it too wide
        await stuff(server, await pipe.near)
        # Nobody reads from the server now, so that it has ended goes unnoticed at first.
        server[1].transport.abort()
        await pipe.carried


async def test_a_client_that_reads_on_in_time_is_not_cut(folder: Path) -> None:
    async with relayed(folder, stall_seconds=0.5) as (pipe, client, server):
        reading = client[1].transport
        near = await pipe.near
        for _ in range(3):
            reading.pause_reading()  # type: ignore[attr-defined] - asyncio types it too wide
            await stuff(server, near)
            await asyncio.sleep(0.25)
            reading.resume_reading()  # type: ignore[attr-defined] - asyncio types it too wide
            while near.transport.get_write_buffer_size():
                await client[0].read(1_000_000)
        assert not near.transport.is_closing()


async def test_shutdown_does_not_wait_for_a_client_that_takes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "CLOSE_SECONDS", 0.05)
    async with relayed(folder) as (pipe, client, server):
        client[1].transport.pause_reading()  # type: ignore[attr-defined] - asyncio types it too wide
        near = await pipe.near
        await stuff(server, near)
        near.shutdown()
        await pipe.carried


async def test_a_relay_that_is_canceled_cuts_both_sides(folder: Path) -> None:
    async with relayed(folder) as (pipe, client, server):
        pipe.carried.cancel()
        with suppress(ConnectionError):
            await client[0].read(-1)
        with suppress(ConnectionError):
            await server[0].read(-1)
        await asyncio.wait([pipe.carried])
        assert pipe.carried.cancelled()


async def test_shutdown_ends_both_sides(folder: Path) -> None:
    async with relayed(folder) as (pipe, client, _):
        (await pipe.near).shutdown()
        assert await client[0].read(-1) == b""
        await pipe.carried


def nowhere(folder: Path) -> dict[str, Any]:
    """Where a relay has no server."""
    return {
        "to": str(folder / "no"),
        "bound_to": str(folder / "client"),
        "stall_seconds": 60.0,
    }


async def test_without_a_server_the_connection_is_cut(folder: Path) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        _, writer = await asyncio.open_connection(sock=ours)
        near = Near(writer.transport)  # type: ignore[arg-type] - typed too wide
        with pytest.raises(OSError, match="No such file"):
            await near.carry(FIRST, **nowhere(folder))
        await near.lost
        assert theirs.recv(1) == b""
        assert names_in(folder) == []


async def test_a_connection_that_is_lost_before_it_is_carried_never_reaches_the_server(
    folder: Path,
) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        _, writer = await asyncio.open_connection(sock=ours)
        near = Near(writer.transport)  # type: ignore[arg-type] - typed too wide
        near.close()
        await near.lost
        await near.carry(FIRST, **nowhere(folder))
