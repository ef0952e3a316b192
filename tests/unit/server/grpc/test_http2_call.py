"""A call on a connection in the hands of the test."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from dragoman.bindings.grpc.framing import GrpcFailedError, MessageReader, frame_message
from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.http2.protocol.hpack import Decoder
from dragoman.net.http2.protocol.requests import Head
from dragoman.net.peer import Peer
from dragoman.server.grpc import http2_call
from dragoman.server.grpc.calls import Context, Rpc
from dragoman.server.grpc.http2_call import Http2Call
from tests.support.net.http2_peer import Client, data, request

HEAD = Head(b"POST", b"/a", (), None)


class FakeConnection:
    """A connection on which one request has begun."""

    def __init__(self, *, window: int = 65_535, sends: bytes = b"") -> None:
        settings = payloads.settings([(frames.INITIAL_WINDOW_SIZE, window)])
        self.client = Client(frames.PREFACE + settings)
        self.client.send(request(1), data(1, sends))
        self.http2 = self.client.connection
        self.peer = Peer("192.0.2.1")
        self.flushes = 0
        self.ended: list[Http2Call] = []

    def flush_soon(self) -> None:
        self.flushes += 1

    def call(self, rpc: Rpc) -> Http2Call:
        return Http2Call(self, self.ended.append, 1, rpc, {}, (), MessageReader(HEAD, 1000), 0.0)

    def answer(self) -> list[dict[bytes, bytes] | bytes]:
        """Return what was sent: headers read, data as it is."""
        return [
            dict(Decoder(10_000).decode(frame.payload))
            if frame.kind == frames.HEADERS
            else frame.payload
            for frame in self.client.heard()
            if frame.kind in (frames.HEADERS, frames.DATA)
        ]


STARTED = {b":status": b"200", b"content-type": b"application/grpc"}


async def echo(message: bytes, context: Context) -> bytes:
    del context
    return message


def called(call: Http2Call, message: bytes = b"hi") -> Http2Call:
    call.hear(frame_message(message), ends=True)
    return call


async def test_an_answer_is_sent_and_the_call_is_over() -> None:
    connection = FakeConnection()
    call = called(connection.call(Rpc(unary=echo)))
    await call.answer()
    assert connection.answer() == [STARTED, frame_message(b"hi"), {b"grpc-status": b"0"}]
    assert call.is_over
    assert connection.ended == [call]
    assert call.peer.address == "192.0.2.1"


async def test_an_answer_without_messages_has_headers_all_the_same() -> None:
    async def nothing(message: bytes, context: Context) -> None:
        del message, context

    connection = FakeConnection()
    await called(connection.call(Rpc(unary=nothing))).answer()
    assert connection.answer() == [STARTED, {b"grpc-status": b"0"}]


async def test_metadata_comes_before_the_first_message_and_only_once() -> None:
    async def tell(message: bytes, context: Context) -> bytes:
        context.send_initial_metadata([("a", "b")])
        context.send_initial_metadata([("c", "d")])
        return message

    connection = FakeConnection()
    await called(connection.call(Rpc(unary=tell))).answer()
    assert connection.answer()[0] == {**STARTED, b"a": b"b"}


@pytest.mark.parametrize("has_begun", [False, True])
async def test_a_status_stands_alone_or_ends_what_has_begun(*, has_begun: bool) -> None:
    async def fail(message: bytes, context: Context) -> None:
        if has_begun:
            context.write(message)
        raise GrpcFailedError(5, "none", [("x", "y")])

    connection = FakeConnection()
    await called(connection.call(Rpc(unary=fail))).answer()
    status = {b"grpc-status": b"5", b"grpc-message": b"none", b"x": b"y"}
    begun = [STARTED, frame_message(b"hi"), status]
    assert connection.answer() == (begun if has_begun else [{**STARTED, **status}])


async def test_a_fault_of_ours_is_told_as_such_and_raised() -> None:
    async def fail(message: bytes, context: Context) -> None:
        raise ValueError("secret")

    connection = FakeConnection()
    with pytest.raises(ValueError, match="secret"):
        await called(connection.call(Rpc(unary=fail))).answer()
    assert connection.answer() == [
        {**STARTED, b"grpc-status": b"13", b"grpc-message": b"Internal error"}
    ]


async def test_whoever_writes_waits_for_the_reader() -> None:
    connection = FakeConnection(window=3)
    call = connection.call(Rpc(unary=echo))
    await call.drain()
    call.write(b"hello")
    assert call.is_full
    draining = asyncio.ensure_future(call.drain())
    await asyncio.sleep(0)
    assert not draining.done()
    call.drained()
    await draining
    assert not call.is_full


async def test_a_caller_that_leaves_ends_the_wait_and_the_task_that_allows_it() -> None:
    async def follow(message: bytes, context: Context) -> None:
        context.allow_cancel()
        context.write(message)
        await asyncio.Event().wait()

    connection = FakeConnection()
    call = called(connection.call(Rpc(unary=follow)))
    call.task = asyncio.ensure_future(call.answer())
    await asyncio.sleep(0)
    call.abandon()
    with pytest.raises(asyncio.CancelledError):
        await call.task
    call.abandon()
    call.write(b"late")
    with pytest.raises(asyncio.CancelledError):
        call.allow_cancel()
    # The first message, and no word more.
    assert connection.answer() == [STARTED, frame_message(b"hi")]
    assert connection.ended == [call]


async def test_a_caller_that_leaves_does_not_end_what_does_not_allow_it() -> None:
    going = asyncio.Event()

    async def work(message: bytes, context: Context) -> bytes:
        del context
        await going.wait()
        return message

    connection = FakeConnection()
    call = called(connection.call(Rpc(unary=work)))
    call.task = asyncio.ensure_future(call.answer())
    await asyncio.sleep(0)
    call.expire()
    going.set()
    await call.task
    (status,) = connection.answer()
    assert isinstance(status, dict)
    assert status[b"grpc-status"] == b"4"


@pytest.mark.parametrize(
    ("body", "code"),
    [(b"", 12), (frame_message(b"a") * 2, 12), (b"\x00\x00", 13), (frame_message(b"x" * 1001), 8)],
)
def test_what_is_no_request_for_one_message_is_refused(body: bytes, code: int) -> None:
    call = FakeConnection().call(Rpc(unary=echo))
    with pytest.raises(GrpcFailedError) as told:
        call.hear(body, ends=True)
    assert told.value.code == code


async def test_the_messages_of_a_talk_are_granted_again_once_they_are_taken() -> None:
    async def talk(requests: AsyncIterator[bytes], context: Context) -> None:
        async for message in requests:
            context.write(message)

    connection = FakeConnection(sends=frame_message(b"one"))
    call = connection.call(Rpc(bidi=talk))
    requests = call.requests()
    talking = asyncio.ensure_future(call.answer_bidi(requests, talk))
    call.hear(frame_message(b"one"), ends=False)
    assert connection.http2.granted(1) == 65_535 - 8
    await asyncio.sleep(0)
    assert connection.http2.granted(1) == 65_535
    call.hear(frame_message(b"two") + frame_message(b"three")[:4], ends=False)
    await asyncio.sleep(0)
    call.hear(frame_message(b"three")[4:], ends=True)
    await talking
    framed = [frame_message(message) for message in (b"one", b"two", b"three")]
    assert connection.answer() == [STARTED, *framed, {b"grpc-status": b"0"}]


async def test_a_talk_may_fail() -> None:
    async def talk(requests: AsyncIterator[bytes], context: Context) -> None:
        raise GrpcFailedError(3, "no")

    connection = FakeConnection()
    call = connection.call(Rpc(bidi=talk))
    await call.answer_bidi(call.requests(), talk)
    (status,) = connection.answer()
    assert isinstance(status, dict)
    assert status[b"grpc-status"] == b"3"


async def test_answers_beyond_what_may_wait_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2_call, "MAX_WAITING_BYTES", 10)
    connection = FakeConnection(window=0)
    call = called(connection.call(Rpc(unary=echo)))
    connection.client.send(request(3, ends=True))
    # Another call has an answer that is not read.
    connection.http2.send_data(3, b"x" * 11)
    await call.answer()
    (refusal,) = connection.answer()
    assert isinstance(refusal, dict)
    assert refusal[b"grpc-status"] == b"8"
