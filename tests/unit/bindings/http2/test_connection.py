"""The server's side of a connection, talked to in frames."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.bindings.http2 import frames
from dragoman.bindings.http2.budgets import CHATTER, RESETS
from dragoman.bindings.http2.connection import (
    CONNECTION_WINDOW,
    MAX_CONTINUATIONS,
    MAX_STREAMS,
    Connection,
    DataReceived,
    Drained,
    Event,
    RequestReceived,
    StreamEnded,
    TooManyHeaders,
)
from dragoman.bindings.http2.errors import ErrorCode
from dragoman.bindings.http2.hpack import encode_headers
from tests.unit.bindings.http2.peer import GREETING, REQUEST, Client, data, request

BLOCK = encode_headers([(b":status", b"200")])
TRAILERS = encode_headers([(b"grpc-status", b"0")])
PING = frames.write_frame(frames.PING, 0, 0, b"12345678")


def windows(size: int) -> bytes:
    """Return the greeting of a client with windows of this size."""
    return frames.PREFACE + frames.settings([(frames.INITIAL_WINDOW_SIZE, size)])


# --- the beginning ----------------------------------------------------------------------------


def test_a_connection_begins_with_our_settings() -> None:
    connection = Connection()
    kinds = [frame.kind for frame in frames.FrameReader().read(connection.take_output())]
    assert kinds == [frames.SETTINGS, frames.WINDOW_UPDATE]


@pytest.mark.parametrize(
    "greeting",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        frames.PREFACE + PING,
        frames.PREFACE + frames.write_frame(frames.SETTINGS, frames.ACK, 0),
    ],
)
def test_what_does_not_begin_with_the_preface_and_settings_is_refused(greeting: bytes) -> None:
    connection = Connection()
    connection.receive(greeting, 0.0)
    assert connection.failure is not None
    assert connection.failure.code is ErrorCode.PROTOCOL_ERROR


def test_settings_are_acknowledged_and_pings_answered() -> None:
    client = Client()
    client.send(frames.settings([(0x99, 5)]), PING)
    acknowledged, answered = client.heard()
    assert acknowledged == (frames.SETTINGS, frames.ACK, 0, b"")
    assert answered == (frames.PING, frames.ACK, 0, b"12345678")


def test_what_is_unknown_is_ignored() -> None:
    client = Client()
    unknown = frames.write_frame(0x42, 0xFF, 7, b"?")
    goaway = frames.goaway(0, ErrorCode.NO_ERROR)
    priority = frames.write_frame(frames.PRIORITY, 0, 9, b"12345")
    assert client.send(unknown, goaway, priority) == []
    assert (client.kinds(), client.failure()) == ([], None)


# --- a request and its answer -----------------------------------------------------------------


def test_a_request_is_told_as_it_comes() -> None:
    client = Client()
    begun, piece, last = client.send(request(1), data(1, b"ab"), data(1, b"c", ends=True))
    assert isinstance(begun, RequestReceived)
    assert begun.head.path == b"/test.Service/Send"
    assert (piece, last) == (DataReceived(1, b"ab", ends=False), DataReceived(1, b"c", ends=True))


def test_an_answer_is_headers_data_and_trailers() -> None:
    client = Client()
    client.send(request(1, ends=True))
    connection = client.connection
    connection.send_headers(1, BLOCK)
    assert connection.send_data(1, b"body")
    connection.send_headers(1, TRAILERS, ends=True)
    assert client.heard() == [
        (frames.HEADERS, frames.END_HEADERS, 1, BLOCK),
        (frames.DATA, 0, 1, b"body"),
        (frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, 1, TRAILERS),
    ]
    assert connection.open_streams == 0


def test_an_answer_without_trailers_ends_with_its_body() -> None:
    client = Client()
    client.send(request(1, ends=True))
    client.connection.send_headers(1, BLOCK)
    client.connection.send_data(1, b"body")
    client.connection.send_end(1)
    assert client.heard()[-1] == (frames.DATA, frames.END_STREAM, 1, b"")


def test_an_answer_before_the_end_of_the_request_tells_that_the_rest_is_of_no_use() -> None:
    client = Client()
    client.send(request(1))
    client.connection.send_headers(1, TRAILERS, ends=True)
    assert client.resets() == [(1, ErrorCode.NO_ERROR)]
    # And what was under way is ignored.
    assert client.send(data(1, b"late"), frames.headers(1, b"", ends=True)) == []
    assert client.failure() is None


def test_what_is_sent_on_a_stream_that_is_over_goes_nowhere() -> None:
    client = Client()
    client.send(request(1, ends=True), frames.reset(1, ErrorCode.CANCEL))
    connection = client.connection
    connection.send_headers(1, BLOCK)
    assert connection.send_data(1, b"x" * 100_000)
    connection.send_end(1)
    connection.reset(1, ErrorCode.CANCEL)
    connection.grant(1, 5)
    assert client.kinds() == []


def test_a_long_header_block_may_come_in_pieces() -> None:
    client = Client()
    block = encode_headers((*REQUEST, (b"long", b"x" * 10_000)))
    pieces = [block[:100], block[100:5000], block[5000:]]
    (event,) = client.send(
        frames.write_frame(frames.HEADERS, frames.END_STREAM, 1, pieces[0]),
        frames.write_frame(frames.CONTINUATION, 0, 1, pieces[1]),
        frames.write_frame(frames.CONTINUATION, frames.END_HEADERS, 1, pieces[2]),
    )
    assert isinstance(event, RequestReceived)
    assert event.ends
    assert event.head.fields[-1] == (b"long", b"x" * 10_000)


def test_a_request_may_have_trailers() -> None:
    client = Client()
    client.send(request(1))
    trailers = frames.headers(1, encode_headers([(b"a", b"b")]), ends=True)
    assert client.send(trailers) == [DataReceived(1, b"", ends=True)]


def test_padding_is_no_part_of_the_body_and_its_window_is_given_back() -> None:
    client = Client()
    client.send(request(1))
    padded = frames.write_frame(frames.DATA, frames.PADDED, 1, b"\x05ab" + b"\0" * 5)
    assert client.send(padded) == [DataReceived(1, b"ab", ends=False)]
    assert client.heard() == [(frames.WINDOW_UPDATE, 0, 1, (6).to_bytes(4, "big"))]


def test_equal_header_blocks_mean_the_same_until_the_table_changes() -> None:
    client = Client()

    def path(block: bytes, stream: int) -> bytes:
        (event,) = client.send(frames.headers(stream, block, ends=True))
        assert isinstance(event, RequestReceived)
        return event.head.path

    recalled = b"\x83\x86\xbe"  # POST, http, the newest of the table.
    assert path(b"\x83\x86\x44\x02/a", 1) == b"/a"
    assert [path(recalled, stream) for stream in (3, 5, 7)] == [b"/a"] * 3
    assert path(b"\x83\x86\x44\x02/b", 9) == b"/b"
    assert [path(recalled, stream) for stream in (11, 13, 15)] == [b"/b"] * 3


# --- what breaks one stream -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pieces", "code"),
    [
        # Malformed: a header in upper case.
        ([request(1, more=((b"Upper", b""),))], ErrorCode.PROTOCOL_ERROR),
        # A body of another length than it says.
        (
            [request(1, more=((b"content-length", b"3"),)), data(1, b"ab", ends=True)],
            ErrorCode.PROTOCOL_ERROR,
        ),
        ([request(1, ends=True, more=((b"content-length", b"3"),))], ErrorCode.PROTOCOL_ERROR),
        # Headers within a body, and bad trailers.
        ([request(1), frames.headers(1, b"", ends=False)], ErrorCode.PROTOCOL_ERROR),
        ([request(1), request(1, ends=True)], ErrorCode.PROTOCOL_ERROR),
        # Data after the end.
        ([request(1, ends=True), data(1, b"more")], ErrorCode.STREAM_CLOSED),
        # A window that grows by nothing, and one that grows too far.
        ([request(1), frames.window_update(1, 0)], ErrorCode.PROTOCOL_ERROR),
        ([request(1), frames.window_update(1, 2**31 - 1)], ErrorCode.FLOW_CONTROL_ERROR),
        # More than the window of the stream.
        ([request(1), *[data(1, b"x" * 16_384)] * 4], ErrorCode.FLOW_CONTROL_ERROR),
    ],
)
def test_what_breaks_a_stream_breaks_no_other(pieces: list[bytes], code: ErrorCode) -> None:
    client = Client()
    client.send(*pieces)
    assert client.resets() == [(1, code)]
    assert len(client.send(request(3, ends=True))) == 1
    assert client.failure() is None


def test_a_stream_that_breaks_is_told_to_its_user() -> None:
    client = Client()
    client.send(request(1))
    assert client.send(frames.window_update(1, 0)) == [StreamEnded(1, ErrorCode.PROTOCOL_ERROR)]


def test_a_stream_that_is_given_up_is_told_to_its_user() -> None:
    client = Client()
    client.send(request(1))
    assert client.send(frames.reset(1, ErrorCode.CANCEL)) == [StreamEnded(1, ErrorCode.CANCEL)]
    assert client.send(frames.reset(1, ErrorCode.CANCEL), frames.window_update(1, 5)) == []


# --- what breaks the connection ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("pieces", "code"),
    [
        ([data(0, b"x")], ErrorCode.PROTOCOL_ERROR),
        ([request(0)], ErrorCode.PROTOCOL_ERROR),
        ([frames.write_frame(frames.PING, 0, 1, b"12345678")], ErrorCode.PROTOCOL_ERROR),
        ([frames.write_frame(frames.SETTINGS, 0, 1)], ErrorCode.PROTOCOL_ERROR),
        (
            [frames.write_frame(frames.SETTINGS, frames.ACK, 0, b"123456")],
            ErrorCode.FRAME_SIZE_ERROR,
        ),
        ([frames.write_frame(frames.GOAWAY, 0, 0, b"1234567")], ErrorCode.FRAME_SIZE_ERROR),
        ([frames.write_frame(frames.PUSH_PROMISE, 0, 1, b"1234")], ErrorCode.PROTOCOL_ERROR),
        ([frames.write_frame(frames.CONTINUATION, 0, 1)], ErrorCode.PROTOCOL_ERROR),
        # A header block that is interrupted, or continued elsewhere.
        ([frames.write_frame(frames.HEADERS, 0, 1), PING], ErrorCode.PROTOCOL_ERROR),
        (
            [
                frames.write_frame(frames.HEADERS, 0, 1),
                frames.write_frame(frames.CONTINUATION, 0, 3),
            ],
            ErrorCode.PROTOCOL_ERROR,
        ),
        # Streams that are not a client's, or have not begun.
        ([request(2)], ErrorCode.PROTOCOL_ERROR),
        ([data(1, b"x")], ErrorCode.PROTOCOL_ERROR),
        ([frames.reset(1, ErrorCode.CANCEL)], ErrorCode.PROTOCOL_ERROR),
        ([frames.window_update(1, 1)], ErrorCode.PROTOCOL_ERROR),
        # Streams that have ended, or were skipped.
        ([request(3), data(1, b"x")], ErrorCode.STREAM_CLOSED),
        ([request(3), request(1)], ErrorCode.STREAM_CLOSED),
        (
            [request(1), frames.reset(1, ErrorCode.CANCEL), data(1, b"x")],
            ErrorCode.STREAM_CLOSED,
        ),
        ([frames.headers(1, b"\xff", ends=True)], ErrorCode.COMPRESSION_ERROR),
        # Windows.
        ([frames.window_update(0, 0)], ErrorCode.PROTOCOL_ERROR),
        ([frames.window_update(0, 2**31 - 1)], ErrorCode.FLOW_CONTROL_ERROR),
        (
            [
                request(1),
                frames.window_update(1, 2**31 - 1 - 65_535),
                frames.settings([(frames.INITIAL_WINDOW_SIZE, 65_536)]),
            ],
            ErrorCode.FLOW_CONTROL_ERROR,
        ),
    ],
)
def test_what_breaks_the_connection_is_told_with_the_right_code(
    pieces: list[bytes], code: ErrorCode
) -> None:
    client = Client()
    client.send(*pieces)
    assert client.failure() == code
    assert client.send(request(5)) == []


def test_more_than_the_window_of_the_connection_is_refused() -> None:
    # Streams of 65,535 bytes each; none of it is read, because each is cut.
    client = Client()
    client.connection._granted = 10  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - it refills itself too fast to be exhausted from outside
    client.send(request(1), data(1, b"x" * 11))
    assert client.failure() == ErrorCode.FLOW_CONTROL_ERROR


# --- flow control: what we take ---------------------------------------------------------------


def test_a_stream_may_send_its_window_and_no_more_until_it_is_granted() -> None:
    client = Client()
    client.send(request(1), *[data(1, b"x" * 13_107)] * 5)
    assert client.connection.granted(1) == 0
    client.connection.grant(1, 10)
    assert client.heard() == [(frames.WINDOW_UPDATE, 0, 1, (10).to_bytes(4, "big"))]
    client.send(data(1, b"x" * 10))
    assert client.resets() == []
    client.send(data(1, b"x"))
    assert client.resets() == [(1, ErrorCode.FLOW_CONTROL_ERROR)]


def test_the_window_of_the_connection_is_refilled() -> None:
    client = Client()
    sent = 0
    for stream in range(1, 101, 2):
        client.send(request(stream), *[data(stream, b"x" * 13_107)] * 5)
        sent += 65_535
    assert client.failure() is None
    assert sent > 3 * CONNECTION_WINDOW


# --- flow control: what the peer takes --------------------------------------------------------


def answering(client: Client, body: bytes, *streams: int) -> None:
    for stream in streams:
        client.send(request(stream, ends=True))
        client.connection.send_headers(stream, BLOCK)
        client.connection.send_data(stream, body)


def test_with_a_window_of_one_byte_an_answer_comes_byte_by_byte() -> None:
    client = Client(windows(1))
    answering(client, b"abc", 1)
    client.connection.send_headers(1, TRAILERS, ends=True)
    assert client.heard()[1:] == [(frames.DATA, 0, 1, b"a")]
    client.send(frames.window_update(1, 1))
    assert client.heard() == [(frames.DATA, 0, 1, b"b")]
    client.send(frames.window_update(1, 1))
    assert [frame.payload for frame in client.heard()] == [b"c", TRAILERS]
    assert client.connection.open_streams == 0


def test_with_a_window_of_nothing_headers_come_and_the_body_waits() -> None:
    client = Client(windows(0))
    answering(client, b"abc", 1)
    assert client.kinds() == [frames.HEADERS]
    assert client.kinds() == []
    assert client.connection.progress() == {1: 0}
    assert client.send(frames.settings([(frames.INITIAL_WINDOW_SIZE, 5)])) == []
    assert client.body() == b"abc"
    assert client.connection.take_events() == [Drained(1)]


def test_a_window_may_fall_below_zero() -> None:
    client = Client()
    answering(client, b"x" * 1000, 1)
    client.heard()
    client.send(frames.settings([(frames.INITIAL_WINDOW_SIZE, 0)]))
    client.connection.send_data(1, b"more")
    client.send(frames.window_update(1, 1000))
    assert client.body() == b""
    client.send(frames.window_update(1, 4))
    assert client.body() == b"more"


def test_the_window_of_the_connection_holds_for_all_streams_and_is_shared_fairly() -> None:
    client = Client(windows(2**20))
    answering(client, b"x" * 100_000, 1, 3, 5)
    first = client.heard()
    client.connection.room = 10**6
    assert sum(len(f.payload) for f in first if f.kind == frames.DATA) == 65_535
    assert client.kinds() == []
    client.send(frames.window_update(0, 2**20))
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
        client.send(frames.window_update(1, increment))
        found += client.body()
    client.send(frames.window_update(0, 10**6), frames.window_update(1, 10**6))
    assert found + client.body() == b"".join(pieces)


# --- defences ---------------------------------------------------------------------------------


def test_streams_beyond_the_limit_are_refused_and_may_be_tried_again() -> None:
    client = Client()
    client.send(*(request(1 + 2 * number) for number in range(MAX_STREAMS)))
    last = 1 + 2 * MAX_STREAMS
    assert client.send(request(last)) == []
    assert client.resets() == [(last, ErrorCode.REFUSED_STREAM)]
    client.connection.reset(1, ErrorCode.CANCEL)
    assert len(client.send(request(last + 2))) == 1


def flood(client: Client, piece: bytes, count: int) -> int | None:
    for _ in range(count):
        client.send(piece)
    return client.failure()


@pytest.mark.parametrize(
    "piece",
    [
        PING,
        frames.settings([(frames.INITIAL_WINDOW_SIZE, 100)]),
        frames.write_frame(frames.SETTINGS, frames.ACK, 0),
        frames.write_frame(frames.PRIORITY, 0, 3, b"12345"),
        frames.write_frame(0x42, 0, 0),
        frames.window_update(0, 1),
        frames.window_update(1, 1),
        data(1, b""),
        frames.write_frame(frames.DATA, frames.PADDED, 1, b"\x00"),
        frames.goaway(0, ErrorCode.NO_ERROR),
    ],
)
def test_frames_for_nothing_have_an_end(piece: bytes) -> None:
    client = Client()
    client.send(request(1))
    assert flood(client, piece, CHATTER[0] // 2) is None
    assert flood(client, piece, CHATTER[0]) == ErrorCode.ENHANCE_YOUR_CALM


def test_at_a_decent_pace_they_have_none() -> None:
    client = Client()
    for _ in range(5 * CHATTER[0]):
        client.now += 1 / CHATTER[1]
        client.send(PING)
    assert client.failure() is None


def test_a_reader_may_answer_each_frame_with_windows_and_a_ping() -> None:
    client = Client()
    client.send(request(1, ends=True))
    client.connection.send_headers(1, BLOCK)
    for _ in range(3 * CHATTER[0]):
        client.connection.send_data(1, b"x" * 10)
        client.heard()
        client.connection.room = 65_536
        client.send(frames.window_update(0, 10), frames.window_update(1, 10), PING)
    assert client.failure() is None


@pytest.mark.parametrize("is_given_up", [True, False])
def test_streams_that_are_begun_to_be_ended_have_an_end(*, is_given_up: bool) -> None:
    client = Client()

    def begin_and_end(stream: int) -> None:
        # CVE-2023-44487: given up; CVE-2025-8671: made to fail.
        given_up, broken = frames.reset(stream, ErrorCode.CANCEL), frames.window_update(stream, 0)
        client.send(request(stream), given_up if is_given_up else broken)

    for number in range(RESETS[0]):
        begin_and_end(1 + 2 * number)
    assert client.failure() is None
    begin_and_end(1 + 2 * RESETS[0])
    assert client.failure() == ErrorCode.ENHANCE_YOUR_CALM


def test_a_header_block_without_end_is_cut_off() -> None:
    # CVE-2024-27316: by its size, and by the number of its frames.
    for size in (0, 16_384):
        client = Client()
        client.send(frames.write_frame(frames.HEADERS, 0, 1, b""))
        piece = frames.write_frame(frames.CONTINUATION, 0, 1, b"\x82" * size)
        assert flood(client, piece, MAX_CONTINUATIONS + 1) == ErrorCode.ENHANCE_YOUR_CALM


def test_too_many_headers_are_told_and_the_connection_goes_on() -> None:
    client = Client()
    # One remembered header, recalled a thousand times (an "HPACK bomb").
    block = encode_headers(REQUEST) + b"\x40\x01a\x7f\xa1\x1e" + b"x" * 4000
    assert len(client.send(frames.headers(1, block, ends=True))) == 1
    bomb = encode_headers(REQUEST) + b"\xbe" * 1000
    assert client.send(frames.headers(3, bomb, ends=True)) == [TooManyHeaders(3)]
    assert len(client.send(request(5))) == 1


# --- the end ----------------------------------------------------------------------------------


def test_a_draining_connection_finishes_what_it_has_and_refuses_the_rest() -> None:
    client = Client()
    client.send(request(1, ends=True))
    client.connection.drain()
    client.connection.drain()
    (goaway,) = client.heard()
    assert goaway.payload == struct.pack(">II", 2**31 - 1, 0)
    assert client.send(request(3)) == []
    assert client.resets() == [(3, ErrorCode.REFUSED_STREAM)]
    client.connection.send_headers(1, TRAILERS, ends=True)
    client.connection.close()
    assert client.kinds() == [frames.HEADERS, frames.GOAWAY]


def test_a_sign_of_life_is_asked_for() -> None:
    client = Client()
    client.connection.ping()
    assert client.kinds() == [frames.PING]
    assert client.send(frames.write_frame(frames.PING, frames.ACK, 0, b"dragoman")) == []
    assert client.kinds() == []


# --- anything at all --------------------------------------------------------------------------

some_frames = st.builds(
    frames.write_frame,
    st.integers(0, 10),
    st.sampled_from([0, 1, 4, 5, 8, 9, 0x20, 0x2D, 0xFF]),
    st.integers(0, 9),
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from([encode_headers(REQUEST), b"\x83\x86\x84", b"\0\0\0\x01", b"12345678"]),
    ),
)


@given(st.lists(st.one_of(some_frames, st.binary(max_size=30)), max_size=30))
@settings(max_examples=300)
def test_bytes_of_any_kind_are_events_or_a_failure(pieces: list[bytes]) -> None:
    client = Client()
    for piece in pieces:
        client.send(piece)
        for stream in range(1, 10, 2):
            client.connection.send_data(stream, b"answer")
        client.connection.take_output()


@given(st.lists(some_frames, max_size=20), st.lists(st.integers(0, 60), max_size=20))
@settings(max_examples=200)
def test_what_happens_does_not_depend_on_how_the_bytes_come(
    pieces: list[bytes], cuts: list[int]
) -> None:
    stream = GREETING + b"".join(pieces)
    whole = Connection()
    whole.receive(stream, 0.0)
    parts = Connection()
    events: list[Event] = []
    rest = stream
    for cut in cuts:
        parts.receive(rest[:cut], 0.0)
        events += parts.take_events()
        rest = rest[cut:]
    parts.receive(rest, 0.0)
    events += parts.take_events()
    assert events == whole.take_events()
    assert parts.take_output() == whole.take_output()
    assert str(parts.failure) == str(whole.failure)
