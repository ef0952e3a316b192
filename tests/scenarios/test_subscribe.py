"""SubscribeToTask: follow what is under way, and resume where a stream was lost."""

from __future__ import annotations

import pytest

from tests.scenarios.agents import Gate, make_agent, to
from tests.scenarios.bindings import Binding, HttpJson, JsonRpc, drain, expect
from tests.support.serving import serving
from tests.support.wire import message


def last_event(cursor: object) -> dict[str, str]:
    return {"Last-Event-ID": str(cursor)}


@pytest.mark.requirement("R-3.1.6-6", "R-3.1.6-5", "R-3.1.6-4")
async def test_a_subscription_is_the_task_as_it_is_and_then_its_updates(
    wire: Binding, gate: Gate
) -> None:
    started = await wire.start(to("steps", gate.name))
    await gate.reached()
    async with wire.subscribe_to_task(started["id"]) as events:
        first = await anext(events)
        assert first.result == {"task": await wire.get_task(started["id"])}
        gate.open(2)
        rest = [event async for event in events]
    assert [event.kind for event in rest] == [
        "artifactUpdate",
        "artifactUpdate",
        "artifactUpdate",
        "statusUpdate",
        "artifactUpdate",
        "statusUpdate",
    ]
    assert rest[-1].state == "TASK_STATE_COMPLETED"


@pytest.mark.requirement("R-3.1.6-4", "R-3.1.6-6")
@pytest.mark.parametrize(
    ("skill", "state"),
    [("ask", "TASK_STATE_INPUT_REQUIRED"), ("authorize", "TASK_STATE_AUTH_REQUIRED")],
)
async def test_a_task_that_waits_for_its_client_can_be_followed(
    wire: Binding, skill: str, state: str
) -> None:
    paused = await wire.task(to(skill))
    async with wire.subscribe_to_task(paused["id"]) as events:
        assert (await anext(events)).state == state
        # a subscription stays open over the pause; only the end ends it.
        await wire.send_message(message("go on", taskId=paused["id"]))
        states = [event.state async for event in events]
    assert states == ["TASK_STATE_WORKING", None, "TASK_STATE_COMPLETED"]


@pytest.mark.requirement("R-3.1.6-4")
async def test_a_task_that_waits_for_its_turn_can_be_followed(
    kind: type[Binding], gate: Gate
) -> None:
    async with (
        serving(
            make_agent(), max_running_turns=1, max_waiting_turns=9, shutdown_grace_seconds=0
        ) as served,
        kind(served.url) as wire,
    ):
        await wire.start(to("hold", gate.name))
        await gate.reached()
        waiting = await wire.start(message())
        async with wire.subscribe_to_task(waiting["id"]) as events:
            assert (await anext(events)).state == "TASK_STATE_SUBMITTED"
            gate.open()
            assert [event.state async for event in events][-1] == "TASK_STATE_COMPLETED"


@pytest.mark.requirement("R-3.1.6-5")
@pytest.mark.parametrize(
    ("skill", "state"),
    [
        ("ask", "TASK_STATE_COMPLETED"),
        ("authorize", "TASK_STATE_CANCELED"),
    ],
)
async def test_a_subscription_ends_with_the_task(wire: Binding, skill: str, state: str) -> None:
    paused = await wire.task(to(skill))
    async with wire.subscribe_to_task(paused["id"]) as events:
        await anext(events)
        if state == "TASK_STATE_CANCELED":
            await wire.cancel_task(paused["id"])
        else:
            await wire.send_message(message("go on", taskId=paused["id"]))
        assert [event.state async for event in events][-1] == state


@pytest.mark.requirement("R-3.1.6-2", "R-3.3.2-12")
async def test_an_unknown_task_cannot_be_followed(wire: Binding) -> None:
    await expect("TaskNotFoundError", drain(wire.subscribe_to_task("t-unknown")))


@pytest.mark.requirement("R-3.1.6-3", "R-9.4-4")
@pytest.mark.parametrize(
    ("skill", "state"),
    [
        ("echo", "TASK_STATE_COMPLETED"),
        ("fail", "TASK_STATE_FAILED"),
        ("reject", "TASK_STATE_REJECTED"),
        ("ask", "TASK_STATE_CANCELED"),
    ],
)
async def test_a_task_that_has_ended_cannot_be_followed(
    wire: Binding, skill: str, state: str
) -> None:
    task = await wire.task(to(skill))
    if state == "TASK_STATE_CANCELED":
        await wire.cancel_task(task["id"])
    stream = wire.subscribe_to_task(task["id"])
    problem = await expect("UnsupportedOperationError", drain(stream))
    assert problem.message == f"The task has ended ({state}); use GetTask to read it"
    assert problem.metadata == {"taskId": task["id"], "state": state}


# --- cursors: ours, not the specification's (DESIGN section 4) ----------------------------------


