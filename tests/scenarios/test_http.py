"""HTTP+JSON: routes, verbs, queries, ids in paths, and limits on bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.scenarios.agents import make_agent, to
from tests.scenarios.bindings import HttpJson, JsonRpc
from tests.support.serving import serving
from tests.support.wire import Json, message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx2


def reason_of(response: httpx2.Response) -> str:
    return response.json()["error"]["details"][0]["reason"]


# --- routes -------------------------------------------------------------------------------------


@pytest.mark.requirement("R-11.3-1", "R-11.4-1")
async def test_the_routes_are_those_of_the_reference(rest: HttpJson) -> None:
    http = rest.http
    sent = await http.post("/message:send", json={"message": to("ask", "weather")})
    task = sent.json()["task"]
    path = f"/tasks/{task['id']}"
    assert (await http.get(path)).json() == task
    listed = await http.get("/tasks", params={"contextId": task["contextId"]})
    assert [item["id"] for item in listed.json()["tasks"]] == [task["id"]]
    streamed = await http.post("/message:stream", json={"message": message()})
    assert streamed.headers["content-type"] == "text/event-stream"
    for method, tail in (("POST", ""), ("GET", ""), ("GET", "/p-1"), ("DELETE", "/p-1")):
        body: Json | None = {"url": "https://c.example/"} if method == "POST" else None
        answer = await http.request(method, f"{path}/pushNotificationConfigs{tail}", json=body)
        assert reason_of(answer) == "PUSH_NOTIFICATION_NOT_SUPPORTED"
    assert reason_of(await http.get("/extendedAgentCard")) == "UNSUPPORTED_OPERATION"
    canceled = await http.post(f"{path}:cancel")
    assert canceled.json()["status"]["state"] == "TASK_STATE_CANCELED"


@pytest.mark.requirement("R-11.3-1")
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_subscription_takes_both_verbs(rest: HttpJson, method: str) -> None:
    #
    task = await rest.task(to("ask"))
    request = rest.http.build_request(method, f"/tasks/{task['id']}:subscribe")
    response = await rest.http.send(request, stream=True)
    assert response.headers["content-type"] == "text/event-stream"
    assert b'{"task":' in await anext(response.aiter_bytes())
    await response.aclose()


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/message:send", "POST"),
        ("PUT", "/message:stream", "POST"),
        ("POST", "/tasks", "GET"),
        ("DELETE", "/tasks/t-1", "GET"),
        ("GET", "/tasks/t-1:cancel", "POST"),
        ("DELETE", "/tasks/t-1:subscribe", "GET, POST"),
        ("PUT", "/tasks/t-1/pushNotificationConfigs", "GET, POST"),
        ("POST", "/tasks/t-1/pushNotificationConfigs/p-1", "GET, DELETE"),
        ("POST", "/extendedAgentCard", "GET"),
        ("POST", "/healthz", "GET, HEAD"),
    ],
)
async def test_another_verb_is_told_which_there_are(
    rest: HttpJson, method: str, path: str, allow: str
) -> None:
    response = await rest.http.request(method, path)
    assert response.status_code == 405
    assert response.headers["allow"] == allow
    assert reason_of(response) == "METHOD_NOT_ALLOWED"


@pytest.mark.requirement("R-11.6-1", "R-11.6-2")
@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/message:sendx",
        "/message",
        "/tasks/t-1/unknown",
        "/tasks/t-1/pushNotificationConfigs/p-1/x",
        "/a/b/tasks",
        "/a2a/tasks",
        "/index.html",
    ],
)
async def test_an_unknown_path_is_a_404_with_a_body(rest: HttpJson, path: str) -> None:
    response = await rest.http.get(path)
    assert response.status_code == 404
    assert response.json() == {
        "error": {
            "code": 404,
            "status": "NOT_FOUND",
            "message": "Method not found",
            "details": [
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "METHOD_NOT_FOUND",
                    "domain": "a2a-protocol.org",
                }
            ],
        }
    }


@pytest.mark.parametrize(
    "task_id", ["a/b", "a b", "a%b", "ü", "a:cancel", "a?b#c", "../..", ".", "..", "a:b:c", "+"]
)
async def test_an_id_in_a_path_may_hold_anything_that_is_encoded(
    rest: HttpJson, task_id: str
) -> None:
    # Every character is escaped, so nothing is left for a route to trip over.
    escaped = "".join(f"%{byte:02X}" for byte in task_id.encode())
    for response in (
        await rest.http.get(f"/tasks/{escaped}"),
        await rest.http.post(f"/tasks/{escaped}:cancel"),
        await rest.http.get(f"/tasks/{escaped}:subscribe"),
    ):
        assert response.status_code == 404
        assert response.json()["error"]["details"][0]["metadata"] == {"taskId": task_id}


async def test_an_escaped_colon_is_part_of_the_id_not_a_verb(rest: HttpJson) -> None:
    response = await rest.http.get("/tasks/t-1%3Acancel")
    assert response.json()["error"]["details"][0]["metadata"] == {"taskId": "t-1:cancel"}


@pytest.mark.parametrize("path", ["/tasks/%FF", "/%C3/tasks", "/tasks/a%E2%82:cancel"])
async def test_a_path_that_is_not_utf_8_is_a_bad_request(rest: HttpJson, path: str) -> None:
    method = "POST" if path.endswith("cancel") else "GET"
    response = await rest.http.request(method, path)
    assert response.status_code == 400
    assert reason_of(response) == "INVALID_REQUEST"


async def test_the_id_in_the_path_rules_over_the_one_in_the_body(rest: HttpJson) -> None:
    task = await rest.task(to("ask"))
    response = await rest.http.post(f"/tasks/{task['id']}:cancel", json={"id": "t-other"})
    assert response.json()["id"] == task["id"]


# --- queries ------------------------------------------------------------------------------------


@pytest.mark.requirement("R-11.5-2")
async def test_parameters_of_a_get_travel_in_the_query_in_camel_case(
    rest: HttpJson, context: str
) -> None:
    await rest.task(message(contextId=context))
    query = (
        f"contextId={context}&status=TASK_STATE_COMPLETED&pageSize=1&historyLength=0"
        "&includeArtifacts=true&statusTimestampAfter=2020-01-01T00%3A00%3A00Z"
    )
    page = (await rest.http.get(f"/tasks?{query}")).json()
    assert page["pageSize"] == 1
    assert page["totalSize"] == 1
    assert set(page["tasks"][0]) == {"id", "contextId", "status", "artifacts"}


@pytest.mark.requirement("R-11.5-2")
async def test_a_name_in_another_case_is_another_name(rest: HttpJson) -> None:
    page = (await rest.http.get("/tasks?pagesize=1&PageSize=2")).json()
    assert page["pageSize"] == 50


@pytest.mark.parametrize(
    "query",
    [
        "pageSize=ten",
        "pageSize=1.5",
        "pageSize=1e1",
        "includeArtifacts=yes",
        "includeArtifacts=True",
        "historyLength=-1",
        "status=working",
        "statusTimestampAfter=now",
        "pageSize=99999999999999999999",
    ],
)
async def test_a_parameter_that_does_not_fit_is_named(rest: HttpJson, query: str) -> None:
    response = await rest.http.get(f"/tasks?{query}")
    assert response.status_code == 400
    violations = response.json()["error"]["details"][1]["fieldViolations"]
    assert [item["field"] for item in violations] == [query.partition("=")[0]]


async def test_unknown_parameters_are_ignored_and_of_several_the_last_counts(
    rest: HttpJson,
) -> None:
    page = (await rest.http.get("/tasks?utm=1&pageSize=5&pageSize=7&x=&=&&")).json()
    assert page["pageSize"] == 7


@pytest.mark.requirement("R-11.5-5")
async def test_objects_do_not_travel_in_a_query(rest: HttpJson) -> None:
    # A message in the query of a POST is no message; the body is what counts.
    response = await rest.http.post(
        "/message:send?message=%7B%22messageId%22%3A%22m%22%7D", json={}
    )
    assert response.status_code == 400
    assert response.json()["error"]["message"] == "Invalid parameters: message is required"


async def test_a_query_of_too_many_fields_is_refused(rest: HttpJson) -> None:
    response = await rest.http.get("/tasks?" + "&".join(f"a{n}=1" for n in range(101)))
    assert (response.status_code, reason_of(response)) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize("query", ["pageToken=%FF", "%FF=1"])
async def test_a_query_that_is_not_utf_8_is_a_bad_request(rest: HttpJson, query: str) -> None:
    response = await rest.http.get(f"/tasks?{query}")
    assert (response.status_code, reason_of(response)) == (400, "INVALID_REQUEST")


# --- bodies -------------------------------------------------------------------------------------


@pytest.mark.requirement("R-14.1.1-2")
@pytest.mark.parametrize("body", [b"{", b"hello", b'{"message":NaN}', b"{}x", b"\xff"])
async def test_a_body_that_is_not_json_is_a_bad_request(rest: HttpJson, body: bytes) -> None:
    response = await rest.http.post(
        "/message:send", content=body, headers={"Content-Type": "application/json"}
    )
    assert response.status_code == 400
    assert reason_of(response) == "INVALID_REQUEST"


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"1", b"null", b"true"])
async def test_a_body_that_is_no_object_is_invalid(rest: HttpJson, body: bytes) -> None:
    for path in ("/message:send", "/tasks/t-1:cancel"):
        response = await rest.http.post(
            path, content=body, headers={"Content-Type": "application/json"}
        )
        assert (response.status_code, reason_of(response)) == (400, "INVALID_PARAMS")


async def test_an_empty_body_is_an_empty_request(rest: HttpJson) -> None:
    response = await rest.http.post("/message:send")
    assert response.json()["error"]["message"] == "Invalid parameters: message is required"


@pytest.fixture
async def narrow() -> AsyncIterator[tuple[HttpJson, JsonRpc]]:
    """Clients of a server that reads no body above 1000 bytes."""
    async with (
        serving(make_agent(), max_body_bytes=1000) as served,
        HttpJson(served.url) as rest,
        JsonRpc(served.url) as rpc,
    ):
        yield rest, rpc


@pytest.mark.requirement("R-13.4-6")
@pytest.mark.parametrize("is_chunked", [False, True], ids=["announced", "chunked"])
@pytest.mark.parametrize("path", ["/", "/message:send", "/tasks/t-1:cancel"])
async def test_a_body_above_the_limit_is_refused(
    narrow: tuple[HttpJson, JsonRpc], path: str, *, is_chunked: bool
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(11):
            yield b" " * 100

    response = await narrow[0].http.post(
        path,
        content=pieces() if is_chunked else b" " * 1001,
        headers={"Content-Type": "application/json"},
    )
    assert response.status_code == 413
    error = response.json()["error"]
    assert error["message"] == "The request body is larger than 1000 bytes"
    assert error["code"] == (-32600 if path == "/" else 413)


async def test_a_body_at_the_limit_is_read(narrow: tuple[HttpJson, JsonRpc]) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ListTasks"}'.ljust(1000)
    response = await narrow[1].http.post(
        "/", content=body, headers={"Content-Type": "application/json"}
    )
    assert "result" in response.json()


@pytest.mark.requirement("R-13.4-6")
@pytest.mark.parametrize("depth", [201, 990, 1005, 5000, 100_000])
async def test_a_body_nested_too_deeply_is_a_parse_error(
    rest: HttpJson, rpc: JsonRpc, depth: int
) -> None:
    deep = b"[" * depth + b"]" * depth
    body = b'{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":%b}]}}' % deep
    headers = {"Content-Type": "application/json"}
    response = await rest.http.post("/message:send", content=body, headers=headers)
    assert (response.status_code, reason_of(response)) == (400, "INVALID_REQUEST")
    call = b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":%b}' % body
    response = await rpc.http.post("/", content=call, headers=headers)
    assert response.json()["error"]["code"] == -32700


async def test_brackets_in_a_text_are_no_nesting(rest: HttpJson) -> None:
    text = '[{"' * 1000
    task = await rest.task(message(text))
    assert task["artifacts"][0]["parts"] == [{"text": text}]


# --- health -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_the_server_says_how_it_is(rest: HttpJson, path: str) -> None:
    response = await rest.http.get(path)
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    assert (await rest.http.head(path)).status_code == 200
