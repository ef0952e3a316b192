import pytest

from dragoman.net.http2.protocol import frames
from dragoman.net.http2.protocol.errors import ErrorCode, StreamFailedError
from dragoman.net.http2.protocol.frames import Frame
from dragoman.net.http2.protocol.header_blocks import (
    MAX_HEADER_LIST_BYTES,
    Block,
    HeaderBlocks,
)
from dragoman.net.http2.protocol.hpack import encode_headers
from dragoman.net.http2.protocol.streams import Stream
from tests.support.net.http2_peer import REQUEST

HEAD = encode_headers(REQUEST)


def block(data: bytes, *, ends: bool = True) -> Block:
    return Block(1, data, ends)


def new_stream() -> Stream:
    return Stream(1, 100, None)


def test_a_block_is_whole_with_its_last_frame() -> None:
    blocks = HeaderBlocks()
    assert blocks.begin(Frame(frames.HEADERS, frames.END_STREAM, 5, HEAD[:9])) is None
    assert blocks.is_open
    assert blocks.go_on(Frame(frames.CONTINUATION, 0, 5, b"")) is None
    last = Frame(frames.CONTINUATION, frames.END_HEADERS, 5, HEAD[9:])
    assert blocks.go_on(last) == Block(5, HEAD, ends=True)
    assert not blocks.is_open


def test_a_head_that_comes_again_is_the_same() -> None:
    blocks = HeaderBlocks()
    first = blocks.read_head(block(HEAD))
    assert first is not None
    assert blocks.read_head(block(HEAD)) is first


def test_heads_of_long_blocks_and_more_than_a_few_are_not_kept() -> None:
    blocks = HeaderBlocks()
    long = encode_headers((*REQUEST, (b"long", b"x" * 600)))
    assert blocks.read_head(block(long)) is not blocks.read_head(block(long))
    for number in range(64):
        blocks.read_head(block(encode_headers((*REQUEST, (b"n", b"%d" % number)))))
    assert blocks.read_head(block(HEAD)) is not blocks.read_head(block(HEAD))


def test_a_malformed_block_that_changes_the_table_is_not_mistaken_later() -> None:
    blocks = HeaderBlocks()
    remembered = b"\x83\x86\xbe"  # POST, http, the newest of the table.
    blocks.read_head(block(b"\x83\x86\x44\x02/a"))
    kept = blocks.read_head(block(remembered))
    assert kept is not None
    assert kept.path == b"/a"
    with pytest.raises(StreamFailedError):
        blocks.read_head(block(b"\x44\x02/b"))  # No method; but a new path to remember.
    recalled = blocks.read_head(block(remembered))
    assert recalled is not None
    assert recalled.path == b"/b"


def test_too_many_headers_are_no_head() -> None:
    many = encode_headers((*REQUEST, (b"a", b"x" * MAX_HEADER_LIST_BYTES)))
    assert len(many) < 2 * MAX_HEADER_LIST_BYTES
    assert HeaderBlocks().read_head(block(many)) is None
    assert HeaderBlocks(2 * MAX_HEADER_LIST_BYTES).read_head(block(many)) is not None


@pytest.mark.parametrize(
    ("trailers", "ends", "code"),
    [
        (encode_headers([(b":path", b"/")]), True, ErrorCode.PROTOCOL_ERROR),
        (encode_headers([(b"a", b"b")]), False, ErrorCode.PROTOCOL_ERROR),
        (encode_headers([(b"a", b"x" * 17_000)]), True, ErrorCode.ENHANCE_YOUR_CALM),
    ],
)
def test_what_are_no_trailers_breaks_the_stream(
    trailers: bytes, code: ErrorCode, *, ends: bool
) -> None:
    with pytest.raises(StreamFailedError) as told:
        HeaderBlocks().read_trailers(new_stream(), block(trailers, ends=ends))
    assert told.value.code is code


def test_trailers_after_the_end_come_too_late() -> None:
    stream = new_stream()
    HeaderBlocks().read_trailers(stream, block(b""))
    stream.hear(0, 0, ends=True)
    with pytest.raises(StreamFailedError) as told:
        HeaderBlocks().read_trailers(stream, block(HEAD))
    assert told.value.code is ErrorCode.STREAM_CLOSED


def test_a_block_that_nobody_wants_is_read_all_the_same() -> None:
    blocks = HeaderBlocks()
    blocks.skip(block(b"\x40\x01a\x01b" + encode_headers([(b"a", b"x" * 17_000)])))
    blocks.skip(block(b"\x44\x02/a"))
    head = blocks.read_head(block(b"\x83\x86\xbe"))
    assert head is not None
    assert head.path == b"/a"
