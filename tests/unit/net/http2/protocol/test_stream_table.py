import pytest

from dragoman.net.http2.protocol.errors import ConnectionFailedError, ErrorCode, StreamFailedError
from dragoman.net.http2.protocol.stream_table import MAX_STREAMS, StreamTable


def opened(*numbers: int) -> StreamTable:
    table = StreamTable()
    for number in numbers:
        table.claim(number)
        table.open(number, None)
    return table


def test_open_streams_are_found_and_counted() -> None:
    table = opened(1, 3)
    assert [stream.number for stream in table] == [1, 3]
    table.forget(1)
    assert (table.get(1), len(table), table.last) == (None, 1, 3)


def test_a_client_has_odd_streams() -> None:
    with pytest.raises(ConnectionFailedError):
        StreamTable().claim(2)


def test_a_stream_too_many_is_refused_and_so_is_any_after_the_last() -> None:
    table = opened(*range(1, 2 * MAX_STREAMS, 2))
    for is_closed in (False, True):
        table.is_closed = is_closed
        with pytest.raises(StreamFailedError) as told:
            table.open(9999, None)
        assert told.value.code is ErrorCode.REFUSED_STREAM
        table.forget(1)


def test_what_comes_late_is_told_apart() -> None:
    table = opened(1, 3, 9)
    table.forget(1, is_cut=True)
    table.forget(3)
    table.check_cut(1)
    for number, code in ((3, ErrorCode.STREAM_CLOSED), (7, ErrorCode.PROTOCOL_ERROR)):
        table.check_begun(number)
        with pytest.raises(ConnectionFailedError) as told:
            table.check_cut(number)
        assert told.value.code is code
    with pytest.raises(ConnectionFailedError):
        table.check_begun(11)


def test_windows_change_together_and_may_fall_below_zero() -> None:
    table = opened(1)
    stream = table.get(1)
    assert stream is not None
    stream.count(1000)
    table.set_first_window(0)
    assert stream.window == -1000
    stream.widen(2000)
    with pytest.raises(ConnectionFailedError):
        table.set_first_window(2**31 - 1)
