"""RFC 9113, section 5.1: what may come on a stream in which state."""

import pytest
from hyperframe.frame import (
    ContinuationFrame,
    HeadersFrame,
    PriorityFrame,
    RstStreamFrame,
    WindowUpdateFrame,
)

from dragoman.net.http2.protocol.errors import ErrorCode
from dragoman.net.http2.protocol.stream_table import MAX_STREAMS
from tests.http2.frame_peer import (
    ALIVE,
    REQUEST,
    Ends,
    FramePeer,
    Outcome,
    Piece,
    Resets,
    block,
    connect,
    data,
    request,
)
from tests.support.server.grpc_fakes import OnePort

PROTOCOL = Ends(ErrorCode.PROTOCOL_ERROR)
CLOSED = Ends(ErrorCode.STREAM_CLOSED)
MESSAGE = b"\0\0\0\0\2hi"
CANCEL = RstStreamFrame(1, error_code=ErrorCode.CANCEL)


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        pytest.param(data(1, b"x"), PROTOCOL, id="DATA"),
        pytest.param(CANCEL, PROTOCOL, id="RST_STREAM"),
        pytest.param(WindowUpdateFrame(1, 100), PROTOCOL, id="WINDOW_UPDATE"),
        pytest.param(
            ContinuationFrame(1, block(*REQUEST), flags=("END_HEADERS",)),
            PROTOCOL,
            id="CONTINUATION",
        ),
        pytest.param(PriorityFrame(1, depends_on=3), ALIVE, id="PRIORITY"),
        pytest.param(request(), ALIVE, id="HEADERS"),
    ],
)
async def test_5_1_idle(served: OnePort, piece: Piece, expected: Outcome) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(piece) == expected


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        pytest.param(data(1, b"x"), Resets(ErrorCode.STREAM_CLOSED), id="DATA"),
        pytest.param(
            request(flags=("END_HEADERS", "END_STREAM")),
            Resets(ErrorCode.STREAM_CLOSED),
            id="HEADERS",
        ),
        pytest.param(request(), Resets(ErrorCode.STREAM_CLOSED), id="HEADERS without an end"),
        pytest.param(
            ContinuationFrame(1, b"", flags=("END_HEADERS",)), PROTOCOL, id="CONTINUATION"
        ),
        pytest.param(WindowUpdateFrame(1, 100), ALIVE, id="WINDOW_UPDATE"),
        pytest.param(PriorityFrame(1, depends_on=3), ALIVE, id="PRIORITY"),
        pytest.param(CANCEL, ALIVE, id="RST_STREAM"),
    ],
)
async def test_5_1_half_closed_remote(served: OnePort, piece: Piece, expected: Outcome) -> None:
    async with connect(served.port) as peer:
        # An answer needs a window that is not given: the stream stays half closed.
        peer.send(_windows(0), request(), data(1, MESSAGE, ends=True))
        assert (await peer.headers())[b":status"] == b"200"
        assert await peer.outcome(piece) == expected


LATE: list[object] = [
    pytest.param(data(1, b"x"), CLOSED, id="DATA"),
    pytest.param(request(flags=("END_HEADERS", "END_STREAM")), CLOSED, id="HEADERS"),
    pytest.param(ContinuationFrame(1, b"", flags=("END_HEADERS",)), PROTOCOL, id="CONTINUATION"),
    pytest.param(WindowUpdateFrame(1, 100), ALIVE, id="WINDOW_UPDATE"),
    pytest.param(PriorityFrame(1, depends_on=3), ALIVE, id="PRIORITY"),
    pytest.param(CANCEL, ALIVE, id="RST_STREAM"),
]


@pytest.mark.parametrize(("piece", "expected"), LATE)
async def test_5_1_closed_by_the_peer(served: OnePort, piece: Piece, expected: Outcome) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(request(), CANCEL, piece) == expected


@pytest.mark.parametrize(("piece", "expected"), LATE)
async def test_5_1_closed_by_both(served: OnePort, piece: Piece, expected: Outcome) -> None:
    async with connect(served.port) as peer:
        await _answered(peer)
        assert await peer.outcome(piece) == expected


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(data(1, b"x"), id="DATA"),
        pytest.param(HeadersFrame(1, b"", flags=("END_HEADERS", "END_STREAM")), id="trailers"),
        pytest.param(WindowUpdateFrame(1, 100), id="WINDOW_UPDATE"),
        pytest.param(CANCEL, id="RST_STREAM"),
    ],
)
async def test_5_1_closed_by_us_what_was_under_way_is_ignored(
    served: OnePort, piece: Piece
) -> None:
    async with connect(served.port) as peer:
        malformed = request(1, (b"Upper", b""))
        assert await peer.outcome(malformed) == Resets(ErrorCode.PROTOCOL_ERROR)
        assert await peer.outcome(piece) == ALIVE


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([request(2)], id="an even number"),
        pytest.param([request(5), request(3)], id="a smaller number than before"),
    ],
)
async def test_5_1_1_stream_identifiers(served: OnePort, pieces: list[Piece]) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(*pieces) == PROTOCOL


async def test_5_1_2_streams_beyond_the_limit_are_refused(served: OnePort) -> None:
    async with connect(served.port) as peer:
        last = 2 * MAX_STREAMS + 1
        peer.send(*(request(number) for number in range(1, last, 2)))
        refused = Resets(ErrorCode.REFUSED_STREAM)
        assert await peer.outcome(request(last), stream=last) == refused
        assert await peer.outcome(CANCEL, request(last + 2), stream=last + 2) == ALIVE


async def _answered(peer: FramePeer) -> None:
    peer.send(request(), data(1, MESSAGE, ends=True))
    assert (await peer.headers())[b":status"] == b"200"
    assert (await peer.headers())[b"grpc-status"] == b"0"


def _windows(size: int) -> bytes:
    return b"\0\0\x06\x04\0\0\0\0\0\0\x04" + size.to_bytes(4, "big")
