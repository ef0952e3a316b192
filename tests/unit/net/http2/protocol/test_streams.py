import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.net.http2.protocol.errors import ErrorCode, StreamFailedError
from dragoman.net.http2.protocol.streams import Stream


@given(st.lists(st.binary(min_size=1, max_size=50)), st.integers(1, 20))
def test_what_waits_comes_out_in_order_and_is_counted(chunks: list[bytes], limit: int) -> None:
    stream = Stream(1, 10_000, None)
    for chunk in chunks:
        stream.put(chunk)
    found = b""
    while stream.waiting:
        piece = stream.pull(limit)
        assert 0 < len(piece) <= limit
        found += piece
    assert found == b"".join(chunks)
    assert stream.taken == len(found) == 10_000 - stream.window


def test_a_body_is_as_long_as_it_says() -> None:
    stream = Stream(1, 0, 3)
    stream.hear(2, 2, ends=False)
    stream.hear(1, 1, ends=True)
    assert stream.has_heard_all


@pytest.mark.parametrize(("size", "ends"), [(4, False), (2, True)])
def test_a_body_of_another_length_is_refused(size: int, ends: bool) -> None:  # noqa: FBT001 - pytest passes it by name
    with pytest.raises(StreamFailedError) as told:
        Stream(1, 0, 3).hear(size, size, ends=ends)
    assert told.value.code is ErrorCode.PROTOCOL_ERROR


def test_a_window_never_grows_by_nothing_nor_without_end() -> None:
    with pytest.raises(StreamFailedError) as told:
        Stream(1, 0, None).widen(0)
    assert told.value.code is ErrorCode.PROTOCOL_ERROR
    with pytest.raises(StreamFailedError) as told:
        Stream(1, 1, None).widen(2**31 - 1)
    assert told.value.code is ErrorCode.FLOW_CONTROL_ERROR
