"""Budgets by themselves, and peers that ask for much and take nothing."""

import pytest

from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.http2.protocol.budgets import CHATTER, RESETS, Budget
from dragoman.net.http2.protocol.errors import ConnectionFailedError, ErrorCode
from dragoman.net.http2.protocol.events import (
    TooManyHeaders,
)
from dragoman.net.http2.protocol.header_blocks import MAX_CONTINUATIONS
from dragoman.net.http2.protocol.hpack import encode_headers
from dragoman.net.http2.protocol.stream_table import MAX_STREAMS
from tests.support.net.http2_peer import (
    BLOCK,
    PING,
    REQUEST,
    Client,
    data,
    request,
)


def test_a_budget_is_spent_and_then_it_is_enough() -> None:
    budget = Budget(3, 1)
    for _ in range(3):
        budget.spend(0.0)
    with pytest.raises(ConnectionFailedError) as told:
        budget.spend(0.5)
    assert told.value.code is ErrorCode.ENHANCE_YOUR_CALM


def test_time_fills_it_but_not_beyond_its_size() -> None:
    budget = Budget(3, 1)
    for _ in range(3):
        budget.spend(0.0)
    for now in (1.0, 2.0, 3.0):
        budget.spend(now)
    for _ in range(3):
        budget.spend(1000.0)
    with pytest.raises(ConnectionFailedError):
        budget.spend(1000.0)


def test_more_can_be_earned_up_to_its_size() -> None:
    budget = Budget(2, 0)
    budget.spend(0.0)
    budget.earn(100)
    budget.spend(0.0)
    budget.spend(0.0)
    with pytest.raises(ConnectionFailedError):
        budget.spend(0.0)


# --- on a connection ---------------------------------------------------------------------------


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
        payloads.settings([(frames.INITIAL_WINDOW_SIZE, 100)]),
        frames.write_frame(frames.SETTINGS, frames.ACK, 0),
        frames.write_frame(frames.PRIORITY, 0, 3, b"12345"),
        frames.write_frame(0x42, 0, 0),
        payloads.window_update(0, 1),
        payloads.window_update(1, 1),
        data(1, b""),
        frames.write_frame(frames.DATA, frames.PADDED, 1, b"\x00"),
        payloads.goaway(0, ErrorCode.NO_ERROR),
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
        client.send(payloads.window_update(0, 10), payloads.window_update(1, 10), PING)
    assert client.failure() is None


def test_a_caller_may_reset_each_stream_that_has_ended() -> None:
    # As some clients do after each call, even one that was refused without any data.
    client = Client()
    for stream in range(1, 6 * CHATTER[0], 2):
        client.send(request(stream, ends=True))
        client.connection.send_headers(stream, BLOCK, ends=True)
        client.send(payloads.reset(stream, ErrorCode.NO_ERROR), payloads.window_update(0, 1))
    assert client.failure() is None


@pytest.mark.parametrize("is_given_up", [True, False])
def test_streams_that_are_begun_to_be_ended_have_an_end(*, is_given_up: bool) -> None:
    client = Client()

    def begin_and_end(stream: int) -> None:
        # CVE-2023-44487: given up; CVE-2025-8671: made to fail.
        given_up = payloads.reset(stream, ErrorCode.CANCEL)
        broken = payloads.window_update(stream, 0)
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
    assert len(client.send(payloads.headers(1, block, ends=True))) == 1
    bomb = encode_headers(REQUEST) + b"\xbe" * 1000
    assert client.send(payloads.headers(3, bomb, ends=True)) == [TooManyHeaders(3)]
    assert len(client.send(request(5))) == 1