async def test_with_a_cursor_the_task_comes_as_it_was_and_then_what_followed(
    wire: Binding, gate: Gate
) -> None:
    async with wire.send_streaming_message(to("steps", gate.name)) as events:
        gate.open(2)
        everything = [event async for event in events]
    task_id = everything[0].result["task"]["id"]
    # 1 submitted, 2 working, 3 "first", 4 the draft, 5 its replacement
    stream = wire.subscribe_to_task(task_id, headers=last_event(4))
    task, *rest = await drain(stream)
    assert task.id == "4"
    assert task.result["task"]["artifacts"] == [
        {"artifactId": "poem", "name": "poem", "parts": [{"text": "draft"}]}
    ]
    assert task.result["task"]["status"]["message"]["parts"] == [{"text": "first"}]
    assert [(event.id, event.result) for event in rest] == [
        (event.id, event.result) for event in everything[4:]
    ]


async def test_every_cursor_of_a_finished_task_can_be_resumed_from(
    wire: Binding, gate: Gate
) -> None:
    gate.open(2)
    everything = await drain(wire.send_streaming_message(to("steps", gate.name)))
    task_id = everything[0].result["task"]["id"]
    for cursor in range(1, len(everything) + 1):
        task, *rest = await drain(wire.subscribe_to_task(task_id, headers=last_event(cursor)))
        assert (task.kind, task.id) == ("task", str(cursor))
        assert [event.result for event in rest] == [event.result for event in everything[cursor:]]


async def test_the_last_cursor_of_a_finished_task_shows_the_finished_task(wire: Binding) -> None:
    task = await wire.task(message())
    stream = wire.subscribe_to_task(task["id"], headers=last_event(4))
    (event,) = await drain(stream)
    assert event.result == {"task": task}


async def test_a_cursor_works_while_the_task_is_under_way(wire: Binding, gate: Gate) -> None:
    started = await wire.start(to("steps", gate.name))
    await gate.reached()
    stream = wire.subscribe_to_task(started["id"], headers=last_event(2))
    async with stream as events:
        task = await anext(events)
        assert (task.id, task.state) == ("2", "TASK_STATE_WORKING")
        assert "message" not in task.result["task"]["status"]
        assert [(await anext(events)).id for _ in range(2)] == ["3", "4"]
        gate.open(2)
        assert [event.id async for event in events] == ["5", "6", "7", "8", "9", "10"]


@pytest.mark.parametrize(
    "cursor", ["0", "-1", "99", "abc", "", "1.0", "9" * 30, "²", "4x", "0x4", "4,4"]
)
async def test_a_cursor_we_did_not_give_out_counts_as_none(
    wire: Binding, gate: Gate, cursor: str
) -> None:
    started = await wire.start(to("hold", gate.name))
    await gate.reached()
    headers = {"Last-Event-ID": cursor.encode("latin-1")}
    stream = wire.subscribe_to_task(started["id"], headers=headers)  # type: ignore[arg-type] # bytes will do
    async with stream as events:
        first = await anext(events)
    assert first.result == {"task": await wire.get_task(started["id"])}


@pytest.mark.parametrize("cursor", ["0", "99", "abc"])
async def test_a_cursor_we_did_not_give_out_does_not_open_a_finished_task(
    wire: Binding, cursor: str
) -> None:
    task = await wire.task(message())
    stream = wire.subscribe_to_task(task["id"], headers=last_event(cursor))
    await expect("UnsupportedOperationError", drain(stream))


async def test_a_cursor_is_good_after_a_restart(kind: type[Binding], tmp_path: object) -> None:
    store = f"sqlite:///{tmp_path}/tasks.db"
    async with serving(make_agent(), store=store) as served, kind(served.url) as wire:
        everything = await drain(wire.send_streaming_message(message()))
    task_id = everything[0].result["task"]["id"]
    async with serving(make_agent(), store=store) as served, kind(served.url) as wire:
        stream = wire.subscribe_to_task(task_id, headers=last_event(1))
        assert [event.result for event in await drain(stream)] == [
            event.result for event in everything
        ]


async def test_a_cursor_of_one_binding_works_on_the_other(
    rpc: JsonRpc, rest: HttpJson, gate: Gate
) -> None:
    gate.open(2)
    everything = await drain(rpc.send_streaming_message(to("steps", gate.name)))
    task_id = everything[0].result["task"]["id"]
    resumed = await drain(rest.subscribe_to_task(task_id, headers=last_event(5)))
    assert [event.result for event in resumed[1:]] == [event.result for event in everything[5:]]


async def test_a_cursor_means_nothing_where_no_stream_is_asked_for(wire: Binding) -> None:
    task = await wire.task(message())
    read = await wire.call("GetTask", {"id": task["id"]}, headers=last_event(1))
    assert read == task
