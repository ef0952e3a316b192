"""What frameworks said on the wire, replayed: by clients to our server, by servers to our client.

The vectors were recorded by ``tests/interop/recording.py`` from the programs that
``tests/interop/test_frameworks.py`` runs live. A ``client*.json`` has the requests that a
framework's client sends to ``framework_agent.py``; a ``server.json`` what its server answered us.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from dragoman import TaskState, connect
from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.retry import RetryPolicy
from dragoman.net.asgi import Receive, Scope, Send
from tests.interop.framework_agent import agent
from tests.interop.frameworks import CALLERS, SERVERS, Server
from tests.scenarios.authority import listening
from tests.support.serving import serving
from tests.support.wire import Json, frames

VECTORS: Final = Path(__file__).resolve().parents[1] / "vectors" / "frameworks"
RECORDED_ADDRESS: Final = "agent.example:8000"
ONCE: Final = RetryPolicy(attempts=1)


def exchanges_in(vector: str) -> list[Json]:
    return json.loads((VECTORS / f"{vector}.json").read_text())["exchanges"]


# --- their clients ------------------------------------------------------------------------------

CLIENTS: Final = sorted(
    f"{path.parent.name}/{path.stem}" for path in VECTORS.glob("*/client*.json")
)


@pytest.mark.parametrize("vector", CLIENTS)
async def test_what_a_client_sends_is_answered_in_its_own_form(vector: str) -> None:
    async with (
        serving(agent, push=False) as served,
        httpx2.AsyncClient(base_url=served.url, trust_env=False, timeout=10) as http,
    ):
        for exchange in exchanges_in(vector):
            request = exchange["request"]
            message = request["json"].get("params", request["json"])["message"]
            if "taskId" in message:
                continue  # the answer to a question of a task that only the recorded server knew
            for told in await _answer(http, request):
                _check_form(request["json"], told)


async def _answer(http: httpx2.AsyncClient, request: Json) -> list[Json]:
    async with http.stream(
        request["method"], request["path"], headers=request["headers"], json=request["json"]
    ) as response:
        assert response.status_code == httpx2.codes.OK, await response.aread()
        if response.headers["content-type"].startswith("text/event-stream"):
            return [frame.data async for frame in frames(response)]
        return [json.loads(await response.aread())]


def _check_form(asked: Json, told: Json) -> None:
    """Assert that an answer has an envelope if the question has one, and kinds if that has them."""
    assert ("jsonrpc" in told) is ("jsonrpc" in asked), told
    result = told["result"] if "jsonrpc" in asked else told
    message = asked.get("params", asked)["message"]
    is_old = "kind" in message["parts"][0]
    assert ("kind" in result) is is_old, told


async def test_every_interface_of_the_card_has_an_address_of_http() -> None:
    async with (
        serving(agent, push=False) as served,
        httpx2.AsyncClient(base_url=served.url, trust_env=False) as http,
    ):
        card: Json = (await http.get("/.well-known/agent-card.json")).json()
    urls: list[str] = [each["url"] for each in card["supportedInterfaces"]]
    assert [url for url in urls if not url.startswith("http")] == []


async def test_no_chunk_of_a_stream_is_empty_and_the_last_has_all_that_adk_keeps() -> None:
    [_, spell, *_] = exchanges_in("adk/client")
    async with (
        serving(agent, push=False) as served,
        httpx2.AsyncClient(base_url=served.url, trust_env=False, timeout=10) as http,
    ):
        results = [told["result"] for told in await _answer(http, spell["request"])]
    chunks = [each["artifactUpdate"] for each in results if "artifactUpdate" in each]
    texts = [[part["text"] for part in chunk["artifact"]["parts"]] for chunk in chunks]
    assert texts[:-1] == [["to "], ["be "], ["or "], ["not "]]
    assert "".join(texts[-1]) == "to be or not "
    assert (chunks[-1].get("append", False), chunks[-1]["lastChunk"]) == (False, True)


# --- their servers ------------------------------------------------------------------------------


class Recorded:
    """A server that says again what was recorded; a request is known by its path and its text."""

    def __init__(self, exchanges: Iterable[Json]) -> None:
        self._cards: dict[str, Json] = {}
        self._answers: dict[str, Json] = {}
        for exchange in exchanges:
            request = exchange["request"]
            if request["method"] == "GET":
                self._cards[request["path"]] = exchange["answer"]["json"]
            else:
                self._answers.setdefault(_text_in(request["json"]), exchange["answer"])

    @property
    def card_path(self) -> str:
        return next(iter(self._cards))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        near = dict(scope["headers"])[b"host"]
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        if scope["method"] == "GET":
            card = self._cards.get(scope["path"])
            await _respond(send, near, 200 if card else 404, [card or {}], is_stream=False)
            return
        asked: Json = json.loads(body)
        answer = self._answers[_text_in(asked)]
        told: list[Json] = answer.get("events") or [answer["json"]]
        told = [{**each, "id": asked["id"]} for each in told]
        await _respond(send, near, answer.get("status", 200), told, is_stream="events" in answer)


def _text_in(request: Json) -> str:
    return "".join(part.get("text", "") for part in request["params"]["message"]["parts"])


async def _respond(
    send: Send, near: bytes, status: int, told: list[Any], *, is_stream: bool
) -> None:
    kind = b"text/event-stream" if is_stream else b"application/json"
    headers = [(b"content-type", kind)]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    lines = [json.dumps(each).encode().replace(RECORDED_ADDRESS.encode(), near) for each in told]
    body = b"".join(b"data: %b\n\n" % line for line in lines) if is_stream else lines[0]
    await send({"type": "http.response.body", "body": body})


def each_server(scenario: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "server",
        [
            pytest.param(server, id=server.peer)
            for server in SERVERS
            if scenario not in server.lacks
        ],
    )


@each_server("send")
async def test_what_a_server_answered_is_read(server: Server) -> None:
    recorded = Recorded(exchanges_in(f"{server.peer}/server"))
    async with (
        listening(recorded) as url,
        connect(f"{url}{recorded.card_path}", retry=ONCE, cards=CardCache()) as remote,
    ):
        assert (await remote.send(server.shout)).text.strip() == "HELLO"


async def test_an_agent_of_mastra_is_found_by_its_endpoint() -> None:
    recorded = Recorded(exchanges_in("js_mastra/server"))
    async with (
        listening(recorded) as url,
        connect(f"{url}/api/a2a/peer", retry=ONCE, cards=CardCache()) as remote,
    ):
        assert (await remote.send("shout hello")).text == "HELLO"


@each_server("stream")
async def test_what_a_server_streamed_is_joined(server: Server) -> None:
    recorded = Recorded(exchanges_in(f"{server.peer}/server"))
    async with (
        listening(recorded) as url,
        connect(f"{url}{recorded.card_path}", retry=ONCE, cards=CardCache()) as remote,
        remote.stream(server.spell) as stream,
    ):
        chunks = [event.text async for event in stream if event.kind == "artifact"]
        assert stream.reply.text.strip() == server.streamed
    assert chunks == server.chunks


@each_server("ask")
async def test_what_a_server_asked_is_read(server: Server) -> None:
    recorded = Recorded(exchanges_in(f"{server.peer}/server"))
    async with (
        listening(recorded) as url,
        connect(f"{url}{recorded.card_path}", retry=ONCE, cards=CardCache()) as remote,
    ):
        asked = await remote.send("ask")
    assert (asked.state, asked.text) == (TaskState.INPUT_REQUIRED, server.question)


async def test_what_an_interrupt_of_langgraph_asks_is_data() -> None:
    recorded = Recorded(exchanges_in("langgraph/server"))
    async with (
        listening(recorded) as url,
        connect(f"{url}{recorded.card_path}", retry=ONCE, cards=CardCache()) as remote,
    ):
        asked = await remote.send("ask")
    assert asked.as_type(dict[str, str])["value"] == "Which city?"


def test_every_framework_has_its_vectors() -> None:
    assert [each.peer for each in CALLERS if not list(VECTORS.glob(f"{each.peer}/client*"))] == []
    assert [
        each.peer for each in SERVERS if not (VECTORS / each.peer / "server.json").is_file()
    ] == []
