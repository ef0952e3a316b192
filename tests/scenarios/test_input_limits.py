"""How much a request may hold, and how long it may take: the limit is served, more is not."""

from __future__ import annotations

import asyncio
import gzip
import json
from base64 import b64encode
from collections.abc import AsyncIterator

import httpx2
import pytest

from tests.scenarios.agents import make_agent, to
from tests.scenarios.bindings import Binding, Grpc, HttpJson, JsonRpc, expect
from tests.support.serving import Served, serving
from tests.support.wire import Json, message

KINDS = [JsonRpc, HttpJson, Grpc]

LIMITS: dict[str, object] = {
    "max_text_length": 100,
    "max_part_bytes": 60,
    "max_metadata_bytes": 80,
    "max_parts": 3,
    "max_id_length": 40,
    "max_headers": 30,
    "max_header_bytes": 4096,
}


@pytest.fixture(scope="module")
async def limited() -> AsyncIterator[Served]:
    async with serving(make_agent(), **LIMITS) as agent:  # type: ignore[arg-type] - settings of many types
        yield agent


@pytest.fixture(params=KINDS, ids=[kind.name for kind in KINDS])
async def wire(request: pytest.FixtureRequest, limited: Served) -> AsyncIterator[Binding]:
    async with request.param(limited.url) as binding:
        yield binding


def noted(size: int) -> Json:
    """Return metadata of so many bytes of JSON, which names a skill."""
    frame = json.dumps({"skillId": "mirror", "x": ""}, separators=(",", ":"))
    return {"skillId": "mirror", "x": "y" * (size - len(frame))}


def mirrored(*parts: Json) -> Json:
    return to("mirror", parts=list(parts))


def raw(size: int) -> Json:
    return {"raw": b64encode(b"x" * size).decode(), "mediaType": "image/png"}


GOOD: Json = {"text": "x"}


# --- contents -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("taken", "refused", "field", "rule"),
    [
        (
            mirrored({"text": "x" * 100}),
            mirrored(GOOD, {"text": "x" * 101}),
            "message.parts[1].text",
            "must not have more than 100 characters",
        ),
        (
            mirrored(raw(60)),
            mirrored(raw(61)),
            "message.parts[0].raw",
            "must not be larger than 60 bytes",
        ),
        (
            mirrored({"data": "x" * 58}),
            mirrored({"data": "x" * 59}),
            "message.parts[0].data",
            "must not be larger than 60 bytes",
        ),
        (
            message(metadata=noted(80)),
            message(metadata=noted(81)),
            "message.metadata",
            "must not be larger than 80 bytes of JSON",
        ),
        (
            mirrored({**GOOD, "metadata": noted(80)}),
            mirrored({**GOOD, "metadata": noted(81)}),
            "message.parts[0].metadata",
            "must not be larger than 80 bytes of JSON",
        ),
        (
            mirrored(GOOD, GOOD, GOOD),
            mirrored(GOOD, GOOD, GOOD, GOOD),
            "message.parts",
            "must not hold more than 3 parts",
        ),
        (
            to("echo", contextId="c" * 40),
            to("echo", contextId="c" * 41),
            "message",
            "has an id of more than 40 characters",
        ),
    ],
    ids=["text", "raw", "data", "metadata", "part metadata", "parts", "id"],
)
async def test_a_message_holds_as_much_as_the_limit_and_no_more(
    wire: Binding, taken: Json, refused: Json, field: str, rule: str
) -> None:
    # The same values are sent over each binding, and each time as another message.
    fresh = message()["messageId"]
    await wire.task({**taken, "messageId": f"{fresh}-a"})
    problem = await expect(
        "InvalidParamsError", wire.send_message({**refused, "messageId": f"{fresh}-b"})
    )
    assert problem.violations == [(field, rule)]


async def test_the_metadata_of_a_request_is_limited_too(wire: Binding) -> None:
    await wire.task(to("echo"), metadata=noted(80))
    problem = await expect("InvalidParamsError", wire.task(to("echo"), metadata=noted(81)))
    assert problem.violations == [("metadata", "must not be larger than 80 bytes of JSON")]


async def test_a_page_has_a_hundred_tasks_at_most(wire: Binding) -> None:
    await wire.list_tasks(pageSize=100)
    await expect("InvalidParamsError", wire.list_tasks(pageSize=101))


# --- bodies and heads ---------------------------------------------------------------------------


async def test_a_compressed_body_is_refused(limited: Served) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}
    packed = {"A2A-Version": "1.0", "Content-Type": "application/json", "Content-Encoding": "gzip"}
    async with httpx2.AsyncClient(base_url=limited.url, headers=packed) as client:
        for path, body in (("/", call), ("/message:send", {"message": message()})):
            refused = await client.post(path, content=gzip.compress(json.dumps(body).encode()))
            assert refused.status_code == 415
            assert "not with Content-Encoding gzip" in refused.text
        plain = await client.post("/", json=call, headers={"Content-Encoding": "identity"})
        assert plain.status_code == 200


async def spoken(url: str, *pieces: bytes) -> bytes:
    """Send bytes over a connection and return all that comes back until it is closed."""
    address = httpx2.URL(url)
    reader, writer = await asyncio.open_connection(address.host, address.port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        async with asyncio.timeout(10):
            return await reader.read()
    finally:
        writer.close()


def asked(*headers: bytes) -> bytes:
    lines = (b"GET /tasks HTTP/1.1", b"Host: localhost", b"A2A-Version: 1.0", *headers)
    return b"\r\n".join((*lines, b"Connection: close", b"", b""))


async def test_a_head_holds_so_many_headers_and_no_more(limited: Served) -> None:
    # Host, A2A-Version and Connection are three of them.
    assert (await spoken(limited.url, asked(*[b"x: y"] * 27))).startswith(b"HTTP/1.1 200 ")
    assert (await spoken(limited.url, asked(*[b"x: y"] * 28))).startswith(b"HTTP/1.1 431 ")


async def test_a_head_holds_so_many_bytes_and_no_more(limited: Served) -> None:
    named = b"/tasks" + b"host" + b"localhost" + b"a2a-version" + b"1.0" + b"connection" + b"close"
    room = 4096 - len(named) - len(b"x")
    assert (await spoken(limited.url, asked(b"x: " + b"y" * room))).startswith(b"HTTP/1.1 200 ")
    beyond = asked(b"x: " + b"y" * (room + 1))
    assert (await spoken(limited.url, beyond)).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "begun",
    [
        b"GET /tasks HTTP/1.1\r\nHost: localhost\r\nx: ",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{",
    ],
    ids=["head", "body"],
)
async def test_a_request_that_never_ends_is_cut(begun: bytes) -> None:
    async with serving(make_agent(), head_seconds=0.2, body_seconds=0.2) as agent:
        # Slow loris: a peer that sends a little, and then waits.
        answer = await spoken(agent.url, begun)
        assert answer.startswith(b"HTTP/1.1 408 ")
        # The server is none the worse for it.
        assert (await spoken(agent.url, asked())).startswith(b"HTTP/1.1 200 ")


async def test_a_connection_that_idles_is_closed() -> None:
    async with serving(make_agent(), keep_alive_seconds=0.2) as agent:
        kept = asked().replace(b"Connection: close", b"Connection: keep-alive")
        assert (await spoken(agent.url, kept)).startswith(b"HTTP/1.1 200 ")
        # So is one that never says anything.
        assert await spoken(agent.url) == b""
