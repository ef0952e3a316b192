"""Peers that are gone, that do not read, that do not go on."""

import asyncio
from typing import Any

import pytest

from dragoman.bindings.http2 import frames, payloads
from dragoman.bindings.http2.errors import ErrorCode
from dragoman.bindings.http2.grpc_framing import frame_message
from dragoman.model.documents import EventDocument
from dragoman.server import http2_watch
from tests.unit.server.grpc_fakes import (
    STREAM,
    Answered,
    FakePerforms,
    ScriptedEvents,
    new_server,
    one_port,
)
from tests.unit.server.http2_raw import raw

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
    monkeypatch.setattr(http2_watch, "PING_PATIENCE_SECONDS", 0.1)
    server = new_server(FakePerforms(), heartbeat_seconds=0.1)
    async with one_port(server) as served, raw(served) as client:
        assert (await client.next(frames.PING)).payload == b"dragoman"
        assert await client.is_cut()


async def test_a_peer_that_answers_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2_watch, "PING_PATIENCE_SECONDS", 0.1)
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
