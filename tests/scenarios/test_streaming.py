"""SendStreamingMessage: shapes, order, when streams end, and that work does not hang on them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.scenarios.agents import Gate, make_agent, to
from tests.scenarios.bindings import Binding, HttpJson, JsonRpc, drain, expect
from tests.support.server.runtimes import runtime_of
from tests.support.serving import Served, serving
from tests.support.wire import message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.support.wire import Frame, Json


def kinds(events: list[Frame]) -> list[str]:
    """Return which member each event sets; one that sets several fails the test."""
    for event in events:
        assert len(event.result) == 1, event.data
    return [event.kind for event in events]


def chunks_in(events: list[Frame]) -> list[tuple[str, bool, bool]]:
    """Return text, append and lastChunk of the artifact updates."""
    updates = [event.result["artifactUpdate"] for event in events if event.kind == "artifactUpdate"]
    return [
        (
            update["artifact"]["parts"][0]["text"],
            update.get("append", False),
            update.get("lastChunk", False),
        )
        for update in updates
    ]


async def next_of(events: AsyncIterator[Frame], kind: str) -> Json:
    """Return the next event of a kind, passing over others."""
    async for event in events:
        if event.kind == kind:
            return event.result[kind]
    raise AssertionError(f"the stream ended without {kind}")


# --- shapes -------------------------------------------------------------------------------------


@pytest.mark.requirement("R-3.1.2-6", "R-3.1.2-9", "R-3.1.2-10", "R-11.7-2", "R-3.1.2-11")
async def test_a_stream_is_the_task_and_then_its_updates_until_the_end(wire: Binding) -> None:
    sent = message("hello")
    events = await drain(wire.send_streaming_message(sent))
    task = events[0].result["task"]
    ids = {"taskId": task["id"], "contextId": task["contextId"]}
    working, artifact, completed = (event.result for event in events[1:])
    assert task == {
        "id": task["id"],
        "contextId": task["contextId"],
        "status": {"state": "TASK_STATE_SUBMITTED", "timestamp": task["status"]["timestamp"]},
        "history": [{**sent, **ids}],
    }
    assert working == {
        "statusUpdate": {
            **ids,
            "status": {
                "state": "TASK_STATE_WORKING",
                "timestamp": working["statusUpdate"]["status"]["timestamp"],
            },
        }
    }
    assert artifact == {
        "artifactUpdate": {
            **ids,
            "artifact": {
                "artifactId": artifact["artifactUpdate"]["artifact"]["artifactId"],
                "parts": [{"text": "hello"}],
            },
            "lastChunk": True,
        }
    }
    assert completed == {
        "statusUpdate": {
            **ids,
            "status": {
                "state": "TASK_STATE_COMPLETED",
                "timestamp": completed["statusUpdate"]["status"]["timestamp"],
            },
        }
    }


@pytest.mark.requirement("R-3.1.2-7", "R-3.1.2-8", "R-3.1.2-6")
async def test_a_direct_answer_is_one_message_and_then_the_end(wire: Binding) -> None:
    (event,) = await drain(wire.send_streaming_message(to("reply", "hi")))
    reply = event.result["message"]
    assert event.result == {
        "message": {
            "messageId": reply["messageId"],
            "contextId": reply["contextId"],
            "role": "ROLE_AGENT",
            "parts": [{"text": "You said hi."}],
        }
    }


@pytest.mark.requirement("R-3.1.2-8")
async def test_a_direct_answer_leaves_no_task_behind(wire: Binding) -> None:
    await drain(wire.send_streaming_message(to("reply", contextId="c-direct")))
    assert (await wire.list_tasks(contextId="c-direct"))["tasks"] == []


@pytest.mark.requirement("R-3.1.2-10")
async def test_every_kind_of_update_has_its_shape(wire: Binding, gate: Gate) -> None:
    gate.open(2)
    events = await drain(wire.send_streaming_message(to("steps", gate.name)))
    assert kinds(events) == [
        "task",
        "statusUpdate",  # working
        "statusUpdate",  # first
        "artifactUpdate",  # the draft
        "artifactUpdate",  # its replacement
        "artifactUpdate",
        "artifactUpdate",
        "statusUpdate",  # last
        "artifactUpdate",  # the end
        "statusUpdate",  # completed
    ]


@pytest.mark.requirement("R-3.1.2-11", "R-T.str-3")
@pytest.mark.parametrize(
    ("skill", "state"),
    [
        ("echo", "TASK_STATE_COMPLETED"),
        ("fail", "TASK_STATE_FAILED"),
        ("reject", "TASK_STATE_REJECTED"),
        # a send stream ends where its client has to speak.
        ("ask", "TASK_STATE_INPUT_REQUIRED"),
    ],
)
async def test_a_stream_ends_with_the_turn(wire: Binding, skill: str, state: str) -> None:
    events = await drain(wire.send_streaming_message(to(skill)))
    assert events[-1].state == state


@pytest.mark.requirement("R-3.1.2-11")
async def test_a_stream_ends_when_the_task_is_canceled(wire: Binding, gate: Gate) -> None:
    async with wire.send_streaming_message(to("hold", gate.name)) as events:
        task = (await anext(events)).result["task"]
        await gate.reached()
        await wire.cancel_task(task["id"])
        states = [event.state async for event in events]
    assert states[-1] == "TASK_STATE_CANCELED"


@pytest.mark.requirement("R-7.6.1-5")
async def test_a_stream_stays_open_while_an_authorization_is_pending(wire: Binding) -> None:
    async with wire.send_streaming_message(to("authorize", "trip")) as events:
        task = (await anext(events)).result["task"]
        while (event := await anext(events)).state != "TASK_STATE_AUTH_REQUIRED":
            pass
        await wire.send_message(message("done", taskId=task["id"]))
        rest = [event async for event in events]
    assert event.result["statusUpdate"]["status"]["message"]["parts"] == [
        {"text": "Please sign in."},
        {"data": {"url": "https://id.example/"}},
    ]
    assert kinds(rest) == ["statusUpdate", "artifactUpdate", "statusUpdate"]
    assert rest[-1].state == "TASK_STATE_COMPLETED"


@pytest.mark.requirement("R-3.1.2-9")
async def test_the_stream_of_a_further_message_begins_with_the_task_too(wire: Binding) -> None:
    #
    asked = await wire.task(to("ask", "weather"))
    events = await drain(wire.send_streaming_message(message("Oslo", taskId=asked["id"])))
    task = events[0].result["task"]
    assert task["id"] == asked["id"]
    assert [item["parts"][0]["text"] for item in task["history"]][-2:] == ["Which city?", "Oslo"]
    assert events[-1].state == "TASK_STATE_COMPLETED"


async def test_the_stream_of_an_answer_ends_at_the_next_question(wire: Binding) -> None:
    asked = await wire.task(to("ask_twice"))
    events = await drain(wire.send_streaming_message(message("1", taskId=asked["id"])))
    assert events[-1].state == "TASK_STATE_INPUT_REQUIRED"
    status = next(iter(events[-1].result.values()))["status"]
    assert status["message"]["parts"] == [{"text": "Two?"}]


async def test_a_question_sent_again_as_a_stream_shows_the_pause_and_ends(wire: Binding) -> None:
    sent = to("ask")
    await wire.task(sent)
    events = await drain(wire.send_streaming_message(sent))
    assert [event.state for event in events] == ["TASK_STATE_INPUT_REQUIRED"]


async def test_a_finished_send_again_as_a_stream_shows_the_task_as_it_is(wire: Binding) -> None:
    sent = message()
    task = await wire.task(sent)
    (event,) = await drain(wire.send_streaming_message(sent))
    assert event.result == {"task": task}


@pytest.mark.requirement("R-3.2.2-7")
async def test_return_immediately_changes_nothing_on_a_stream(wire: Binding, gate: Gate) -> None:
    gate.open()
    events = await drain(
        wire.send_streaming_message(
            to("hold", gate.name), configuration={"returnImmediately": True}
        )
    )
    assert kinds(events) == [
        "task",
        "statusUpdate",
        "statusUpdate",
        "artifactUpdate",
        "statusUpdate",
    ]
    assert events[-1].state == "TASK_STATE_COMPLETED"


# --- refusals come in place of a stream ---------------------------------------------------------


@pytest.mark.requirement("R-3.1.2-2", "R-T.lot-1")
async def test_a_stream_to_a_task_that_has_ended_is_refused(wire: Binding) -> None:
    task = await wire.task(message())
    stream = wire.send_streaming_message(message(taskId=task["id"]))
    await expect("UnsupportedOperationError", drain(stream))


@pytest.mark.requirement("R-3.1.2-4")
async def test_a_stream_to_an_unknown_task_is_refused(wire: Binding) -> None:
    stream = wire.send_streaming_message(message(taskId="t-unknown"))
    await expect("TaskNotFoundError", drain(stream))


async def test_a_stream_of_an_invalid_message_is_refused(wire: Binding) -> None:
    problem = await expect(
        "InvalidParamsError", drain(wire.send_streaming_message(message(parts=[])))
    )
    assert problem.violations == [("message.parts", "must not be empty")]


# --- as it happens, in order, to everybody ------------------------------------------------------


@pytest.mark.requirement("R-3.1.2-5", "R-3.1.2-13")
async def test_chunks_are_sent_the_moment_they_are_made(wire: Binding, gate: Gate) -> None:
    async with wire.send_streaming_message(to("chunks", gate.name)) as events:
        for word in ("one ", "two ", "three"):
            # Nothing of the next word exists yet when this one is read.
            gate.open()
            update = await next_of(events, "artifactUpdate")
            assert update["artifact"]["parts"] == [{"text": word}]


@pytest.mark.requirement("R-3.1.2-13")
async def test_a_status_message_is_sent_while_the_work_goes_on(wire: Binding, gate: Gate) -> None:
    async with wire.send_streaming_message(to("hold", gate.name)) as events:
        update = await next_of(events, "statusUpdate")
        while "message" not in update["status"]:
            update = await next_of(events, "statusUpdate")
    assert update["status"]["state"] == "TASK_STATE_WORKING"
    assert update["status"]["message"]["parts"] == [{"text": "holding"}]


@pytest.mark.requirement("R-4.2.2-1", "R-4.2.2-2")
async def test_the_chunks_of_an_artifact_say_how_they_belong_together(
    wire: Binding, gate: Gate
) -> None:
    gate.open(3)
    events = await drain(wire.send_streaming_message(to("chunks", gate.name)))
    assert chunks_in(events) == [
        ("one ", False, False),
        ("two ", True, False),
        ("three", True, True),
    ]
    updates = [event.result["artifactUpdate"] for event in events if event.kind == "artifactUpdate"]
    assert len({update["artifact"]["artifactId"] for update in updates}) == 1


async def test_a_skill_may_end_its_artifact_by_a_replacement(wire: Binding) -> None:
    events = await drain(wire.send_streaming_message(to("whole", "to be")))
    assert chunks_in(events) == [
        ("to ", False, False),
        ("be ", True, False),
        ("to be ", False, True),
    ]
    assert events[-1].state == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("place", ["message", "part"])
async def test_adk_gets_the_whole_artifact_at_the_end(
    wire: Binding, gate: Gate, place: str
) -> None:
    gate.open(3)
    sent = to("chunks", gate.name)
    carrier = sent if place == "message" else sent["parts"][0]
    carrier["metadata"] = {**carrier.get("metadata", {}), "is_user_input": True}
    events = await drain(wire.send_streaming_message(sent))
    assert chunks_in(events)[2:] == [("three", True, False), ("one two three", False, True)]


async def test_a_server_may_end_every_artifact_by_a_replacement(gate: Gate) -> None:
    gate.open(3)
    async with (
        serving(make_agent(), stream_final="replace") as served,
        JsonRpc(served.url) as wire,
    ):
        events = await drain(wire.send_streaming_message(to("chunks", gate.name)))
    assert chunks_in(events)[2:] == [("three", True, False), ("one two three", False, True)]


async def test_a_chunk_that_nothing_follows_is_sent_before_the_end_and_nothing_comes_after_it(
    wire: Binding, gate: Gate
) -> None:
    seen: list[Frame] = []
    async with wire.send_streaming_message(to("linger", gate.name)) as events:
        async for event in events:
            seen.append(event)
            if event.kind == "artifactUpdate" and len(chunks_in(seen)) == 2:
                gate.open()
    assert chunks_in(seen) == [("one ", False, False), ("two", True, False)]
    assert (seen[-2].kind, seen[-1].state) == ("artifactUpdate", "TASK_STATE_COMPLETED")


async def test_a_chunk_is_sent_before_whatever_is_said_or_asked_after_it(wire: Binding) -> None:
    events = await drain(wire.send_streaming_message(to("ask_midway")))
    assert kinds(events[2:]) == ["artifactUpdate", "statusUpdate", "artifactUpdate", "statusUpdate"]
    assert chunks_in(events) == [("one ", False, False), ("two ", True, False)]
    task_id = events[0].result["task"]["id"]
    events = await drain(wire.send_streaming_message(message("three", taskId=task_id)))
    assert chunks_in(events) == [("three", True, True)]


@pytest.mark.requirement("R-4.2.2-1", "R-4.1.7-2")
async def test_a_chunk_that_does_not_append_replaces_the_artifact(
    wire: Binding, gate: Gate
) -> None:
    gate.open(2)
    task = await wire.task(to("steps", gate.name))
    poems = [item for item in task["artifacts"] if item["artifactId"] == "poem"]
    assert poems == [
        {
            "artifactId": "poem",
            "parts": [{"text": "line 1"}, {"data": {"n": 2}}, {"text": "line 3"}],
        }
    ]


@pytest.mark.requirement("R-3.5.2-1", "R-3.5.2-2", "R-11.7-3")
async def test_events_arrive_in_the_order_they_were_made(wire: Binding, gate: Gate) -> None:
    gate.open(2)
    events = await drain(wire.send_streaming_message(to("steps", gate.name)))
    assert [content_of(event) for event in events] == [
        "TASK_STATE_SUBMITTED",
        "TASK_STATE_WORKING",
        "first",
        "draft",
        "line 1",
        {"n": 2},
        "line 3",
        "last",
        "the end",
        "TASK_STATE_COMPLETED",
    ]


async def test_events_are_numbered_without_gaps(wire: Binding, gate: Gate) -> None:
    gate.open(2)
    events = await drain(wire.send_streaming_message(to("steps", gate.name)))
    assert [event.id for event in events] == [str(number) for number in range(1, 11)]


@pytest.mark.requirement("R-3.5.2-4", "R-3.5.2-5")
async def test_all_streams_of_a_task_get_all_events_in_the_same_order(
    rpc: JsonRpc, rest: HttpJson, gate: Gate
) -> None:
    async with rpc.send_streaming_message(to("steps", gate.name)) as first:
        task = (await anext(first)).result["task"]
        await gate.reached()
        async with (
            rest.subscribe_to_task(task["id"]) as second,
            rpc.subscribe_to_task(task["id"]) as third,
        ):
            seen = (await anext(second)).id
            assert (await anext(third)).id == seen
            gate.open(2)
            everything = {event.id: event.result async for event in first}
            rest_of_it = {seq: everything[seq] for seq in everything if int(seq) > int(seen)}
            assert {event.id: event.result async for event in second} == rest_of_it
            assert {event.id: event.result async for event in third} == rest_of_it
    assert rest_of_it[str(len(everything) + 1)]["statusUpdate"]["status"]["state"] == (
        "TASK_STATE_COMPLETED"
    )


@pytest.mark.requirement("R-3.5.2-6")
async def test_closing_one_stream_leaves_the_others_untouched(
    wire: Binding, served: Served, gate: Gate
) -> None:
    before = runtime_of(served.app).open_streams
    async with wire.send_streaming_message(to("chunks", gate.name)) as staying:
        task = (await anext(staying)).result["task"]
        async with wire.subscribe_to_task(task["id"]) as leaving:
            await anext(leaving)
        await streams_left(served, before + 1)
        gate.open(3)
        events = [event async for event in staying]
    assert events[-1].state == "TASK_STATE_COMPLETED"


@pytest.mark.requirement("R-3.5.2-7")
async def test_a_task_goes_on_when_its_only_reader_leaves(
    wire: Binding, served: Served, gate: Gate
) -> None:
    before = runtime_of(served.app).open_streams
    async with wire.send_streaming_message(to("hold", gate.name)) as events:
        task = (await anext(events)).result["task"]
        await gate.reached()
    await streams_left(served, before)
    async with wire.subscribe_to_task(task["id"]) as again:
        assert (await anext(again)).state == "TASK_STATE_WORKING"
        gate.open()
        events = [event async for event in again]
    assert events[-1].state == "TASK_STATE_COMPLETED"


@pytest.mark.requirement("R-3.5.2-7")
async def test_a_task_goes_on_when_its_blocking_caller_leaves(wire: Binding, gate: Gate) -> None:
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(wire.task(to("hold", gate.name, contextId=gate.name)))
        await gate.reached()
        sending.cancel()
    (task,) = (await wire.list_tasks(contextId=gate.name))["tasks"]
    async with wire.subscribe_to_task(task["id"]) as events:
        assert (await anext(events)).state == "TASK_STATE_WORKING"
        gate.open()
        assert [event.state async for event in events][-1] == "TASK_STATE_COMPLETED"


async def test_a_stream_can_be_taken_up_again_by_sending_the_same_message(
    wire: Binding, gate: Gate
) -> None:
    sent = to("chunks", gate.name)
    async with wire.send_streaming_message(sent) as events:
        gate.open(2)
        await next_of(events, "artifactUpdate")
        cursor = (await anext(events)).id
    gate.open(1)
    stream = wire.send_streaming_message(sent, headers={"Last-Event-ID": cursor})
    task, *events = await drain(stream)
    # The task as it was at the cursor, then what came after, and nothing twice.
    assert task.id == cursor
    assert task.result["task"]["artifacts"][0]["parts"] == [{"text": "one two "}]
    assert [event.id for event in events] == [
        str(int(cursor) + number) for number in range(1, len(events) + 1)
    ]
    assert events[-1].state == "TASK_STATE_COMPLETED"


async def test_a_cursor_on_a_new_message_is_ignored(wire: Binding) -> None:
    stream = wire.send_streaming_message(message(), headers={"Last-Event-ID": "2"})
    events = await drain(stream)
    assert [event.id for event in events] == ["1", "2", "3", "4"]


async def test_an_idle_stream_gets_heartbeats(kind: type[Binding], gate: Gate) -> None:
    async with (
        serving(make_agent(), heartbeat_seconds=0.01, shutdown_grace_seconds=0) as served,
        kind(served.url) as wire,
    ):
        params: Json = {"message": to("hold", gate.name)}
        request = wire.request("SendStreamingMessage", params, {})
        response = await wire.http.send(request, stream=True)
        received = b""
        async for chunk in response.aiter_bytes():
            received += chunk
            if b"\n\n:\n\n" in received:
                gate.open()
            if b"TASK_STATE_COMPLETED" in received:
                break
        await response.aclose()


# --- framing ------------------------------------------------------------------------------------


@pytest.mark.requirement("R-9.1-4", "R-9.4-2", "R-T.str-2", "R-11.1-2", "R-3.1.2-5")
async def test_a_stream_is_answered_with_200_and_text_event_stream(wire: Binding) -> None:
    response = await wire.respond("SendStreamingMessage", {"message": message()})
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/event-stream"
    assert response.headers["cache-control"] == "no-store"


@pytest.mark.requirement("R-9.4-3")
async def test_each_event_is_a_whole_json_rpc_response_with_the_id_of_the_request(
    rpc: JsonRpc,
) -> None:
    envelope = {
        "jsonrpc": "2.0",
        "id": "call-7",
        "method": "SendStreamingMessage",
        "params": {"message": message()},
    }
    response = await rpc.http.post("/", json=envelope)
    events = sse_events(response.text)
    assert len(events) == 4
    for event in events:
        assert list(event) == ["jsonrpc", "id", "result"]
        assert event["jsonrpc"] == "2.0"
        assert event["id"] == "call-7"
        assert next(iter(event["result"])) in {"task", "statusUpdate", "artifactUpdate"}


@pytest.mark.requirement("R-11.7-1")
async def test_each_event_of_http_json_is_a_bare_stream_response(rest: HttpJson) -> None:
    response = await rest.http.post("/message:stream", json={"message": message()})
    assert [list(event) for event in sse_events(response.text)] == [
        ["task"],
        ["statusUpdate"],
        ["artifactUpdate"],
        ["statusUpdate"],
    ]


@pytest.mark.requirement("R-14.1.1-3")
async def test_no_text_can_break_out_of_its_event(wire: Binding) -> None:
    text = 'x\n\ndata: {"task":{}}\r\rid: 99\nevent: error\u2028\u2029\x85\x0b\x0c\x00"}]\\'
    response = await wire.respond("SendStreamingMessage", {"message": message(text)})
    events = await drain(wire.send_streaming_message(message(text)))
    lines = response.text.split("\n")
    assert {line.split(": ")[0] for line in lines if line} == {"id", "data"}
    assert len(events) == 4
    assert events[2].result["artifactUpdate"]["artifact"]["parts"] == [{"text": text}]


@pytest.mark.requirement("R-14.1.1-3")
async def test_no_id_can_break_out_of_its_event(rpc: JsonRpc) -> None:
    envelope = {
        "jsonrpc": "2.0",
        "id": 'x\n\ndata: {"error":{}}\n\n',
        "method": "SendStreamingMessage",
        "params": {"message": message()},
    }
    response = await rpc.http.post("/", json=envelope)
    assert [event["id"] for event in sse_events(response.text)] == [envelope["id"]] * 4


def sse_events(text: str) -> list[Json]:
    """Read a stream by the simplest rules: blocks, lines, one data line each."""
    blocks = [block.split("\n") for block in text.split("\n\n") if block]
    return [
        json.loads(line.removeprefix("data: "))
        for lines in blocks
        for line in lines
        if line.startswith("data: ")
    ]


def content_of(event: Frame) -> object:
    """Return what an event says: its words, its data, or else its state."""
    body = next(iter(event.result.values()))
    parts: list[Json] = body.get("artifact", {}).get("parts") or body["status"].get(
        "message", {}
    ).get("parts", [{"text": event.state}])
    return parts[0].get("text") or parts[0]["data"]


async def streams_left(served: Served, expected: int) -> None:
    """Wait until the server has noticed that streams were closed."""
    while runtime_of(served.app).open_streams > expected:  # noqa: ASYNC110 - nobody is told when one leaves
        await asyncio.sleep(0)
