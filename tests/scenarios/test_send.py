"""SendMessage: blocking and not, Task or Message, and the same message sent twice."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.scenarios.agents import Gate, make_agent, to
from tests.scenarios.bindings import Binding, HttpJson, JsonRpc, expect
from tests.support.serving import serving
from tests.support.wire import message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.mark.requirement("R-3.1.1-5", "R-9.4-1", "R-3.7-2")
async def test_a_message_is_answered_with_a_task_and_its_artifacts(wire: Binding) -> None:
    sent = message("hello")
    answer = await wire.send_message(sent)
    task = answer["task"]
    artifact = task["artifacts"][0]
    assert answer == {
        "task": {
            "id": task["id"],
            "contextId": task["contextId"],
            "status": {
                "state": "TASK_STATE_COMPLETED",
                "timestamp": task["status"]["timestamp"],
            },
            "artifacts": [{"artifactId": artifact["artifactId"], "parts": [{"text": "hello"}]}],
            "history": [{**sent, "taskId": task["id"], "contextId": task["contextId"]}],
        }
    }


@pytest.mark.requirement("R-3.1.1-5", "R-9.4-1", "R-4.1.4-1", "R-3.4.1-2")
async def test_a_direct_answer_is_a_message_with_a_context_and_no_task(wire: Binding) -> None:
    answer = await wire.send_message(to("reply", "hi"))
    reply = answer["message"]
    assert answer == {
        "message": {
            "messageId": reply["messageId"],
            "contextId": reply["contextId"],
            "role": "ROLE_AGENT",
            "parts": [{"text": "You said hi."}],
        }
    }
    assert reply["messageId"]
    assert reply["contextId"]


async def test_a_direct_answer_stays_in_the_context_it_was_asked_in(wire: Binding) -> None:
    answer = await wire.send_message(to("reply", contextId="c-1"))
    assert answer["message"]["contextId"] == "c-1"


@pytest.mark.requirement("R-3.7-1")
async def test_the_status_message_of_a_completed_task_does_not_repeat_its_result(
    wire: Binding,
) -> None:
    task = await wire.task(message("the result"))
    assert "message" not in task["status"]


@pytest.mark.requirement("R-3.2.2-1", "R-3.2.2-3", "R-5.7-4")
async def test_a_send_waits_for_the_end_of_the_task_by_default(wire: Binding, gate: Gate) -> None:
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(wire.task(to("hold", gate.name)))
        await gate.reached()
        assert not sending.done()
        gate.open()
    assert sending.result()["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.requirement("R-3.2.2-1")
async def test_return_immediately_false_is_the_same_as_absent(wire: Binding, gate: Gate) -> None:
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(
            wire.task(to("hold", gate.name), configuration={"returnImmediately": False})
        )
        await gate.reached()
        assert not sending.done()
        gate.open()
    assert sending.result()["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.requirement("R-3.2.2-1")
@pytest.mark.parametrize(
    ("skill", "state"),
    [
        ("echo", "TASK_STATE_COMPLETED"),
        ("fail", "TASK_STATE_FAILED"),
        ("reject", "TASK_STATE_REJECTED"),
        ("ask", "TASK_STATE_INPUT_REQUIRED"),
        ("authorize", "TASK_STATE_AUTH_REQUIRED"),
    ],
)
async def test_a_send_returns_at_every_end_and_at_every_pause(
    wire: Binding, skill: str, state: str
) -> None:
    task = await wire.task(to(skill))
    assert task["status"]["state"] == state


@pytest.mark.requirement("R-3.2.2-1")
async def test_a_send_returns_when_somebody_else_cancels_the_task(
    wire: Binding, gate: Gate
) -> None:
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(wire.task(to("hold", gate.name, contextId=gate.name)))
        await gate.reached()
        (task,) = (await wire.list_tasks(contextId=gate.name))["tasks"]
        await wire.cancel_task(task["id"])
    assert sending.result()["status"]["state"] == "TASK_STATE_CANCELED"


@pytest.mark.requirement("R-3.2.2-2")
async def test_a_blocking_answer_is_the_newest_task_in_full(wire: Binding, gate: Gate) -> None:
    gate.open(2)
    task = await wire.task(to("steps", gate.name))
    assert task == await wire.get_task(task["id"])
    assert [artifact["parts"] for artifact in task["artifacts"]] == [
        [{"text": "line 1"}, {"data": {"n": 2}}, {"text": "line 3"}],
        [{"text": "the end"}],
    ]


@pytest.mark.requirement("R-3.2.2-4")
async def test_return_immediately_answers_while_the_work_goes_on(wire: Binding, gate: Gate) -> None:
    task = await wire.start(to("hold", gate.name))
    assert task["status"]["state"] in {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}
    async with wire.subscribe_to_task(task["id"]) as events:
        await anext(events)
        gate.open()
        states = [frame.state async for frame in events]
    assert states[-1] == "TASK_STATE_COMPLETED"


@pytest.mark.requirement("R-3.2.2-4")
async def test_a_task_returned_immediately_can_be_read(wire: Binding, gate: Gate) -> None:
    task = await wire.start(to("hold", gate.name))
    assert (await wire.get_task(task["id"]))["id"] == task["id"]


@pytest.mark.requirement("R-3.2.2-6")
async def test_return_immediately_changes_nothing_for_a_direct_answer(
    wire: Binding, gate: Gate
) -> None:
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(
            wire.send_message(
                to("reply_late", gate.name), configuration={"returnImmediately": True}
            )
        )
        await gate.reached()
        assert not sending.done()
        gate.open()
    assert sending.result()["message"]["parts"] == [{"text": "At last."}]


async def test_a_blocking_send_gives_up_waiting_but_not_the_task(
    kind: type[Binding], gate: Gate
) -> None:
    # "returns immediately" against "waits" ends in a limit on the wait.
    async with (
        serving(make_agent(), max_wait_seconds=0, shutdown_grace_seconds=0) as served,
        kind(served.url) as wire,
    ):
        task = await wire.task(to("hold", gate.name))
        assert task["status"]["state"] in {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}
        await gate.reached()
        async with wire.subscribe_to_task(task["id"]) as events:
            await anext(events)
            gate.open()
            states = [frame.state async for frame in events]
        assert states[-1] == "TASK_STATE_COMPLETED"


@pytest.mark.requirement("R-3.3.1-2", "R-3.3.1-3")
async def test_a_message_sent_again_gets_the_same_task(wire: Binding) -> None:
    sent = message("once")
    first = await wire.task(sent)
    assert await wire.task(sent) == first


async def test_a_message_sent_again_while_the_first_is_at_work_joins_it(
    wire: Binding, gate: Gate
) -> None:
    sent = to("hold", gate.name)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(wire.task(sent))
        await gate.reached()
        again = group.create_task(wire.task(sent))
        known = await wire.start(sent)
        gate.open()
    assert first.result() == again.result()
    assert known["id"] == first.result()["id"]


@pytest.mark.parametrize("skill", ["echo", "reply"])
async def test_a_message_sent_many_times_at_once_is_worked_on_once(
    rpc: JsonRpc, rest: HttpJson, skill: str
) -> None:
    sent = to(skill)
    calls = [wire.send_message(sent) for wire in (rpc, rest) * 4]
    first, *others = await asyncio.gather(*calls)
    assert others == [first] * 7


async def test_a_direct_answer_is_given_again_word_for_word(wire: Binding) -> None:
    sent = to("reply")
    assert await wire.send_message(sent) == await wire.send_message(sent)


async def test_other_content_under_a_used_message_id_is_a_new_message(wire: Binding) -> None:
    sent = message("one")
    first = await wire.task(sent)
    second = await wire.task({**sent, "parts": [{"text": "two"}]})
    assert first["id"] != second["id"]
    assert second["artifacts"][0]["parts"] == [{"text": "two"}]


async def test_an_answer_sent_again_is_not_taken_for_the_next_answer(wire: Binding) -> None:
    asked = await wire.task(to("ask_twice"))
    answer = message("Oslo", taskId=asked["id"])
    first = await wire.task(answer)
    again = await wire.task(answer)
    assert first["status"]["message"]["parts"] == [{"text": "Two?"}]
    assert again["status"] == first["status"]


async def test_without_a_window_every_send_is_a_new_one(kind: type[Binding]) -> None:
    async with serving(make_agent(), idempotency_seconds=0) as served, kind(served.url) as wire:
        sent = message("twice")
        assert (await wire.task(sent))["id"] != (await wire.task(sent))["id"]


async def test_a_skill_is_chosen_by_the_metadata_of_the_request_too(wire: Binding) -> None:
    answer = await wire.send_message(message("hi"), metadata={"skillId": "reply"})
    assert answer["message"]["parts"] == [{"text": "You said hi."}]


async def test_a_skill_that_does_not_exist_is_refused(wire: Binding) -> None:
    problem = await expect("InvalidParamsError", wire.send_message(to("nonsense")))
    assert problem.violations == [("message.metadata.skillId", "names no skill of this agent")]


@pytest.mark.requirement("R-3.3.2-9")
async def test_parameters_of_a_skill_are_checked_before_a_task_is_made(
    wire: Binding, context: str
) -> None:
    nothing: dict[str, object] = {}
    sent = to("count_to", contextId=context, parts=[{"data": nothing}])
    problem = await expect("InvalidParamsError", wire.send_message(sent))
    assert problem.violations == [("message.parts[0].data.upto", "is required")]
    assert (await wire.list_tasks(contextId=context))["totalSize"] == 0


@pytest.fixture
async def busy(kind: type[Binding], gate: Gate) -> AsyncIterator[Binding]:
    """A client of an agent that has all the work it takes."""
    async with (
        serving(
            make_agent(), max_running_turns=1, max_waiting_turns=0, shutdown_grace_seconds=0
        ) as served,
        kind(served.url) as wire,
    ):
        await wire.start(to("hold", gate.name))
        await gate.reached()
        yield wire


@pytest.mark.requirement("R-3.3.2-14", "R-3.3.2-15")
async def test_a_busy_agent_says_when_to_come_back(busy: Binding) -> None:
    problem = await expect("UnavailableError", busy.send_message(message()))
    assert problem.http == 503
    assert problem.headers["retry-after"] == "1"
    assert problem.detail("type.googleapis.com/google.rpc.RetryInfo")["retryDelay"] == "1s"


async def test_a_busy_agent_can_still_be_read(busy: Binding) -> None:
    assert (await busy.list_tasks())["totalSize"] == 1


async def test_a_pause_frees_the_place_of_a_turn(kind: type[Binding]) -> None:
    async with (
        serving(make_agent(), max_running_turns=1, max_waiting_turns=0) as served,
        kind(served.url) as wire,
    ):
        asked = await wire.task(to("ask"))
        assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        assert (await wire.task(message()))["status"]["state"] == "TASK_STATE_COMPLETED"
