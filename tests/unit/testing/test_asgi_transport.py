import asyncio
from collections.abc import AsyncGenerator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from dragoman.net.asgi import ASGIApp, Receive, Scope, Send
from dragoman.testing.asgi_transport import AsgiTransport

START: MutableMapping[str, Any] = {
    "type": "http.response.start",
    "status": 201,
    "headers": [(b"x-kind", b"tea")],
}


def body(data: bytes, *, more: bool = False) -> MutableMapping[str, Any]:
    return {"type": "http.response.body", "body": data, "more_body": more}


@asynccontextmanager
async def calling(app: ASGIApp) -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=AsgiTransport(app)) as client:
        yield client


async def test_a_request_arrives_as_it_was_sent() -> None:
    scopes: list[Scope] = []
    bodies: list[bytes] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scopes.append(scope)
        bodies.append((await receive())["body"])
        await send(START)
        await send(body(b"poured"))

    async with calling(app) as client:
        answer = await client.post(
            "http://agent.localhost/a%20b?x=1", content=b"mint", headers={"A2A-Version": "1.0"}
        )
    assert (answer.status_code, answer.headers["x-kind"], answer.content) == (201, "tea", b"poured")
    (scope,) = scopes
    assert bodies == [b"mint"]
    assert (scope["method"], scope["path"], scope["raw_path"]) == ("POST", "/a b", b"/a%20b")
    assert scope["query_string"] == b"x=1"
    assert (b"a2a-version", b"1.0") in scope["headers"]
    assert (b"host", b"agent.localhost") in scope["headers"]


async def test_a_piece_can_be_read_before_the_next_is_written() -> None:
    was_read = asyncio.Event()

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send(START)
        await send(body(b"one", more=True))
        await was_read.wait()
        await send(body(b"two"))

    async with calling(app) as client, client.stream("GET", "http://a.localhost/") as answer:
        pieces = answer.aiter_raw()
        assert await anext(pieces) == b"one"
        was_read.set()
        assert [piece async for piece in pieces] == [b"two"]


async def test_an_application_waits_for_its_reader() -> None:
    sent: list[int] = []

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send(START)
        for number in range(5):
            await send(body(b"%d" % number, more=True))
            sent.append(number)
        await send(body(b""))

    async with calling(app) as client, client.stream("GET", "http://a.localhost/") as answer:
        for _ in range(20):
            await asyncio.sleep(0)
        assert sent == [0]
        assert b"".join([piece async for piece in answer.aiter_raw()]) == b"01234"
    assert sent == [0, 1, 2, 3, 4]


async def test_an_application_is_told_that_its_reader_has_left() -> None:
    heard: list[str] = []
    ended = asyncio.Event()

    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send(START)
        # The second of these fills what may be unread, the third is held up until the reader left.
        for _ in range(3):
            await send(body(b"piece", more=True))
        heard.append((await receive())["type"])
        await send(body(b"nobody hears this"))
        ended.set()

    async with calling(app) as client:
        async with client.stream("GET", "http://a.localhost/") as answer:
            assert await anext(answer.aiter_raw()) == b"piece"
        async with asyncio.timeout(5):
            await ended.wait()
    assert heard == ["http.disconnect"]


async def test_who_gives_up_before_the_answer_has_left() -> None:
    arrived, left = asyncio.Event(), asyncio.Event()

    async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
        await receive()
        arrived.set()
        assert (await receive())["type"] == "http.disconnect"
        left.set()

    async with calling(app) as client, asyncio.TaskGroup() as group:
        asking = group.create_task(client.get("http://a.localhost/"))
        await arrived.wait()
        asking.cancel()
        async with asyncio.timeout(5):
            await left.wait()


async def test_what_an_application_raises_is_raised_to_who_asked() -> None:
    async def app(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise LookupError("no tea")

    async with calling(app) as client:
        with pytest.raises(LookupError, match="no tea"):
            await client.get("http://a.localhost/")


async def test_what_an_application_raises_later_ends_the_stream() -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send(START)
        await send(body(b"one", more=True))
        raise LookupError("no more tea")

    async with calling(app) as client:
        with pytest.raises(LookupError, match="no more tea"):
            await client.get("http://a.localhost/")


@pytest.mark.parametrize("messages", [[], [START], [START, body(b"half", more=True)]])
async def test_an_answer_that_is_not_completed_is_an_error(
    messages: list[MutableMapping[str, Any]],
) -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)

    async with calling(app) as client:
        with pytest.raises(httpx2.RemoteProtocolError, match="not completed"):
            await client.get("http://a.localhost/")


async def test_closing_ends_what_is_still_being_answered() -> None:
    ended: list[str] = []

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send(START)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("canceled")

    client = httpx2.AsyncClient(transport=AsgiTransport(app))
    await client.send(client.build_request("GET", "http://a.localhost/"), stream=True)
    await client.aclose()
    assert ended == ["canceled"]
