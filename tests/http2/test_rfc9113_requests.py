"""RFC 9113, section 8: which requests are malformed."""

import pytest
from hyperframe.frame import HeadersFrame, PushPromiseFrame

from dragoman.net.http2.protocol.errors import ErrorCode
from tests.http2.frame_peer import (
    ALIVE,
    REQUEST,
    Ends,
    Outcome,
    Piece,
    Resets,
    block,
    connect,
    data,
    request,
)
from tests.support.server.grpc_fakes import FakePerforms, OnePort

MALFORMED = Resets(ErrorCode.PROTOCOL_ERROR)
MESSAGE = b"\0\0\0\0\2hi"


def rest_of(name: bytes) -> tuple[tuple[bytes, bytes], ...]:
    return tuple(header for header in REQUEST if header[0] != name)


def without(name: bytes) -> HeadersFrame:
    return request(head=rest_of(name))


def trailers(*fields: tuple[bytes, bytes], flags: tuple[str, ...] = ()) -> HeadersFrame:
    return HeadersFrame(1, block(*fields), flags=("END_HEADERS", *flags))


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param([request(), trailers((b"a", b"b"))], MALFORMED, id="no end"),
        pytest.param(
            [request(), data(1, MESSAGE), trailers((b"a", b"b"), flags=("END_STREAM",))],
            ALIVE,
            id="trailers",
        ),
        pytest.param(
            [request(), data(1, MESSAGE), trailers((b":path", b"/"), flags=("END_STREAM",))],
            MALFORMED,
            id="8.1: a pseudo-header in trailers",
        ),
    ],
)
async def test_8_1_a_second_block_ends_the_request(
    served: OnePort, pieces: list[Piece], expected: Outcome
) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(*pieces) == expected


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([request(1, (b"content-length", b"1")), data(1, b"ab")], id="too much"),
        pytest.param(
            [request(1, (b"content-length", b"9")), data(1, MESSAGE, ends=True)], id="too little"
        ),
        pytest.param(
            [
                request(1, (b"content-length", b"8")),
                data(1, MESSAGE[:3]),
                data(1, MESSAGE[3:], ends=True),
            ],
            id="too little in two frames",
        ),
        pytest.param(
            [request(1, (b"content-length", b"1"), flags=("END_HEADERS", "END_STREAM"))],
            id="nothing",
        ),
        pytest.param(
            [request(1, (b"content-length", b"1"), (b"content-length", b"2"))], id="two lengths"
        ),
        pytest.param([request(1, (b"content-length", b"-1"))], id="no number"),
    ],
)
async def test_8_1_1_a_body_is_as_long_as_it_says(
    served: OnePort, performs: FakePerforms, pieces: list[Piece]
) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(*pieces) == MALFORMED
    assert performs.asked == []


@pytest.mark.parametrize(
    "field",
    [
        pytest.param((b"X-Upper", b"1"), id="8.2.1: upper case"),
        pytest.param((b"with space", b"1"), id="8.2.1: a space in a name"),
        pytest.param((b"", b"1"), id="8.2.1: no name"),
        pytest.param((b"a:b", b"1"), id="8.2.1: a colon in a name"),
        pytest.param((b"a", b"1\r\nb: 2"), id="8.2.1: a line break in a value"),
        pytest.param((b"a", b"1\x00"), id="8.2.1: a zero in a value"),
        pytest.param((b"a", b" 1"), id="8.2.1: a space before a value"),
        pytest.param((b"connection", b"keep-alive"), id="8.2.2: connection"),
        pytest.param((b"proxy-connection", b"close"), id="8.2.2: proxy-connection"),
        pytest.param((b"keep-alive", b"timeout=5"), id="8.2.2: keep-alive"),
        pytest.param((b"transfer-encoding", b"chunked"), id="8.2.2: transfer-encoding"),
        pytest.param((b"upgrade", b"h2c"), id="8.2.2: upgrade"),
        pytest.param((b"te", b"trailers, deflate"), id="8.2.2: te with more than trailers"),
        pytest.param((b":path", b"/after"), id="8.3: a pseudo-header after a header"),
    ],
)
async def test_8_2_fields_that_no_request_has(served: OnePort, field: tuple[bytes, bytes]) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(request(1, field)) == MALFORMED


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(request(head=((b":new", b"1"), *REQUEST)), id="8.3: an unknown one"),
        pytest.param(request(head=((b":status", b"200"), *REQUEST)), id="8.3: one of answers"),
        pytest.param(without(b":method"), id="8.3.1: no method"),
        pytest.param(without(b":scheme"), id="8.3.1: no scheme"),
        pytest.param(without(b":path"), id="8.3.1: no path"),
        pytest.param(request(head=((b":path", b""), *rest_of(b":path"))), id="8.3.1: empty path"),
        *(
            pytest.param(request(head=(header, *REQUEST)), id=f"8.3: {header[0].decode()} twice")
            for header in REQUEST[:4]
        ),
        pytest.param(
            request(head=((b":method", b"CONNECT"), (b":authority", b"a:1"))),
            id="8.5: CONNECT, which is not offered",
        ),
    ],
)
async def test_8_3_pseudo_headers(served: OnePort, piece: Piece) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(piece) == MALFORMED


async def test_8_4_a_client_cannot_push(served: OnePort) -> None:
    async with connect(served.port) as peer:
        push = PushPromiseFrame(
            1, promised_stream_id=2, data=block(*REQUEST), flags=("END_HEADERS",)
        )
        assert await peer.outcome(request(), push) == Ends(ErrorCode.PROTOCOL_ERROR)
