"""What peers get wrong: rows D8 to D20 of the 0.x reference, understood or, strictly, refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

from tests.scenarios.agents import make_agent
from tests.scenarios.grpc_binding import V0_3_SERVICE, Rpcs, StatusError
from tests.scenarios.old_forms import Blob
from tests.scenarios.old_wire import (
    SPEAKERS,
    V0_1,
    V0_3,
    V1_0,
    Speaker,
    V0_3Http,
    V0_3Schema,
    refused,
)
from tests.support.serving import Served, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx2

    from tests.scenarios.agents import Gate
    from tests.support.wire import Json


@pytest.fixture(scope="module")
async def strict() -> AsyncIterator[Served]:
    """A server that follows the letter of the text."""
    async with serving(make_agent(), strict_versions=True, max_wait_seconds=5) as agent:
        yield agent


@pytest.fixture
async def old(served: Served) -> AsyncIterator[V0_3]:
    async with V0_3(served.url) as speaker:
        yield speaker


@pytest.fixture
async def older(served: Served) -> AsyncIterator[V0_1]:
    async with V0_1(served.url) as speaker:
        yield speaker


async def test_parts_by_type_are_answered_with_both(old: V0_3, gate: Gate) -> None:
    # D9, 8.1 X7 and X11: for this task, in answers, streams and later questions
    parts = [{"type": "text", "text": gate.name}]
    gate.open(2)
    dual = {"kind": "text", "type": "text", "text": "the end"}
    async with old.open("message/stream", old.words("", "steps", parts=parts)) as events:
        frames = [event.result async for event in events]
    artifacts = [frame["artifact"] for frame in frames if frame["kind"] == "artifact-update"]
    assert artifacts[-1]["parts"] == [dual]
    got = await old.get_task(frames[0]["id"])
    assert got["artifacts"][1]["parts"] == [dual]
    assert [artifact["index"] for artifact in got["artifacts"]] == [0, 1]
    assert got["history"][0]["parts"] == [{"kind": "text", **parts[0]}]


@pytest.mark.parametrize("absent", [["kind"], ["messageId"], ["role"], ["kind", "messageId"]])
async def test_members_that_are_missing_are_filled_in(old: V0_3, absent: list[str]) -> None:
    # D10
    params = old.words("hello", **dict.fromkeys(absent, ""))
    assert old.read_answer(await old.call("message/send", params)).results == [["hello"]]


async def test_parts_and_roles_of_1_0_are_understood(old: V0_3) -> None:
    # D11
    parts = [{"text": "hello"}, {"raw": "AAEC_w", "mediaType": "image/png"}, {"data": {"n": 1}}]
    params = old.words("", "mirror", role="ROLE_USER", parts=parts)
    answer = await old.call("message/send", params)
    assert answer["history"][0]["role"] == "user"
    assert answer["artifacts"][0]["parts"] == [
        {"kind": "text", "text": "hello"},
        {"kind": "file", "file": {"bytes": "AAEC/w==", "mimeType": "image/png"}},
        {"kind": "data", "data": {"n": 1}},
    ]


async def test_nulls_are_no_values(old: V0_3) -> None:
    # D19
    members = dict.fromkeys(["taskId", "contextId", "extensions", "referenceTaskIds"])
    params = old.words("hello")
    params["message"] |= members
    options = dict.fromkeys(["acceptedOutputModes", "historyLength", "pushNotificationConfig"])
    answer = await old.call("message/send", {**params, "configuration": options, "metadata": None})
    assert old.read_answer(answer).state == "completed"
    assert (await old.get(answer["id"], historyLength=None, metadata=None)).id == answer["id"]


async def test_names_of_the_proto_are_understood(old: V0_3, context: str) -> None:
    # D20
    asked = await old.send("ask", "trip", context=context)
    params = old.words("Rome", messageId="", message_id="m-proto", task_id=asked.id)
    params["message"]["context_id"] = context
    options = {"history_length": 1, "accepted_output_modes": ["text/plain"], "blocking": True}
    answer = await old.call("message/send", {**params, "configuration": options})
    assert old.read_answer(answer).results == [["trip: Rome"]]
    assert [item["messageId"] for item in answer["history"]] == ["m-proto"]


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel"])
async def test_a_task_may_be_named_by_task_id(old: V0_3, method: str) -> None:
    # D8
    asked = await old.send("ask", "trip")
    assert (await old.call(method, {"taskId": asked.id}))["id"] == asked.id


async def test_a_task_may_be_followed_by_getting_it(old: V0_3, gate: Gate) -> None:
    # D16, 8.2 A5
    made = await old.begin("hold", gate.name)
    await gate.reached()
    headers = {"Accept": "text/event-stream"}
    async with old.open("tasks/get", {"taskId": made.id}, headers=headers) as events:
        assert (await anext(events)).result["kind"] == "task"
        gate.open()
        *_, last = [event.result async for event in events]
    assert (last["status"]["state"], last["final"]) == ("completed", True)
    # Who says "id" means what the method says.
    assert (await old.call("tasks/get", {"id": made.id}, headers=headers))["kind"] == "task"


async def test_a_task_is_canceled_by_who_accepts_streams(old: V0_3) -> None:
    asked = await old.send("ask", "trip")
    headers = {"Accept": "application/json, text/event-stream"}
    response = await old.respond("tasks/cancel", {"taskId": asked.id}, headers=headers)
    assert response.headers["content-type"] == "application/json"
    assert (await old.get(asked.id)).state == "canceled"


_PNG: Final = {"bytes": "AAEC/w==", "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("members", "part"),
    [
        ({"parts": [{"kind": "text", "text": "hello"}], "kind": "message"}, {"text": "hello"}),
        ({"role": "user"}, {"text": "hello"}),
        (
            {"parts": [{"kind": "file", "file": _PNG}]},
            {"raw": "AAEC/w==", "mediaType": "image/png"},
        ),
    ],
    ids=["kind", "role", "file"],
)
async def test_1_0_with_members_of_0_3_is_understood(
    served: Served, members: Json, part: Json
) -> None:
    # D12
    async with V1_0(served.url, {"A2A-Version": "1.0"}) as new:
        answer = await new.call("SendMessage", new.words("hello", "mirror", **members))
    assert answer["task"]["artifacts"][0]["parts"] == [part]


@pytest.mark.parametrize(
    "members",
    [{"parts": [{"kind": "text", "text": "hello"}]}, {"messageId": "m-1 of 0.1"}],
    ids=["kind", "messageId"],
)
async def test_0_1_with_members_of_0_2_is_understood(older: V0_1, members: Json) -> None:
    # D13: and parts are written for readers of both, now and later.
    sent = await older.call("tasks/send", older.words("hello", **members))
    for task in (sent, await older.get_task(sent["id"])):
        (part,) = task["artifacts"][0]["parts"]
        assert part == {"type": "text", "kind": "text", "text": "hello"}
        assert "kind" not in task


async def test_a_task_of_0_1_without_an_id_is_given_one(older: V0_1) -> None:
    # D14
    params = older.words("hello")
    ids = [(await older.call("tasks/send", {**params, "id": none}))["id"] for none in (None, "")]
    assert all(ids)
    assert ids[0] != ids[1]
    assert (await older.get(ids[0])).results == [["hello"]]


# --- routes of HTTP+JSON ------------------------------------------------------------------------


def envelope_of(method: str, text: str) -> Json:
    message = {"messageId": text, "role": "user", "parts": [{"kind": "text", "text": text}]}
    return {"jsonrpc": "2.0", "method": method, "id": text, "params": {"message": message}}


def events_of(response: httpx2.Response) -> list[Json]:
    assert response.headers["content-type"] == "text/event-stream"
    lines = response.text.splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


async def test_an_envelope_at_a_route_is_answered_by_one(old: V0_3) -> None:
    # As agno's client sends it.
    sent = await old.http.post("/v1/message:send", json=envelope_of("message/send", "hello"))
    assert (sent.status_code, sent.headers["content-type"]) == (200, "application/json")
    answer = sent.json()
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", "hello")
    assert (answer["result"]["kind"], answer["result"]["status"]["state"]) == ("task", "completed")
    assert old.read_answer(answer["result"]).results == [["hello"]]

    body = envelope_of("message/stream", "bye")
    frames = events_of(await old.http.post("/v1/message:stream", json=body))
    assert {frame["id"] for frame in frames} == {"bye"}
    assert frames[0]["result"]["kind"] == "task"
    assert frames[-1]["result"]["final"] is True


async def test_a_wrong_envelope_at_a_route_is_refused_as_one(old: V0_3) -> None:
    body: Json = {**envelope_of("message/send", "x"), "params": {}}
    answer = (await old.http.post("/v1/message:send", json=body)).json()
    assert (answer["id"], answer["error"]["code"]) == ("x", -32602)


@pytest.mark.parametrize("version", ["", "0.3.0"])
async def test_the_shape_of_0_3_at_the_routes_of_1_0_is_answered_in_it(
    served: Served, version: str
) -> None:
    # As a2akit's client sends it, and asks for the task later.
    async with V0_3(served.url, {"A2A-Version": version} if version else {}) as old:
        body = {"message": {**_M, "messageId": f"sent {version}"}}
        task = (await old.http.post("/message:send", json=body)).json()
        assert (task["kind"], task["status"]["state"]) == ("task", "completed")
        got = (await old.http.get(f"/tasks/{task['id']}")).json()
        assert (got["kind"], got["id"]) == ("task", task["id"])
        body = {"message": {**_M, "messageId": f"streamed {version}"}}
        frames = events_of(await old.http.post("/message:stream", json=body))
        assert {frame["kind"] for frame in frames} == {"task", "artifact-update", "status-update"}
        assert frames[-1]["final"] is True
    async with V1_0(served.url, {"A2A-Version": "1.0"}) as new:
        assert (await new.http.get(f"/tasks/{task['id']}")).json()["status"]["state"] == (
            "TASK_STATE_COMPLETED"
        )


# --- to the letter ------------------------------------------------------------------------------

_TYPED: Final = [{"type": "text", "text": "x"}]
_KIND: Final = [{"kind": "text", "text": "x"}]
_TOOL: Final = {"kind": "tool-use", "id": "t"}
_TWICE: Final = {"kind": "file", "file": {"bytes": "AAEC", "uri": "https://files.example/a"}}
_VIDEO: Final = {"type": "video", "url": "https://files.example/a"}
_OLDER: Final = {"role": "user", "parts": _TYPED}
_M: Final = {"kind": "message", "messageId": "m", "role": "user", "parts": _KIND}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        pytest.param("tasks/get", {"taskId": "x"}, id="D8"),
        pytest.param("message/send", {"message": {**_M, "parts": _TYPED}}, id="D9"),
        pytest.param("message/send", {"message": {**_M, "messageId": ""}}, id="D10"),
        pytest.param("message/send", {"message": {**_M, "role": "ROLE_USER"}}, id="D11 role"),
        pytest.param("message/send", {"message": {**_M, "parts": [{"text": "x"}]}}, id="D11"),
        pytest.param("tasks/send", {"id": "d13", "message": _M}, id="D13"),
        pytest.param("tasks/send", {"message": {"role": "user", "parts": _TYPED}}, id="D14"),
        pytest.param("message/send", {"message": {**_M, "taskId": None}}, id="D19"),
        pytest.param("message/send", {"message": {**_M, "context_id": "c"}}, id="D20"),
        pytest.param("message/send", {"message": {**_M, "role": "system"}}, id="role"),
        pytest.param("message/send", {"message": {**_M, "parts": [_TOOL]}}, id="kind"),
        pytest.param("message/send", {"message": {**_M, "parts": [_TWICE]}}, id="twice"),
        pytest.param("tasks/send", {"id": "r", "message": {**_OLDER, "role": "x"}}, id="0.1 role"),
        pytest.param("tasks/send", {"id": "p", "message": {**_OLDER, "parts": [_VIDEO]}}, id="0.1"),
    ],
)
async def test_strictly_deviations_are_refused(strict: Served, method: str, params: Json) -> None:
    async with V0_3(strict.url) as old:
        await refused(-32602, old.call(method, params))


_P: Final = {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "x"}]}
_BOTH: Final = {"fileWithBytes": "AAEC", "fileWithUri": "https://files.example/a"}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        pytest.param(V0_3Http, {**_P, "messageId": ""}, id="proto id"),
        pytest.param(V0_3Http, {**_P, "role": None}, id="proto role"),
        pytest.param(V0_3Http, {**_P, "role": "ROLE_SYSTEM"}, id="proto other role"),
        pytest.param(V0_3Http, {**_P, "role": "user"}, id="proto role of the schema"),
        pytest.param(V0_3Http, {**_P, "content": [{"file": _BOTH}]}, id="proto twice"),
        pytest.param(V0_3Schema, {**_M, "messageId": ""}, id="schema id"),
        pytest.param(V0_3Schema, {**_M, "role": ""}, id="schema role"),
        pytest.param(V0_3Schema, {**_M, "role": "system"}, id="schema other role"),
        pytest.param(V0_3Schema, {**_M, "parts": [_TOOL]}, id="schema kind"),
        pytest.param(V0_3Schema, {**_M, "parts": [_TWICE]}, id="schema twice"),
    ],
)
async def test_strictly_deviations_are_refused_on_routes(
    strict: Served, served: Served, kind: type[Speaker], message: Json
) -> None:
    params = {"message": {**message, "metadata": {"skillId": "mirror"}}}
    async with kind(served.url) as lenient:
        assert await lenient.call("SendMessage", params)
    async with kind(strict.url) as old:
        await refused(-32602, old.call("SendMessage", params))


@pytest.mark.parametrize("members", [{"messageId": ""}, {"role": 0}, {"role": 7}])
async def test_strictly_deviations_are_refused_over_grpc(
    strict: Served, served: Served, members: Json
) -> None:
    params = {"request": {**_P, **members}}
    async with Rpcs(served.url, V0_3_SERVICE) as lenient:
        assert await lenient.unary("SendMessage", params)
    async with Rpcs(strict.url, V0_3_SERVICE) as old:
        assert await old.unary("SendMessage", {"request": _P})
        with pytest.raises(StatusError) as caught:
            await old.unary("SendMessage", params)
    assert caught.value.name == "INVALID_ARGUMENT"


@pytest.mark.parametrize("method", ["message/send", "tasks/send"])
async def test_strictly_an_envelope_says_its_version(
    strict: Served, served: Served, method: str
) -> None:
    sent = {"message": _M} if method == "message/send" else {"id": "named", "message": _OLDER}
    envelope = {"id": 1, "method": method, "params": sent}
    async with V0_3(served.url) as lenient, V0_3(strict.url) as old:
        assert "result" in (await lenient.http.post("/", json=envelope)).json()
        answer = (await old.http.post("/", json=envelope)).json()
    assert (answer["id"], answer["error"]["code"]) == (1, -32600)


async def test_strictly_1_0_with_members_of_0_3_is_refused(strict: Served) -> None:
    # D12
    params = {"message": _M, "configuration": {"blocking": True}}
    async with V1_0(strict.url, {"A2A-Version": "1.0"}) as new:
        await refused(-32602, new.call("SendMessage", params))


@pytest.mark.parametrize(
    ("kind", "version"),
    # Only 1.0 has to be stated (D1).
    [(kind, "") for kind in SPEAKERS[:-1]] + [(kind, kind.version) for kind in SPEAKERS],
)
async def test_strictly_who_does_as_the_text_says_is_served(
    strict: Served, kind: type[Speaker], version: str
) -> None:
    async with kind(strict.url, {"A2A-Version": version} if version else {}) as speaker:
        parts = ("trip", Blob(b"\x00\xff", "a.png", "image/png"), {"n": 1})
        assert (await speaker.send("mirror", *parts)).state == "completed"
        asked = await speaker.send("ask", "trip")
        answered = await speaker.send("ask", "Rome", task_id=asked.id)
        assert answered.results == [["trip: Rome"]]
        assert (await speaker.get(asked.id, historyLength=1)).history == [["Rome"]]
        async with speaker.stream("echo", "hello") as events:
            *_, last = [step async for step in events]
        assert last.state == "completed"


async def test_strictly_a_route_takes_no_envelope(strict: Served) -> None:
    async with V0_3(strict.url) as old:
        body = envelope_of("message/send", "hello")
        assert (await old.http.post("/v1/message:send", json=body)).status_code == 422


async def test_strictly_the_kind_of_a_message_may_be_missing(strict: Served) -> None:
    # D10
    async with V0_3(strict.url) as old:
        answer = await old.call("message/send", old.words("hello", kind=""))
        assert old.read_answer(answer).results == [["hello"]]


async def test_strictly_getting_a_task_is_no_stream(strict: Served) -> None:
    # D16
    async with V0_3(strict.url, {"Accept": "text/event-stream"}) as old:
        sent = await old.send("echo", "hello")
        response = await old.respond("tasks/get", {"id": sent.id, "taskId": sent.id})
        assert response.headers["content-type"] == "application/json"
