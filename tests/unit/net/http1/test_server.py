import asyncio
import logging
from collections.abc import MutableMapping
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dragoman.net.asgi import Receive, Scope, Send
from dragoman.net.http1.server import Http1Protocol
from tests.support.net.http1_connections import (
    GET,
    KEEP_ALIVE_SECONDS,
    Connection,
    answering,
    asking,
    whole,
)

# --- a whole answer -----------------------------------------------------------------------------


async def test_a_whole_answer_is_one_write() -> None:
    connection = Connection(answering(whole(200, b"[1]", (b"content-type", b"application/json"))))
    await connection.request()
    assert connection.transport.writes == [
        b"HTTP/1.1 200 OK\r\n"
        b"date: Mon, 16 Nov 2026 01:51:16 GMT\r\n"
        b"content-type: application/json\r\n"
        b"content-length: 3\r\n"
        b"\r\n"
        b"[1]"
    ]
    assert not connection.transport.is_closed


async def test_the_answer_to_head_tells_a_length_and_has_no_body() -> None:
    written = await Connection(answering(whole(200, b"[1]"))).request(asking(b"HEAD"))
    assert written.endswith(b"content-length: 3\r\n\r\n")


async def test_not_modified_tells_no_length() -> None:
    written = await Connection(answering(whole(304, b""))).request()
    assert written.startswith(b"HTTP/1.1 304 Not Modified\r\n")
    assert b"content-length" not in written


@pytest.mark.parametrize(
    "request_",
    [
        asking(b"GET", b"Connection: close"),
        # HTTP/1.0 closes after each answer.
        asking(b"GET", version=b"1.0"),
    ],
)
async def test_a_connection_that_is_not_kept_is_closed_after_the_answer(request_: bytes) -> None:
    connection = Connection(answering(whole()))
    written = await connection.request(request_)
    assert b"\r\nconnection: close\r\n" in written
    assert written.endswith(b"\r\n\r\n{}")
    assert connection.transport.is_closed


async def test_a_connection_is_closed_after_the_answer_when_the_server_stops() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        connection.protocol.shutdown()
        await send(whole())

    connection = Connection(app)
    assert b"\r\nconnection: close\r\n" in await connection.request()
    assert connection.transport.is_closed


async def test_who_is_gone_gets_no_answer() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        connection.protocol.connection_lost(None)
        await send(whole())

    connection = Connection(app)
    assert await connection.request() == b""


async def test_an_answer_waits_while_the_peer_takes_nothing() -> None:
    connection = Connection(answering(whole()))
    connection.protocol.pause_writing()
    connection.protocol.data_received(GET)
    for _ in range(5):
        await asyncio.sleep(0)
    assert connection.transport.writes == []
    connection.protocol.resume_writing()
    assert (await connection.request(b"")).endswith(b"\r\n\r\n{}")


async def test_who_goes_while_an_answer_waits_gets_none() -> None:
    connection = Connection(answering(whole()))
    connection.protocol.pause_writing()
    connection.protocol.data_received(GET)
    await asyncio.sleep(0)
    connection.protocol.connection_lost(ConnectionResetError())
    await asyncio.sleep(0)
    assert connection.transport.writes == []


@pytest.mark.parametrize(
    "messages",
    [
        (whole(), whole()),
        ({"type": "http.response.start", "status": 200, "headers": []}, whole()),
        (whole(), {"type": "http.response.body", "body": b"more"}),
    ],
)
async def test_there_is_one_answer(
    messages: tuple[MutableMapping[str, Any], ...], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "uvicorn.error"):
        written = await Connection(answering(*messages)).request()
    assert written.count(b"HTTP/1.1 200 OK") == 1
    assert "Exception in ASGI application" in caplog.text


