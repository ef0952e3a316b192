"""What goes out: no window is overrun, nobody is forgotten."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.http2.protocol.errors import ErrorCode
from dragoman.net.http2.protocol.events import (
    Drained,
)
from tests.support.net.http2_peer import (
    BLOCK,
    TRAILERS,
    Client,
    answering,
    request,
    windows,
)


def test_with_a_window_of_one_byte_an_answer_comes_byte_by_byte() -> None:
    client = Client(windows(1))
    answering(client, b"abc", 1)
    client.connection.send_headers(1, TRAILERS, ends=True)
    assert client.heard()[1:] == [(frames.DATA, 0, 1, b"a")]
    client.send(payloads.window_update(1, 1))
    assert client.heard() == [(frames.DATA, 0, 1, b"b")]
    client.send(payloads.window_update(1, 1))
    assert [frame.payload for frame in client.heard()] == [b"c", TRAILERS]
    assert client.connection.open_streams == 0


def test_with_a_window_of_nothing_headers_come_and_the_body_waits() -> None:
    client = Client(windows(0))
    answering(client, b"abc", 1)
    assert client.kinds() == [frames.HEADERS]
    assert client.kinds() == []
    assert client.connection.progress() == {1: 0}
    assert client.send(payloads.settings([(frames.INITIAL_WINDOW_SIZE, 5)])) == []
    assert client.body() == b"abc"
    assert client.connection.take_events() == [Drained(1)]


def test_a_window_may_fall_below_zero() -> None:
    client = Client()
    answering(client, b"x" * 1000, 1)
    client.heard()
    client.send(payloads.settings([(frames.INITIAL_WINDOW_SIZE, 0)]))
    client.connection.send_data(1, b"more")
    client.send(payloads.window_update(1, 1000))
    assert client.body() == b""
    client.send(payloads.window_update(1, 4))
    assert client.body() == b"more"


def test_the_window_of_the_connection_holds_for_all_streams_and_is_shared_fairly() -> None:
    client = Client(windows(2**20))
    answering(client, b"x" * 100_000, 1, 3, 5)
    first = client.heard()
    client.connection.room = 10**6
    assert sum(len(f.payload) for f in first if f.kind == frames.DATA) == 65_535
    assert client.kinds() == []
    client.send(payloads.window_update(0, 2**20))
    order = [frame.stream for frame in client.heard() if frame.kind == frames.DATA]
    # Nobody is served twice before the others.
    assert len(set(order[:3])) == 3


def test_without_room_nothing_is_made_ready() -> None:
    client = Client()
    client.connection.room = 0
    client.send(request(1, ends=True))
    client.connection.send_headers(1, BLOCK)
    assert not client.connection.send_data(1, b"body")
    assert client.kinds() == [frames.HEADERS]
    client.connection.room = 100
    assert client.body() == b"body"


@given(
    st.lists(st.binary(min_size=1, max_size=40_000), min_size=1, max_size=5),
    st.integers(0, 70_000),
    st.lists(st.integers(1, 30_000), max_size=20),
)
@settings(max_examples=50)
def test_no_window_is_ever_overrun_and_all_arrives(
    pieces: list[bytes], first: int, increments: list[int]
) -> None:
    client = Client(windows(first))
    connection = client.connection
    client.send(request(1, ends=True))
    connection.send_headers(1, BLOCK)
    for piece in pieces:
        connection.send_data(1, piece)
    allowed, found = first, client.body()
    for increment in increments:
        assert len(found) <= min(allowed, 65_535)
        allowed += increment
        client.send(payloads.window_update(1, increment))
        found += client.body()
    client.send(payloads.window_update(0, 10**6), payloads.window_update(1, 10**6))
    assert found + client.body() == b"".join(pieces)


def test_what_waits_is_counted_and_what_is_dropped_is_not() -> None:
    client = Client(windows(10))
    answering(client, b"x" * 100, 1, 3)
    connection = client.connection
    assert connection.waiting_bytes == 180
    client.send(payloads.reset(1, ErrorCode.CANCEL))
    assert connection.waiting_bytes == 90
    connection.reset(3, ErrorCode.CANCEL)
    assert connection.waiting_bytes == 0
    assert connection.held_bytes > 20
    client.heard()
    assert connection.held_bytes == 0


def test_room_that_ends_within_a_round_is_not_overdrawn() -> None:
    client = Client()
    client.connection.room = 0
    answering(client, b"x" * 100, 1, 3, 5)
    client.heard()
    client.connection.room = 150
    sizes = [len(frame.payload) for frame in client.heard()]
    assert (sizes, client.connection.room) == ([100, 50], 0)
    client.connection.room = 1000
    # Whoever has waited longest comes first.
    assert [(f.stream, len(f.payload)) for f in client.heard()] == [(5, 100), (3, 50)]
