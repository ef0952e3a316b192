"""History: what was said, oldest first, as much of it as was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.scenarios.agents import Gate, to
from tests.scenarios.bindings import Binding, drain, expect
from tests.support.wire import message

if TYPE_CHECKING:
    from tests.support.wire import Json

EVERYTHING = ["sum", "One?", "1", "Two?", "2"]


def texts(task: Json) -> list[str]:
    return [item["parts"][0]["text"] for item in task["history"]]


@pytest.fixture
async def talked(wire: Binding) -> str:
    """The id of a task with five messages."""
    task = await wire.task(to("ask_twice", "sum"))
    for answer in ("1", "2"):
        await wire.task(message(answer, taskId=task["id"]))
    return task["id"]


@pytest.mark.requirement("R-3.2.4-1")
async def test_all_of_the_history_is_given_unless_told_otherwise(
    wire: Binding, talked: str
) -> None:
    assert texts(await wire.get_task(talked)) == EVERYTHING


@pytest.mark.requirement("R-3.2.4-3", "R-3.2.4-4")
@pytest.mark.parametrize("length", [1, 2, 4, 5, 6, 2**31 - 1])
async def test_a_length_gives_the_most_recent_messages(
    wire: Binding, talked: str, length: int
) -> None:
    task = await wire.get_task(talked, historyLength=length)
    assert texts(task) == EVERYTHING[-length:]


@pytest.mark.requirement("R-3.2.4-2")
async def test_length_zero_leaves_the_member_out(wire: Binding, talked: str) -> None:
    task = await wire.get_task(talked, historyLength=0)
    assert set(task) == {"id", "contextId", "status", "artifacts"}


@pytest.mark.requirement("R-3.2.4-6", "R-3.3.2-10")
@pytest.mark.parametrize("length", [-1, -(2**31)])
async def test_a_negative_length_is_refused(wire: Binding, talked: str, length: int) -> None:
    problem = await expect("InvalidParamsError", wire.get_task(talked, historyLength=length))
    assert problem.violations == [("historyLength", "must be between 0 and 2147483647")]


@pytest.mark.requirement("R-3.2.4-6")
async def test_a_negative_length_is_refused_in_a_send_before_it_is_sent(
    wire: Binding, context: str
) -> None:
    sending = wire.send_message(message(contextId=context), configuration={"historyLength": -1})
    problem = await expect("InvalidParamsError", sending)
    assert problem.violations == [
        ("configuration.historyLength", "must be between 0 and 2147483647")
    ]
    assert (await wire.list_tasks(contextId=context))["totalSize"] == 0


@pytest.mark.requirement("R-3.2.4-3", "R-3.2.4-4")
async def test_a_send_bounds_the_history_of_its_answer(wire: Binding) -> None:
    asked = await wire.task(to("ask", "weather"))
    answered = await wire.task(
        message("Oslo", taskId=asked["id"]), configuration={"historyLength": 2}
    )
    assert texts(answered) == ["Which city?", "Oslo"]


@pytest.mark.requirement("R-3.2.4-2")
async def test_a_send_can_leave_the_history_out(wire: Binding) -> None:
    task = await wire.task(message(), configuration={"historyLength": 0})
    assert "history" not in task


async def test_a_stream_bounds_the_history_of_its_task(wire: Binding) -> None:
    stream = wire.send_streaming_message(message(), configuration={"historyLength": 0})
    events = await drain(stream)
    assert "history" not in events[0].result["task"]


async def test_a_short_answer_takes_nothing_from_the_stored_history(
    wire: Binding, talked: str
) -> None:
    await wire.get_task(talked, historyLength=1)
    assert texts(await wire.get_task(talked)) == EVERYTHING


async def test_the_current_status_message_is_not_in_the_history_yet(
    wire: Binding, gate: Gate
) -> None:
    # it moves there when the next status replaces it.
    started = await wire.start(to("steps", gate.name))
    await gate.reached()
    during = await wire.get_task(started["id"])
    assert during["status"]["message"]["parts"] == [{"text": "first"}]
    assert texts(during) == [gate.name]
    async with wire.subscribe_to_task(started["id"]) as events:
        gate.open(2)
        assert [event.state async for event in events][-1] == "TASK_STATE_COMPLETED"
    assert texts(await wire.get_task(started["id"])) == [gate.name, "first", "last"]


async def test_messages_of_the_client_are_kept_as_they_came(wire: Binding) -> None:
    sent = to(
        "mirror",
        parts=[
            {"text": "look", "mediaType": "text/markdown", "metadata": {"n": 1}},
            {"raw": "AQI=", "filename": "a.png", "mediaType": "image/png"},
            {"url": "https://files.example/b.png", "mediaType": "image/png"},
            {"data": None},
        ],
        referenceTaskIds=["t-1"],
    )
    sent["parts"][0].pop("mediaType")
    task = await wire.task(sent)
    assert task["history"] == [{**sent, "taskId": task["id"], "contextId": task["contextId"]}]


@pytest.mark.requirement("R-4.1.4-1")
async def test_messages_of_the_agent_carry_both_ids(wire: Binding, talked: str) -> None:
    task = await wire.get_task(talked)
    said = [item for item in task["history"] if item["role"] == "ROLE_AGENT"]
    assert [(item["taskId"], item["contextId"]) for item in said] == [
        (task["id"], task["contextId"])
    ] * 2
