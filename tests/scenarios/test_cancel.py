"""CancelTask: at once, for good, and only once."""

from __future__ import annotations

import asyncio

import pytest

from dragoman import Context
from tests.scenarios.agents import Gate, make_agent, to
from tests.scenarios.bindings import Binding, expect
from tests.support.serving import serving
from tests.support.wire import message


@pytest.mark.requirement("R-3.1.5-2")
async def test_a_canceled_task_is_returned_as_canceled(wire: Binding, gate: Gate) -> None:
    started = await wire.start(to("hold", gate.name))
    await gate.reached()
    canceled = await wire.cancel_task(started["id"])
    assert canceled["id"] == started["id"]
    assert canceled["contextId"] == started["contextId"]
    assert set(canceled["status"]) == {"state", "timestamp"}
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"


@pytest.mark.requirement("R-3.1.5-2")
async def test_what_was_said_before_the_cancel_stays(wire: Binding, gate: Gate) -> None:
    started = await wire.start(to("steps", gate.name))
    await gate.reached()
    canceled = await wire.cancel_task(started["id"])
    assert canceled["artifacts"][0]["parts"] == [{"text": "draft"}]
    assert [item["parts"][0]["text"] for item in canceled["history"]] == [gate.name, "first"]


@pytest.mark.parametrize("skill", ["ask", "authorize"])
async def test_a_task_that_waits_for_its_client_can_be_canceled(wire: Binding, skill: str) -> None:
    paused = await wire.task(to(skill))
    canceled = await wire.cancel_task(paused["id"])
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"


async def test_a_task_that_waits_for_its_turn_can_be_canceled(
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
        assert waiting["status"]["state"] == "TASK_STATE_SUBMITTED"
        canceled = await wire.cancel_task(waiting["id"])
        assert canceled["status"]["state"] == "TASK_STATE_CANCELED"


@pytest.mark.requirement("R-3.1.5-3")
@pytest.mark.parametrize(
    ("skill", "state"),
    [
        ("echo", "TASK_STATE_COMPLETED"),
        ("fail", "TASK_STATE_FAILED"),
        ("reject", "TASK_STATE_REJECTED"),
    ],
)
async def test_a_task_that_has_ended_cannot_be_canceled(
    wire: Binding, skill: str, state: str
) -> None:
    ended = await wire.task(to(skill))
    problem = await expect("TaskNotCancelableError", wire.cancel_task(ended["id"]))
    assert problem.message == f"Task cannot be canceled: it is in {state}"
    assert problem.metadata == {"taskId": ended["id"], "state": state}
    assert await wire.get_task(ended["id"]) == ended


@pytest.mark.requirement("R-3.1.5-3", "R-3.3.1-4")
async def test_a_second_cancel_changes_nothing(wire: Binding, gate: Gate) -> None:
    started = await wire.start(to("hold", gate.name))
    canceled = await wire.cancel_task(started["id"])
    await expect("TaskNotCancelableError", wire.cancel_task(started["id"]))
    assert await wire.get_task(started["id"]) == canceled


@pytest.mark.requirement("R-3.3.1-4")
async def test_of_two_cancels_at_once_one_wins(wire: Binding, gate: Gate) -> None:
    started = await wire.start(to("hold", gate.name))
    outcomes = await asyncio.gather(
        wire.cancel_task(started["id"]), wire.cancel_task(started["id"]), return_exceptions=True
    )
    assert sum(isinstance(outcome, dict) for outcome in outcomes) == 1
    assert (await wire.get_task(started["id"]))["status"]["state"] == "TASK_STATE_CANCELED"


@pytest.mark.requirement("R-3.1.5-4", "R-3.3.2-12")
async def test_an_unknown_task_cannot_be_canceled(wire: Binding) -> None:
    problem = await expect("TaskNotFoundError", wire.cancel_task("t-unknown"))
    assert problem.metadata == {"taskId": "t-unknown"}


@pytest.mark.requirement("R-T.lot-1")
async def test_a_canceled_task_takes_no_more_messages(wire: Binding, gate: Gate) -> None:
    started = await wire.start(to("hold", gate.name))
    await wire.cancel_task(started["id"])
    await expect("UnsupportedOperationError", wire.send_message(message(taskId=started["id"])))


async def test_nothing_the_work_still_does_is_shown_after_the_cancel(
    wire: Binding, gate: Gate
) -> None:
    started = await wire.start(to("steps", gate.name))
    await gate.reached()
    canceled = await wire.cancel_task(started["id"])
    gate.open(2)
    assert await wire.get_task(started["id"]) == canceled


async def test_the_cleanup_of_the_agent_runs_after_the_cancel(
    kind: type[Binding], gate: Gate
) -> None:
    cleaned: asyncio.Queue[str] = asyncio.Queue()
    agent = make_agent()

    @agent.on_cancel
    async def clean(ctx: Context) -> None:
        await cleaned.put(ctx.task_id)

    async with serving(agent, shutdown_grace_seconds=0) as served, kind(served.url) as wire:
        started = await wire.start(to("hold", gate.name))
        await gate.reached()
        await wire.cancel_task(started["id"])
        assert await cleaned.get() == started["id"]


async def test_a_cancel_takes_metadata(wire: Binding, gate: Gate) -> None:
    started = await wire.start(to("hold", gate.name))
    canceled = await wire.cancel_task(started["id"], metadata={"why": ["changed", None]})
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