@pytest.mark.parametrize("header", [(b"a b", b"c"), (b"", b"c"), (b"a", b"b\r\nc: d")])
async def test_a_header_that_would_break_the_answer_is_refused(
    header: tuple[bytes, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "uvicorn.error"):
        written = await Connection(answering(whole(200, b"{}", header))).request()
    assert written.startswith(b"HTTP/1.1 500 ")
    assert "Invalid HTTP header" in caplog.text


async def test_the_access_log_knows_whole_answers(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "uvicorn.access"):
        connection = Connection(answering(whole(201, b"[1]")), access_log=True)
        written = await connection.request()
    assert [record.getMessage() for record in caplog.records] == [
        '127.0.0.1:5000 - "GET / HTTP/1.1" 201'
    ]
    assert written.startswith(b"HTTP/1.1 201 Created\r\n")
    assert written.endswith(b"content-length: 3\r\n\r\n[1]")


# --- requests -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_",
    [
        GET,
        asking(b"POST", b"Content-Length: 0", b"X-Two: 1", b"x-two: 2"),
        asking(b"GET", version=b"1.0"),
        b"GET /a%20b/%C3%A9?q=%20&r HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
async def test_the_scope_is_that_of_uvicorn(request_: bytes) -> None:
    scopes: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        scopes.append(scope)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    for protocol in (HttpToolsProtocol, Http1Protocol):
        await Connection(app, protocol, root_path="/mount").request(request_)
    extensions = {"extensions": scopes[1]["extensions"]}
    assert {**scopes[0], **extensions} == scopes[1]
    assert scopes[0] is not scopes[1]


async def test_pipelined_requests_are_answered_one_by_one_in_order() -> None:
    running: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        running.append(scope["path"])
        assert len(running) == 1
        await asyncio.sleep(0)
        running.clear()
        await send(whole(200, scope["path"].encode()))

    connection = Connection(app)
    pipelined = b"".join(GET.replace(b" / ", b" /%d " % number) for number in range(3))
    await connection.request(pipelined)
    assert [write.rpartition(b"\r\n")[2] for write in connection.transport.writes] == [
        b"/0",
        b"/1",
        b"/2",
    ]
    assert not connection.transport.is_paused


async def test_who_is_gone_is_told_although_the_next_request_waits_already() -> None:
    # uvicorn would tell the one that waits; a stream would go on for nobody.
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["path"] == "/0"
        assert (await receive())["type"] == "http.request"
        connection.protocol.connection_lost(None)
        async with asyncio.timeout(5):
            assert (await receive())["type"] == "http.disconnect"
        await send(whole())

    connection = Connection(app)
    pipelined = b"".join(GET.replace(b" / ", b" /%d " % number) for number in range(2))
    assert await connection.request(pipelined) == b""


async def test_what_is_no_request_does_not_break_the_answer_before_it() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        connection.protocol.data_received(b"nonsense\r\n\r\n")

    connection = Connection(app)
    connection.protocol.data_received(GET + GET)
    await connection.settle()
    assert b"".join(connection.transport.writes).count(b"HTTP/1.1 ") == 1
    assert connection.transport.is_closed


async def test_a_body_is_read_as_ever() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        message = await receive()
        body = message["body"]
        while message["more_body"]:
            message = await receive()
            body += message["body"]
        await send(whole(200, body))
        assert await receive() == {"type": "http.disconnect"}

    connection = Connection(app)
    head = asking(b"POST", b"Content-Length: 6", b"Expect: 100-continue")
    connection.protocol.data_received(head + b"abc")
    await asyncio.sleep(0)
    written = await connection.request(b"def")
    assert connection.transport.writes[0] == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert written.endswith(b"\r\n\r\nabcdef")


async def test_a_stream_is_sent_as_ever() -> None:
    connection = Connection(
        answering(
            {"type": "http.response.start", "status": 200, "headers": []},
            {"type": "http.response.body", "body": b"one", "more_body": True},
            {"type": "http.response.body", "body": b""},
        )
    )
    written = await connection.request()
    assert written.endswith(b"\r\n\r\n3\r\none\r\n0\r\n\r\n")


async def test_too_many_connections_are_refused() -> None:
    connection = Connection(answering(whole()), limit_concurrency=1)
    assert (await connection.request()).startswith(b"HTTP/1.1 503 ")
    roomy = Connection(answering(whole()), limit_concurrency=2)
    assert (await roomy.request()).startswith(b"HTTP/1.1 200 ")


# --- idling -------------------------------------------------------------------------------------


async def test_a_connection_that_idles_for_its_time_is_closed() -> None:
    connection = Connection(answering(whole()))
    await connection.request()
    connection.loop.pass_time(KEEP_ALIVE_SECONDS - 0.1)
    assert not connection.transport.is_closed
    connection.loop.pass_time(0.2)
    assert connection.transport.is_closed


async def test_the_time_counts_from_the_last_answer() -> None:
    connection = Connection(answering(whole()))
    await connection.request()
    connection.loop.pass_time(KEEP_ALIVE_SECONDS - 1)
    await connection.request()
    connection.loop.pass_time(KEEP_ALIVE_SECONDS - 1)
    assert not connection.transport.is_closed
    connection.loop.pass_time(1)
    assert connection.transport.is_closed


async def test_one_timer_watches_over_many_answers() -> None:
    connection = Connection(answering(whole()))
    for _ in range(10):
        await connection.request()
    assert len(connection.loop.timers) == 1


async def test_a_connection_in_use_is_not_closed() -> None:
    release = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        if scope["method"] == "POST":
            await release.wait()
        await send(whole())

    connection = Connection(app)
    await connection.request()
    connection.protocol.data_received(asking(b"POST", b"Content-Length: 0"))
    await asyncio.sleep(0)
    connection.loop.pass_time(10 * KEEP_ALIVE_SECONDS)
    assert not connection.transport.is_closed
    release.set()
    await connection.request(b"")
    assert len(connection.transport.writes) == 2
    connection.loop.pass_time(KEEP_ALIVE_SECONDS)
    assert connection.transport.is_closed


async def test_nobody_watches_over_a_connection_that_is_lost() -> None:
    connection = Connection(answering(whole()))
    await connection.request()
    connection.protocol.connection_lost(ConnectionResetError())
    assert [timer.is_canceled for timer in connection.loop.timers] == [True]
