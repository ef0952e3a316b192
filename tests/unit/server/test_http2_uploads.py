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
