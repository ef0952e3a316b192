"""Conversations: contexts, tasks that ask, and which ids may go together."""

from __future__ import annotations

import asyncio

import pytest

from tests.scenarios.agents import Gate, to
from tests.scenarios.bindings import Binding, HttpJson, JsonRpc, expect
from tests.support.wire import Json, message


def texts(task: Json) -> list[str]:
    """Return what was said, oldest first."""
    return [item["parts"][0]["text"] for item in task.get("history", [])]


# --- ids ----------------------------------------------------------------------------------------


@pytest.mark.requirement("R-3.4.1-2", "R-3.4.1-1")
async def test_a_message_without_a_context_gets_one(wire: Binding) -> None:
    first, second = [await wire.task(message()) for _ in range(2)]
    assert first["contextId"]
    assert first["contextId"] != second["contextId"]


@pytest.mark.requirement("R-3.4.1-2")
async def test_the_context_is_in_every_message_of_the_task(wire: Binding) -> None:
    task = await wire.task(to("ask"))
    context = task["contextId"]
    assert task["history"][0]["contextId"] == context
    assert task["status"]["message"]["contextId"] == context


@pytest.mark.requirement("R-3.4.1-3", "R-3.4.1-5")
async def test_a_context_of_the_client_is_kept(wire: Binding, context: str) -> None:
    assert (await wire.task(message(contextId=context)))["contextId"] == context


@pytest.mark.requirement("R-3.4.1-4", "R-3.4.1-5")
async def test_a_context_we_cannot_keep_is_refused_and_not_replaced(wire: Binding) -> None:
    longest = await wire.task(message(contextId="c" * 512))
    assert longest["contextId"] == "c" * 512
    problem = await expect("InvalidParamsError", wire.send_message(message(contextId="c" * 513)))
    ((field, description),) = problem.violations
    assert field.startswith("message")
    assert "512" in description


@pytest.mark.parametrize("member", ["messageId", "taskId"])
async def test_no_other_id_may_be_endless_either(wire: Binding, member: str) -> None:
    problem = await expect("InvalidParamsError", wire.send_message(message(**{member: "x" * 513})))
    assert "512" in problem.message


@pytest.mark.requirement("R-3.4.2-1", "R-3.4.2-2")
async def test_every_task_has_an_id_of_its_own_made_by_the_server(
    wire: Binding, context: str
) -> None:
    tasks = [await wire.task(message(contextId=context)) for _ in range(3)]
    assert len({task["id"] for task in tasks}) == 3
    assert all(task["id"] != task["history"][0]["messageId"] for task in tasks)


@pytest.mark.requirement("R-3.4.2-4", "R-3.1.1-3", "R-3.3.2-12")
async def test_a_client_cannot_choose_the_id_of_a_new_task(wire: Binding) -> None:
    problem = await expect("TaskNotFoundError", wire.send_message(message(taskId="t-mine")))
    assert problem.metadata == {"taskId": "t-mine"}


