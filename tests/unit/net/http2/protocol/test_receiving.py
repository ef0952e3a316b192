"""What comes in: what breaks a stream, what breaks the connection, and the windows we grant."""

import pytest

from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.http2.protocol.budgets import Budget
from dragoman.net.http2.protocol.errors import ConnectionFailedError, ErrorCode
from dragoman.net.http2.protocol.events import (
    StreamEnded,
)
from dragoman.net.http2.protocol.hpack import encode_headers
from dragoman.net.http2.protocol.receiving import CONNECTION_WINDOW, Receiver
from dragoman.net.http2.protocol.sending import Sender
from dragoman.net.http2.protocol.stream_table import StreamTable
from tests.support.net.http2_peer import (
    GREETING,
    PING,
    REQUEST,
    Client,
    data,
    request,
)

# --- what breaks one stream --------------------------------------------------------------------


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
        ([request(1), payloads.headers(1, b"", ends=False)], ErrorCode.PROTOCOL_ERROR),
        ([request(1), request(1, ends=True)], ErrorCode.PROTOCOL_ERROR),
        # Data after the end.
        ([request(1, ends=True), data(1, b"more")], ErrorCode.STREAM_CLOSED),
        # A window that grows by nothing, and one that grows too far.
        ([request(1), payloads.window_update(1, 0)], ErrorCode.PROTOCOL_ERROR),
        ([request(1), payloads.window_update(1, 2**31 - 1)], ErrorCode.FLOW_CONTROL_ERROR),
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
    assert client.send(payloads.window_update(1, 0)) == [StreamEnded(1, ErrorCode.PROTOCOL_ERROR)]


def test_a_stream_that_is_given_up_is_told_to_its_user() -> None:
    client = Client()
    client.send(request(1))
    assert client.send(payloads.reset(1, ErrorCode.CANCEL)) == [StreamEnded(1, ErrorCode.CANCEL)]
    assert client.send(payloads.reset(1, ErrorCode.CANCEL), payloads.window_update(1, 5)) == []


# --- what breaks the connection ----------------------------------------------------------------


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
        ([payloads.reset(1, ErrorCode.CANCEL)], ErrorCode.PROTOCOL_ERROR),
        ([payloads.window_update(1, 1)], ErrorCode.PROTOCOL_ERROR),
        # Streams that were skipped, or have ended.
        ([request(3), data(1, b"x")], ErrorCode.PROTOCOL_ERROR),
        ([request(3), request(1)], ErrorCode.PROTOCOL_ERROR),
        (
            [request(1), payloads.reset(1, ErrorCode.CANCEL), data(1, b"x")],
            ErrorCode.STREAM_CLOSED,
        ),
        ([payloads.headers(1, b"\xff", ends=True)], ErrorCode.COMPRESSION_ERROR),
        # Windows.
        ([payloads.window_update(0, 0)], ErrorCode.PROTOCOL_ERROR),
        ([payloads.window_update(0, 2**31 - 1)], ErrorCode.FLOW_CONTROL_ERROR),
        (
            [
                request(1),
                payloads.window_update(1, 2**31 - 1 - 65_535),
                payloads.settings([(frames.INITIAL_WINDOW_SIZE, 65_536)]),
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
    # It is filled again too fast to be exhausted frame by frame.
    table, sender = StreamTable(), Sender(Budget(1, 1), on_drained=print, on_ended=print)
    receiver = Receiver(table, sender, Budget(1000, 1), print, 16_384)
    receiver.receive(GREETING + request(1), 0.0)
    receiver.granted = 10
    with pytest.raises(ConnectionFailedError) as told:
        receiver.receive(data(1, b"x" * 11), 0.0)
    assert told.value.code is ErrorCode.FLOW_CONTROL_ERROR


# --- flow control: what we take ----------------------------------------------------------------


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


# --- what is owed at once ----------------------------------------------------------------------

HEAD = encode_headers(REQUEST)


def pieces_of_a_head() -> list[bytes]:
    """Return the head of a request in three frames."""
    return [
        frames.write_frame(frames.HEADERS, 0, 1, HEAD[:5]),
        frames.write_frame(frames.CONTINUATION, 0, 1, HEAD[5:10]),
        frames.write_frame(frames.CONTINUATION, frames.END_HEADERS, 1, HEAD[10:]),
    ]


def test_a_head_is_owed_from_its_first_byte_however_it_comes() -> None:
    client = Client()
    talk = b"".join(pieces_of_a_head())
    for number, byte in enumerate(talk[:-1]):
        client.connection.receive(bytes((byte,)), 10.0 + number)
        assert client.connection.amid_head_since == 10.0
    client.connection.receive(talk[-1:], 1000.0)
    assert client.connection.amid_head_since is None


def test_the_next_head_is_owed_from_its_own_first_byte() -> None:
    client = Client()
    first, second, third = pieces_of_a_head()
    client.connection.receive(first, 1.0)
    client.connection.receive(second, 2.0)
    client.connection.receive(third + request(3)[:1], 3.0)
    assert client.connection.amid_head_since == 3.0
    client.connection.receive(request(3)[1:] + request(5)[:20], 4.0)
    assert client.connection.amid_head_since == 4.0


def test_a_body_has_a_time_of_its_own() -> None:
    client = Client()
    client.connection.receive(request(1), 1.0)
    piece = data(1, b"x" * 100)
    client.connection.receive(piece[:2], 2.0)
    # What it will be cannot be told yet.
    assert client.connection.amid_head_since == 2.0
    client.connection.receive(piece[2:50], 3.0)
    assert client.connection.amid_head_since is None


def test_any_other_frame_is_owed_as_well() -> None:
    client = Client()
    client.connection.receive(PING[:12], 1.0)
    assert client.connection.amid_head_since == 1.0
    client.connection.receive(PING[12:], 2.0)
    assert client.connection.amid_head_since is None
