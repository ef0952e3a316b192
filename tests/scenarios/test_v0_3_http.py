"""A2A 0.3 over HTTP+JSON: every route, in the two shapes of JSON that peers speak on it."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import TYPE_CHECKING, Final

import pytest

from tests.scenarios.agents import make_agent
from tests.scenarios.bindings import drain
from tests.scenarios.old_forms import Blob, Piece, Saying
from tests.scenarios.old_wire import V0_3, V1_0, V0_3Http, V0_3Schema, data_of, refused
from tests.support.serving import Served, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx2

    from tests.scenarios.agents import Gate
    from tests.support.wire import Json

HOOK: Final = {"url": "https://client.example/hook", "token": "t"}


@pytest.fixture(params=[V0_3Http, V0_3Schema], ids=["ProtoJSON", "schema"])
async def rest(request: pytest.FixtureRequest, served: Served) -> AsyncIterator[V0_3Http]:
    """A client of the routes of 0.3, in each shape in turn."""
    async with request.param(served.url) as speaker:
        yield speaker


@pytest.fixture
async def proto(served: Served) -> AsyncIterator[V0_3Http]:
    async with V0_3Http(served.url) as speaker:
        yield speaker


@pytest.fixture(scope="module")
async def promising() -> AsyncIterator[Served]:
    """An agent whose card promises a fuller one, and which does not stream."""
    async with serving(make_agent(extended_card=True, streaming=False)) as agent:
        yield agent


def proto_message(skill: str, **members: object) -> Json:
    """Return a message in ProtoJSON."""
    message = {"role": "ROLE_USER", "content": [{"text": "hello"}]}
    return {**message, "metadata": {"skillId": skill}, **members}


# --- the routes (section 4.3) -------------------------------------------------------------------


async def test_a_send_is_answered_with_a_task(rest: V0_3Http) -> None:
    pieces: tuple[Piece, ...] = (
        "hello",
        Blob(b"\x00\x01\x02\xff", "dot.png", "image/png"),
        {"n": 1, "f": 2.5, "deep": [None, True]},
    )
    sent = await rest.send("mirror", *pieces)
    assert (sent.state, sent.results) == ("completed", [list(pieces)])
    # The creator's shape is that of the GET.
    assert await rest.get(sent.id) == sent


async def test_a_send_may_be_answered_with_a_message(rest: V0_3Http) -> None:
    answer = await rest.call("SendMessage", rest.write_send(Saying("reply", ("hi",))))
    kind, message = rest.grammar.unwrap(answer)
    assert (kind, rest.grammar.read_message(message)) == ("message", ["You said hi."])


@pytest.mark.parametrize(
    ("skill", "state"),
    [("echo", "completed"), ("fail", "failed"), ("reject", "rejected"), ("ask", "input-required")],
)
async def test_a_stream_is_the_task_and_then_its_updates(
    rest: V0_3Http, skill: str, state: str
) -> None:
    async with rest.stream(skill, "hello") as events:
        first, *between, last = [step async for step in events]
    assert (first.kind, first.state) == ("task", "submitted")
    assert (last.kind, last.state, last.is_final) == ("status", state, True)
    assert not any(step.is_final for step in between)
    if isinstance(rest, V0_3Schema):
        assert between[0].raw["final"] is False
    else:
        assert "final" not in between[0].raw  # ProtoJSON leaves out what is false.


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_a_task_is_followed_by_either_verb(rest: V0_3Http, gate: Gate, verb: str) -> None:
    made = await rest.begin("steps", gate.name)
    await gate.reached()
    async with rest.open(f"{verb} /v1/tasks/{{id}}:subscribe", {"id": made.id}) as events:
        first = rest.grammar.read_step((await anext(events)).data)
        gate.open(2)
        *_, last = [rest.grammar.read_step(event.data) async for event in events]
    assert (first.kind, first.state, last.state, last.is_final) == (
        "task",
        "working",
        "completed",
        True,
    )


async def test_a_task_that_has_ended_is_shown(rest: V0_3Http) -> None:
    sent = await rest.send("echo", "hello")
    async with rest.follow(sent.id) as events:
        task, last = [step async for step in events]
    assert (task.raw, last.is_final) == (sent.raw, True)


async def test_a_task_is_continued_and_canceled(rest: V0_3Http) -> None:
    asked = await rest.send("ask_twice", "trip")
    again = await rest.send("ask_twice", "Rome", task_id=asked.id)
    assert (again.id, again.state, again.said) == (asked.id, "input-required", ["Two?"])
    assert (await rest.cancel(asked.id)).state == "canceled"
    await refused(-32002, rest.cancel(asked.id))


async def test_tasks_are_listed(rest: V0_3Http, context: str) -> None:
    made = await rest.send("echo", "hello", context=context)
    (listed,) = await rest.list(context)
    assert (listed.id, listed.results) == (made.id, [["hello"]])
    page = await rest.list_tasks(contextId=context, status="TASK_STATE_COMPLETED", pageSize=1)
    assert page["totalSize"] == 1
    assert await rest.list_tasks(contextId=context, status="TASK_STATE_CANCELLED") == {}


@pytest.mark.parametrize(
    "operation",
    [
        "POST /v1/tasks/{id}/pushNotificationConfigs",
        "GET /v1/tasks/{id}/pushNotificationConfigs",
        "GET /v1/tasks/{id}/pushNotificationConfigs/c",
        "DELETE /v1/tasks/{id}/pushNotificationConfigs/c",
        # Section 4.3: the slip of the pen in the proto
        "POST /v1/task/{id}/pushNotificationConfigs",
        # Section 3.9: 0.2.2 to 0.2.4
        "POST /v1/tasks/{id}/pushNotifications",
        "GET /v1/tasks/{id}/pushNotifications",
        "GET /v1/tasks/{id}/pushNotifications/c",
    ],
)
async def test_webhooks_are_not_supported(rest: V0_3Http, operation: str) -> None:
    asked = await rest.send("ask", "trip")
    body = {"config": {"pushNotificationConfig": HOOK}} if operation.startswith("POST") else {}
    problem = await refused(-32003, rest.call(operation, {"id": asked.id, **body}))
    assert problem.http == 501


async def test_the_extended_card_has_a_route(rest: V0_3Http, promising: Served) -> None:
    # Section 4.2: not declared; declared and not there
    await refused(-32004, rest.call("GetExtendedAgentCard"))
    async with V0_3Http(promising.url) as speaker:
        assert (await refused(-32007, speaker.call("GetExtendedAgentCard"))).http == 404


# --- the two shapes (sections 4.5 and 6.2) ------------------------------------------------------


async def test_the_shape_of_a_get_is_that_of_the_creator(served: Served) -> None:
    async with (
        V0_3Http(served.url) as proto,
        V0_3Schema(served.url) as schema,
        V0_3(served.url) as rpc,
        V1_0(served.url, {"A2A-Version": "1.0"}) as new,
    ):
        for maker, reader in ((proto, proto), (schema, schema), (rpc, proto), (new, proto)):
            made = await maker.send("ask", "trip")
            # Whoever asks: nothing but the task tells what they can read.
            for asker in (proto, schema):
                task = await asker.get_task(made.id)
                assert reader.grammar.read_task(task).said == ["Which city?"]


async def test_the_shape_is_remembered_for_parts_by_type(served: Served) -> None:
    # D9 and section 6.2
    message = {"role": "user", "parts": [{"type": "text", "text": "hello"}]}
    async with V0_3Schema(served.url) as rest:
        sent = await rest.call("SendMessage", {"message": message})
        assert sent["kind"] == "task"
        assert (await rest.get_task(sent["id"])).get("kind") == "task"


@pytest.mark.parametrize(
    ("message", "is_proto"),
    [
        ({"content": [{"text": "hello"}]}, True),
        ({"parts": [{"text": "hello"}]}, True),  # the late form
        ({"parts": [{"text": "hello"}], "role": "ROLE_USER"}, True),
        ({"parts": [{"text": "hello"}], "role": "user"}, False),
        ({"parts": [{"kind": "text", "text": "hello"}]}, False),
        ({"parts": [{"type": "text", "text": "hello"}]}, False),
        ({"parts": [{"text": "hello"}], "kind": "message"}, False),
    ],
    ids=repr,
)
async def test_the_body_tells_the_shape(proto: V0_3Http, message: Json, is_proto: bool) -> None:  # noqa: FBT001 - a column of a table
    answer = await proto.call("SendMessage", {"message": {"messageId": "", **message}})
    assert ("task" in answer) is is_proto
    assert ("kind" in answer) is not is_proto


async def test_names_of_the_proto_are_understood(proto: V0_3Http, context: str) -> None:
    # Section 4.5: what Python clients send
    message = proto_message("mirror", message_id=f"m {context}", context_id=context)
    content = b64encode(b64encode(b"\x00\xff")).decode()
    file = {"file_with_bytes": content, "mime_type": "image/png", "name": "n"}
    message["content"].append({"file": file})
    configuration = {"accepted_output_modes": ["text"], "history_length": 1, "blocking": True}
    body = {"request": message, "configuration": configuration}
    sent = proto.read_answer(await proto.call("SendMessage", body))
    assert (sent.context, sent.results) == (
        context,
        [["hello", Blob(b"\x00\xff", "n", "image/png")]],
    )
    page = await proto.call("ListTasks", {"context_id": context, "page_size": 5})
    assert [task["id"] for task in page["tasks"]] == [sent.id]


async def test_enums_may_be_numbers(proto: V0_3Http, context: str) -> None:
    message = proto_message("ask", role=1, contextId=context)
    sent = proto.read_answer(await proto.call("SendMessage", {"message": message}))
    page = await proto.call("ListTasks", {"contextId": context, "status": "6"})
    assert [task["id"] for task in page["tasks"]] == [sent.id]


async def test_file_content_that_is_raw_comes_back_raw(proto: V0_3Http) -> None:
    # Section 5.7: as the JavaScript SDK sends it; what is no base64 text is the content.
    file = {"fileWithBytes": b64encode(b"\x00\x01\xff").decode(), "mimeType": "image/png"}
    message = proto_message("mirror", content=[{"file": file}])
    sent = (await proto.call("SendMessage", {"message": message}))["task"]
    assert sent["artifacts"][0]["parts"] == [{"file": file}]
    got = await proto.call("GetTask", {"id": sent["id"]})
    assert got["artifacts"] == sent["artifacts"]
    async with V1_0(proto.url, {"A2A-Version": "1.0"}) as new:
        assert (await new.get(sent["id"])).results == [[Blob(b"\x00\x01\xff", "", "image/png")]]


async def test_whole_numbers_of_a_struct_are_integers(proto: V0_3Http) -> None:
    # Section 5.7
    message = proto_message("mirror", content=[{"data": {"data": {"n": 3.0, "f": 0.5}}}])
    sent = proto.read_answer(await proto.call("SendMessage", {"message": message}))
    async with V1_0(proto.url, {"A2A-Version": "1.0"}) as new:
        (data,) = (await new.get(sent.id)).results[0]
    assert repr(data) == "{'n': 3, 'f': 0.5}"


# --- configuration (section 5.10) ---------------------------------------------------------------


async def test_without_a_configuration_a_send_waits(proto: V0_3Http, gate: Gate) -> None:
    message = proto_message("hold", content=[{"text": gate.name}])
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(proto.call("SendMessage", {"message": message}))
        await gate.reached()
        gate.open()
    assert proto.read_answer(sending.result()).state == "completed"


async def test_with_one_a_send_waits_only_if_told_so(proto: V0_3Http, gate: Gate) -> None:
    message = proto_message("hold", content=[{"text": gate.name}])
    body = {"message": message, "configuration": {"acceptedOutputModes": ["text/plain"]}}
    sent = proto.read_answer(await proto.call("SendMessage", body))
    assert sent.state in ("submitted", "working")
    gate.open()


async def test_in_schema_shape_a_send_waits_unless_told_otherwise(
    served: Served, gate: Gate
) -> None:
    async with V0_3Schema(served.url) as rest, asyncio.TaskGroup() as group:
        body = rest.write_send(Saying("hold", (gate.name,)))
        body["configuration"] = {}
        sending = group.create_task(rest.call("SendMessage", body))
        await gate.reached()
        gate.open()
        assert rest.read_answer(await sending).state == "completed"


@pytest.mark.parametrize(
    ("length", "told"),
    [(None, 3), (0, 3), (1, 1), (2, 2), (9, 3)],
)
async def test_history_is_cut_only_to_a_positive_length(
    rest: V0_3Http, length: int | None, told: int
) -> None:
    asked = await rest.send("ask", "trip")
    options: Json = {} if length is None else {"historyLength": length}
    body = rest.write_send(Saying("ask", ("Rome",), asked.id))
    body["configuration"] |= options
    sent = rest.read_answer(await rest.call("SendMessage", body))
    got = await rest.get(asked.id, **options)
    assert sent.history == got.history == [["trip"], ["Which city?"], ["Rome"]][-told:]


# --- errors (section 4.5) -----------------------------------------------------------------------


async def test_errors_have_statuses_and_one_body_for_all(rest: V0_3Http) -> None:
    # The client holds status, code, names and message against the tables.
    sent = await rest.send("echo", "hello")
    await refused(-32001, rest.get("t-unknown"))
    await refused(-32001, rest.cancel("t-unknown"))
    await refused(-32001, drain(rest.subscribe_to_task("t-unknown")))
    await refused(-32001, rest.send("echo", "hello", task_id="t-unknown"))
    await refused(-32002, rest.cancel(sent.id))
    await refused(-32004, rest.send("echo", "hello", task_id=sent.id))
    await refused(-32005, rest.send("echo", Blob(b"x", "", "audio/x")))
    await refused(-32006, rest.send("reply_badly", "hello"))
    await refused(-32602, rest.call("SendMessage", {}))
    await refused(-32602, rest.call("SendMessage", {"message": {"role": "user", "parts": []}}))
    await refused(-32602, rest.get(sent.id, historyLength=-1))
    await refused(-32602, rest.list_tasks(pageSize="many"))
    await refused(-32601, rest.call("GET /v1/nothing"))
    await refused(-32009, rest.call("ListTasks", headers={"A2A-Version": "0.5"}))


async def test_an_agent_without_streams_says_so(promising: Served) -> None:
    async with V0_3Http(promising.url) as rest:
        body = rest.write_send(Saying("echo", ("hello",)))
        await refused(-32004, rest.call("SendStreamingMessage", body))


@pytest.mark.parametrize(
    ("body", "code", "status"), [(b"{", -32700, 400), (b"[]", -32602, 422), (b"\xff", -32700, 400)]
)
async def test_a_body_that_is_none_is_refused(
    proto: V0_3Http, body: bytes, code: int, status: int
) -> None:
    for path in ("/v1/message:send", "/v1/message:stream", "/v1/tasks/x:cancel"):
        response = await proto.http.post(path, content=body)
        assert (response.status_code, response.json()["code"]) == (status, code)


async def test_a_body_labelled_otherwise_is_refused(proto: V0_3Http) -> None:
    headers = {"Content-Type": "text/plain"}
    response = await proto.http.post("/v1/message:send", content=b"{}", headers=headers)
    assert (response.status_code, response.json()["code"]) == (415, -32005)
    assert response.json()["data"]["supportedMediaTypes"] == (
        "application/json, application/a2a+json"
    )


async def test_another_verb_is_refused(proto: V0_3Http) -> None:
    problem = await refused(-32601, proto.call("DELETE /v1/tasks/x:subscribe"))
    assert (problem.http, problem.headers["allow"]) == (405, "GET, POST")


async def test_what_is_wrong_is_named(rest: V0_3Http) -> None:
    body = rest.write_send(Saying("echo", ("hello",)))
    body["message"][rest.grammar.contents] = [{"text": "a", "data": {}}, {}]
    field = f"message.{rest.grammar.contents}"
    problem = await refused(-32602, rest.call("SendMessage", body))
    (violation,) = data_of(problem)["fieldViolations"]
    assert violation["field"] in (f"{field}[0]", f"{field}[1]")


async def test_answers_are_labelled_json(rest: V0_3Http) -> None:
    # R03-3.2.3-2: whatever 1.0 would say
    async def label_of(verb: str, path: str, **options: object) -> str:
        headers = {"Accept": "application/a2a+json"}
        request = rest.http.build_request(verb, path, headers=headers, json=options or None)
        response: httpx2.Response = await rest.http.send(request)
        return response.headers["content-type"]

    body = rest.write_send(Saying("echo", ("hello",)))
    assert await label_of("POST", "/v1/message:send", **body) == "application/json"
    assert await label_of("GET", "/v1/tasks") == "application/json"
    assert await label_of("GET", "/v1/tasks/x") == "application/json"
    assert await label_of("POST", "/v1/message:stream", **body) == "text/event-stream"
