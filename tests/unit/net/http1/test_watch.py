"""What a peer of HTTP/1.1 may take: time, and room for its head."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from dragoman.net.asgi import Receive, Scope, Send
from dragoman.net.http1.watch import WatchedProtocol
from dragoman.net.limits import ConnectionLimits
from tests.support.net.http1_connections import (
    GET,
    Connection,
    FakeLoop,
    answering,
    asking,
    whole,
)

LIMITS = ConnectionLimits(
    max_headers=5,
    max_header_bytes=200,
    head_seconds=10,
    body_seconds=60,
    keep_alive_seconds=5,
)


def connection() -> Connection:
    """Return a connection to an app that reads the body and answers."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        while (await receive()).get("more_body"):
            pass
        await send(whole())

    return Connection(app, limits=LIMITS)


def head(*headers: bytes) -> bytes:
    return asking(b"GET", *headers)


# --- time ---------------------------------------------------------------------------------------


async def test_a_head_has_to_arrive_in_time() -> None:
    slow = connection()
    await slow.request(b"GET / HT")
    slow.loop.pass_time(9.9)
    assert not slow.transport.is_closed
    slow.loop.pass_time(0.2)
    assert slow.transport.is_closed
    assert slow.transport.writes[0].startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert slow.transport.writes[0].endswith(b"The request took too long to arrive.")


async def test_a_byte_now_and_then_does_not_help() -> None:
    # Slow loris: each byte comes before any pause would be too long.
    slow = connection()
    for byte in GET[:-2]:
        slow.protocol.data_received(bytes((byte,)))
        slow.loop.pass_time(1)
        if slow.transport.is_closed:
            break
    assert slow.transport.is_closed
    assert slow.loop.now <= 111


async def test_a_head_in_pieces_is_served_if_it_is_in_time() -> None:
    slow = connection()
    for piece in (GET[:5], GET[5:20], GET[20:]):
        slow.loop.pass_time(3)
        written = await slow.request(piece)
    assert written.startswith(b"HTTP/1.1 200 ")
    assert not slow.transport.is_closed


async def test_a_body_has_to_arrive_in_time() -> None:
    slow = connection()
    slow.protocol.data_received(asking(b"POST", b"Content-Length: 100"))
    for _ in range(59):
        slow.protocol.data_received(b"x")
        slow.loop.pass_time(1)
    assert not slow.transport.is_closed
    slow.protocol.data_received(b"x")
    slow.loop.pass_time(1)
    assert slow.transport.is_closed
    assert slow.transport.writes[0].startswith(b"HTTP/1.1 408 ")
    slow.protocol.connection_lost(None)
    await slow.settle()


async def test_a_body_in_pieces_is_served_if_it_is_in_time() -> None:
    slow = connection()
    slow.protocol.data_received(asking(b"POST", b"Content-Length: 3"))
    for _ in range(2):
        slow.loop.pass_time(20)
        slow.protocol.data_received(b"x")
        await asyncio.sleep(0)
    assert (await slow.request(b"x")).startswith(b"HTTP/1.1 200 ")
    assert not slow.transport.is_closed


async def test_our_own_work_takes_as_long_as_it_takes() -> None:
    release = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await release.wait()
        await send(whole())

    working = Connection(app, limits=LIMITS)
    working.protocol.data_received(GET)
    working.loop.pass_time(10_000)
    assert not working.transport.is_closed
    release.set()
    assert (await working.request(b"")).startswith(b"HTTP/1.1 200 ")


async def test_a_body_that_we_do_not_read_has_time() -> None:
    # A second request behind one that is at work: it is we who stopped reading.
    release = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "GET":
            await release.wait()
        while (await receive()).get("more_body"):
            pass
        await send(whole())

    busy = Connection(app, limits=LIMITS)
    busy.protocol.data_received(GET + asking(b"POST", b"Content-Length: 2"))
    await asyncio.sleep(0)
    busy.loop.pass_time(61)
    assert busy.transport.is_paused
    assert not busy.transport.is_closed
    release.set()
    assert (await busy.request(b"ab")).count(b"HTTP/1.1 200 ") == 2


