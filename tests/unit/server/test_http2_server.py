"""Connections of HTTP/2 between real sockets: gRPC's own client, and a client made of frames."""

import asyncio
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from dragoman.bindings.http2 import frames
from dragoman.bindings.http2.errors import ErrorCode
from dragoman.bindings.http2.frames import Frame, FrameReader
from dragoman.bindings.http2.grpc_framing import frame_message
from dragoman.bindings.http2.hpack import Decoder, Header, encode_headers
from dragoman.model.documents import EventDocument
from dragoman.server import http2_server
from tests.unit.server.grpc_fakes import (
    SEND,
    STREAM,
    Answered,
    FakePerforms,
    OnePort,
    ScriptedEvents,
    aio,
    grpc,
    new_server,
    one_port,
)

LOOPS = [
    pytest.param(("asyncio", {"use_uvloop": False}), id="asyncio"),
    pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop"),
]


@pytest.fixture(scope="module", params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return request.param


# --- gRPC's own client ------------------------------------------------------------------------


async def test_many_calls_at_once_on_one_connection() -> None:
    async with one_port(new_server(FakePerforms())) as served, served.channel() as channel:
        call = channel.unary_unary(SEND)
        answers = await asyncio.gather(*(call(b"%d" % number) for number in range(50)))
    assert answers == [b"echo %d" % number for number in range(50)]


async def test_big_messages_go_both_ways() -> None:
    big = b"0123456789" * 300_000
    options = [("grpc.max_receive_message_length", -1)]
    server = new_server(FakePerforms(), max_body_bytes=4_000_000)
    async with (
        one_port(server) as served,
        aio.insecure_channel(served.target, options=options) as channel,
    ):
        call = channel.unary_unary(SEND)
        # More of them at once than the pool has room for.
        answers = await asyncio.gather(*(call(b"%d" % number + big) for number in range(5)))
    assert answers == [b"echo %d" % number + big for number in range(5)]


async def test_a_thousand_frames_arrive_in_order() -> None:
    performs = FakePerforms()
    events = [EventDocument(number, b"%d" % number) for number in range(1, 1001)]
    performs.answer = Answered(events=ScriptedEvents(*((event,) for event in events)))
    async with one_port(new_server(performs)) as served, served.channel() as channel:
        call = channel.unary_stream(STREAM)(b"")
        assert [frame async for frame in call] == [event.json for event in events]
        assert dict(await call.initial_metadata())["last-event-id"] == "1"
        assert await call.code() is grpc.StatusCode.OK


@pytest.mark.parametrize("name", ["Gzip", "Deflate"])
async def test_compressed_requests_are_taken(name: str) -> None:
    compression = getattr(grpc.Compression, name)
    async with one_port(new_server(FakePerforms())) as served, served.channel() as channel:
        call = channel.unary_unary(SEND)(b"x" * 10_000, compression=compression)
        assert await call == b"echo " + b"x" * 10_000


async def test_a_deadline_ends_the_wait_and_not_the_work() -> None:
    performs = FakePerforms()
    performs.hold = asyncio.Event()
    async with one_port(new_server(performs)) as served, served.channel() as channel:
        with pytest.raises(aio.AioRpcError) as told:
            await channel.unary_unary(SEND)(b"", timeout=0.1)
        assert told.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert performs.finished == 0
        performs.hold.set()
        assert await channel.unary_unary(SEND)(b"next") == b"echo next"
        assert performs.finished == 2


async def test_a_deadline_ends_a_stream() -> None:
    performs = FakePerforms()
    stream = ScriptedEvents((EventDocument(1, b"one"),), is_live=True)
    performs.answer = Answered(events=stream)
    async with one_port(new_server(performs)) as served, served.channel() as channel:
        call = channel.unary_stream(STREAM)(b"", timeout=0.2)
        assert await call.read() == b"one"
        with pytest.raises(aio.AioRpcError):
            await call.read()
        await asyncio.wait_for(stream.closed.wait(), 5)


async def test_an_operation_is_finished_although_its_caller_has_left() -> None:
    performs = FakePerforms()
    performs.hold = asyncio.Event()
    unread = ScriptedEvents(is_live=True)
    performs.answer = Answered(events=unread)
    async with one_port(new_server(performs)) as served, served.channel() as channel:
        call = channel.unary_stream(STREAM)(b"")
        reading = asyncio.ensure_future(call.read())
        await performs.called.wait()
        call.cancel()
        with suppress(asyncio.CancelledError):
            await reading
        await asyncio.sleep(0.05)
        assert performs.finished == 0
        performs.hold.set()
        # And what it would have followed is followed by nobody.
        await asyncio.wait_for(unread.closed.wait(), 5)
        assert performs.finished == 1


async def test_a_failure_that_nobody_waits_for_is_still_explained() -> None:
    performs = FakePerforms()
    performs.hold = asyncio.Event()
    async with one_port(new_server(performs)) as served, served.channel() as channel:
        call = channel.unary_unary(SEND)(b"broken")
        await performs.called.wait()
        call.cancel()
        await asyncio.sleep(0.05)
        performs.hold.set()
        await asyncio.wait_for(performs.told.wait(), 5)
    assert isinstance(performs.explained[0], ValueError)


async def test_a_call_that_the_stop_cuts_off_is_told_to_come_back() -> None:
    performs = FakePerforms()
    performs.hold = asyncio.Event()
    async with one_port(new_server(performs)) as served:
        channel = served.channel()
        call = asyncio.ensure_future(channel.unary_unary(SEND)(b""))
        await performs.called.wait()
    with pytest.raises(aio.AioRpcError) as told:
        await call
    assert told.value.code() is grpc.StatusCode.UNAVAILABLE
    await channel.close()


async def test_the_details_of_a_problem_arrive() -> None:
    async with one_port(new_server(FakePerforms())) as served, served.channel() as channel:
        with pytest.raises(aio.AioRpcError) as told:
            await channel.unary_unary(SEND)(b"unknown")
        assert told.value.code() is grpc.StatusCode.NOT_FOUND
        assert told.value.details() == "Task not found"
        assert dict(told.value.trailing_metadata()) == {"grpc-status-details-bin": b"details"}


async def test_several_messages_for_a_method_that_takes_one_are_refused() -> None:
    async with one_port(new_server(FakePerforms())) as served, served.channel() as channel:
        for messages in ([], [b"one", b"two"]):
            with pytest.raises(aio.AioRpcError) as told:
                await channel.stream_unary(SEND)(iter(messages))
            assert told.value.code() is grpc.StatusCode.UNIMPLEMENTED


# --- a client made of frames ------------------------------------------------------------------


class Raw:
    """A connection in frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self._frames = FrameReader()
        self._decoder = Decoder(100_000)
        self._ready: list[Frame] = []

    def send(self, *pieces: bytes) -> None:
        self.writer.write(b"".join(pieces))

    def call(self, stream: int, *more: Header, path: str = SEND, ends: bool = False) -> None:
        headers = (
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", path.encode()),
            (b"content-type", b"application/grpc"),
            *more,
        )
        self.send(frames.headers(stream, encode_headers(headers), ends=ends))

    def data(self, stream: int, body: bytes, *, ends: bool = False) -> None:
        flags = frames.END_STREAM if ends else 0
        self.send(frames.write_frame(frames.DATA, flags, stream, body))

    async def next(self, kind: int) -> Frame:
        """Wait for the next frame of a kind."""
        async with asyncio.timeout(5):
            while True:
                while self._ready:
                    frame = self._ready.pop(0)
                    if frame.kind == kind:
                        return frame
                received = await self._reader.read(65_536)
                if not received:
                    raise EOFError
                self._ready += self._frames.read(received)

    async def headers(self) -> dict[bytes, bytes]:
        return dict(self._decoder.decode((await self.next(frames.HEADERS)).payload))

    async def is_cut(self) -> bool:
        """Wait until the server ends the connection."""
        try:
            while True:
                await self.next(frames.GOAWAY)
        except (EOFError, ConnectionError):
            return True


@asynccontextmanager
async def raw(served: OnePort, *settings: tuple[int, int]) -> AsyncGenerator[Raw]:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    client = Raw(reader, writer)
    client.send(frames.PREFACE, frames.settings(settings))
    try:
        yield client
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def test_a_call_of_the_other_kinds_of_http_is_answered_in_http() -> None:
    async with one_port(new_server(FakePerforms())) as served, raw(served) as client:
        headers = ((b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/"))
        client.send(frames.headers(1, encode_headers(headers), ends=True))
        assert (await client.headers())[b":status"] == b"415"
        assert b"gRPC" in (await client.next(frames.DATA)).payload


async def test_a_request_with_too_many_headers_is_refused() -> None:
    async with one_port(new_server(FakePerforms())) as served, raw(served) as client:
        client.call(1, *((b"name-%d" % number, b"x" * 100) for number in range(150)))
        assert (await client.headers())[b":status"] == b"431"


@pytest.mark.parametrize(
    ("more", "body", "code"),
    [
        (((b"grpc-timeout", b"soon"),), b"", b"13"),
        ((), b"\x00\x00\x00\x00\x05ab", b"13"),
        (((b"grpc-encoding", b"snappy"),), b"\x01\x00\x00\x00\x01a", b"12"),
    ],
)
async def test_a_call_that_is_none_is_a_status(
    more: tuple[Header, ...], body: bytes, code: bytes
) -> None:
    async with one_port(new_server(FakePerforms())) as served, raw(served) as client:
        client.call(1, *more)
        client.data(1, body, ends=True)
        assert (await client.headers())[b"grpc-status"] == code


async def test_an_answer_is_held_until_its_reader_takes_it_and_others_are_not() -> None:
    async with (
        one_port(new_server(FakePerforms())) as served,
        raw(served, (frames.INITIAL_WINDOW_SIZE, 0)) as client,
    ):
        client.call(1)
        client.data(1, frame_message(b"one"), ends=True)
        assert (await client.headers())[b":status"] == b"200"
        client.send(frames.settings([(frames.INITIAL_WINDOW_SIZE, 10)]))
        assert (await client.next(frames.DATA)).payload == frame_message(b"echo one")[:10]
        client.send(frames.window_update(1, 10))
        assert (await client.next(frames.DATA)).payload == b"one"
        assert (await client.headers()) == {b"grpc-status": b"0"}


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


async def test_a_request_that_does_not_go_on_is_dropped() -> None:
    server = new_server(FakePerforms(), stall_seconds=0.05)
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
        client.send(frames.window_update(0, 2**31 - 1 - 65_535))
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
    monkeypatch.setattr(http2_server, "PING_PATIENCE_SECONDS", 0.1)
    server = new_server(FakePerforms(), heartbeat_seconds=0.1)
    async with one_port(server) as served, raw(served) as client:
        assert (await client.next(frames.PING)).payload == b"dragoman"
        assert await client.is_cut()


async def test_a_peer_that_answers_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2_server, "PING_PATIENCE_SECONDS", 0.1)
    server = new_server(FakePerforms(), heartbeat_seconds=0.1)
    async with one_port(server) as served, raw(served) as client:
        for _ in range(5):
            ping = await client.next(frames.PING)
            client.send(frames.write_frame(frames.PING, frames.ACK, 0, ping.payload))


async def test_a_peer_that_asks_without_end_and_reads_nothing_is_cut() -> None:
    async with one_port(new_server(FakePerforms())) as served, raw(served) as client:
        ping = frames.write_frame(frames.PING, 0, 0, b"12345678")
        client.send(ping * 3000)
        frame = await client.next(frames.GOAWAY)
        assert int.from_bytes(frame.payload[4:8], "big") == ErrorCode.ENHANCE_YOUR_CALM
        assert await client.is_cut()


async def test_what_is_no_http_2_is_cut() -> None:
    async with one_port(new_server(FakePerforms())) as served, raw(served) as client:
        client.send(b"\xff" * 100)
        frame = await client.next(frames.GOAWAY)
        assert int.from_bytes(frame.payload[4:8], "big") == ErrorCode.FRAME_SIZE_ERROR
        assert await client.is_cut()


async def test_uploads_beyond_the_pool_wait_their_turn() -> None:
    # The pool has room for two; the third is granted none until one of them is there.
    server = new_server(FakePerforms(), max_body_bytes=200_000)
    async with one_port(server) as served, raw(served) as client:
        head = frame_message(b"x" * 200_000)
        for stream in (1, 3, 5):
            client.call(stream)
            client.data(stream, head[:10])
        granted = [(await client.next(frames.WINDOW_UPDATE)).stream for _ in range(3)]
        assert granted == [0, 1, 3]
        client.send(frames.reset(1, ErrorCode.CANCEL))
        assert (await client.next(frames.WINDOW_UPDATE)).stream == 5


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
async def test_curl_is_told_what_is_spoken_here() -> None:
    async with one_port(new_server(FakePerforms())) as served:
        process = await asyncio.create_subprocess_exec(
            *("curl", "-s", "-i", "--http2-prior-knowledge", f"http://{served.target}/"),
            stdout=asyncio.subprocess.PIPE,
        )
        answer, _ = await process.communicate()
    assert answer.startswith(b"HTTP/2 415")
    assert b"gRPC" in answer


async def test_a_peer_that_reads_on_in_time_gets_everything() -> None:
    performs = FakePerforms()
    events = [EventDocument(number, b"%06d" % number * 20_000) for number in range(1, 201)]
    stream = ScriptedEvents(*((event,) for event in events))
    performs.answer = Answered(events=stream)
    async with (
        one_port(new_server(performs)) as served,
        raw(served, (frames.INITIAL_WINDOW_SIZE, 2**31 - 1)) as client,
    ):
        client.send(frames.window_update(0, 2**31 - 1 - 65_535))
        client.call(1, path=STREAM)
        transport: Any = client.writer.transport
        transport.pause_reading()
        client.data(1, frame_message(b""), ends=True)
        await asyncio.sleep(0.3)
        # 24 MB: what does not fit into the socket is not even made.
        assert stream.shown < 190
        transport.resume_reading()
        body = bytearray()
        while len(body) < 200 * 120_005:
            body += (await client.next(frames.DATA)).payload
        assert body == b"".join(frame_message(event.json) for event in events)
        assert (await client.headers()) != {}


async def test_a_call_without_a_body_has_no_message() -> None:
    async with one_port(new_server(FakePerforms())) as served, raw(served) as client:
        client.call(1, ends=True)
        assert (await client.headers())[b"grpc-status"] == b"12"


async def test_a_peer_that_closes_its_side_is_let_go() -> None:
    performs = FakePerforms()
    stream = ScriptedEvents((EventDocument(1, b"one"),), is_live=True)
    performs.answer = Answered(events=stream)
    async with one_port(new_server(performs)) as served, raw(served) as client:
        client.call(1, path=STREAM)
        client.data(1, frame_message(b""), ends=True)
        await client.next(frames.DATA)
        client.writer.write_eof()
        await asyncio.wait_for(stream.closed.wait(), 5)
