from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from dragoman.agent.context import Context
from dragoman.agent.recorded_values import earlier_messages, fresh_id, look_up, time_now
from dragoman.model.messages import Message, text_of
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus
from dragoman.testing.turn import user_message
from tests.support.agent.remembering import RememberingTurn


def ended_task(task_id: str, *texts: str, given: str = "") -> Task:
    """Return a task in which this was said, and then given."""
    artifact = Artifact(artifact_id=f"{task_id}-a", parts=(Part(text=given),))
    return Task(
        id=task_id,
        context_id="context-1",
        status=TaskStatus(state=TaskState.COMPLETED),
        history=tuple(user_message(text, message_id=text) for text in texts),
        artifacts=(artifact,) if given else (),
    )


def conversing() -> RememberingTurn:
    """Return a turn before which two tasks were done, the newest first."""
    turn = RememberingTurn(replace(user_message("go"), reference_task_ids=("t-1", "t-9")))
    turn.earlier = [ended_task("t-2", "c", given="d"), ended_task("t-1", "a", "b")]
    return turn


def texts_of(messages: tuple[Message, ...]) -> list[str]:
    return [text_of(message.parts) for message in messages]


def test_the_time_and_an_id_are_those_of_the_first_run() -> None:
    turn = RememberingTurn()
    assert time_now(turn) == datetime(2026, 1, 1, tzinfo=UTC)
    first = fresh_id(turn)
    again = turn.again()
    again.new_id()  # A message has taken one this time.
    assert (time_now(again), fresh_id(again)) == (datetime(2026, 1, 1, tzinfo=UTC), first)
    assert again.noted == []


@pytest.mark.parametrize(
    ("limit", "texts"),
    [
        (50, ["a", "b", "c", "d"]),
        # A task is cut where the number is reached.
        (3, ["b", "c", "d"]),
        (1, ["d"]),
        (0, []),
        (-1, []),
    ],
)
async def test_a_conversation_is_told_oldest_first_and_its_end_counts(
    limit: int, texts: list[str]
) -> None:
    assert texts_of(await earlier_messages(conversing(), limit)) == texts


async def test_what_was_found_is_found_again() -> None:
    turn = conversing()
    context = Context(turn)
    said, related = await context.conversation(), await context.related()
    assert texts_of(said) == ["a", "b", "c", "d"]
    assert [task.id for task in related] == ["t-1"]
    assert turn.noted == [("conversation", "50"), ("related", "")]
    # Nothing is there any more.
    again = Context(turn.again())
    assert (await again.conversation(), await again.related()) == (said, related)


async def test_what_is_recorded_is_not_looked_for() -> None:
    turn = conversing()
    found = await look_up(turn, "related", "", lambda: turn.find_tasks(("t-2",)))
    looked: list[str] = []

    async def look() -> tuple[Task, ...]:
        looked.append("again")
        return ()

    assert await look_up(turn.again(), "related", "", look) == found
    assert looked == []


async def test_within_a_step_it_is_part_of_the_step() -> None:
    turn = conversing()
    context = Context(turn)

    async def count() -> int:
        return len(await context.conversation()) + len(await context.related())

    assert await context.step(count) == 5
    assert turn.noted == [("step", "count")]
