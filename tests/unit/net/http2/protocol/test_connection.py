"""The server's side of a connection, talked to in frames."""

import struct

import pytest

from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.http2.protocol.connection import Connection
from dragoman.net.http2.protocol.errors import ErrorCode
from dragoman.net.http2.protocol.events import (
    DataReceived,
    LastStreamTold,
    RequestReceived,
)
from dragoman.net.http2.protocol.hpack import encode_headers
from tests.support.net.http2_peer import (
    BLOCK,
    GREETING,
    PING,
    REQUEST,
    TRAILERS,
    Client,
    answering,
    data,
    request,
)

# --- the beginning -----------------------------------------------------------------------------


def test_a_connection_begins_with_our_settings() -> None:
    connection = Connection()
    kinds = [frame.kind for frame in frames.FrameReader().read(connection.take_output())]
    assert kinds == [frames.SETTINGS, frames.WINDOW_UPDATE]


def test_our_settings_tell_how_long_headers_may_be() -> None:
    settings, _ = frames.FrameReader().read(Connection(12_345).take_output())
    assert struct.pack(">HI", frames.MAX_HEADER_LIST_SIZE, 12_345) in settings.payload


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


def test_whoever_has_sent_a_preface_and_settings_has_begun() -> None:
    connection = Connection()
    connection.receive(GREETING[:-1], 0.0)
    assert not connection.has_greeted
    connection.receive(GREETING[-1:], 0.0)
    assert connection.has_greeted


def test_settings_are_acknowledged_and_pings_answered() -> None:
    client = Client()
    client.send(payloads.settings([(0x99, 5)]), PING)
    acknowledged, answered = client.heard()
    assert acknowledged == (frames.SETTINGS, frames.ACK, 0, b"")
    assert answered == (frames.PING, frames.ACK, 0, b"12345678")


def test_what_is_unknown_is_ignored() -> None:
    client = Client()
    unknown = frames.write_frame(0x42, 0xFF, 7, b"?")
    goaway = payloads.goaway(0, ErrorCode.NO_ERROR)
    priority = frames.write_frame(frames.PRIORITY, 0, 9, b"12345")
    assert client.send(unknown, goaway, priority) == []
    assert (client.kinds(), client.failure()) == ([], None)


# --- a request and its answer ------------------------------------------------------------------


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
    assert client.send(data(1, b"late"), payloads.headers(1, b"", ends=True)) == []
    assert client.failure() is None


def test_what_is_sent_on_a_stream_that_is_over_goes_nowhere() -> None:
    client = Client()
    client.send(request(1, ends=True), payloads.reset(1, ErrorCode.CANCEL))
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
    trailers = payloads.headers(1, encode_headers([(b"a", b"b")]), ends=True)
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
        (event,) = client.send(payloads.headers(stream, block, ends=True))
        assert isinstance(event, RequestReceived)
        return event.head.path

    recalled = b"\x83\x86\xbe"  # POST, http, the newest of the table.
    assert path(b"\x83\x86\x44\x02/a", 1) == b"/a"
    assert [path(recalled, stream) for stream in (3, 5, 7)] == [b"/a"] * 3
    assert path(b"\x83\x86\x44\x02/b", 9) == b"/b"
    assert [path(recalled, stream) for stream in (11, 13, 15)] == [b"/b"] * 3


# --- the end -----------------------------------------------------------------------------------


def test_a_draining_connection_serves_what_was_under_way_and_refuses_the_rest() -> None:
    client = Client()
    client.send(request(1, ends=True))
    client.connection.drain()
    client.connection.drain()
    goaway, ping = client.heard()
    assert goaway.payload == struct.pack(">II", 2**31 - 1, 0)
    # The peer had sent this before it heard of the end.
    answered = frames.write_frame(frames.PING, frames.ACK, 0, ping.payload)
    assert len(client.send(request(3, ends=True))) == 1
    assert client.send(answered) == [LastStreamTold()]
    (goaway,) = client.heard()
    assert goaway.payload == struct.pack(">II", 3, 0)
    # And this it should not have sent.
    assert client.send(answered, request(5)) == []
    assert client.resets() == [(5, ErrorCode.REFUSED_STREAM)]
    client.connection.send_headers(1, TRAILERS, ends=True)
    client.connection.close()
    assert client.kinds() == [frames.HEADERS, frames.GOAWAY]


def test_a_connection_that_has_failed_says_so_and_nothing_else() -> None:
    client = Client()
    client.connection.room = 0
    answering(client, b"never sent", 1)
    client.heard()
    client.send(data(0, b""))
    client.connection.room = 100
    client.connection.drain()
    client.connection.close()
    assert client.kinds() == [frames.GOAWAY]


def test_a_sign_of_life_is_asked_for() -> None:
    client = Client()
    client.connection.ping()
    assert client.kinds() == [frames.PING]
    assert client.send(frames.write_frame(frames.PING, frames.ACK, 0, b"dragoman")) == []
    assert client.kinds() == []
