import pytest

from dragoman.client.errors import CutError
from dragoman.client.following.following import FollowedTask
from dragoman.client.transports.base import Frame
from dragoman.model.events import StreamResponse
from dragoman.model.operations import (
    GetTaskRequest,
    Operation,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.tasks import TaskState
from tests.support.client.fakes import ScriptedTransport, caller_of, offer, said, send, task

CUT = CutError("a", "b")
FOLLOW = SubscribeToTaskRequest(id="t")


def followed(
    begin: SendMessageRequest | SubscribeToTaskRequest,
    state: TaskState | None = None,
    version: str = "1.0",
) -> FollowedTask:
    agent = ScriptedTransport(answers=[task()])
    found = FollowedTask(caller_of(agent, offers=(offer(version),)), begin, (), 1.0)
    if state is not None:
        found.progress.take((Frame(0, StreamResponse(task=task(state))),))
    return found


def test_the_task_is_known_from_the_beginning_or_from_the_first_frame() -> None:
    assert followed(FOLLOW).task_id == "t"
    assert followed(send()).task_id == ""
    assert followed(send(), TaskState.WORKING).task_id == "t"


def test_in_0_1_the_client_knows_what_the_task_is_called() -> None:
    assert followed(send(message_id="m-7"), version="0.1").name == "m-7"
    assert followed(send(task_id="t"), version="0.1").name == "t"
    assert followed(send(message_id="m-7")).name == ""
    assert followed(FOLLOW, version="0.1").name == ""


async def test_the_task_is_read() -> None:
    agent = ScriptedTransport(answers=[task()])
    found = FollowedTask(caller_of(agent), FOLLOW, ("urn:x",), 1.0)
    assert await found.read() == task()
    assert agent.asked == [(Operation.GET_TASK, GetTaskRequest(id="t"))]
    assert agent.extensions == [("urn:x",)]


@pytest.mark.parametrize(
    ("begin", "state", "is_resumed", "over"),
    [
        (send(), TaskState.COMPLETED, False, True),
        (send(), TaskState.WORKING, True, False),
        # The agent ends the stream of a send there by itself.
        (send(), TaskState.INPUT_REQUIRED, False, False),
        # Where a send is followed by its task it does not.
        (send(), TaskState.INPUT_REQUIRED, True, True),
        (send(), TaskState.AUTH_REQUIRED, True, False),
        (FOLLOW, TaskState.INPUT_REQUIRED, True, False),
    ],
)
def test_when_it_is_over(
    begin: SendMessageRequest | SubscribeToTaskRequest,
    state: TaskState,
    *,
    is_resumed: bool,
    over: bool,
) -> None:
    found = followed(begin, state)
    found.is_resumed = is_resumed
    assert found.is_over is over


@pytest.mark.parametrize(
    ("begin", "state", "problem", "finished"),
    [
        (send(), None, None, False),
        (send(), TaskState.WORKING, None, False),
        (send(), TaskState.COMPLETED, CUT, True),
        (send(), TaskState.INPUT_REQUIRED, None, True),
        (send(), TaskState.INPUT_REQUIRED, CUT, True),
        # Authorization may come by another way, and the stream go on.
        (send(), TaskState.AUTH_REQUIRED, CUT, False),
        (send(), TaskState.AUTH_REQUIRED, None, True),
        (FOLLOW, TaskState.INPUT_REQUIRED, CUT, False),
        (FOLLOW, TaskState.INPUT_REQUIRED, None, True),
    ],
)
def test_whether_a_stream_has_ended_where_it_should(
    begin: SendMessageRequest | SubscribeToTaskRequest,
    state: TaskState | None,
    problem: CutError | None,
    *,
    finished: bool,
) -> None:
    assert followed(begin, state).has_finished(problem) is finished


def test_a_message_is_over_at_once() -> None:
    found = followed(send())
    found.progress.take((Frame(0, StreamResponse(message=said("hi"))),))
    assert found.is_over
