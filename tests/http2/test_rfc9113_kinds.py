"""RFC 9113, sections 6 and 7: the rules of each kind of frame."""

import pytest
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

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
    in_pieces,
    raw,
    request,
)
from tests.support.server.grpc_fakes import FakePerforms, OnePort

PROTOCOL = Ends(ErrorCode.PROTOCOL_ERROR)
SIZE = Ends(ErrorCode.FRAME_SIZE_ERROR)
FLOW = Ends(ErrorCode.FLOW_CONTROL_ERROR)
CALM = Ends(ErrorCode.ENHANCE_YOUR_CALM)
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    *(0x0, 0x1, 0x2, 0x3, 0x4),
    *(0x6, 0x7, 0x8, 0x9),
)
END_HEADERS, PADDED = 0x4, 0x8
MESSAGE = b"\0\0\0\0\2hi"
LARGEST = 2**31 - 1


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param([raw(DATA, 0, 0, b"x")], PROTOCOL, id="stream 0"),
        pytest.param([request(), raw(DATA, PADDED, 1, b"\x05abcd")], PROTOCOL, id="padding"),
        pytest.param([request(), raw(DATA, PADDED, 1, b"")], SIZE, id="no length of padding"),
        pytest.param([request(), raw(DATA, PADDED, 1, b"\x04abcd")], ALIVE, id="only padding"),
    ],
)
async def test_6_1_data(served: OnePort, pieces: list[Piece], expected: Outcome) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(*pieces) == expected


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param([raw(HEADERS, END_HEADERS, 0, block(*REQUEST))], PROTOCOL, id="stream 0"),
        pytest.param([raw(HEADERS, END_HEADERS | PADDED, 1, b"\x09\x82")], PROTOCOL, id="padding"),
        pytest.param([raw(HEADERS, END_HEADERS | 0x20, 1, b"\0\0\0")], SIZE, id="short priority"),
    ],
)
async def test_6_2_headers(served: OnePort, pieces: list[Piece], expected: Outcome) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(*pieces) == expected


async def test_6_2_padding_and_priority_of_headers_are_skipped(served: OnePort) -> None:
    async with connect(served.port) as peer:
        flags = ("END_HEADERS", "PADDED", "PRIORITY")
        head = HeadersFrame(
            1, block(*REQUEST), flags=flags, pad_length=7, depends_on=5, stream_weight=9
        )
        peer.send(head, data(1, MESSAGE, ends=True))
        assert (await peer.headers())[b":status"] == b"200"


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        pytest.param(raw(PRIORITY, 0, 0, b"\0\0\0\3\0"), PROTOCOL, id="6.3: PRIORITY, stream 0"),
        pytest.param(raw(PRIORITY, 0, 1, b"\0\0\0\3"), SIZE, id="6.3: PRIORITY of four octets"),
        pytest.param(raw(RST_STREAM, 0, 0, b"\0\0\0\0"), PROTOCOL, id="6.4: RST_STREAM, stream 0"),
        pytest.param(raw(RST_STREAM, 0, 1, b"\0\0\0"), SIZE, id="6.4: RST_STREAM of three octets"),
        pytest.param(raw(RST_STREAM, 0, 3, b"\0\0\0\0"), PROTOCOL, id="6.4: RST_STREAM when idle"),
        pytest.param(raw(GOAWAY, 0, 1, b"\0" * 8), PROTOCOL, id="6.8: GOAWAY on a stream"),
        pytest.param(raw(GOAWAY, 0, 0, b"\0" * 7), SIZE, id="6.8: GOAWAY of seven octets"),
        pytest.param(raw(0x5, END_HEADERS, 1, b"\0\0\0\2"), PROTOCOL, id="6.6: PUSH_PROMISE"),
    ],
)
async def test_6_3_to_6_8_frames_of_fixed_form(
    served: OnePort, piece: Piece, expected: Outcome
) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(request(), piece) == expected


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        pytest.param(raw(SETTINGS, 0x1, 0, b"\0" * 6), SIZE, id="6.5: ACK with a payload"),
        pytest.param(raw(SETTINGS, 0, 1, b""), PROTOCOL, id="6.5: on a stream"),
        pytest.param(raw(SETTINGS, 0, 0, b"\0\0\0"), SIZE, id="6.5: three octets"),
        pytest.param(raw(SETTINGS, 0, 0, b"\0\2\0\0\0\2"), PROTOCOL, id="6.5.2: push is 2"),
        pytest.param(raw(SETTINGS, 0, 0, b"\0\4\x80\0\0\0"), FLOW, id="6.5.2: window of 2^31"),
        pytest.param(raw(SETTINGS, 0, 0, b"\0\5\0\0\x3f\xff"), PROTOCOL, id="6.5.2: small frame"),
        pytest.param(raw(SETTINGS, 0, 0, b"\0\5\1\0\0\0"), PROTOCOL, id="6.5.2: large frame"),
        pytest.param(raw(SETTINGS, 0, 0, b"\0\xff\0\0\0\1"), ALIVE, id="6.5.2: unknown setting"),
        pytest.param(raw(SETTINGS, 0, 0, b"\0\xff\0\0\0\1" * 65), CALM, id="more than there are"),
    ],
)
async def test_6_5_settings(served: OnePort, piece: Piece, expected: Outcome) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(piece) == expected


