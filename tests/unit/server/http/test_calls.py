import json

import pytest

from dragoman import AgentExtension
from dragoman.server.assembly import build_app
from dragoman.server.settings import Settings
from tests.support.server.in_process import SEND, BrokenStore, Client, Json, calling, echo_agent

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
    assert "/.well-known/agent-card.json" in response.json["error"]["message"]


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


async def test_http_json_is_answered_in_its_own_type_whatever_it_came_in() -> None:
    async with calling() as client:
        response = await client.request(
            "POST", "/message:send", json.dumps(SEND).encode(), content_type="application/json"
        )
        assert response.headers["content-type"] == "application/a2a+json"


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
        assert response.status == 400
        reason = response.json["error"]["details"][0]["reason"]
        assert reason == "CONTENT_TYPE_NOT_SUPPORTED"


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


# --- streams that are refused, in the old versions ------------------------------------------------

OLD_SEND: Json = {"message": {"kind": "message", "role": "user", "messageId": "m", "parts": []}}


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("message/stream", OLD_SEND, -32602),
        ("tasks/resubscribe", {"id": "nope"}, -32001),
        ("tasks/sendSubscribe", {"id": "t"}, -32602),
    ],
)
async def test_an_old_client_that_awaits_a_stream_is_refused_by_one(
    method: str, params: Json, code: int
) -> None:
    async with calling() as client:
        asked = await client.rpc(method, params, a2a_version="", accept="text/event-stream")
        other = await client.rpc(method, params, a2a_version="")
    assert (asked.status, asked.headers["content-type"]) == (200, "text/event-stream")
    assert [frame["error"]["code"] for frame in asked.data] == [code]
    # Who does not say what it awaits gets JSON.
    assert (other.headers["content-type"], other.json) == ("application/json", asked.data[0])


async def test_what_is_no_stream_is_refused_in_json_whatever_is_accepted() -> None:
    for method in ("tasks/get", "SubscribeToTask"):
        async with calling() as client:
            accept = "application/json, text/event-stream"
            response = await client.rpc(method, {"id": "nope"}, accept=accept)
        assert response.headers["content-type"] == "application/json"
        assert response.json["error"]["code"] == -32001