@pytest.mark.requirement("R-3.4.3-4")
async def test_a_task_id_alone_is_enough(wire: Binding) -> None:
    #
    asked = await wire.task(to("ask", "weather"))
    answered = await wire.task(message("Oslo", taskId=asked["id"]))
    assert answered["contextId"] == asked["contextId"]
    assert answered["history"][-1]["contextId"] == asked["contextId"]
    assert answered["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_both_ids_together_are_fine_when_they_belong_together(wire: Binding) -> None:
    asked = await wire.task(to("ask", "weather"))
    ids = {"taskId": asked["id"], "contextId": asked["contextId"]}
    assert (await wire.task(message("Oslo", **ids)))["artifacts"][0]["parts"] == [
        {"text": "weather: Oslo"}
    ]


@pytest.mark.requirement("R-3.4.3-5", "R-3.4.1-4", "R-3.4.1-5", "R-4.1.4-2")
async def test_a_context_other_than_the_tasks_own_is_refused(wire: Binding) -> None:
    asked = await wire.task(to("ask"))
    answer = message("Oslo", taskId=asked["id"], contextId="c-other")
    problem = await expect("InvalidParamsError", wire.send_message(answer))
    assert problem.violations == [
        ("message.contextId", "must be the context of the task that message.taskId names")
    ]
    # The task still waits, and the right answer still counts.
    assert await wire.get_task(asked["id"]) == asked


@pytest.mark.requirement("R-3.4.3-5")
async def test_a_foreign_context_is_refused_for_a_finished_task_too(wire: Binding) -> None:
    task = await wire.task(message())
    follow_up = message(taskId=task["id"], contextId="c-other")
    await expect("InvalidParamsError", wire.send_message(follow_up))


# --- contexts -----------------------------------------------------------------------------------


@pytest.mark.requirement("R-3.4.1-8", "R-3.4.3-9")
async def test_tasks_of_one_context_are_one_conversation(wire: Binding, context: str) -> None:
    await wire.task(to("recollect", "my name is Ada", contextId=context))
    await wire.task(to("recollect", "somebody else", contextId=f"{context}-other"))
    answer = await wire.task(to("recollect", "who am I?", contextId=context))
    assert answer["artifacts"][0]["parts"] == [{"text": "my name is Ada, who am I?"}]


@pytest.mark.requirement("R-3.4.1-8")
async def test_a_context_goes_on_over_another_binding(
    rpc: JsonRpc, rest: HttpJson, context: str
) -> None:
    await rpc.task(to("recollect", "one", contextId=context))
    answer = await rest.task(to("recollect", "two", contextId=context))
    assert answer["artifacts"][0]["parts"] == [{"text": "one, two"}]


@pytest.mark.requirement("R-3.4.3-8")
async def test_the_agent_is_told_which_tasks_a_message_refers_to(wire: Binding) -> None:
    earlier = await wire.task(message())
    task = await wire.task(to("inspect", referenceTaskIds=[earlier["id"]]))
    seen = task["artifacts"][0]["parts"][0]["data"]
    assert seen["referenceTaskIds"] == [earlier["id"]]
    assert task["id"] != earlier["id"]


# --- tasks that ask -----------------------------------------------------------------------------


@pytest.mark.requirement("R-T.lot-3")
async def test_a_question_is_asked_answered_and_worked_with(wire: Binding) -> None:
    asked = await wire.task(to("ask", "weather"))
    assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    question = asked["status"]["message"]
    assert question == {
        "messageId": question["messageId"],
        "contextId": asked["contextId"],
        "taskId": asked["id"],
        "role": "ROLE_AGENT",
        "parts": [{"text": "Which city?"}],
    }
    answered = await wire.task(message("Oslo", taskId=asked["id"]))
    assert answered["id"] == asked["id"]
    assert answered["status"]["state"] == "TASK_STATE_COMPLETED"
    assert answered["artifacts"][0]["parts"] == [{"text": "weather: Oslo"}]
    assert texts(answered) == ["weather", "Which city?", "Oslo"]


@pytest.mark.requirement("R-T.lot-3")
async def test_two_questions_are_asked_one_after_the_other(wire: Binding) -> None:
    first = await wire.task(to("ask_twice", "sum"))
    second = await wire.task(message("1", taskId=first["id"]))
    third = await wire.task(message("2", taskId=first["id"]))
    assert [task["status"]["state"] for task in (first, second, third)] == [
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_COMPLETED",
    ]
    assert third["artifacts"][0]["parts"] == [{"text": "sum: 1, 2"}]
    assert texts(third) == ["sum", "One?", "1", "Two?", "2"]


@pytest.mark.requirement("R-7.6.1-2", "R-7.6.1-3", "R-7.6.1-7")
async def test_an_authorization_is_asked_for_and_its_answer_taken(wire: Binding) -> None:
    paused = await wire.task(to("authorize", "trip"))
    assert paused["status"]["state"] == "TASK_STATE_AUTH_REQUIRED"
    assert paused["status"]["message"]["parts"] == [
        {"text": "Please sign in."},
        {"data": {"url": "https://id.example/"}},
    ]
    done = await wire.task(message("signed in", taskId=paused["id"]))
    assert done["artifacts"][0]["parts"] == [{"text": "trip: signed in"}]


async def test_a_question_asked_over_one_binding_is_answered_over_the_other(
    rpc: JsonRpc, rest: HttpJson
) -> None:
    asked = await rpc.task(to("ask", "weather"))
    answered = await rest.task(message("Oslo", taskId=asked["id"]))
    assert answered["artifacts"][0]["parts"] == [{"text": "weather: Oslo"}]


async def test_an_answer_need_not_be_waited_for(wire: Binding) -> None:
    asked = await wire.task(to("ask", "weather"))
    answered = await wire.start(message("Oslo", taskId=asked["id"]))
    assert answered["id"] == asked["id"]
    assert answered["status"]["state"] != "TASK_STATE_INPUT_REQUIRED"


@pytest.mark.requirement("R-3.1.1-2", "R-T.lot-1")
@pytest.mark.parametrize(
    ("skill", "state"),
    [
        ("echo", "TASK_STATE_COMPLETED"),
        ("fail", "TASK_STATE_FAILED"),
        ("reject", "TASK_STATE_REJECTED"),
        ("ask", "TASK_STATE_CANCELED"),
    ],
)
async def test_a_task_that_has_ended_takes_no_more_messages(
    wire: Binding, skill: str, state: str
) -> None:
    task = await wire.task(to(skill))
    if state == "TASK_STATE_CANCELED":
        task = await wire.cancel_task(task["id"])
    problem = await expect(
        "UnsupportedOperationError", wire.send_message(message(taskId=task["id"]))
    )
    assert problem.message == (
        f"The task has ended ({state}) and takes no more messages; "
        "start a new task in the same context instead"
    )
    assert problem.metadata == {"taskId": task["id"], "state": state}
    assert await wire.get_task(task["id"]) == task


async def test_a_message_for_a_working_task_is_taken_up_after_the_turn(
    wire: Binding, gate: Gate
) -> None:
    started = await wire.start(to("hold", gate.name))
    await gate.reached()
    async with asyncio.TaskGroup() as group:
        # The same gate: the second turn passes it once more.
        sending = group.create_task(wire.task(message(gate.name, taskId=started["id"])))
        while len((await wire.get_task(started["id"]))["history"]) < 2:
            pass
        gate.open()
        await gate.reached()
        assert not sending.done()
        gate.open()
    done = sending.result()
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    assert [artifact["parts"] for artifact in done["artifacts"]] == [[{"text": "held"}]] * 2


@pytest.mark.requirement("R-3.2.2-1")
async def test_whoever_sent_a_message_that_still_waits_is_told_of_a_question(
    wire: Binding, gate: Gate
) -> None:
    started = await wire.start(to("hold_and_ask", gate.name))
    await gate.reached()
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(wire.task(message("by the way", taskId=started["id"])))
        while len((await wire.get_task(started["id"]))["history"]) < 2:
            pass
        gate.open()
    # The message waits for its turn, but the task waits for its client: both must not wait.
    assert sending.result()["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert sending.result()["status"]["message"]["parts"] == [{"text": "Which city?"}]
    assert texts(sending.result()) == [gate.name, "by the way"]


@pytest.mark.requirement("R-T.lot-3")
async def test_a_message_for_a_working_task_is_answered_with_that_task(
    wire: Binding, gate: Gate
) -> None:
    started = await wire.start(to("hold", gate.name))
    await gate.reached()
    answer = await wire.start(message("one more thing", taskId=started["id"]))
    assert answer["id"] == started["id"]
    assert texts(answer)[-1] == "one more thing"


async def test_a_skill_sees_its_task_and_the_request(wire: Binding, context: str) -> None:
    sent = to("inspect", "look", contextId=context)
    task = await wire.task(sent, metadata={"trace": {"id": 7}})
    assert task["artifacts"][0]["parts"][0]["data"] == {
        "contextId": context,
        "taskId": task["id"],
        "tenant": "",
        "user": "anonymous",
        "metadata": {"trace": {"id": 7}},
        "extensions": [],
        "acceptedOutputModes": [],
        "referenceTaskIds": [],
        "history": ["look"],
    }