async def test_6_5_3_settings_are_acknowledged_and_the_last_of_a_name_counts(
    served: OnePort,
) -> None:
    async with connect(served.port) as peer:
        await peer.wait_for(SettingsFrame)
        while "ACK" not in (await peer.wait_for(SettingsFrame)).flags:
            pass
        twice = b"\0\4\0\0\0\x64" + b"\0\4\0\0\0\3"
        peer.send(raw(SETTINGS, 0, 0, twice), request(), data(1, MESSAGE, ends=True))
        assert "ACK" in (await peer.wait_for(SettingsFrame)).flags
        frame = await peer.wait_for(DataFrame)
        assert isinstance(frame, DataFrame)
        assert len(frame.data) == 3


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        pytest.param(raw(PING, 0, 1, b"12345678"), PROTOCOL, id="on a stream"),
        pytest.param(raw(PING, 0, 0, b"1234567"), SIZE, id="seven octets"),
        # The answer to a ping of ours that never was is not answered: the next is.
        pytest.param(PingFrame(0, b"answered", flags=("ACK",)), ALIVE, id="an answer"),
    ],
)
async def test_6_7_ping(served: OnePort, piece: Piece, expected: Outcome) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(piece) == expected


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param([raw(WINDOW_UPDATE, 0, 0, b"\0" * 4)], PROTOCOL, id="6.9: by 0"),
        pytest.param(
            [request(), raw(WINDOW_UPDATE, 0, 1, b"\0" * 4)],
            Resets(ErrorCode.PROTOCOL_ERROR),
            id="6.9: by 0 on a stream",
        ),
        pytest.param([raw(WINDOW_UPDATE, 0, 0, b"\0\0\1")], SIZE, id="6.9: three octets"),
        pytest.param([WindowUpdateFrame(0, LARGEST)] * 2, FLOW, id="6.9.1: beyond 2^31-1"),
        pytest.param(
            [request(), *[WindowUpdateFrame(1, LARGEST)] * 2],
            Resets(ErrorCode.FLOW_CONTROL_ERROR),
            id="6.9.1: beyond 2^31-1 on a stream",
        ),
        pytest.param(
            [request(), *[data(1, b"\0" * 16_384)] * 4],
            Resets(ErrorCode.FLOW_CONTROL_ERROR),
            id="6.9.1: more than our window",
        ),
        pytest.param(
            [
                request(),
                WindowUpdateFrame(1, LARGEST - 65_535),
                raw(SETTINGS, 0, 0, b"\0\4\0\1\0\0"),
            ],
            FLOW,
            id="6.9.2: beyond 2^31-1 by a setting",
        ),
    ],
)
async def test_6_9_window_update(served: OnePort, pieces: list[Piece], expected: Outcome) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(*pieces) == expected


async def test_6_9_1_data_follows_the_window(served: OnePort) -> None:
    async with connect(served.port) as peer:
        window = SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 1})
        peer.send(window, request(), data(1, MESSAGE, ends=True))
        frame = await peer.wait_for(DataFrame)
        assert isinstance(frame, DataFrame)
        assert len(frame.data) == 1


async def test_6_9_2_a_setting_changes_open_streams_and_may_make_windows_negative(
    served: OnePort, performs: FakePerforms
) -> None:
    async with connect(served.port) as peer:
        peer.send(SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 3}))
        peer.send(request(), data(1, MESSAGE, ends=True))
        await peer.wait_for(DataFrame)
        # Three are used: two of a window of one are still owed.
        peer.send(SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 1}))
        assert await peer.outcome(WindowUpdateFrame(1, 2)) == ALIVE
        assert not [frame for frame in peer.seen if isinstance(frame, DataFrame)][1:]
        peer.send(WindowUpdateFrame(1, 1))
        frame = await peer.wait_for(DataFrame)
        assert isinstance(frame, DataFrame)
        assert len(frame.data) == 1
        peer.send(SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 100}))
        frame = await peer.wait_for(DataFrame)
        assert isinstance(frame, DataFrame)
        assert len(frame.data) == len(b"echo hi") + 5 - 4
        assert len(performs.asked) == 1


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param(in_pieces(1, 5, 9), ALIVE, id="several"),
        pytest.param([*in_pieces(1, 5)[:1], data(1, b"")], PROTOCOL, id="DATA instead"),
        pytest.param([*in_pieces(1, 5)[:1], in_pieces(3, 5)[1]], PROTOCOL, id="of another stream"),
        pytest.param([raw(CONTINUATION, END_HEADERS, 0, b"")], PROTOCOL, id="stream 0"),
        pytest.param(
            [request(), ContinuationFrame(1, b"", flags=("END_HEADERS",))],
            PROTOCOL,
            id="after the end",
        ),
        pytest.param(
            [*in_pieces(1, 5)[:1], *[ContinuationFrame(1, b"")] * 9], CALM, id="without end"
        ),
    ],
)
async def test_6_10_continuation(served: OnePort, pieces: list[Piece], expected: Outcome) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(*pieces) == expected


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(RstStreamFrame(1, error_code=0xFF), id="RST_STREAM"),
        pytest.param(GoAwayFrame(0, error_code=0xFF), id="GOAWAY"),
    ],
)
async def test_7_an_unknown_code_is_no_error(served: OnePort, piece: Piece) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(request(), piece) == ALIVE


async def test_6_8_what_a_leaving_client_has_begun_is_answered(served: OnePort) -> None:
    async with connect(served.port) as peer:
        peer.send(request(), GoAwayFrame(0), data(1, MESSAGE, ends=True))
        assert (await peer.headers())[b":status"] == b"200"
        assert (await peer.headers())[b"grpc-status"] == b"0"
