"""Long requests share one pool."""

import pytest

from dragoman.bindings.http2 import frames, payloads
from dragoman.bindings.http2.errors import ErrorCode
from dragoman.bindings.http2.grpc_framing import frame_message
from tests.unit.server.grpc_fakes import (
    FakePerforms,
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
