import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dragoman.client.errors import CutError, TimedOutError
from dragoman.client.results.stream import AgentEvent, AgentStream
from dragoman.client.transports.base import Frame
from dragoman.errors import InvalidParamsError, UsageError
from dragoman.model.events import StreamResponse
from dragoman.model.tasks import TaskState
from dragoman.service.service import EventStream
from tests.support.client.fakes import artifact, chunk, said, status, task
from tests.support.client.services import Events, agent_of

SHOWN = StreamResponse(task=task())
DONE = status(TaskState.COMPLETED)


def stream_of(events: Events, **options: Any) -> AgentStream:
    agent, _ = agent_of()

    async def begin() -> EventStream:
        return events

    return AgentStream(begin, agent, **options)


async def forever() -> AsyncIterator[None]:
    await asyncio.sleep(60)
    yield


async def test_events_come_with_their_numbers_and_end_in_a_reply() -> None:
    events = Events(Frame(1, SHOWN), Frame(2, chunk("one")), Frame(3, DONE))
    stream = stream_of(events)
    found = [(event.seq, event.kind) async for event in stream]
    assert found == [(1, "task"), (2, "artifact"), (3, "status")]
    assert stream.reply.task == task(TaskState.COMPLETED, artifact("one"))
    assert stream.task_id == "t"
    assert events.is_closed


async def test_a_closing_task_tells_nothing_twice() -> None:
    whole = task(TaskState.COMPLETED, artifact("one"), artifact("earlier", artifact_id="z"))
    stream = stream_of(Events(SHOWN, chunk("one"), DONE, StreamResponse(task=whole)))
    texts = [event.text async for event in stream if event.kind == "artifact"]
    assert texts == ["one", "earlier"]
    assert stream.reply.task == whole


async def test_there_is_no_reply_before_anything_has_come() -> None:
    stream = stream_of(Events(SHOWN, DONE))
    with pytest.raises(UsageError, match="nothing has come yet"):
        _ = stream.reply
    assert stream.task_id == ""


async def test_what_is_refused_is_raised_when_it_is_iterated_over() -> None:
    agent, _ = agent_of(InvalidParamsError())
    stream = agent.stream("hi")
    with pytest.raises(InvalidParamsError):
        await anext(stream.events)


async def test_what_has_come_before_a_failure_is_known() -> None:
    events = Events(SHOWN, chunk("one"), CutError("a", "b"))
    stream = stream_of(events)
    with pytest.raises(CutError):
        await stream.wait()
    assert stream.reply.text == "one"
    assert events.is_closed


async def test_whoever_leaves_closes_it() -> None:
    events = Events(SHOWN, chunk("one"), DONE)
    async with stream_of(events) as stream:
        async for _ in stream:
            break
    assert events.is_closed


@pytest.mark.parametrize("state", [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED])
async def test_waiting_ends_where_the_agent_waits(state: TaskState) -> None:
    reply = await stream_of(Events(SHOWN, status(state, said("Which?")), forever())).wait()
    assert reply.text == "Which?"


async def test_waiting_has_an_end() -> None:
    events = Events(SHOWN, forever())
    with pytest.raises(TimedOutError, match=r"in 0\.02 seconds with task t, which goes on"):
        await stream_of(events, timeout_seconds=0.02).wait()
    assert events.is_closed


async def test_so_has_waiting_for_the_beginning() -> None:
    agent, _ = agent_of()

    async def begin() -> EventStream:
        await asyncio.sleep(60)
        raise AssertionError

    with pytest.raises(TimedOutError, match=r"not done in 0\.02 seconds$"):
        await AgentStream(begin, agent, timeout_seconds=0.02).wait()


async def test_a_timeout_of_the_program_is_its_own() -> None:
    def burn(_: AgentEvent) -> None:
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        await stream_of(Events(SHOWN, DONE), on_event=burn, timeout_seconds=9).wait()


async def test_each_event_is_told() -> None:
    told: list[str] = []

    async def note(event: AgentEvent) -> None:
        told.append(event.kind)

    def note_at_once(event: AgentEvent) -> None:
        told.append(event.kind)

    await stream_of(Events(SHOWN, DONE), on_event=note).wait()
    await stream_of(Events(SHOWN, DONE), on_event=note_at_once).wait()
    assert told == ["task", "status"] * 2
