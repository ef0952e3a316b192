import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.net.http2.protocol import frames
from dragoman.net.http2.protocol.errors import ConnectionFailedError, ErrorCode
from dragoman.net.http2.protocol.frames import Frame, FrameReader

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
