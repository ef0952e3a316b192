import pytest

from dragoman.client.following.following import FollowedTask
from dragoman.client.following.polling import polled
from dragoman.dialects.base import Received
from dragoman.errors import DragomanError
from dragoman.model.events import StreamResponse
from dragoman.model.operations import Operation, SendMessageRequest, SubscribeToTaskRequest
from dragoman.model.tasks import TaskState
from tests.support.client.fakes import (
    QuickClock,
    ScriptedTransport,
    artifact,
    caller_of,
    chunk,
    said,
    send,
    status,
    task,
)

WORKING = task(TaskState.WORKING)
DONE = task(TaskState.COMPLETED, artifact("one"))


class Story:
    def __init__(
        self,
        *answers: Received | DragomanError,
        begin: SendMessageRequest | SubscribeToTaskRequest | None = None,
    ) -> None:
        self.clock = QuickClock()
        self.agent = ScriptedTransport(answers=answers)
        caller = caller_of(self.agent, clock=self.clock)
        self.followed = FollowedTask(caller, begin or send(), (), 2.0)

    async def events(self) -> list[StreamResponse]:
        return [frame.event async for batch in polled(self.followed) for frame in batch]


@pytest.mark.requirement("R-3.2.2-5")
async def test_a_task_is_read_until_it_has_ended() -> None:
    story = Story(WORKING, WORKING, WORKING, DONE)
    assert await story.events() == [
        StreamResponse(task=WORKING),
        chunk("one", last_chunk=True),
        status(TaskState.COMPLETED),
    ]
    assert story.agent.operations == [Operation.SEND_MESSAGE, *[Operation.GET_TASK] * 3]
    # The send does not wait.
    _, sent = story.agent.asked[0]
    assert isinstance(sent, SendMessageRequest)
    assert sent.configuration is not None
    assert sent.configuration.return_immediately
    # Looks come further apart as long as nothing changes, up to a limit.
    assert story.clock.slept == [2.0, 3.0, 4.5]


async def test_a_change_brings_the_looks_together_again() -> None:
    changed = task(TaskState.WORKING, message=said("hm"))
    story = Story(WORKING, WORKING, changed, DONE)
    await story.events()
    assert story.clock.slept == [2.0, 3.0, 2.0]


async def test_an_answer_that_is_final_needs_no_look() -> None:
    assert await Story(DONE).events() == [StreamResponse(task=DONE)]
    assert await Story(said("hi")).events() == [StreamResponse(message=said("hi"))]


async def test_a_send_is_waited_for_until_the_agent_asks() -> None:
    asked = task(TaskState.INPUT_REQUIRED, message=said("Which?"))
    assert await Story(WORKING, asked).events() == [
        StreamResponse(task=WORKING),
        status(TaskState.INPUT_REQUIRED, said("Which?")),
    ]


@pytest.mark.requirement("R-7.6.2-3")
@pytest.mark.parametrize("state", [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED])
async def test_a_task_is_followed_beyond_its_questions(state: TaskState) -> None:
    asked = task(state)
    story = Story(asked, asked, DONE, begin=SubscribeToTaskRequest(id="t"))
    assert len(await story.events()) == 3
    assert story.agent.operations == [Operation.GET_TASK] * 3


@pytest.mark.parametrize("name", ["TASK_STATE_UNSPECIFIED", "TASK_STATE_PAUSED"])
async def test_a_state_that_we_do_not_know_is_no_end(name: str) -> None:
    unclear = task(TaskState(name))
    story = Story(unclear, unclear, DONE)
    assert (await story.events())[0] == StreamResponse(task=unclear)
    assert story.agent.operations == [Operation.SEND_MESSAGE, *[Operation.GET_TASK] * 2]
