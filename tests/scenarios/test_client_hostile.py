"""Agents that mean harm, or do it: what they send costs us little, and nobody else hears of it."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dragoman import connect
from dragoman.auth.outgoing.credentials import Bearer
from dragoman.client.agent import RemoteAgent
from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.errors import CardError, ClientError, CutError, ProtocolError
from dragoman.client.retry import NEVER
from dragoman.model.cards import AgentInterface
from dragoman.model.tasks import TaskState

TASK: dict[str, Any] = {
    "id": "t",
    "contextId": "c",
    "status": {"state": "TASK_STATE_COMPLETED"},
    "artifacts": [{"artifactId": "a", "parts": [{"text": "done"}]}],
}
STREAM = "text/event-stream"
MB = 1024 * 1024


class Host:
    """Answers each request with the bytes that a function makes of its path and body."""

    def __init__(self) -> None:
        self.url = ""
        self.answer: Callable[[str, bytes], bytes] = lambda _path, _body: reply(b"", status=404)
        self.heard: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = next(
                    (
                        int(line.partition(b":")[2])
                        for line in head.split(b"\r\n")
                        if line.lower().startswith(b"content-length:")
                    ),
                    0,
                )
                body = await reader.readexactly(size)
                self.heard.append(head + body)
                path = head.split(b" ")[1].decode()
                writer.write(self.answer(path, body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


@asynccontextmanager
async def hosting() -> AsyncGenerator[Host]:
    host = Host()
    async with await asyncio.start_server(host.serve, "127.0.0.1", 0) as server:
        host.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield host


def reply(body: bytes, *, status: int = 200, kind: str = "application/json", **more: str) -> bytes:
    headers = {"content-type": kind, "content-length": str(len(body)), **more}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} -\r\n{lines}\r\n".encode() + body


def answered(result: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()


@asynccontextmanager
async def calling(host: Host, *, binding: str = "JSONRPC") -> AsyncGenerator[RemoteAgent]:
    """Call the host, with a secret that nobody else may see."""
    interface = AgentInterface(url=host.url, protocol_binding=binding, protocol_version="1.0")
    async with connect(interface, retry=NEVER, version="1.0", auth=Bearer("s3cret")) as agent:
        yield agent


# --- too much -----------------------------------------------------------------------------------


async def test_an_answer_that_unpacks_to_more_than_it_may_is_refused() -> None:
    bomb = gzip.compress(b" " * (65 * MB))
    async with hosting() as host, calling(host) as agent:
        host.answer = lambda _path, _body: reply(bomb, content_encoding="gzip")
        with pytest.raises(ProtocolError, match="has more than"):
            await agent.task("t").get()


@pytest.mark.parametrize("encoding", ["gzip, gzip", "zstd", "br"])
async def test_what_would_unpack_without_bounds_is_not_unpacked(encoding: str) -> None:
    twice = gzip.compress(gzip.compress(answered(TASK)))
    async with hosting() as host, calling(host) as agent:
        host.answer = lambda _path, _body: reply(twice, content_encoding=encoding)
        with pytest.raises(ProtocolError, match="which was not asked for"):
            await agent.task("t").get()


async def test_what_was_asked_for_is_unpacked() -> None:
    async with hosting() as host, calling(host) as agent:
        host.answer = lambda _path, _body: reply(
            gzip.compress(answered(TASK)), content_encoding="gzip"
        )
        assert (await agent.task("t").get()).text == "done"


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_an_answer_that_is_nested_too_deeply_is_refused(binding: str) -> None:
    deep = b'{"id":"t","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    async with hosting() as host, calling(host, binding=binding) as agent:
        host.answer = lambda _path, _body: reply(b'{"jsonrpc":"2.0","id":1,"result":%b}' % deep)
        with pytest.raises(ProtocolError, match="levels deep"):
            await agent.task("t").get()
        host.answer = lambda _path, _body: reply(b"data: %b\n\n" % deep, kind=STREAM)
        with pytest.raises(ProtocolError, match="levels deep"):
            await agent.send("hi")


async def test_a_card_may_not_be_a_bomb_either() -> None:
    bomb = gzip.compress(b'{"name":"' + b" " * (2 * MB) + b'","url":"/"}')
    async with hosting() as host:
        host.answer = lambda _path, _body: reply(bomb, content_encoding="gzip")
        with pytest.raises(ProtocolError, match="has more than"):
            async with connect(host.url, cards=CardCache()):
                pass


# --- something else -----------------------------------------------------------------------------


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
@pytest.mark.parametrize(
    "body", [b"<html>Sign in</html>", b"", b"null", b"[]", b"\xff\xfe", b'{"task":', b"1" * 5000]
)
async def test_what_is_no_answer_is_named_as_such(binding: str, body: bytes) -> None:
    async with hosting() as host, calling(host, binding=binding) as agent:
        for kind in ("text/html", "application/json", STREAM):
            host.answer = lambda _path, _body, kind=kind: reply(body, kind=kind)
            with pytest.raises(ProtocolError):
                await agent.task("t").get()
            with pytest.raises((ProtocolError, CutError)):
                await agent.send("hi")


async def test_a_redirect_takes_no_secret_elsewhere() -> None:
    async with hosting() as host, hosting() as other, calling(host) as agent:
        for status in (301, 302, 303, 307, 308):
            host.answer = lambda _path, _body, status=status: reply(
                b"", status=status, location=f"{other.url}/rpc"
            )
            with pytest.raises(ClientError):
                await agent.send("hi")
        assert b"s3cret" in host.heard[0]
        assert other.heard == []


async def test_a_card_takes_no_secret_elsewhere() -> None:
    async with hosting() as host, hosting() as other:
        interface = {"url": other.url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        card: dict[str, Any] = {
            "name": "Guide",
            "description": "Shows the way.",
            "version": "1",
            "supportedInterfaces": [interface],
            "capabilities": {},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [],
        }
        host.answer = lambda _path, _body: reply(json.dumps(card).encode())
        other.answer = lambda _path, _body: reply(answered({"task": TASK}))
        async with connect(
            host.url,
            auth=Bearer("s3cret"),
            headers={"X-Secret": "s3cret"},
            card_auth=True,
            retry=NEVER,
            cards=CardCache(),
        ) as agent:
            await agent.send("hi")
        assert len(other.heard) == 1
        assert b"s3cret" not in other.heard[0]


async def test_a_card_that_redirects_elsewhere_is_not_followed() -> None:
    async with hosting() as host, hosting() as other:
        host.answer = lambda _path, _body: reply(b"", status=302, location=other.url)
        with pytest.raises((ProtocolError, CardError), match="connect to that if you trust it"):
            async with connect(host.url, cards=CardCache(), headers={"X-Secret": "s3cret"}):
                pass
        assert other.heard == []


# --- lies ---------------------------------------------------------------------------------------


async def test_events_of_another_task_have_no_place_in_this_one() -> None:
    working: dict[str, Any] = {**TASK, "status": {"state": "TASK_STATE_WORKING"}, "artifacts": []}
    foreign = {"taskId": "x", "contextId": "c"}
    part = {"artifactId": "a", "parts": [{"text": "a lie"}]}
    events = [
        {"task": working},
        {"artifactUpdate": {**foreign, "artifact": part}},
        {"statusUpdate": {**foreign, "status": {"state": "TASK_STATE_FAILED"}}},
        {"task": {**TASK, "id": "x"}},
        {"artifactUpdate": {**foreign, "taskId": "t", "artifact": TASK["artifacts"][0]}},
        {"statusUpdate": {**foreign, "taskId": "t", "status": TASK["status"]}},
    ]
    body = b"".join(b"data: " + answered(event) + b"\n\n" for event in events)
    async with hosting() as host, calling(host) as agent:
        host.answer = lambda _path, _body: reply(body, kind=STREAM)
        found = await agent.send("hi")
    assert (found.task_id, found.state, found.text) == ("t", TaskState.COMPLETED, "done")


@pytest.mark.parametrize("number", ["0", "-1", "9" * 5000, "1e3", "\N{SUPERSCRIPT TWO}", "7"])
async def test_numbers_that_cannot_be_true_do_no_harm(number: str) -> None:
    frame = f"id: {number}\ndata: {answered({'task': TASK}).decode()}\n\n".encode()
    async with hosting() as host, calling(host) as agent:
        host.answer = lambda _path, _body: reply(frame, kind=STREAM)
        assert (await agent.send("hi")).text == "done"


async def test_a_list_that_leads_in_a_circle_is_left() -> None:
    page = {"tasks": [TASK], "nextPageToken": "again", "pageSize": 1, "totalSize": 1}
    async with hosting() as host, calling(host) as agent:
        host.answer = lambda _path, _body: reply(answered(page))
        tasks = agent.tasks()
        assert [(await anext(tasks)).task_id for _ in range(2)] == ["t", "t"]
        with pytest.raises(ProtocolError, match="in a circle"):
            await anext(tasks)
