"""Peers that are gone, that do not read, that do not go on, that want nothing."""

import asyncio
from typing import Any

import pytest

from dragoman.bindings.grpc.framing import frame_message
from dragoman.model.documents import EventDocument
from dragoman.net.http2 import watch as http2_watch
from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.http2.protocol.connection import Connection
from dragoman.net.http2.protocol.errors import ErrorCode
from dragoman.net.http2.watch import Watch
from dragoman.net.limits import ConnectionLimits
from tests.support.net.http2_peer import GREETING, TRAILERS, request
from tests.support.server.grpc_fakes import (
    STREAM,
    Answered,
    FakePerforms,
    ScriptedEvents,
    new_server,
    one_port,
)
from tests.support.server.http2_raw import raw

LOOPS = [
    pytest.param(("asyncio", {"use_uvloop": False}), id="asyncio"),
    pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop"),
]


@pytest.fixture(scope="module", params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return request.param


async def test_an_answer_that_nobody_takes_is_dropped() -> None:
    server = new_server(FakePerforms(), stall_seconds=0.05)
    async with (
        one_port(server) as served,
        raw(served, (frames.INITIAL_WINDOW_SIZE, 0)) as client,
    ):
        client.call(1)
        client.data(1, frame_message(b"one"), ends=True)
        frame = await client.next(frames.RST_STREAM)
        assert int.from_bytes(frame.payload, "big") == ErrorCode.CANCEL


async def test_a_request_that_does_not_come_to_an_end_is_dropped() -> None:
    server = new_server(FakePerforms(), body_seconds=0.05)
    async with one_port(server) as served, raw(served) as client:
        client.call(1)
        client.data(1, b"\x00\x00")
        assert (await client.headers())[b"grpc-status"] == b"14"


async def test_a_peer_that_does_not_read_at_all_is_cut() -> None:
    performs = FakePerforms()
    events = [EventDocument(number, b"x" * 100_000) for number in range(1, 1001)]
    stream = ScriptedEvents(*((event,) for event in events))
    performs.answer = Answered(events=stream)
    server = new_server(performs, stall_seconds=0.2)
    async with (
        one_port(server) as served,
        raw(served, (frames.INITIAL_WINDOW_SIZE, 2**31 - 1)) as client,
    ):
        client.send(payloads.window_update(0, 2**31 - 1 - 65_535))
        client.call(1, path=STREAM)
        transport: Any = client.writer.transport
        transport.pause_reading()
        client.data(1, frame_message(b""), ends=True)
        await asyncio.wait_for(stream.closed.wait(), 5)
        assert stream.shown < 900
        await asyncio.sleep(1)
        transport.resume_reading()
        assert await client.is_cut()


async def test_a_peer_that_is_silent_is_asked_and_then_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http2_watch, "PING_TIMEOUT_SECONDS", 0.1)
    server = new_server(FakePerforms(), heartbeat_seconds=0.1)
    async with one_port(server) as served, raw(served) as client:
        assert (await client.next(frames.PING)).payload == b"dragoman"
        assert await client.is_cut()


async def test_a_peer_that_answers_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2_watch, "PING_TIMEOUT_SECONDS", 0.1)
    server = new_server(FakePerforms(), heartbeat_seconds=0.1)
    async with one_port(server) as served, raw(served) as client:
        for _ in range(5):
            ping = await client.next(frames.PING)
            client.send(frames.write_frame(frames.PING, frames.ACK, 0, ping.payload))


async def test_whoever_connects_and_says_nothing_is_cut() -> None:
    server = new_server(FakePerforms(), heartbeat_seconds=0.1)
    port = await server.listen("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    async with asyncio.timeout(5):
        await reader.read(-1)
    writer.close()
    await server.stop(0.1)


async def test_whoever_writes_to_a_reader_that_is_stuck_is_not_left_waiting() -> None:
    # The status of the health service, which waits for its reader as long as it takes.
    server = new_server(FakePerforms(), stall_seconds=0.05)
    async with (
        one_port(server) as served,
        raw(served, (frames.INITIAL_WINDOW_SIZE, 0)) as client,
    ):
        client.call(1, path="/grpc.health.v1.Health/Watch")
        client.data(1, frame_message(b""), ends=True)
        frame = await client.next(frames.RST_STREAM)
        assert int.from_bytes(frame.payload, "big") == ErrorCode.CANCEL
        # A call that was left would be waited for.
        async with asyncio.timeout(10):
            await server.stop(60)


# --- to the second ----------------------------------------------------------------------------


def watched(**settings: float) -> tuple[Connection, Watch]:
    """Return a connection that was made at 100, and what watches it."""
    connection = Connection()
    limits = ConnectionLimits(**settings)  # type: ignore[arg-type] - the times alone are set
    return connection, Watch(connection, limits, 100.0)


def test_it_looks_as_often_as_the_shortest_time_wants() -> None:
    assert watched()[1].interval == ConnectionLimits().heartbeat_seconds
    assert watched(head_seconds=2)[1].interval == 2


def test_the_greeting_has_as_much_time_as_a_head() -> None:
    connection, watch = watched(head_seconds=7)
    connection.receive(GREETING[:-1], 106.9)
    assert not watch.is_late(106.9)
    assert watch.is_late(107.0)
    connection.receive(GREETING[-1:], 107.0)
    assert not watch.is_late(1000.0)


def test_a_head_has_its_time_and_no_more_however_lively_it_drips() -> None:
    connection, watch = watched(head_seconds=7)
    connection.receive(GREETING, 100.0)
    for number, byte in enumerate(request(1)[:7]):
        connection.receive(bytes((byte,)), 200.0 + number)
        assert not watch.is_late(206.9)
    assert watch.is_late(207.0)


def test_a_connection_may_be_kept_for_the_next_call_so_long() -> None:
    connection, watch = watched(http2_idle_seconds=5)
    connection.receive(GREETING, 100.0)
    assert not watch.is_idle(100.0)
    assert not watch.is_idle(104.9)
    assert watch.is_idle(105.0)


def test_a_connection_with_a_call_is_not_idle_and_has_its_time_anew_after_it() -> None:
    connection, watch = watched(http2_idle_seconds=5)
    connection.receive(GREETING, 100.0)
    assert not watch.is_idle(104.0)
    connection.receive(request(1), 104.5)
    assert not watch.is_idle(1000.0)
    connection.send_headers(1, TRAILERS, ends=True)
    assert not watch.is_idle(1001.0)
    assert not watch.is_idle(1005.9)
    assert watch.is_idle(1006.0)


def test_a_call_between_two_looks_is_noticed() -> None:
    connection, watch = watched(http2_idle_seconds=5)
    connection.receive(GREETING, 100.0)
    assert not watch.is_idle(100.0)
    connection.receive(request(1), 102.0)
    connection.send_headers(1, TRAILERS, ends=True)
    assert connection.open_streams == 0
    assert not watch.is_idle(105.0)
    assert watch.is_idle(110.0)
