"""A2A 0.2 and 0.3 over JSON-RPC: every method, ``kind`` and ``final``, and what peers get wrong."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import pytest

from dragoman.model.cards import AgentExtension
from tests.scenarios.agents import make_agent
from tests.scenarios.bindings import drain
from tests.scenarios.old_wire import V0_3, V1_0, data_of, refused
from tests.support.serving import Served, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.scenarios.agents import Gate
    from tests.support.wire import Json

TERMS: Final = "https://ext.example/terms/v1"
HOOK: Final = {"url": "https://client.example/hook", "token": "t"}


@pytest.fixture
async def old(served: Served) -> AsyncIterator[V0_3]:
    async with V0_3(served.url) as speaker:
        yield speaker


@pytest.fixture(scope="module")
async def promising() -> AsyncIterator[Served]:
    """An agent whose card promises a fuller one, and which has an extension."""
    extensions = [AgentExtension(uri=TERMS)]
    async with serving(make_agent(extended_card=True, extensions=extensions)) as agent:
        yield agent


@pytest.fixture(scope="module")
async def silent() -> AsyncIterator[Served]:
    """An agent without streams."""
    async with serving(make_agent(streaming=False)) as agent:
        yield agent


# --- the methods --------------------------------------------------------------------------------


async def test_a_send_is_answered_with_a_task(old: V0_3) -> None:
    sent = await old.send("echo", "hello")
    assert (sent.state, sent.results, sent.history) == ("completed", [["hello"]], [["hello"]])
    assert sent.id != sent.context
    assert sent.raw["status"]["timestamp"].endswith("Z")
    assert await old.get(sent.id) == sent


async def test_a_send_may_be_answered_with_a_message(old: V0_3) -> None:
    answer = await old.call("message/send", old.words("hi", "reply"))
    assert (answer["kind"], answer["role"]) == ("message", "agent")
    assert old.grammar.read_message(answer) == ["You said hi."]
    assert "taskId" not in answer


async def test_a_stream_is_the_task_and_then_its_updates(old: V0_3) -> None:
    async with old.stream("echo", "hello") as events:
        steps = [step async for step in events]
    assert [(step.kind, step.state, step.is_final) for step in steps] == [
        ("task", "submitted", False),
        ("status", "working", False),
        ("artifact", "", False),
        ("status", "completed", True),
    ]


@pytest.mark.parametrize(
    ("skill", "state"),
    [
        ("echo", "completed"),
        ("fail", "failed"),
        ("reject", "rejected"),
        ("ask", "input-required"),
        ("authorize", "auth-required"),
    ],
)
async def test_the_last_event_is_final(old: V0_3, skill: str, state: str) -> None:
    # R03-7.2.2-1
    async with old.stream(skill, "hello") as events:
        *before, last = [step async for step in events]
    assert (last.kind, last.state, last.is_final) == ("status", state, True)
    assert not any(step.is_final for step in before)


async def test_a_canceled_task_ends_its_streams(old: V0_3, gate: Gate) -> None:
    async with old.stream("hold", gate.name) as events:
        first = await anext(events)
        await gate.reached()
        assert (await old.cancel(first.task_id)).state == "canceled"
        *_, last = [step async for step in events]
    assert (last.state, last.is_final) == ("canceled", True)


@pytest.mark.parametrize("skill", ["echo", "fail", "reject", "ask", "authorize"])
async def test_following_a_task_that_has_stopped_shows_it(old: V0_3, skill: str) -> None:
    # R03-7.9-2, section 5.9: and a status repeats where it stands, as only that can be final.
    sent = await old.send(skill, "hello")
    async with old.follow(sent.id) as events:
        task, last = [step async for step in events]
    assert task.raw == sent.raw
    assert (last.kind, last.is_final) == ("status", True)
    assert last.raw["status"] == sent.raw["status"]


async def test_unknown_tasks_are_not_found(old: V0_3) -> None:
    await refused(-32001, old.get("t-unknown"))
    await refused(-32001, old.cancel("t-unknown"))
    await refused(-32001, drain(old.subscribe_to_task("t-unknown")))
    # 5.5: never made up, as in 0.1
    problem = await refused(-32001, old.send("echo", "hello", task_id="t-unknown"))
    assert data_of(problem) == {"reason": "TASK_NOT_FOUND", "taskId": "t-unknown"}


async def test_a_context_of_the_client_is_kept(old: V0_3, context: str) -> None:
    # 5.6
    assert (await old.send("echo", "hello", context=context)).context == context


async def test_tasks_are_listed_page_by_page(old: V0_3, context: str) -> None:
    # 4.4: the method of late peers
    sent = [(await old.send(skill, "hi", context=context)).id for skill in ("echo", "fail", "echo")]
    page = await old.list_tasks(contextId=context, pageSize=2)
    rest = await old.list_tasks(contextId=context, pageSize=2, pageToken=page["nextPageToken"])
    assert (page["totalSize"], page["pageSize"], rest["nextPageToken"]) == (3, 2, "")
    assert [task["id"] for task in page["tasks"] + rest["tasks"]] == sent[::-1]
    (failed,) = (await old.list_tasks(contextId=context, status="failed"))["tasks"]
    assert (failed["id"], "artifacts" in failed) == (sent[1], False)
    whole = await old.list_tasks(contextId=context, includeArtifacts=True, historyLength=1)
    assert old.grammar.read_task(whole["tasks"][0]).results == [["hi"]]
    none = await old.list_tasks(contextId=context, lastUpdatedAfter=4_000_000_000_000)
    assert none["tasks"] == []
    await refused(-32602, old.list_tasks(status="nonsense"))


@pytest.mark.parametrize("action", ["set", "get", "list", "delete"])
async def test_webhooks_are_not_supported(old: V0_3, action: str) -> None:
    # R03-7.5-1
    sent = await old.send("ask", "trip")
    config = {"id": "c", **HOOK}
    params = {"taskId": sent.id, "pushNotificationConfig": config}
    if action != "set":
        params = {"id": sent.id, "pushNotificationConfigId": "c"}
    await refused(-32003, old.call(f"tasks/pushNotificationConfig/{action}", params))


async def test_a_webhook_in_a_send_is_not_supported(old: V0_3) -> None:
    params = {**old.words("hello"), "configuration": {"pushNotificationConfig": HOOK}}
    await refused(-32003, old.call("message/send", params))


@pytest.mark.parametrize("method", ["message/stream", "tasks/resubscribe"])
async def test_an_agent_without_streams_says_so(silent: Served, method: str) -> None:
    async with V0_3(silent.url) as old:
        sent = await old.send("ask", "trip")
        await refused(-32004, old.call(method, {"id": sent.id, **old.words("hello")}))


@pytest.mark.parametrize("path", ["/", "/a2a", "/api/a2a"])
async def test_the_endpoint_has_other_names(old: V0_3, path: str) -> None:
    # 8.1 X2, 8.2 A1
    request = old.request("SendMessage", old.words("hello"), {})
    request.url = request.url.copy_with(path=path)
    answer = old.result(await old.http.send(request))
    assert old.read_answer(answer).results == [["hello"]]


# --- the extended card --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["getAuthenticatedExtendedCard", "authenticatedExtendedCard"])
async def test_the_extended_card_is_a_method(old: V0_3, promising: Served, name: str) -> None:
    # 4.2: declared and not there; and not declared
    async with V0_3(promising.url) as speaker:
        await refused(-32007, speaker.call(f"agent/{name}"))
    await refused(-32004, old.call(f"agent/{name}"))


@pytest.mark.parametrize("path", ["", "/api"])
async def test_the_extended_card_of_0_2_is_a_file(old: V0_3, promising: Served, path: str) -> None:
    # 3.2: beside the URL of the agent, / or /a2a or /api/a2a
    async with V0_3(promising.url) as speaker:
        for client in (speaker, old):
            response = await client.http.get(f"{path}/agent/authenticatedExtendedCard")
            assert (response.status_code, response.headers["content-type"]) == (
                404,
                "application/json",
            )
            assert response.json()["code"] in (-32007, -32004)
        response = await speaker.http.post(f"{path}/agent/authenticatedExtendedCard", json={})
        assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD")


# --- configuration (section 5.10) ---------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"blocking": True}, {"blocking": None}], ids=repr)
async def test_a_send_waits(old: V0_3, gate: Gate, options: Json) -> None:
    params = {**old.words(gate.name, "hold"), "configuration": options}
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(old.call("message/send", params))
        await gate.reached()
        gate.open()
    assert sending.result()["status"]["state"] == "completed"


async def test_a_send_does_not_wait_if_told_so(old: V0_3, gate: Gate) -> None:
    params = {**old.words(gate.name, "hold"), "configuration": {"blocking": False}}
    answer = await old.call("message/send", params)
    assert answer["status"]["state"] in ("submitted", "working")
    gate.open()


@pytest.mark.parametrize(
    ("length", "told"),
    [
        (None, [["trip"], ["Which city?"], ["Rome"]]),
        (0, [["trip"], ["Which city?"], ["Rome"]]),
        (1, [["Rome"]]),
        (2, [["Which city?"], ["Rome"]]),
        (9, [["trip"], ["Which city?"], ["Rome"]]),
    ],
)
async def test_history_is_cut_only_to_a_positive_length(
    old: V0_3, length: int | None, told: list[list[str]]
) -> None:
    asked = await old.send("ask", "trip")
    options: Json = {} if length is None else {"historyLength": length}
    params = {**old.words("Rome", taskId=asked.id), "configuration": options}
    sent = old.read_answer(await old.call("message/send", params))
    got = await old.get(asked.id, **options)
    assert sent.history == got.history == told


async def test_modes_may_be_said_in_one_word(old: V0_3) -> None:
    for mode, result in (("text", ["42"]), ("data", [{"answer": 42}])):
        options = {"acceptedOutputModes": [mode]}
        params = {**old.words("", "tailor", parts=[{"kind": "text", "text": "x"}])}
        sent = await old.call("message/send", {**params, "configuration": options})
        assert old.read_answer(sent).results == [result]


async def test_extensions_have_an_older_header(promising: Served) -> None:
    # R03-EXT-1
    async with V0_3(promising.url) as old:
        headers = {"X-A2A-Extensions": f"{TERMS},https://ext.example/unknown"}
        response = await old.respond("message/send", old.words("x", "inspect"), headers=headers)
        assert old.result(response)["artifacts"][0]["parts"][0]["data"]["extensions"] == [TERMS]
        assert response.headers["x-a2a-extensions"] == TERMS
        assert "a2a-extensions" not in response.headers


# --- ids of messages ----------------------------------------------------------------------------


async def test_a_message_that_is_sent_again_is_the_same(old: V0_3) -> None:
    params = old.words("hello")
    answers = [await old.call("message/send", params) for _ in range(2)]
    assert answers[0]["id"] == answers[1]["id"]


async def test_a_message_without_an_id_is_never_the_same(old: V0_3) -> None:
    params = old.words("hello", messageId="")
    answers = [await old.call("message/send", params) for _ in range(2)]
    assert answers[0]["id"] != answers[1]["id"]
    ids = [answer["history"][0]["messageId"] for answer in answers]
    assert all(ids)
    assert ids[0] != ids[1]


async def test_the_id_of_a_message_may_be_beside_it(old: V0_3) -> None:
    # 8.3
    params = {**old.words("hello", messageId=""), "messageId": "m-beside"}
    answer = await old.call("message/send", params)
    assert answer["history"][0]["messageId"] == "m-beside"


# --- members of others ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["id", "taskId"])
async def test_a_task_may_be_continued_by_an_id_beside_the_message(old: V0_3, name: str) -> None:
    # 8.1 X8
    asked = await old.send("ask", "trip")
    params = {**old.words("Rome"), name: asked.id}
    assert old.read_answer(await old.call("message/send", params)).results == [["trip: Rome"]]


async def test_parts_of_unknown_kinds_come_back_as_they_were(old: V0_3) -> None:
    # 5.7, 8.2 A7
    parts = [
        {"kind": "tool-use", "toolUseId": "u-1", "name": "look", "input": {"q": 1}},
        {"kind": "hologram", "beams": 3, "metadata": {"colour": "blue"}},
    ]
    answer = await old.call("message/send", old.words("", "mirror", parts=parts))
    assert answer["artifacts"][0]["parts"] == parts
    async with V1_0(old.url, {"A2A-Version": "1.0"}) as new:
        seen = await new.get(answer["id"])
    assert seen.results == [parts]


async def test_all_members_of_a_message_are_kept(old: V0_3) -> None:
    metadata = {"skillId": "echo", "deep": [{"n": None}]}
    references = ["t-1", "t-2"]
    params = old.words("hello", extensions=[TERMS], referenceTaskIds=references, metadata=metadata)
    (said,) = (await old.call("message/send", params))["history"]
    assert {**params["message"], **said} == said


# --- errors -------------------------------------------------------------------------------------


WRONG: Final[list[tuple[Json, str]]] = [
    ({}, "message"),
    ({"message": "hello"}, "message"),
    ({"message": {"kind": "message", "role": "user"}}, "message.parts"),
    ({"message": {"role": "user", "parts": []}}, "message.parts"),
    ({"message": {"role": "user", "parts": [{"text": 5}]}}, "message.parts[0].text"),
    ({"message": {"role": "user", "parts": [{}]}}, "message.parts[0]"),
    (
        {"message": {"role": "user", "parts": [{"kind": "file", "file": {"bytes": "?"}}]}},
        "message.parts[0].file.bytes",
    ),
]


@pytest.mark.parametrize(("params", "field"), WRONG)
async def test_what_is_wrong_is_named(old: V0_3, params: Json, field: str) -> None:
    for method in ("message/send", "message/stream"):
        problem = await refused(-32602, old.call(method, params))
        data = data_of(problem)
        assert problem.http == 200
        assert data["reason"] == "INVALID_PARAMS"
        assert [item["field"] for item in data["fieldViolations"]] == [field]


async def test_an_unsupported_media_type_is_named(old: V0_3) -> None:
    file = {"bytes": "AA==", "mimeType": "audio/x"}
    params = old.words("", parts=[{"kind": "file", "file": file}])
    problem = await refused(-32005, old.call("message/send", params))
    assert data_of(problem)["mediaType"] == "audio/x"


async def test_a_wrong_answer_of_the_agent_is_its_fault(old: V0_3) -> None:
    await refused(-32006, old.call("message/send", old.words("hello", "reply_badly")))


@pytest.mark.parametrize(
    ("envelope", "code"),
    [
        ({"method": "message/nothing"}, -32601),
        ({"method": "message/send", "params": []}, -32602),
        ({"method": "message/send", "jsonrpc": "1.0"}, -32600),
        ({"method": "message/send", "id": 1.5}, -32600),
        ({"method": "message/send", "id": {}}, -32600),
    ],
)
async def test_a_wrong_envelope_is_refused(old: V0_3, envelope: Json, code: int) -> None:
    body = {"jsonrpc": "2.0", "id": 7, **envelope}
    response = await old.http.post("/", json=body)
    assert response.json()["id"] == (7 if body["id"] == 7 else None)
    with pytest.raises(Exception, match=str(code)):
        old.result(response)
