import pytest

from dragoman.client.errors import CutError
from dragoman.client.following.following import Following
from dragoman.client.transports.base import Frame
from dragoman.errors import (
    DragomanError,
    InvalidParamsError,
    MethodNotFoundError,
    StreamingNotSupportedError,
    TaskEndedError,
    UnsupportedOperationError,
)
from dragoman.model.events import StreamResponse
from dragoman.model.operations import Operation, SubscribeToTaskRequest
from dragoman.model.tasks import TaskState
from tests.support.client.fakes import (
    ScriptedTransport,
    artifact,
    caller_of,
    chunk,
    send,
    status,
    task,
)

SHOWN = StreamResponse(task=task())
ENDED = task(TaskState.COMPLETED, artifact("one"))
DONE = status(TaskState.COMPLETED)
FOLLOW = SubscribeToTaskRequest(id="t")


async def told(following: Following) -> list[tuple[int, StreamResponse]]:
    await following.start()
    found = [(each.seq, each.value) async for batch in following for each in batch]
    await following.aclose()
    return found


async def test_events_have_the_numbers_that_the_agent_gives() -> None:
    agent = ScriptedTransport(streams=[[(Frame(1, SHOWN), Frame(2, chunk("a"))), Frame(3, DONE)]])
    following = Following(caller_of(agent), send(), can_stream=True)
    assert await told(following) == [(1, SHOWN), (2, chunk("a")), (3, DONE)]
    assert following.outcome == task(TaskState.COMPLETED, artifact("a"))


async def test_a_refusal_is_raised_at_the_start() -> None:
    agent = ScriptedTransport(streams=[[InvalidParamsError()]])
    with pytest.raises(InvalidParamsError):
        await Following(caller_of(agent), send(), can_stream=True).start()


async def test_a_sign_of_life_is_no_start() -> None:
    agent = ScriptedTransport(streams=[[(), SHOWN, (), DONE]])
    following = Following(caller_of(agent), send(), can_stream=True)
    await following.start()
    batches = [batch async for batch in following]
    assert [len(batch) for batch in batches] == [1, 0, 1]


async def test_an_agent_that_does_not_stream_is_asked_again_and_again() -> None:
    agent = ScriptedTransport(answers=[task(), ENDED])
    following = Following(caller_of(agent), send(), can_stream=False)
    assert len(await told(following)) == 3
    assert agent.operations == [Operation.SEND_MESSAGE, Operation.GET_TASK]


@pytest.mark.parametrize("refusal", [StreamingNotSupportedError(), MethodNotFoundError()])
async def test_so_is_one_that_does_not_although_its_card_says_so(refusal: DragomanError) -> None:
    agent = ScriptedTransport(streams=[[refusal]], answers=[ENDED])
    following = Following(caller_of(agent), send(), can_stream=True)
    assert await told(following) == [(0, StreamResponse(task=ENDED))]


async def test_a_refused_send_is_refused_either_way() -> None:
    agent = ScriptedTransport(
        streams=[[UnsupportedOperationError("over")]], answers=[UnsupportedOperationError("over")]
    )
    with pytest.raises(UnsupportedOperationError, match="over"):
        await Following(caller_of(agent), send(task_id="t"), can_stream=True).start()


async def test_what_ended_while_the_line_was_cut_is_read() -> None:
    agent = ScriptedTransport(
        streams=[[SHOWN, CutError("a", "b")], [TaskEndedError("t", "COMPLETED", "")]],
        answers=[ENDED],
    )
    following = Following(caller_of(agent), send(), can_stream=True)
    assert [event for _, event in await told(following)] == [
        SHOWN,
        chunk("one", last_chunk=True),
        DONE,
    ]


async def test_what_has_ended_is_not_followed() -> None:
    agent = ScriptedTransport(streams=[[TaskEndedError("t", "COMPLETED", "")]], answers=[ENDED])
    with pytest.raises(UnsupportedOperationError, match="has ended"):
        await Following(caller_of(agent), FOLLOW, can_stream=True).start()


async def test_a_task_at_work_is_looked_at_where_it_cannot_be_followed() -> None:
    agent = ScriptedTransport(streams=[[MethodNotFoundError()]], answers=[task(), task(), ENDED])
    following = Following(caller_of(agent), FOLLOW, can_stream=True)
    assert len(await told(following)) == 3


async def test_the_task_comes_last_where_only_a_part_of_it_was_told() -> None:
    whole = task(TaskState.COMPLETED, artifact("before", artifact_id="z"), artifact("one"))
    agent = ScriptedTransport(streams=[[chunk("one"), DONE]], answers=[whole])
    following = Following(caller_of(agent), send(task_id="t"), can_stream=True)
    *_, (_, last) = await told(following)
    assert last == StreamResponse(task=whole)
    assert following.outcome == whole


async def test_without_it_what_was_told_stands() -> None:
    agent = ScriptedTransport(streams=[[chunk("one"), DONE]], answers=[MethodNotFoundError()])
    following = Following(caller_of(agent), send(task_id="t"), can_stream=True)
    *_, (_, last) = await told(following)
    assert last == DONE


async def test_whoever_leaves_closes_the_stream() -> None:
    agent = ScriptedTransport(streams=[[SHOWN, chunk("a"), DONE]])
    following = Following(caller_of(agent), send(), can_stream=True)
    await following.start()
    await following.aclose()
    assert [batch async for batch in following][1:] == []
