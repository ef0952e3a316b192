import pytest

from dragoman.errors import TaskEndedError, TaskNotFoundError
from dragoman.model.events import StreamResponse
from dragoman.model.operations import GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest
from dragoman.model.tasks import TaskState
from tests.support.client.fakes import artifact, chunk, status, task
from tests.support.client.services import Events, agent_of

DONE = task(TaskState.COMPLETED, artifact("one"))


async def test_a_task_is_read() -> None:
    agent, service = agent_of(DONE)
    assert (await agent.task("t").get(history_length=2)).text == "one"
    assert service.asked[0][0] == GetTaskRequest(id="t", history_length=2)


async def test_a_task_is_followed_from_an_event_on() -> None:
    events = Events(StreamResponse(task=task()), chunk("one"), status(TaskState.COMPLETED))
    agent, service = agent_of(events)
    stream = agent.task("t").stream(after=7)
    assert [event.kind async for event in stream] == ["task", "artifact", "status"]
    request, call = service.asked[0]
    assert request == SubscribeToTaskRequest(id="t")
    assert call.cursor == 7


async def test_a_task_that_has_ended_is_shown() -> None:
    agent, _ = agent_of(TaskEndedError("t", "COMPLETED", ""), DONE)
    assert (await agent.task("t").wait()).text == "one"


async def test_a_task_that_is_not_there_is_told() -> None:
    agent, _ = agent_of(TaskNotFoundError("t"))
    with pytest.raises(TaskNotFoundError):
        await agent.task("t").wait()


@pytest.mark.requirement("R-3.4.3-2")
@pytest.mark.parametrize("context_id", ["", "c"])
async def test_a_message_goes_to_the_task_in_its_context(context_id: str) -> None:
    looked = () if context_id else (task(TaskState.INPUT_REQUIRED),)
    agent, service = agent_of(*looked, Events(StreamResponse(task=DONE)))
    await agent.task("t", context_id).send("more")
    request, _ = service.asked[-1]
    assert isinstance(request, SendMessageRequest)
    assert (request.message.task_id, request.message.context_id) == ("t", "c")


async def test_a_task_is_canceled() -> None:
    agent, _ = agent_of(task(TaskState.CANCELED))
    assert (await agent.task("t").cancel()).state is TaskState.CANCELED
