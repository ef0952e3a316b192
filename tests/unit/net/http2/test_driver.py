"""Connections of HTTP/2 between real sockets: gRPC's own client, and a client made of frames."""

import asyncio
from contextlib import suppress
from errno import ENOTCONN
from typing import Any

import pytest

from dragoman.bindings.grpc.framing import frame_message
from dragoman.model.documents import EventDocument
from dragoman.net.http2.driver import MAX_HELD_BYTES, Http2Protocol
from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.http2.protocol.errors import ErrorCode
from tests.support.net.http2_peer import GREETING, request
from tests.support.server.grpc_fakes import (
    SEND,
    STREAM,
    Answered,
    FakePerforms,
    ScriptedEvents,
    aio,
    grpc,
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


async def test_an_answer_is_held_until_its_reader_takes_it_and_others_are_not() -> None:
    async with (
        one_port(new_server(FakePerforms())) as served,
        raw(served, (frames.INITIAL_WINDOW_SIZE, 0)) as client,
    ):
        client.call(1)
        client.data(1, frame_message(b"one"), ends=True)
        assert (await client.headers())[b":status"] == b"200"
        client.send(payloads.settings([(frames.INITIAL_WINDOW_SIZE, 10)]))
        assert (await client.next(frames.DATA)).payload == frame_message(b"echo one")[:10]
        client.send(payloads.window_update(1, 10))
        assert (await client.next(frames.DATA)).payload == b"one"
        assert (await client.headers()) == {b"grpc-status": b"0"}


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


async def test_a_peer_that_reads_on_in_time_gets_everything() -> None:
    performs = FakePerforms()
    events = [EventDocument(number, b"%06d" % number * 20_000) for number in range(1, 201)]
    stream = ScriptedEvents(*((event,) for event in events))
    performs.answer = Answered(events=stream)
    async with (
        one_port(new_server(performs)) as served,
        raw(served, (frames.INITIAL_WINDOW_SIZE, 2**31 - 1)) as client,
    ):
        client.send(payloads.window_update(0, 2**31 - 1 - 65_535))
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


# --- a transport in the hands of the test -----------------------------------------------------


class FakeTransport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.has_ended = self.is_cut = self.has_lost_its_peer = False
        self.unwritten = 0

    def get_write_buffer_size(self) -> int:
        return self.unwritten

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def write_eof(self) -> None:
        if self.has_lost_its_peer:
            raise OSError(ENOTCONN, "Transport endpoint is not connected")
        self.has_ended = True

    def can_write_eof(self) -> bool:
        return True

    def is_closing(self) -> bool:
        return self.is_cut

    def abort(self) -> None:
        self.is_cut = True

    def close(self) -> None:
        self.is_cut = True


async def begun() -> tuple[Http2Protocol, FakeTransport]:
    protocol = new_server(FakePerforms()).accept()
    assert protocol is not None
    transport = FakeTransport()
    protocol.connection_made(transport)
    protocol.data_received(GREETING)
    await asyncio.sleep(0)  # Which writes our own.
    return protocol, transport


async def test_answers_that_nobody_reads_are_not_piled_up() -> None:
    protocol, transport = await begun()
    protocol.pause_writing()
    size = len(transport.written)
    # Refusals need no window: only what is held of them says that nobody reads.
    for stream in range(1, 20_001, 2):
        protocol.data_received(request(stream, ends=True))
        if transport.is_cut:
            break
    assert transport.is_cut
    protocol.shutdown()
    assert not transport.has_ended
    assert len(transport.written) == size
    assert protocol.http2.held_bytes < 2 * MAX_HELD_BYTES
    protocol.connection_lost(None)


async def test_the_reason_of_an_end_is_written_before_our_side_is_closed() -> None:
    protocol, transport = await begun()
    protocol.data_received(b"\xff" * 9)
    assert b"A frame is too long" in transport.written
    assert transport.has_ended
    assert not transport.is_cut
    # What comes now is thrown away.
    written = transport.written
    protocol.data_received(frames.write_frame(frames.PING, 0, 0, b"12345678"))
    protocol.resume_writing()
    assert transport.written == written
    assert protocol.eof_received() is False
    protocol.connection_lost(None)


async def test_a_peer_that_is_gone_when_our_side_is_closed_is_let_go() -> None:
    protocol, transport = await begun()
    transport.has_lost_its_peer = True
    protocol.shutdown()
    assert transport.is_cut
    protocol.connection_lost(None)


async def test_a_connection_that_cannot_be_written_to_is_closed_without_a_word() -> None:
    protocol, transport = await begun()
    protocol.pause_writing()
    transport.unwritten = 1
    protocol.shutdown()
    protocol.shutdown()
    assert transport.is_cut
    assert not transport.has_ended
    protocol.connection_lost(None)
