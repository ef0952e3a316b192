"""RFC 9113, sections 3 to 5.5 without stream states: how connections and frames begin."""

import pytest
from hyperframe.frame import (
    DataFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    SettingsFrame,
)

from dragoman.net.http2.protocol.errors import ErrorCode
from tests.http2.frame_peer import (
    ALIVE,
    PREFACE,
    Ends,
    Outcome,
    Piece,
    block,
    connect,
    data,
    raw,
    request,
)
from tests.support.server.grpc_fakes import FakePerforms, OnePort, new_server

PROTOCOL = Ends(ErrorCode.PROTOCOL_ERROR)
SIZE = Ends(ErrorCode.FRAME_SIZE_ERROR)
COMPRESSION = Ends(ErrorCode.COMPRESSION_ERROR)


async def test_3_4_our_own_preface_is_settings(served: OnePort) -> None:
    async with connect(served.port) as peer:
        first = await peer.read()
        assert isinstance(first, SettingsFrame)
        assert "ACK" not in first.flags


@pytest.mark.parametrize(
    "greeting",
    [
        pytest.param((b"PRI * HTTP/1.0\r\n\r\nSM\r\n\r\n",), id="another preface"),
        pytest.param((PREFACE, PingFrame(0)), id="no settings"),
        pytest.param((PREFACE, SettingsFrame(0, flags=("ACK",))), id="an acknowledgement first"),
    ],
)
async def test_3_4_a_connection_begins_with_preface_and_settings(
    greeting: tuple[Piece, ...],
) -> None:
    # A port for gRPC alone: on the shared one another preface is HTTP/1.1.
    server = new_server(FakePerforms())
    port = await server.listen("127.0.0.1", 0)
    async with connect(port, *greeting) as peer:
        assert await peer.outcome() == PROTOCOL
    await server.stop(1)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param([raw(0x16, 0, 0, b"\0" * 8)], ALIVE, id="an unknown kind of frame"),
        pytest.param([raw(0x6, 0x16, 0, b"are you?")], ALIVE, id="flags that a ping has not"),
        pytest.param([raw(0x6, 0, 2**31, b"are you?")], ALIVE, id="the reserved bit"),
    ],
)
async def test_4_1_what_is_not_defined_is_ignored(
    served: OnePort, pieces: list[Piece], expected: Outcome
) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(*pieces) == expected


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param([request(), data(1, b"\0" * 16_384)], ALIVE, id="the largest frame"),
        pytest.param([request(), data(1, b"\0" * 16_385)], SIZE, id="DATA beyond it"),
        pytest.param(
            [HeadersFrame(1, b"\0" * 16_385, flags=("END_HEADERS",))], SIZE, id="HEADERS beyond it"
        ),
        pytest.param([raw(0x99, 0, 0, b"\0" * 16_385)], SIZE, id="an unknown frame beyond it"),
    ],
)
async def test_4_2_frame_size(served: OnePort, pieces: list[Piece], expected: Outcome) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(*pieces) == expected


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param(
            [HeadersFrame(1, b"\xff" * 20, flags=("END_HEADERS",))],
            COMPRESSION,
            id="a block that is none",
        ),
        pytest.param(
            [request(flags=()), PriorityFrame(1, depends_on=3)], PROTOCOL, id="PRIORITY within"
        ),
        pytest.param([request(flags=()), request(3)], PROTOCOL, id="HEADERS of another within"),
        pytest.param([request(flags=()), data(1, b"")], PROTOCOL, id="DATA within"),
    ],
)
async def test_4_3_header_blocks(served: OnePort, pieces: list[Piece], expected: Outcome) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(*pieces) == expected


@pytest.mark.parametrize(
    "fragment",
    [
        pytest.param(b"\x80", id="RFC 7541 6.1: index 0"),
        pytest.param(b"\xc6", id="RFC 7541 2.3.3: an index beyond the table"),
        pytest.param(b"\x7f\x80\x80\x80\x80\x80\x80", id="RFC 7541 5.1: a number without end"),
        pytest.param(block() + b"\x82\x20", id="RFC 7541 4.2: a size update at the end"),
        pytest.param(b"\x3f\xe2\x1f", id="RFC 7541 6.3: a table of 4097 bytes"),
        pytest.param(b"\x00\x85\xf2\xb2\x4a\x84\xff\x84\x49\x50\x9f\xff", id="5.2: long padding"),
        pytest.param(b"\x00\x85\xf2\xb2\x4a\x84\xff\x83\x49\x50\x90", id="5.2: padding of zeros"),
        pytest.param(b"\x00\x85\xf2\xb2\x4a\x84\xff\x84\xff\xff\xff\xff", id="5.2: end of string"),
        pytest.param(b"\x40\x05ab", id="RFC 7541 5.2: a string that is cut off"),
    ],
)
async def test_4_3_a_compression_error_ends_the_connection(
    served: OnePort, fragment: bytes
) -> None:
    async with connect(served.port) as peer:
        frame = HeadersFrame(1, fragment, flags=("END_HEADERS", "END_STREAM"))
        assert await peer.outcome(frame) == COMPRESSION


async def test_4_3_a_dynamic_table_may_be_made_smaller_and_larger_again(served: OnePort) -> None:
    async with connect(served.port) as peer:
        sizes = b"\x20\x3f\xe1\x1f"
        frame = HeadersFrame(1, sizes + request().data, flags=("END_HEADERS", "END_STREAM"))
        assert await peer.outcome(frame) == ALIVE


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        # RFC 7540, 5.3.1; RFC 9113 leaves it open.
        pytest.param([PriorityFrame(1, depends_on=1)], PROTOCOL, id="PRIORITY"),
        pytest.param(
            [HeadersFrame(1, request().data, flags=("END_HEADERS", "PRIORITY"), depends_on=1)],
            PROTOCOL,
            id="HEADERS",
        ),
        pytest.param([PriorityFrame(1, depends_on=3)], ALIVE, id="on another"),
    ],
)
async def test_5_3_a_stream_does_not_depend_on_itself(
    served: OnePort, pieces: list[Piece], expected: Outcome
) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(*pieces) == expected


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param([raw(0xF0, 0, 0, b"12345678")], ALIVE, id="between frames"),
        pytest.param([request(flags=()), raw(0xF0, 0, 0, b"1")], PROTOCOL, id="in a block"),
    ],
)
async def test_5_5_extension_frames(
    served: OnePort, pieces: list[Piece], expected: Outcome
) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(*pieces) == expected


async def test_5_4_1_nothing_is_read_after_the_connection_has_failed(
    served: OnePort, performs: FakePerforms
) -> None:
    async with connect(served.port) as peer:
        late = DataFrame(1, b"\0\0\0\0\0", flags=("END_STREAM",))
        assert await peer.outcome(raw(0x0, 0, 0, b""), request(), late) == PROTOCOL
        assert performs.asked == []
