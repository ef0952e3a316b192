"""A2A 0.1: streams without a task, history for those who ask, and codes of its own."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Final

import pytest

from dragoman import connect
from dragoman.errors import TaskNotFoundError
from dragoman.model.cards import AgentExtension
from dragoman.model.operations import (
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
)
from tests.scenarios.agents import make_agent
from tests.scenarios.old_wire import V0_1, data_of, refused
from tests.scenarios.webhooks import INNER as WEBHOOKS
from tests.support.serving import Served, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.scenarios.agents import Gate
    from tests.support.wire import Json


TERMS: Final = "https://ext.example/terms/v1"


@pytest.fixture
async def old(served: Served) -> AsyncIterator[V0_1]:
    async with V0_1(served.url) as speaker:
        yield speaker


@pytest.fixture(scope="module")
async def silent() -> AsyncIterator[Served]:
    """An agent without streams."""
    async with serving(make_agent(streaming=False)) as agent:
        yield agent


@pytest.fixture(scope="module")
async def demanding() -> AsyncIterator[Served]:
    """An agent with an extension that everybody has to use."""
    async with serving(make_agent(extensions=[AgentExtension(uri=TERMS, required=True)])) as agent:
        yield agent


@pytest.fixture
def mine(context: str) -> str:
    """An id nobody else has made up."""
    return f"task of {context}"


def words(text: str, skill: str = "echo", **members: object) -> Json:
    """Return a message as the reference client writes it."""
    message = {"role": "user", "parts": [{"type": "text", "text": text}]}
    return {**message, "metadata": {"skillId": skill}, **members}


# --- streams (section 2.5) ----------------------------------------------------------------------


async def test_a_stream_begins_with_a_status(old: V0_1, mine: str) -> None:
    async with old.stream("echo", "hello", task_id=mine) as events:
        steps = [step async for step in events]
    assert [(step.kind, step.state, step.is_final) for step in steps] == [
        ("status", "submitted", False),
        ("status", "working", False),
        ("artifact", "", False),
        ("status", "completed", True),
    ]
    assert {step.task_id for step in steps} == {mine}
    assert steps[2].raw["artifact"]["index"] == 0


@pytest.mark.parametrize(
    ("skill", "state"),
    [
        ("echo", "completed"),
        ("fail", "failed"),
        ("reject", "failed"),
        ("ask", "input-required"),
        ("authorize", "input-required"),
    ],
)
async def test_the_last_event_is_final(old: V0_1, skill: str, state: str) -> None:
    # R01-7.2.2-1
    async with old.stream(skill, "hello") as events:
        *before, last = [step async for step in events]
    assert (last.kind, last.state, last.is_final) == ("status", state, True)
    assert not any(step.is_final for step in before)


async def test_a_canceled_task_ends_its_streams(old: V0_1, gate: Gate, mine: str) -> None:
    async with old.stream("hold", gate.name, task_id=mine) as events:
        await gate.reached()
        await old.cancel(mine)
        *_, last = [step async for step in events]
    assert (last.state, last.is_final) == ("canceled", True)


async def test_artifacts_have_an_index_of_their_own(old: V0_1, gate: Gate, mine: str) -> None:
    gate.open(2)
    async with old.stream("steps", gate.name, task_id=mine) as events:
        artifacts = [step.raw["artifact"] async for step in events if step.kind == "artifact"]
    assert [item["index"] for item in artifacts] == [0, 0, 0, 0, 1]
    assert [item.get("append", False) for item in artifacts] == [False, False, True, True, False]
    # 5.8: and keep it in the task; there chunks are no matter.
    task = await old.get(mine)
    assert [item["index"] for item in task.raw["artifacts"]] == [0, 1]
    assert not any({"append", "lastChunk"} & item.keys() for item in task.raw["artifacts"])


async def test_each_frame_is_a_response_with_the_id_of_the_request(old: V0_1) -> None:
    # R01-3.3-1
    body = {"jsonrpc": "2.0", "id": 77, "method": "tasks/sendSubscribe"}
    params = {"id": "r-77", "message": words("hello")}
    async with old.http.stream("POST", "/", json={**body, "params": params}) as response:
        lines = [line async for line in response.aiter_lines()]
    frames = [line for line in lines if line.startswith("data: ")]
    assert len(frames) == 4
    assert all(line.startswith('data: {"jsonrpc":"2.0","id":77,"result":{') for line in frames)
    assert not [line for line in lines if line and not line.startswith(("data: ", "id: ", ":"))]


async def test_a_direct_answer_is_a_task_that_stays(old: V0_1, mine: str) -> None:
    # 5.5
    sent = await old.send("reply", "hi", task_id=mine)
    assert (sent.id, sent.state, sent.said) == (mine, "completed", ["You said hi."])
    assert (await old.get(mine)).said == ["You said hi."]


# --- members ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "told"),
    [
        (None, []),
        (0, []),
        (1, [["Rome"]]),
        (2, [["Which city?"], ["Rome"]]),
        (9, [["trip"], ["Which city?"], ["Rome"]]),
    ],
)
async def test_history_is_shown_only_to_who_asks(
    old: V0_1, mine: str, length: int | None, told: list[list[str]]
) -> None:
    # 5.10: absent and 0 ask for none.
    await old.send("ask", "trip", task_id=mine)
    options: Json = {} if length is None else {"historyLength": length}
    params = {"id": mine, "message": words("Rome", "ask"), **options}
    sent = old.read_answer(await old.call("tasks/send", params))
    got = await old.get(mine, **options)
    assert sent.history == got.history == told


async def test_history_is_not_shown_to_who_cannot_ask(old: V0_1, mine: str) -> None:
    # 2.4: TaskIdParams has no historyLength
    await old.send("ask", "trip", task_id=mine)
    assert (await old.cancel(mine)).history == []


async def test_a_negative_history_length_is_refused(old: V0_1, mine: str) -> None:
    params = {"id": mine, "message": words("hello"), "historyLength": -1}
    await refused(-32602, old.call("tasks/send", params))
    await refused(-32602, old.call("tasks/get", {"id": mine, "historyLength": -1}))


async def test_explicit_nulls_are_no_values(old: V0_1, mine: str) -> None:
    # 2.8: reference clients write them for all they have no value for.
    file = {"name": None, "mimeType": "image/png", "bytes": "AAEC/w==", "uri": None}
    message = {
        "role": "user",
        "parts": [
            {"type": "text", "text": "hello", "metadata": None},
            {"type": "file", "file": file, "metadata": None},
        ],
        "metadata": {"skillId": "mirror"},
    }
    params = {
        "id": mine,
        "sessionId": None,
        "message": message,
        "acceptedOutputModes": ["text"],
        "pushNotification": None,
        "historyLength": None,
        "metadata": None,
    }
    sent = old.read_answer(await old.call("tasks/send", params))
    assert sent.results[0][0] == "hello"
    got = await old.call("tasks/get", {"id": mine, "historyLength": None, "metadata": None})
    assert old.grammar.read_task(got) == sent


async def test_a_file_may_be_read_under_its_older_name(old: V0_1, mine: str) -> None:
    # 2.8: file.data for file.bytes
    content = b64encode(b"\x00\xff").decode()
    part = {"type": "file", "file": {"data": content, "mimeType": "image/png"}}
    message = words("", "mirror", parts=[part])
    sent = await old.call("tasks/send", {"id": mine, "message": message})
    assert sent["artifacts"][0]["parts"][0]["file"]["bytes"] == content


async def test_a_file_without_content_is_a_reference(old: V0_1, mine: str) -> None:
    # R01-6.6-1
    part = {"type": "file", "file": {"name": "a.txt", "mimeType": "text/plain"}}
    message = words("", "mirror", parts=[part])
    sent = await old.call("tasks/send", {"id": mine, "message": message})
    assert sent["artifacts"][0]["parts"] == [part]


# --- errors (section 5.13) ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tasks/get", {"id": "nobody's"}, -32001),
        ("tasks/cancel", {"id": "nobody's"}, -32001),
        ("tasks/resubscribe", {"id": "nobody's"}, -32001),
        ("tasks/get", {}, -32602),
        ("tasks/send", {}, -32602),
        ("tasks/send", {"id": "x", "message": {"role": "user", "parts": []}}, -32602),
        ("tasks/send", {"id": 5, "message": words("hello")}, -32602),
        ("tasks/send", {"id": "x", "message": words("x", parts=[{"type": "text"}])}, -32602),
        ("tasks/pushNotification/set", {"id": "x", "pushNotificationConfig": {}}, -32003),
        (
            "tasks/pushNotification/set",
            {"id": "x", "pushNotificationConfig": {"url": "https://x.example/"}},
            -32003,
        ),
        ("tasks/pushNotification/get", {"id": "x"}, -32003),
        (
            "tasks/send",
            {
                "id": "x",
                "message": words("hello"),
                "pushNotification": {"url": "https://x.example/"},
            },
            -32003,
        ),
        (
            "tasks/send",
            {
                "id": "x",
                "message": words(
                    "", parts=[{"type": "file", "file": {"bytes": "AA==", "mimeType": "audio/x"}}]
                ),
            },
            -32005,
        ),
        ("tasks/nothing", {}, -32601),
    ],
)
async def test_errors_have_the_codes_of_0_1(
    old: V0_1, method: str, params: Json, code: int
) -> None:
    assert (await refused(code, old.call(method, params))).http == 200


@pytest.mark.parametrize(
    "method",
    [
        "tasks/sendSubscribe",
        "tasks/resubscribe",
    ],
)
async def test_an_agent_without_streams_says_so(silent: Served, method: str) -> None:
    params = {"id": "x", "message": words("hello")}
    async with V0_1(silent.url, {"A2A-Version": "0.1"}) as old:
        await refused(-32006, old.call(method, params))


async def test_a_required_extension_is_a_matter_of_the_request(demanding: Served) -> None:
    # -32008 means another thing here.
    async with V0_1(demanding.url) as old:
        params = {"id": "x", "message": words("hello")}
        await refused(-32600, old.call("tasks/send", params))
        # Section 4.7: the header has an older name too, and is answered under it.
        headers = {"X-A2A-Extensions": TERMS}
        response = await old.respond("tasks/send", params, headers=headers)
        assert old.read_answer(old.result(response)).state == "completed"
        assert response.headers["x-a2a-extensions"] == TERMS


async def test_a_task_is_read_without_the_required_extension(demanding: Served) -> None:
    async with V0_1(demanding.url, {"A2A-Version": "0.1"}) as old:
        await refused(-32001, old.get("unheard-of"))


async def test_an_unknown_version_is_a_matter_of_the_request(old: V0_1) -> None:
    # -32009 means another thing here.
    call = old.call(
        "tasks/send", {"id": "x", "message": words("x")}, headers={"A2A-Version": "0.5"}
    )
    assert data_of(await refused(-32600, call))["supportedVersions"] == "1.0,0.3,0.2,0.1"


async def test_a_task_without_a_webhook_has_null() -> None:
    async with serving(make_agent(), **WEBHOOKS) as agent, V0_1(agent.url) as old:
        sent = await old.call("tasks/send", old.words("hello"))
        assert await old.call("tasks/pushNotification/get", {"id": sent["id"]}) is None
        config = {"id": sent["id"], "pushNotificationConfig": {"url": "http://127.0.0.1:9/"}}
        async with connect(agent.url, version="0.1") as remote:
            listing = ListTaskPushNotificationConfigsRequest(task_id=sent["id"])
            asking = GetTaskPushNotificationConfigRequest(task_id=sent["id"], id=sent["id"])
            service, call = remote.service, remote.call
            assert (await service.list_task_push_notification_configs(listing, call)).configs == ()
            with pytest.raises(TaskNotFoundError):
                await service.get_task_push_notification_config(asking, call)
            await old.call("tasks/pushNotification/set", config)
            (found,) = (await service.list_task_push_notification_configs(listing, call)).configs
            assert found.url == "http://127.0.0.1:9/"
            assert await service.get_task_push_notification_config(asking, call) == found
        got = await old.call("tasks/pushNotification/get", {"id": sent["id"]})
        assert got["pushNotificationConfig"]["url"] == "http://127.0.0.1:9/"
