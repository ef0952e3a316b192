"""The application as an ASGI server sees it, without one."""

import asyncio
import json
from collections.abc import AsyncGenerator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dragoman import Agent, AgentExtension
from dragoman.errors import UsageError
from dragoman.model.documents import EventDocument
from dragoman.server.asgi import CARD_PATH, App, build_app
from dragoman.server.config import Settings
from dragoman.stores.base import StoredPage, TaskQuery
from dragoman.stores.memory import MemoryTaskStore

Json = dict[str, Any]
Event = MutableMapping[str, Any]

SEND: Json = {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}}


class Response:
    """What came back."""

    def __init__(self, events: list[Event]) -> None:
        self.status: int = events[0]["status"]
        self.headers: dict[str, str] = {
            name.decode(): value.decode() for name, value in events[0]["headers"]
        }
        self.body = b"".join(event.get("body", b"") for event in events[1:])
        self.is_complete = not events[-1].get("more_body", False)

    @property
    def json(self) -> Json:
        return json.loads(self.body)

    @property
    def data(self) -> list[Json]:
        """The data of every event of a stream."""
        lines = self.body.decode().splitlines()
        return [json.loads(line.removeprefix("data: ")) for line in lines if line[:5] == "data:"]


class Client:
    """Calls an application in its own process."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        peer: str = "127.0.0.1",
        **headers: str,
    ) -> Response:
        sent: list[Event] = []
        incoming: list[Event] = [{"type": "http.request", "body": body}]
        raw = {"a2a_version": "1.0", "host": "localhost:8000", **headers}

        async def receive() -> Event:
            if incoming:
                return incoming.pop()
            await asyncio.Event().wait()
            raise AssertionError

        async def send(event: Event) -> None:
            sent.append(event)

        path, _, query = path.partition("?")
        scope: Event = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in raw.items()],
            "client": (peer, 5000),
            "server": ("127.0.0.1", 8000),
        }
        await self.app(scope, receive, send)
        return Response(sent)

    async def rpc(self, method: str, params: object, **headers: str) -> Response:
        envelope = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        return await self.request("POST", "/", json.dumps(envelope).encode(), **headers)


async def echo(text: str) -> str:
    """Repeat."""
    return text


def echo_agent(*, extensions: tuple[AgentExtension, ...] = ()) -> Agent:
    agent = Agent("Echo", "Repeats.", extensions=extensions)
    agent.skill(echo)
    return agent


class BrokenStore(MemoryTaskStore):
    """A store that cannot be read from, by a fault of its own."""

    async def list_tasks(self, query: TaskQuery) -> StoredPage:
        raise RuntimeError("/var/lib/agent.db is broken")

    async def read_events(
        self, task_id: str, *, after: int, limit: int
    ) -> tuple[EventDocument, ...]:
        raise RuntimeError("/var/lib/agent.db is broken")


@asynccontextmanager
async def calling(agent: Agent | None = None, **settings: object) -> AsyncGenerator[Client]:
    app = build_app(agent or echo_agent(), {"store": "memory:", **settings})
    await app.runtime.start()
    try:
        yield Client(app)
    finally:
        await app.runtime.stop()


# --- building ---------------------------------------------------------------------------------


def test_an_agent_without_skills_is_no_application() -> None:
    with pytest.raises(UsageError, match="has no skills"):
        build_app(Agent("Mute"), {"store": "memory:"})


def test_a_wrong_setting_is_told() -> None:
    with pytest.raises(UsageError, match="--max-parts"):
        build_app(echo_agent(), {"max_parts": 0})


async def test_settings_and_a_store_may_be_given_ready_made() -> None:
    app = build_app(echo_agent(), Settings(max_parts=1), store=MemoryTaskStore())
    parts = {"message": {**SEND["message"], "parts": [{"text": "a"}, {"text": "b"}]}}
    response = await Client(app).rpc("SendMessage", parts)
    assert response.json["error"]["code"] == -32602
    await app.runtime.stop()


# --- JSON-RPC ---------------------------------------------------------------------------------


@pytest.mark.requirement("R-9.1-1", "R-9.1-2", "R-9.4-1")
@pytest.mark.parametrize("path", ["/", "/a2a", "/a2a/", "/api/a2a"])
async def test_json_rpc_is_served_where_clients_look_for_it(path: str) -> None:
    envelope = {"jsonrpc": "2.0", "id": "x", "method": "SendMessage", "params": SEND}
    async with calling() as client:
        response = await client.request("POST", path, json.dumps(envelope).encode())
    assert (response.status, response.headers["content-type"]) == (200, "application/json")
    assert response.json["id"] == "x"
    assert response.json["result"]["task"]["artifacts"][0]["parts"] == [{"text": "hello"}]


@pytest.mark.requirement("R-9.4-3", "R-9.1-4")
async def test_a_json_rpc_stream_is_full_responses() -> None:
    async with calling() as client:
        response = await client.rpc("SendStreamingMessage", SEND)
    assert response.headers["content-type"] == "text/event-stream"
    assert {(frame["jsonrpc"], frame["id"]) for frame in response.data} == {("2.0", 7)}
    assert "task" in response.data[0]["result"]
    assert response.is_complete


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"[]", -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":"Nothing"}', -32601),
        (b'{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{}}', -32602),
        (b'{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"t-0"}}', -32001),
    ],
)
@pytest.mark.requirement("R-9.5-1", "R-9.5-3")
async def test_json_rpc_errors_ride_on_200(body: bytes, code: int) -> None:
    async with calling() as client:
        response = await client.request("POST", "/", body)
    assert (response.status, response.json["error"]["code"]) == (200, code)


async def test_errors_that_mean_something_to_proxies_keep_their_status() -> None:
    async with calling(max_body_bytes=10) as client:
        assert (await client.request("POST", "/", b"x" * 11)).status == 413
        assert (await client.request("POST", "/", b"{}", content_type="text/plain")).status == 415
        assert (await client.request("POST", "/", b"{}", peer="203.0.113.7")).status == 403


async def test_who_does_not_post_is_told_what_this_is() -> None:
    async with calling() as client:
        response = await client.request("GET", "/")
    assert (response.status, response.headers["allow"]) == (405, "POST")
    assert CARD_PATH in response.json["error"]["message"]


async def test_of_what_is_our_fault_the_peer_gets_an_id(caplog: pytest.LogCaptureFixture) -> None:
    app = build_app(echo_agent(), Settings(), store=BrokenStore())
    rpc = await Client(app).rpc("ListTasks", {})
    route = await Client(app).request("GET", "/tasks")
    await app.runtime.stop()
    assert (rpc.status, rpc.json["error"]["code"], route.status) == (200, -32603, 500)
    assert [message[:27] for message in caplog.messages] == ["a request failed (error id "] * 2
    for response in (rpc, route):
        assert "Error id: " in response.json["error"]["message"]
        assert b"broken" not in response.body


async def test_a_busy_agent_says_when_to_come_back() -> None:
    async with calling() as client:
        await client.app.runtime.drain()
        response = await client.rpc("SendMessage", SEND)
    assert (response.status, response.headers["retry-after"]) == (503, "1")


# --- HTTP+JSON --------------------------------------------------------------------------------


@pytest.mark.requirement("R-11.3-1", "R-11.4-1")
@pytest.mark.parametrize("path", ["/message:send", "/message:send/"])
async def test_http_json_is_served_beside_it(path: str) -> None:
    async with calling() as client:
        response = await client.request("POST", path, json.dumps(SEND).encode())
    assert (response.status, response.headers["content-type"]) == (200, "application/a2a+json")
    assert response.json["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_http_json_is_answered_in_the_type_it_came_in() -> None:
    async with calling() as client:
        response = await client.request(
            "POST", "/message:send", json.dumps(SEND).encode(), content_type="application/json"
        )
        assert response.headers["content-type"] == "application/json"


@pytest.mark.requirement("R-11.7-1", "R-11.1-2")
async def test_an_http_json_stream_is_bare_events() -> None:
    async with calling() as client:
        response = await client.request("POST", "/message:stream", json.dumps(SEND).encode())
    assert list(response.data[0]) == ["task"]
    assert response.is_complete


@pytest.mark.requirement("R-11.6-1", "R-11.6-2")
@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/tasks/t-0", b"", 404),
        ("GET", "/nothing/here/at/all", b"", 404),
        ("PUT", "/tasks", b"", 405),
        ("POST", "/message:send", b"{", 400),
        ("POST", "/message:send", b"", 400),
    ],
)
async def test_http_json_errors_have_their_status(
    method: str, path: str, body: bytes, status: int
) -> None:
    async with calling() as client:
        response = await client.request(method, path, body)
    assert (response.status, response.json["error"]["code"]) == (status, status)


async def test_a_body_that_is_labelled_as_something_else_is_refused() -> None:
    async with calling() as client:
        response = await client.request("POST", "/message:send", b"{}", content_type="text/plain")
        assert response.status == 415


async def test_a_label_without_a_body_does_not_matter() -> None:
    async with calling() as client:
        response = await client.request("POST", "/tasks/t-0:cancel", content_type="text/plain")
        assert response.status == 404


async def test_a_method_that_is_not_allowed_is_told_what_is() -> None:
    async with calling() as client:
        response = await client.request("DELETE", "/tasks")
    assert (response.status, response.headers["allow"]) == (405, "GET")


async def test_extensions_that_were_activated_are_told() -> None:
    uri = "https://example.com/x"
    async with calling(echo_agent(extensions=(AgentExtension(uri=uri),))) as client:
        response = await client.request("GET", "/tasks", a2a_extensions=uri)
        assert response.headers["a2a-extensions"] == uri


# --- errors in a stream -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/", {"jsonrpc": "2.0", "id": 7, "method": "SendStreamingMessage", "params": SEND}),
        ("/message:stream", SEND),
    ],
)
async def test_after_the_first_event_an_error_is_one_more_event(path: str, body: Json) -> None:
    app = build_app(echo_agent(), Settings(), store=BrokenStore())
    client = Client(app)
    encoded = json.dumps(body).encode()
    await client.request("POST", path, encoded)
    response = await client.request("POST", path, encoded, last_event_id="1")
    assert response.status == 200
    assert "event: error" in response.body.decode()
    assert "error" in response.data[-1]
    assert "broken" not in response.body.decode()
    assert response.is_complete
    await app.runtime.stop()


# --- the card ---------------------------------------------------------------------------------


@pytest.mark.requirement("R-8.1-1", "R-8.2-1")
async def test_the_card_is_where_everybody_looks_for_it() -> None:
    async with calling() as client:
        response = await client.request("GET", CARD_PATH, a2a_version="")
    assert (response.status, response.headers["content-type"]) == (200, "application/json")
    assert response.json["supportedInterfaces"][0]["url"] == "http://localhost:8000/"
    assert response.headers["cache-control"] == "public, max-age=3600"


async def test_a_card_that_the_client_has_is_not_sent_again() -> None:
    async with calling() as client:
        first = await client.request("GET", CARD_PATH)
        second = await client.request("GET", CARD_PATH, if_none_match=first.headers["etag"])
    assert (second.status, second.body) == (304, b"")
    assert second.headers["etag"] == first.headers["etag"]


async def test_head_is_get_without_the_body() -> None:
    async with calling() as client:
        get = await client.request("GET", CARD_PATH)
        head = await client.request("HEAD", CARD_PATH)
    assert (head.headers, head.body) == (get.headers, b"")


async def test_a_card_takes_no_post() -> None:
    async with calling() as client:
        response = await client.request("POST", CARD_PATH)
    assert (response.status, response.headers["allow"]) == (405, "GET, HEAD")


async def test_a_card_is_not_for_strangers_while_the_door_is_closed() -> None:
    async with calling() as client:
        response = await client.request("GET", CARD_PATH, peer="203.0.113.7")
        assert response.status == 403


# --- health -----------------------------------------------------------------------------------


async def test_health_is_that_of_the_process_and_readiness_that_of_the_service() -> None:
    app = build_app(echo_agent(), {"store": "memory:"})
    client = Client(app)
    assert (await client.request("GET", "/healthz")).status == 200
    assert (await client.request("GET", "/readyz")).status == 503
    await app.runtime.start()
    assert (await client.request("GET", "/readyz")).json == {"status": "ok"}
    assert (await client.request("HEAD", "/readyz")).body == b""
    assert (await client.request("POST", "/readyz")).status == 405
    await app.runtime.stop()


# --- the rest of ASGI -------------------------------------------------------------------------


async def lifespan(app: App, *events: str) -> list[Event]:
    incoming = [{"type": f"lifespan.{event}"} for event in events]
    sent: list[Event] = []

    async def receive() -> Event:
        return incoming.pop(0)

    async def send(event: Event) -> None:
        sent.append(event)

    try:
        await app({"type": "lifespan"}, receive, send)
    except UsageError as error:
        sent.append({"type": "raised", "message": str(error)})
    return sent


async def test_the_server_starts_and_stops_the_application() -> None:
    app = build_app(echo_agent(), {"store": "memory:"})
    sent = await lifespan(app, "startup", "shutdown")
    assert [event["type"] for event in sent] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]
    assert not app.runtime.is_ready


async def test_what_the_server_says_beside_that_is_passed_over() -> None:
    app = build_app(echo_agent(), {"store": "memory:"})
    sent = await lifespan(app, "novelty", "shutdown")
    assert [event["type"] for event in sent] == ["lifespan.shutdown.complete"]


async def test_a_start_that_fails_is_reported_with_the_reason() -> None:
    app = build_app(echo_agent(), {"store": "nonsense"})
    failed, raised = await lifespan(app, "startup")
    assert failed["type"] == "lifespan.startup.failed"
    assert "'nonsense' is no store" in failed["message"]
    assert raised["type"] == "raised"


async def test_web_sockets_are_refused() -> None:
    sent: list[Event] = []

    async def receive() -> Event:
        raise AssertionError

    async def send(event: Event) -> None:
        sent.append(event)

    app = build_app(echo_agent(), {"store": "memory:"})
    await app({"type": "websocket"}, receive, send)
    await app({"type": "novelty"}, receive, send)
    assert [(event["type"], event["code"]) for event in sent] == [("websocket.close", 1003)]


@pytest.mark.parametrize("path", ["/", "/message:send"])
async def test_who_leaves_before_the_request_is_read_gets_no_answer(path: str) -> None:
    sent: list[Event] = []

    async def receive() -> Event:
        return {"type": "http.disconnect"}

    async def send(event: Event) -> None:
        sent.append(event)

    async with calling() as client:
        scope: Event = {"type": "http", "method": "POST", "path": path, "headers": []}
        await client.app(scope, receive, send)
    assert sent == []
