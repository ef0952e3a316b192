import pytest

from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.http2.protocol.errors import ConnectionFailedError, ErrorCode
from dragoman.net.http2.protocol.frames import Frame, FrameReader


@pytest.mark.parametrize(
    ("payload", "found"), [(b"\x02abc\0\0", b"abc"), (b"\x00", b""), (b"\x03\0\0\0", b"")]
)
def test_padding_is_removed(payload: bytes, found: bytes) -> None:
    assert payloads.data_of(Frame(frames.DATA, frames.PADDED, 1, payload)) == found


@pytest.mark.parametrize("payload", [b"", b"\x01", b"\x05abcd"])
def test_more_padding_than_frame_is_refused(payload: bytes) -> None:
    with pytest.raises(ConnectionFailedError):
        payloads.data_of(Frame(frames.DATA, frames.PADDED, 1, payload))


def test_a_priority_is_skipped() -> None:
    flags = frames.PRIORITY_FLAG | frames.PADDED
    frame = Frame(frames.HEADERS, flags, 1, b"\x01\0\0\0\0\x10block\0")
    assert payloads.header_block_of(frame) == b"block"
    with pytest.raises(ConnectionFailedError):
        payloads.header_block_of(Frame(frames.HEADERS, frames.PRIORITY_FLAG, 1, b"abcd"))


def test_settings_are_read_as_they_were_written() -> None:
    pairs = [(frames.INITIAL_WINDOW_SIZE, 1), (0x99, 2**32 - 1)]
    (frame,) = FrameReader().read(payloads.settings(pairs))
    assert list(payloads.settings_of(frame.payload)) == pairs


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        (frames.INITIAL_WINDOW_SIZE, 2**31, ErrorCode.FLOW_CONTROL_ERROR),
        (frames.ENABLE_PUSH, 2, ErrorCode.PROTOCOL_ERROR),
        (frames.MAX_FRAME_SIZE, 16_383, ErrorCode.PROTOCOL_ERROR),
        (frames.MAX_FRAME_SIZE, 2**24, ErrorCode.PROTOCOL_ERROR),
    ],
)
def test_a_setting_beyond_its_bounds_is_refused(name: int, value: int, code: ErrorCode) -> None:
    (frame,) = FrameReader().read(payloads.settings([(name, value)]))
    with pytest.raises(ConnectionFailedError) as told:
        list(payloads.settings_of(frame.payload))
    assert told.value.code is code


def test_settings_of_a_wrong_length_are_refused() -> None:
    with pytest.raises(ConnectionFailedError):
        list(payloads.settings_of(b"12345"))


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("size", [0, 16_384, 16_385, 50_000])
def test_a_long_header_block_is_continued(size: int, *, ends: bool) -> None:
    block = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    written = list(FrameReader().read(payloads.headers(3, block, ends=ends)))
    assert b"".join(frame.payload for frame in written) == block
    assert [frame.kind for frame in written[1:]] == [frames.CONTINUATION] * (len(written) - 1)
    assert written[0].flags & frames.END_STREAM == ends
    assert [bool(f.flags & frames.END_HEADERS) for f in written] == [
        *[False] * (len(written) - 1),
        True,
    ]


@pytest.mark.parametrize("is_exclusive", [False, True])
def test_a_stream_that_depends_on_itself_is_refused(*, is_exclusive: bool) -> None:
    priority = (5 | is_exclusive << 31).to_bytes(4, "big") + b"\x10"
    payloads.check_priority(3, priority)
    with pytest.raises(ConnectionFailedError):
        payloads.check_priority(5, priority)
    with pytest.raises(ConnectionFailedError):
        payloads.header_block_of(Frame(frames.HEADERS, frames.PRIORITY_FLAG, 5, priority))


def test_settings_beyond_number_are_refused() -> None:
    (frame,) = FrameReader().read(payloads.settings([(0x99, 0)] * (payloads.MAX_SETTINGS + 1)))
    with pytest.raises(ConnectionFailedError) as told:
        list(payloads.settings_of(frame.payload))
    assert told.value.code is ErrorCode.ENHANCE_YOUR_CALM


def test_goaway_tells_a_stream_a_code_and_a_reason() -> None:
    (frame,) = FrameReader().read(payloads.goaway(7, ErrorCode.CANCEL, "why"))
    payloads.check_goaway(frame.payload)
    assert (payloads.number_of(frame.payload[:4]), frame.payload[8:]) == (7, b"why")
    with pytest.raises(ConnectionFailedError):
        payloads.check_goaway(frame.payload[:7])
