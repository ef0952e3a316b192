"""Media types: of the parts an agent takes, and of the bodies that travel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dragoman import Agent
from tests.scenarios.agents import Gate, make_agent, to
from tests.scenarios.bindings import Binding, HttpJson, JsonRpc, drain, expect
from tests.support.serving import serving
from tests.support.wire import Json, message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

JSON = "application/json"
A2A_JSON = "application/a2a+json"


# --- parts: the agent of the scenarios takes text/plain, application/json and image/* -----------


@pytest.mark.requirement("R-3.1.1-1", "R-13.4-7")
@pytest.mark.parametrize(
    "part",
    [
        {"raw": "AQI=", "mediaType": "audio/wav"},
        {"url": "https://files.example/x.pdf", "mediaType": "application/pdf"},
        {"text": "# hi", "mediaType": "text/markdown"},
        {"data": {}, "mediaType": "application/xml"},
        {"text": "x", "mediaType": "imagery/png"},
        {"text": "x", "mediaType": "nonsense"},
    ],
    ids=lambda part: part["mediaType"],
)
async def test_a_part_of_a_type_the_agent_does_not_take_is_refused(
    wire: Binding, context: str, part: Json
) -> None:
    sent = to("mirror", parts=[{"text": "fine"}, part], contextId=context)
    problem = await expect("ContentTypeNotSupportedError", wire.send_message(sent))
    media_type = part["mediaType"]
    assert problem.message == (
        f"message.parts[1] is {media_type}; this agent takes text/plain, application/json, image/*"
    )
    assert problem.metadata == {"mediaType": media_type}
    assert (await wire.list_tasks(contextId=context))["totalSize"] == 0


@pytest.mark.requirement("R-3.1.2-3")
async def test_a_stream_with_such_a_part_is_refused(wire: Binding) -> None:
    sent = to("mirror", parts=[{"raw": "AQI=", "mediaType": "audio/wav"}])
    await expect("ContentTypeNotSupportedError", drain(wire.send_streaming_message(sent)))


@pytest.mark.requirement("R-3.1.1-1")
async def test_an_answer_with_such_a_part_is_refused_and_the_task_still_waits(
    wire: Binding,
) -> None:
    asked = await wire.task(to("ask"))
    answer = message(taskId=asked["id"], parts=[{"raw": "AQI=", "mediaType": "audio/wav"}])
    await expect("ContentTypeNotSupportedError", wire.send_message(answer))
    assert await wire.get_task(asked["id"]) == asked


@pytest.mark.requirement("R-3.1.1-1")
async def test_a_message_for_a_task_at_work_is_no_answer_and_is_refused(
    wire: Binding, gate: Gate
) -> None:
    task = await wire.start(to("hold", gate.name))
    await gate.reached()
    further = message(taskId=task["id"], parts=[{"raw": "AQI=", "mediaType": "audio/wav"}])
    await expect("ContentTypeNotSupportedError", wire.send_message(further))
    gate.open()


@pytest.mark.parametrize(
    "part",
    [
        {"text": "hi"},
        {"text": "hi", "mediaType": "text/plain"},
        {"text": "hi", "mediaType": "Text/PLAIN; charset=utf-8"},
        {"data": [1]},
        {"data": None, "mediaType": "application/json"},
        {"raw": "AQI=", "mediaType": "image/png"},
        {"url": "https://files.example/x", "mediaType": "image/webp"},
        # Without a type, a file may be anything: the agent has to look.
        {"raw": "AQI="},
    ],
    ids=repr,
)
async def test_a_part_of_a_type_the_agent_takes_is_handed_to_it(wire: Binding, part: Json) -> None:
    task = await wire.task(to("mirror", parts=[part]))
    assert task["artifacts"][0]["parts"] == [part]


async def test_an_agent_may_take_anything(kind: type[Binding]) -> None:
    agent = make_agent(input_modes=["*/*"])
    async with serving(agent) as served, kind(served.url) as wire:
        parts = [{"text": "hi"}, {"raw": "AQI=", "mediaType": "audio/wav"}]
        assert (await wire.task(to("echo", parts=parts)))["artifacts"][0]["parts"] == parts[:1]
        # But for the skills that say themselves what they take.
        refused = wire.send_message(to("mirror", parts=parts))
        await expect("ContentTypeNotSupportedError", refused)


# --- JSON-RPC bodies ----------------------------------------------------------------------------


def envelope(method: str = "ListTasks") -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}


@pytest.mark.requirement("R-9.1-2")
@pytest.mark.parametrize("method", ["ListTasks", "GetTask", "Nonsense"])
async def test_json_rpc_answers_in_application_json(rpc: JsonRpc, method: str) -> None:
    response = await rpc.http.post("/", json=envelope(method))
    assert response.headers["content-type"] == JSON


@pytest.mark.requirement("R-9.1-2")
@pytest.mark.parametrize(
    "label", [JSON, "application/json; charset=utf-8", "APPLICATION/JSON", A2A_JSON, None]
)
async def test_json_rpc_takes_json(rpc: JsonRpc, label: str | None) -> None:
    headers = {} if label is None else {"Content-Type": label}
    response = await rpc.http.post(
        "/", content=b'{"jsonrpc":"2.0","id":1,"method":"ListTasks"}', headers=headers
    )
    assert response.status_code == 200
    assert "result" in response.json()


@pytest.mark.requirement("R-9.1-2")
@pytest.mark.parametrize("label", ["text/plain", "application/x-www-form-urlencoded", "json", ""])
async def test_json_rpc_takes_nothing_else(rpc: JsonRpc, label: str) -> None:
    # A web page can send the first two across origins without being asked.
    response = await rpc.http.post(
        "/", content=b'{"jsonrpc":"2.0","id":1}', headers={"Content-Type": label}
    )
    assert response.status_code == 415
    assert response.json()["id"] is None
    assert response.json()["error"]["code"] == -32600
    assert response.json()["error"]["data"][0]["reason"] == "UNSUPPORTED_MEDIA_TYPE"


# --- HTTP+JSON bodies ---------------------------------------------------------------------------


@pytest.mark.requirement("R-11.1-1")
async def test_http_json_answers_in_its_own_type_by_default(rest: HttpJson) -> None:
    response = await rest.http.get("/tasks")
    assert response.headers["content-type"] == A2A_JSON


@pytest.mark.requirement("R-11.1-1")
@pytest.mark.parametrize(
    ("label", "answer"),
    [
        (A2A_JSON, A2A_JSON),
        (JSON, A2A_JSON),
        ("application/json; charset=utf-8", A2A_JSON),
        (JSON, JSON),
        (A2A_JSON, JSON),
    ],
)
async def test_http_json_takes_both_types_and_answers_in_what_is_accepted(
    rest: HttpJson, label: str, answer: str
) -> None:
    accept = JSON if answer == JSON else "*/*"
    response = await rest.http.post(
        "/message:send",
        json={"message": message()},
        headers={"Content-Type": label, "Accept": accept},
    )
    assert response.status_code == 200
    assert response.headers["content-type"] == answer


@pytest.mark.requirement("R-11.1-1")
@pytest.mark.parametrize(
    ("accept", "answer"),
    [
        (JSON, JSON),
        ("application/json;q=0.9, text/html", JSON),
        (A2A_JSON, A2A_JSON),
        (f"{JSON}, {A2A_JSON}", A2A_JSON),
        ("*/*", A2A_JSON),
        ("text/html", A2A_JSON),
        ("", A2A_JSON),
    ],
)
async def test_http_json_without_a_body_answers_in_what_is_accepted(
    rest: HttpJson, accept: str, answer: str
) -> None:
    response = await rest.http.get("/tasks", headers={"Accept": accept})
    assert response.headers["content-type"] == answer


@pytest.mark.parametrize("label", [JSON, A2A_JSON])
async def test_an_error_is_told_in_the_same_type(rest: HttpJson, label: str) -> None:
    headers = {"Content-Type": JSON, "Accept": label}
    response = await rest.http.post("/message:send", content=b"{}", headers=headers)
    assert response.status_code == 400
    assert response.headers["content-type"] == label


@pytest.mark.parametrize("label", ["text/plain", "application/xml", "multipart/form-data"])
async def test_http_json_takes_nothing_but_json(rest: HttpJson, label: str) -> None:
    response = await rest.http.post("/message:send", content=b"{}", headers={"Content-Type": label})
    assert response.status_code == 400
    assert response.json()["error"] == {
        "code": 400,
        "status": "INVALID_ARGUMENT",
        "message": f"Content-Type must be application/json or application/a2a+json, not {label}",
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "CONTENT_TYPE_NOT_SUPPORTED",
                "domain": "a2a-protocol.org",
                "metadata": {"mediaType": label, "supportedMediaTypes": f"{JSON}, {A2A_JSON}"},
            }
        ],
    }


async def test_a_post_without_a_body_needs_no_type(rest: HttpJson) -> None:
    response = await rest.http.post("/tasks/t-1:cancel", headers={"Content-Type": "text/plain"})
    assert response.status_code == 404


@pytest.fixture
async def forced() -> AsyncIterator[HttpJson]:
    """A client of a server that answers as A2A 1.0.0 wanted it."""
    async with serving(make_agent(), force_json=True) as served, HttpJson(served.url) as wire:
        yield wire


@pytest.mark.parametrize("label", [JSON, A2A_JSON])
async def test_a_server_can_be_made_to_answer_in_plain_json(forced: HttpJson, label: str) -> None:
    for path in ("/message:send", "/message:nonsense"):
        response = await forced.http.post(
            path,
            json={"message": message()},
            headers={"Content-Type": label, "Accept": A2A_JSON},
        )
        assert response.headers["content-type"] == JSON


# --- encoding -----------------------------------------------------------------------------------


@pytest.mark.requirement("R-14.1.1-1")
@pytest.mark.parametrize("text", ["Grüße", "日本語", "🦜", "\u2028\u00a0\ufeff", "\x00\x1f\x7f"])
async def test_text_travels_as_utf_8(wire: Binding, text: str) -> None:
    response = await wire.respond("SendMessage", {"message": message(text)})
    task = wire.result(response)["task"]
    assert task["artifacts"][0]["parts"] == [{"text": text}]
    response.content.decode("utf-8")


@pytest.mark.requirement("R-14.1.1-1")
@pytest.mark.parametrize("member", ["text", "ignored"])
async def test_a_body_that_is_not_utf_8_is_a_parse_error(
    rpc: JsonRpc, rest: HttpJson, member: str
) -> None:
    # Q-19, also where the bad bytes stand in a member nobody reads.
    body = b'{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}]},"%b":"\xff"}'
    answer = await rest.http.post(
        "/message:send", content=body % member.encode(), headers={"Content-Type": JSON}
    )
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, "The body is not UTF-8")
    call = b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":%b}' % (body % member.encode())
    answer = await rpc.http.post("/", content=call, headers={"Content-Type": JSON})
    assert answer.json()["error"]["code"] == -32700


async def test_an_agent_that_only_listens_takes_no_text(kind: type[Binding]) -> None:
    agent = Agent("Ears", "Listens.")

    @agent.skill(input_modes=["audio/*"])
    async def listen() -> str:
        return "heard"

    async with serving(agent) as served, kind(served.url) as wire:
        await expect("ContentTypeNotSupportedError", wire.send_message(message()))
        task = await wire.task(message(parts=[{"raw": "AQI=", "mediaType": "audio/wav"}]))
    assert task["artifacts"][0]["parts"] == [{"text": "heard"}]
