import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.bindings.http2 import frames
from dragoman.bindings.http2.errors import ConnectionFailedError, ErrorCode
from dragoman.bindings.http2.frames import Frame, FrameReader

any_frame = st.builds(
    Frame,
    # The kinds of any length.
    st.sampled_from([frames.DATA, frames.HEADERS, frames.SETTINGS, frames.CONTINUATION, 0x42]),
    st.integers(0, 255),
    st.integers(0, 2**31 - 1),
    st.binary(max_size=200),
)


@given(st.lists(any_frame), st.lists(st.integers(0, 300)))
def test_frames_are_read_as_they_were_written_however_they_come(
    written: list[Frame], cuts: list[int]
) -> None:
    stream = b"".join(frames.write_frame(*frame) for frame in written)
    reader = FrameReader()
    found: list[Frame] = []
    for cut in cuts:
        found += reader.read(stream[:cut])
        stream = stream[cut:]
    found += reader.read(stream)
    assert found == written


def test_a_frame_that_comes_byte_by_byte_is_read() -> None:
    reader = FrameReader()
    stream = frames.write_frame(frames.DATA, 0, 1, b"x" * frames.MAX_FRAME_BYTES)
    found = [frame for byte in stream for frame in reader.read(bytes((byte,)))]
    assert [len(frame.payload) for frame in found] == [frames.MAX_FRAME_BYTES]


@pytest.mark.parametrize(
    ("kind", "length"),
    [
        (frames.DATA, 16_385),
        (frames.PING, 7),
        (frames.RST_STREAM, 5),
        (frames.WINDOW_UPDATE, 0),
        (frames.PRIORITY, 4),
    ],
)
def test_a_frame_of_a_wrong_length_is_refused_before_it_has_come(kind: int, length: int) -> None:
    head = (length << 8 | kind).to_bytes(4, "big") + b"\x00\x00\x00\x00\x01"
    for cut in (0, 5):
        reader = FrameReader()
        assert list(reader.read(head[:cut])) == []
        with pytest.raises(ConnectionFailedError) as told:
            list(reader.read(head[cut:]))
        assert told.value.code is ErrorCode.FRAME_SIZE_ERROR


def test_the_reserved_bit_of_a_stream_is_ignored() -> None:
    (frame,) = FrameReader().read(frames.write_frame(frames.DATA, 0, 2**31 + 5))
    assert frame.stream == 5


@pytest.mark.parametrize(
    ("payload", "found"), [(b"\x02abc\0\0", b"abc"), (b"\x00", b""), (b"\x03\0\0\0", b"")]
)
def test_padding_is_removed(payload: bytes, found: bytes) -> None:
    assert frames.data_of(Frame(frames.DATA, frames.PADDED, 1, payload)) == found


@pytest.mark.parametrize("payload", [b"", b"\x01", b"\x05abcd"])
def test_more_padding_than_frame_is_refused(payload: bytes) -> None:
    with pytest.raises(ConnectionFailedError):
        frames.data_of(Frame(frames.DATA, frames.PADDED, 1, payload))


def test_a_priority_is_skipped() -> None:
    flags = frames.PRIORITY_FLAG | frames.PADDED
    frame = Frame(frames.HEADERS, flags, 1, b"\x01\0\0\0\0\x10block\0")
    assert frames.header_block_of(frame) == b"block"
    with pytest.raises(ConnectionFailedError):
        frames.header_block_of(Frame(frames.HEADERS, frames.PRIORITY_FLAG, 1, b"abcd"))


def test_settings_are_read_as_they_were_written() -> None:
    pairs = [(frames.INITIAL_WINDOW_SIZE, 1), (0x99, 2**32 - 1)]
    (frame,) = FrameReader().read(frames.settings(pairs))
    assert list(frames.settings_of(frame.payload)) == pairs


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
    (frame,) = FrameReader().read(frames.settings([(name, value)]))
    with pytest.raises(ConnectionFailedError) as told:
        list(frames.settings_of(frame.payload))
    assert told.value.code is code


def test_settings_of_a_wrong_length_are_refused() -> None:
    with pytest.raises(ConnectionFailedError):
        list(frames.settings_of(b"12345"))


@given(st.binary(max_size=50_000), st.booleans())
def test_a_long_header_block_is_continued(block: bytes, ends: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
    written = list(FrameReader().read(frames.headers(3, block, ends=ends)))
    assert b"".join(frame.payload for frame in written) == block
    assert [frame.kind for frame in written[1:]] == [frames.CONTINUATION] * (len(written) - 1)
    assert written[0].flags & frames.END_STREAM == ends
    assert [bool(f.flags & frames.END_HEADERS) for f in written] == [
        *[False] * (len(written) - 1),
        True,
    ]
