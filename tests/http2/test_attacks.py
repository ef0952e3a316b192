"""Peers that mean harm, on a real socket: each is stopped, and costs little until then."""

import asyncio
import tracemalloc
from typing import Any

import pytest
from hyperframe.frame import (
    DataFrame,
    HeadersFrame,
    PingFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from dragoman.model.documents import EventDocument
from dragoman.net.http2.protocol.budgets import CHATTER, RESETS
from dragoman.net.http2.protocol.connection import Connection
from dragoman.net.http2.protocol.errors import ErrorCode
from dragoman.net.http2.protocol.stream_table import MAX_STREAMS
from dragoman.server.grpc import http2_call
from tests.http2.frame_peer import (
    ALIVE,
    PREFACE,
    REQUEST,
    Ends,
    Piece,
    block,
    connect,
    data,
    raw,
    request,
)
from tests.support.server.grpc_fakes import (
    STREAM,
    Answered,
    FakePerforms,
    OnePort,
    ScriptedEvents,
    new_server,
    one_port,
)

CALM = Ends(ErrorCode.ENHANCE_YOUR_CALM)
MESSAGE = b"\0\0\0\0\2hi"


def cancel(stream: int) -> RstStreamFrame:
    return RstStreamFrame(stream, error_code=ErrorCode.CANCEL)


async def test_rapid_reset_is_stopped_before_it_has_done_much(
    served: OnePort, performs: FakePerforms
) -> None:
    # CVE-2023-44487. What was asked for is done although nobody waits: so it must end soon.
    performs.hold = asyncio.Event()
    async with connect(served.port) as peer:
        calls: list[Piece] = []
        for stream in range(1, 10_000, 2):
            calls += [request(stream), data(stream, MESSAGE, ends=True), cancel(stream)]
        assert await peer.outcome(*calls) == CALM
    assert len(performs.asked) <= RESETS[0] + 1
    performs.hold.set()


async def test_streams_that_are_made_to_fail_are_stopped_as_well(
    served: OnePort, performs: FakePerforms
) -> None:
    # CVE-2025-8671: it is we who reset them.
    performs.hold = asyncio.Event()
    async with connect(served.port) as peer:
        calls: list[Piece] = []
        for stream in range(1, 10_000, 2):
            broken = raw(0x8, 0, stream, b"\0\0\0\0")
            calls += [request(stream), data(stream, MESSAGE, ends=True), broken]
        assert await peer.outcome(*calls) == CALM
    assert len(performs.asked) <= RESETS[0] + 1
    performs.hold.set()


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(SettingsFrame(0, {0x99: 1}), id="CVE-2019-9515: SETTINGS"),
        pytest.param(PingFrame(0, b"12345678"), id="CVE-2019-9512: PING"),
        pytest.param(data(1, b""), id="CVE-2019-9518: DATA without data"),
        pytest.param(raw(0x0, 0x8, 1, b"\x01\0"), id="CVE-2019-9518: DATA of padding"),
        pytest.param(raw(0x2, 0, 5, b"\0\0\0\x03\x10"), id="CVE-2019-9513: PRIORITY"),
        pytest.param(WindowUpdateFrame(1, 1), id="CVE-2019-9511: WINDOW_UPDATE"),
        pytest.param(raw(0xBE, 0, 0, b""), id="frames of no kind"),
    ],
)
async def test_a_flood_of_frames_for_nothing_is_stopped(served: OnePort, piece: Piece) -> None:
    async with connect(served.port) as peer:
        assert await peer.outcome(request(), *[piece] * (2 * CHATTER[0])) == CALM


async def test_garbage_on_a_half_closed_stream_is_stopped(served: OnePort) -> None:
    async with connect(served.port) as peer:
        garbage = [data(1, b"x")] * (2 * CHATTER[0])
        assert await peer.outcome(request(), data(1, MESSAGE, ends=True), *garbage) in (
            CALM,  # The call was still open,
            Ends(ErrorCode.STREAM_CLOSED),  # or had been answered.
        )


async def test_a_flood_of_continuations_is_stopped(served: OnePort) -> None:
    # CVE-2024-27316, by many frames and by large ones.
    for size in (0, 1, 16_384):
        async with connect(served.port) as peer:
            pieces = [raw(0x9, 0, 1, b"\0" * size)] * 100
            assert await peer.outcome(request(flags=()), *pieces) == CALM


async def test_a_header_bomb_is_refused_and_not_unpacked(
    served: OnePort, performs: FakePerforms
) -> None:
    # One header of 4,000 bytes is remembered, and then named 16,000 times in each of 20 requests.
    flags = ("END_HEADERS", "END_STREAM")
    async with connect(served.port) as peer:
        remembered = b"\x40\x01a\x7f\xa1\x1e" + b"x" * 4000
        # The first byte would make the table smaller.
        peer.send(HeadersFrame(1, block(*REQUEST)[1:] + remembered, flags=flags))
        assert (await peer.headers(1))[b"grpc-status"] == b"12"
        tracemalloc.start()
        for stream in range(3, 43, 2):
            bomb = block(*REQUEST)[1:] + b"\xbe" * 16_000
            peer.send(HeadersFrame(stream, bomb, flags=flags))
            assert (await peer.headers(stream))[b":status"] == b"431"
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 5_000_000
    assert performs.asked == []