async def test_a_request_that_arrives_whole_starts_no_timer() -> None:
    silent = Connection(answering(), limits=LIMITS)
    silent.protocol.data_received(GET)
    assert silent.loop.timers == []
    silent.protocol.connection_lost(None)
    await silent.settle()


async def test_a_connection_idles_for_its_time_after_a_slow_request() -> None:
    slow = connection()
    slow.protocol.data_received(GET[:5])
    slow.loop.pass_time(7)
    await slow.request(GET[5:])
    slow.loop.pass_time(4.9)
    assert not slow.transport.is_closed
    slow.loop.pass_time(0.2)
    assert slow.transport.is_closed


# --- room ---------------------------------------------------------------------------------------


async def test_as_many_headers_as_allowed_are_served_and_one_more_is_not() -> None:
    # The Host is the first of them.
    assert (await connection().request(head(*[b"a: b"] * 4))).startswith(b"HTTP/1.1 200 ")
    many = connection()
    written = await many.request(head(*[b"a: b"] * 5))
    assert written.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    assert many.transport.is_closed
    assert len(many.transport.writes) == 1


async def test_as_large_headers_as_allowed_are_served_and_one_byte_more_is_not() -> None:
    room = LIMITS.max_header_bytes - len(b"/" + b"host" + b"localhost" + b"a")
    assert (await connection().request(head(b"a: " + b"b" * room))).startswith(b"HTTP/1.1 200 ")
    written = await connection().request(head(b"a: " + b"b" * (room + 1)))
    assert written.startswith(b"HTTP/1.1 431 ")


async def test_the_url_counts_as_well() -> None:
    written = await connection().request(b"GET /%b HTTP/1.1\r\nHost: a\r\n\r\n" % (b"x" * 300))
    assert written.startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "begin",
    [b"GET / HTTP/1.1\r\na: ", b"GET / HTTP/1.1\r\n", b"GET /"],
    ids=["value", "name", "url"],
)
async def test_a_head_without_end_is_not_kept(begin: bytes) -> None:
    endless = connection()
    await endless.request(begin)
    sent = 0
    while not endless.transport.is_closed:
        await endless.request(b"x" * 10)
        sent += 10
        assert sent <= 220
    assert endless.transport.writes[0].startswith(b"HTTP/1.1 431 ")


async def test_a_large_body_does_not_count_as_head() -> None:
    request = asking(b"POST", b"Content-Length: 1000") + b"x" * 1000
    assert (await connection().request(request)).startswith(b"HTTP/1.1 200 ")


async def test_requests_in_one_piece_are_counted_one_by_one() -> None:
    written = await connection().request(head(b"a: " + b"b" * 100) * 5)
    assert written.count(b"HTTP/1.1 200 ") == 5


async def test_what_is_no_request_is_refused_as_ever() -> None:
    assert (await connection().request(b"nonsense\r\n\r\n")).startswith(b"HTTP/1.1 400 ")


# --- what is written down -----------------------------------------------------------------------


@pytest.mark.parametrize("is_wanted", [True, False])
def test_an_access_log_is_written_only_where_it_was_asked_for(
    is_wanted: bool,  # noqa: FBT001 - a column of a table
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app: Any = answering(whole())
    config = Config(app, log_config=None, access_log=is_wanted)
    # Who keeps logs may begin to listen once uvicorn is configured.
    monkeypatch.setattr(logging.getLogger("uvicorn.access"), "handlers", [logging.NullHandler()])
    loop = cast("asyncio.AbstractEventLoop", FakeLoop())
    assert WatchedProtocol(config, ServerState(), {}, loop, limits=LIMITS).access_log is is_wanted
