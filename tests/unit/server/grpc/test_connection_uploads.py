"""Long requests share one pool."""

import asyncio

import pytest

from dragoman.bindings.grpc.framing import frame_message
from dragoman.errors import UnauthenticatedError
from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.http2.protocol.errors import ErrorCode
from dragoman.server.admission.authentication import IncomingRequest
from dragoman.service.principal import Principal
from tests.support.server.grpc_fakes import (
    FakePerforms,
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
        client.send(payloads.reset(1, ErrorCode.CANCEL))
        assert (await client.next(frames.WINDOW_UPDATE)).stream == 5


async def test_whoever_waits_is_granted_the_rest_of_its_message_once() -> None:
    server = new_server(FakePerforms(), max_body_bytes=200_000)
    async with one_port(server) as served, raw(served) as client:
        body = frame_message(b"x" * 200_000)
        for stream in (1, 3, 5):
            client.call(stream)
            client.data(stream, body[:10])
        for byte in body[10:60]:
            client.data(5, bytes((byte,)))
        for _ in range(3):
            await client.next(frames.WINDOW_UPDATE)
        client.send(payloads.reset(1, ErrorCode.CANCEL))
        granted = await client.next(frames.WINDOW_UPDATE)
        # What it may send anyway is no part of it.
        assert granted.stream == 5
        assert payloads.number_of(granted.payload) == len(body) - 65_535
        for start in range(60, len(body), 16_384):
            piece = body[start : start + 16_384]
            client.data(5, piece, ends=start + 16_384 >= len(body))
        client.send(payloads.window_update(5, 10**6), payloads.window_update(0, 10**6))
        assert (await client.headers())[b":status"] == b"200"


class Doorkeeper(FakePerforms):
    """Takes its time to find out who calls."""

    def __init__(self, *, lets_in: bool) -> None:
        super().__init__()
        self.met = asyncio.Event()
        self.decides = asyncio.Event()
        self._lets_in = lets_in

    async def enter(self, incoming: IncomingRequest) -> Principal:
        self.met.set()
        await self.decides.wait()
        if not self._lets_in:
            raise UnauthenticatedError
        return await super().enter(incoming)


async def test_a_long_message_comes_when_its_caller_has_been_let_in() -> None:
    performs = Doorkeeper(lets_in=True)
    async with one_port(new_server(performs)) as served, raw(served) as client:
        body = frame_message(b"x" * 200_000)
        client.call(1)
        client.data(1, body[:10])
        assert (await client.next(frames.WINDOW_UPDATE)).stream == 0
        await performs.met.wait()
        # Nothing but what has come by then is granted until it is known who calls.
        client.data(1, body[10:20])
        client.send(frames.write_frame(frames.PING, 0, 0, b"12345678"))
        assert (await client.next(frames.PING)).payload == b"12345678"
        performs.decides.set()
        granted = await client.next(frames.WINDOW_UPDATE)
        assert granted.stream == 1
        assert payloads.number_of(granted.payload) == len(body) - 65_535
        for start in range(20, len(body), 16_384):
            piece = body[start : start + 16_384]
            client.data(1, piece, ends=start + 16_384 >= len(body))
        assert (await client.headers())[b":status"] == b"200"
    assert performs.admitted == ["127.0.0.1"]


async def test_a_long_message_of_one_who_is_not_let_in_never_comes() -> None:
    performs = Doorkeeper(lets_in=False)
    performs.decides.set()
    async with one_port(new_server(performs)) as served, raw(served) as client:
        client.call(1)
        client.data(1, frame_message(b"x" * 200_000)[:10])
        assert (await client.headers())[b"grpc-status"] == b"16"
    assert performs.asked == []


async def test_a_caller_that_leaves_at_the_door_is_granted_nothing() -> None:
    performs = Doorkeeper(lets_in=True)
    server = new_server(performs, max_body_bytes=200_000)
    async with one_port(server) as served, raw(served) as client:
        head = frame_message(b"x" * 200_000)[:10]
        client.call(1)
        client.data(1, head)
        await performs.met.wait()
        client.send(payloads.reset(1, ErrorCode.CANCEL))
        client.send(frames.write_frame(frames.PING, 0, 0, b"12345678"))
        await client.next(frames.PING)
        performs.decides.set()
        # All of the pool is there for others: it has room for two.
        for stream in (3, 5):
            client.call(stream)
            client.data(stream, head)
        granted = [(await client.next(frames.WINDOW_UPDATE)).stream for _ in range(2)]
        assert granted == [3, 5]
    assert performs.asked == []