async def test_a_huge_frame_is_refused_before_it_comes(served: OnePort) -> None:
    async with connect(served.port) as peer:
        head = (2**24 - 1).to_bytes(3, "big") + b"\x00\x00\x00\x00\x00\x01"
        assert await peer.outcome(request(), head) == Ends(ErrorCode.FRAME_SIZE_ERROR)


async def test_a_reader_that_asks_for_much_and_reads_nothing_holds_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http2_call, "MAX_WAITING_BYTES", 1_000_000)
    performs = FakePerforms()
    performs.answer = Answered(b"x" * 400_000)
    async with (
        one_port(new_server(performs, stall_seconds=0.2)) as served,
        connect(served.port) as peer,
    ):
        peer.send(SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 0}))
        streams = range(1, 20, 2)
        for stream in streams:
            peer.send(request(stream), data(stream, MESSAGE, ends=True))
        statuses = [(await peer.headers(stream)).get(b"grpc-status") for stream in streams]
        # Three answers wait. For the others there is no room, and that is what they are told.
        assert statuses == [None] * 3 + [b"8"] * 7
        for _ in range(3):
            frame = await peer.wait_for(RstStreamFrame)
            assert isinstance(frame, RstStreamFrame)
            assert frame.error_code == ErrorCode.CANCEL
        # Then there is room again.
        peer.send(request(21), data(21, MESSAGE, ends=True))
        assert b"grpc-status" not in await peer.headers(21)


async def test_a_reader_of_a_stream_that_takes_nothing_is_let_go() -> None:
    performs = FakePerforms()
    events = [EventDocument(number, b"x" * 10_000) for number in range(1, 1001)]
    stream = ScriptedEvents(*((event,) for event in events))
    performs.answer = Answered(events=stream)
    async with (
        one_port(new_server(performs, stall_seconds=0.1)) as served,
        connect(served.port) as peer,
    ):
        peer.send(SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: 0}))
        head = tuple((n, STREAM.encode() if n == b":path" else v) for n, v in REQUEST)
        peer.send(request(head=head), data(1, MESSAGE, ends=True))
        async with asyncio.timeout(5):
            await stream.closed.wait()
        # One event was made ready, and no other.
        assert stream.shown == 1
        assert isinstance(await peer.wait_for(RstStreamFrame), RstStreamFrame)


def test_an_idle_stream_costs_little() -> None:
    connection = Connection()
    frames = b"".join(request(number).serialize() for number in range(1, 2 * MAX_STREAMS, 2))
    connection.receive(PREFACE + SettingsFrame(0).serialize(), 0.0)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    connection.receive(frames, 0.0)
    connection.take_events()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert connection.open_streams == MAX_STREAMS
    assert (after - before) / MAX_STREAMS < 2000


async def test_a_thousand_calls_that_never_go_on_are_ended() -> None:
    performs = FakePerforms()
    async with (
        one_port(new_server(performs, body_seconds=0.3)) as served,
        connect(served.port) as peer,
    ):
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        peer.send(*(request(number) for number in range(1, 2 * MAX_STREAMS, 2)))
        assert await peer.outcome() == ALIVE
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # The call, its stream and its reader; this test's own side counts, too.
        assert (after - before) / MAX_STREAMS < 6000
        for number in range(1, 2 * MAX_STREAMS, 2):
            assert (await peer.headers(number))[b"grpc-status"] == b"14"
        assert await peer.outcome(request(2 * MAX_STREAMS + 1)) == ALIVE
    assert performs.asked == []


# --- and those that mean none -----------------------------------------------------------------


async def test_ten_thousand_honest_calls_on_one_connection(served: OnePort) -> None:
    async with served.channel() as channel:
        call: Any = channel.unary_unary("/test.Service/SendMessage")
        for _ in range(100):
            answers = await asyncio.gather(*(call(b"hi") for _ in range(100)))
            assert answers == [b"echo hi"] * 100


async def test_a_client_may_give_up_all_its_calls_at_once(
    served: OnePort, performs: FakePerforms
) -> None:
    performs.hold = asyncio.Event()
    async with connect(served.port) as peer:
        streams = range(1, 2 * MAX_STREAMS, 2)
        for stream in streams:
            peer.send(request(stream), data(stream, MESSAGE, ends=True))
        assert await peer.outcome(*map(cancel, streams)) == ALIVE
        performs.hold.set()
        last = 2 * MAX_STREAMS + 1
        peer.send(request(last), data(last, MESSAGE, ends=True))
        assert (await peer.headers(last))[b":status"] == b"200"


async def test_a_reader_may_give_up_stream_after_stream(
    served: OnePort, performs: FakePerforms
) -> None:
    head = tuple((n, STREAM.encode() if n == b":path" else v) for n, v in REQUEST)
    async with connect(served.port) as peer:
        for stream in range(1, 4000, 2):
            events = ScriptedEvents((EventDocument(1, b"one"),), is_live=True)
            performs.answer = Answered(events=events)
            peer.send(request(stream, head=head), data(stream, MESSAGE, ends=True))
            frame = await peer.wait_for(DataFrame, stream)
            assert isinstance(frame, DataFrame)
            peer.send(cancel(stream), WindowUpdateFrame(0, len(frame.data)))
        assert await peer.outcome() == ALIVE
