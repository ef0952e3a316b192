"""Peers that take their time, on a real socket: what each may take, and how it hears of the end."""

import asyncio
from typing import Any

from hyperframe.frame import GoAwayFrame, PingFrame

from dragoman.net.http2.protocol.errors import ErrorCode
from tests.http2.frame_peer import (
    ALIVE,
    PREFACE,
    FramePeer,
    Piece,
    connect,
    data,
    in_pieces,
    raw,
    request,
)
from tests.support.server.grpc_fakes import SEND, FakePerforms, new_server, one_port

MESSAGE = b"\0\0\0\0\2hi"
SHORT = 0.1
"""Seconds that are over before a test is."""


async def dripped(peer: FramePeer, *pieces: Piece) -> GoAwayFrame:
    """Send pieces until the server has had enough, a byte at a time; return its last word."""

    async def drip() -> None:
        for piece in pieces:
            for byte in piece if isinstance(piece, bytes) else piece.serialize():
                peer.send(bytes((byte,)))
                await asyncio.sleep(SHORT / 10)

    dripping = asyncio.ensure_future(drip())
    try:
        frame = await peer.wait_for(GoAwayFrame)
        assert not dripping.done()
        assert await peer.is_over()
    finally:
        dripping.cancel()
    assert isinstance(frame, GoAwayFrame)
    return frame


# --- heads ------------------------------------------------------------------------------------


async def test_a_head_that_drips_is_cut_and_told_why() -> None:
    server = new_server(FakePerforms(), head_seconds=SHORT)
    async with one_port(server) as served, connect(served.port) as peer:
        frame = await dripped(peer, *in_pieces(1, 20, 40))
    assert frame.error_code == ErrorCode.ENHANCE_YOUR_CALM
    assert frame.additional_data == b"The head of a request did not come in time"


async def test_a_head_whose_continuation_never_comes_is_cut() -> None:
    server = new_server(FakePerforms(), head_seconds=SHORT)
    async with one_port(server) as served, connect(served.port) as peer:
        peer.send(in_pieces(1, 20)[0])
        frame = await peer.wait_for(GoAwayFrame)
        assert isinstance(frame, GoAwayFrame)
        assert frame.error_code == ErrorCode.ENHANCE_YOUR_CALM


async def test_a_greeting_that_drips_is_cut() -> None:
    server = new_server(FakePerforms(), head_seconds=SHORT)
    async with one_port(server) as served, connect(served.port, PREFACE) as peer:
        settings = raw(0x4, 0, 0, b"\0\x99\0\0\0\x01" * 100)
        frame = await dripped(peer, settings)
    assert frame.error_code == ErrorCode.ENHANCE_YOUR_CALM


async def test_calls_beside_it_are_let_go() -> None:
    performs = FakePerforms()
    performs.hold = asyncio.Event()
    server = new_server(performs, head_seconds=SHORT)
    async with one_port(server) as served, connect(served.port) as peer:
        peer.send(request(1), data(1, MESSAGE, ends=True), *in_pieces(3, 20)[:1])
        await peer.wait_for(GoAwayFrame)
        assert await peer.is_over()
        performs.hold.set()


async def test_a_body_that_drips_may_take_longer_than_a_head() -> None:
    server = new_server(FakePerforms(), head_seconds=SHORT)
    async with one_port(server) as served, connect(served.port) as peer:
        body = data(1, MESSAGE, ends=True).serialize()
        # Of what it will be its first bytes say nothing.
        peer.send(request(1), body[:9])
        for byte in body[9:]:
            await asyncio.sleep(SHORT / 2)
            peer.send(bytes((byte,)))
        assert (await peer.headers())[b":status"] == b"200"


# --- between calls ----------------------------------------------------------------------------


async def test_a_connection_without_calls_is_ended_in_order() -> None:
    server = new_server(FakePerforms(), http2_idle_seconds=SHORT)
    async with one_port(server) as served, connect(served.port) as peer:
        farewell = await peer.wait_for(GoAwayFrame)
        ping = await peer.wait_for(PingFrame)
        assert isinstance(farewell, GoAwayFrame)
        assert isinstance(ping, PingFrame)
        # First it is asked to come no more, and then told what the last was that counts.
        assert (farewell.error_code, farewell.last_stream_id) == (ErrorCode.NO_ERROR, 2**31 - 1)
        peer.send(PingFrame(0, ping.opaque_data, flags=("ACK",)))
        last = await peer.wait_for(GoAwayFrame)
        assert isinstance(last, GoAwayFrame)
        assert (last.error_code, last.last_stream_id) == (ErrorCode.NO_ERROR, 0)
        assert await peer.is_over()


async def test_a_peer_that_does_not_answer_the_farewell_is_ended_too() -> None:
    server = new_server(FakePerforms(), http2_idle_seconds=SHORT)
    async with one_port(server) as served, connect(served.port) as peer:
        await peer.wait_for(GoAwayFrame)
        assert await peer.is_over()


async def test_a_call_that_crosses_the_farewell_is_served() -> None:
    performs = FakePerforms()
    performs.hold = asyncio.Event()
    server = new_server(performs, http2_idle_seconds=SHORT)
    async with one_port(server) as served, connect(served.port) as peer:
        await peer.wait_for(GoAwayFrame)
        ping = await peer.wait_for(PingFrame)
        assert isinstance(ping, PingFrame)
        peer.send(request(1), data(1, MESSAGE, ends=True))
        peer.send(PingFrame(0, ping.opaque_data, flags=("ACK",)))
        await peer.wait_for(GoAwayFrame)
        await asyncio.sleep(4 * SHORT)
        performs.hold.set()
        assert (await peer.headers())[b":status"] == b"200"
        assert await peer.is_over()


async def test_a_connection_with_a_call_is_kept() -> None:
    performs = FakePerforms()
    performs.hold = asyncio.Event()
    server = new_server(performs, http2_idle_seconds=SHORT)
    async with one_port(server) as served, connect(served.port) as peer:
        peer.send(request(1), data(1, MESSAGE, ends=True))
        await asyncio.sleep(4 * SHORT)
        assert await peer.outcome() is ALIVE
        performs.hold.set()
        assert (await peer.headers())[b":status"] == b"200"


async def test_a_client_of_grpc_does_not_notice() -> None:
    server = new_server(FakePerforms(), http2_idle_seconds=SHORT)
    async with one_port(server) as served, served.channel() as channel:
        call: Any = channel.unary_unary(SEND)
        for _ in range(4):
            assert await call(b"hi", wait_for_ready=True) == b"echo hi"
            await asyncio.sleep(3 * SHORT)
