from collections.abc import Iterable

import pytest

from dragoman.client.errors import CutError, ProtocolError, TimedOutError, UnreachableError
from dragoman.client.following.following import FollowedTask
from dragoman.client.following.streams import streamed
from dragoman.client.transports.base import Batch, Frame
from dragoman.errors import (
    DragomanError,
    InvalidParamsError,
    TaskNotFoundError,
    UnavailableError,
    UnsupportedOperationError,
)
from dragoman.model.events import StreamResponse
from dragoman.model.operations import Operation, SendMessageRequest, SubscribeToTaskRequest
from dragoman.model.tasks import Task, TaskState
from tests.support.client.fakes import (
    QuickClock,
    ScriptedTransport,
    artifact,
    caller_of,
    chunk,
    offer,
    said,
    send,
    status,
    task,
)

CUT = CutError("a", "reset")
DONE = status(TaskState.COMPLETED)
SUBMITTED = StreamResponse(task=task(TaskState.SUBMITTED))
FOLLOW = SubscribeToTaskRequest(id="t")

SEND_ = Operation.SEND_STREAMING_MESSAGE
FOLLOW_ = Operation.SUBSCRIBE_TO_TASK


class Story:
    """What an agent tells, over the streams it is given, and what is handed on."""

    def __init__(
        self,
        *streams: Iterable[Batch | Frame | StreamResponse | DragomanError],
        begin: SendMessageRequest | SubscribeToTaskRequest | None = None,
        version: str = "1.0",
        cursor: int = 0,
        read: Task | DragomanError | None = None,
    ) -> None:
        self.clock = QuickClock()
        # Who reads the task reads it once.
        self.agent = ScriptedTransport(streams=streams, answers=(read or task(TaskState.WORKING),))
        caller = caller_of(self.agent, offers=(offer(version),), clock=self.clock)
        self.followed = FollowedTask(caller, begin or send(), (), 1.0)
        self._cursor = cursor
        self.beats = 0

    async def events(self) -> list[StreamResponse]:
        found: list[StreamResponse] = []
        async for batch in streamed(self.followed, self._cursor):
            self.beats += not batch
            found += [frame.event for frame in batch]
        return found


def numbered(*events: StreamResponse, start: int = 1) -> list[Frame]:
    return [Frame(seq, event) for seq, event in enumerate(events, start=start)]


async def test_a_stream_that_is_whole_is_all_there_is() -> None:
    story = Story([SUBMITTED, chunk("one"), DONE])
    assert await story.events() == [SUBMITTED, chunk("one"), DONE]
    assert story.agent.operations == [SEND_]
    assert story.clock.slept == []


async def test_a_message_ends_the_stream() -> None:
    reply = StreamResponse(message=said("hi"))
    assert await Story([reply, chunk("not read")]).events() == [reply]


@pytest.mark.requirement("R-T.str-4")
async def test_a_cut_stream_goes_on_at_the_cursor() -> None:
    story = Story(
        [*numbered(SUBMITTED, chunk("one ")), CUT],
        [
            *numbered(
                StreamResponse(task=task(TaskState.SUBMITTED, artifact("one "))),
                chunk("two", append=True),
                DONE,
                start=2,
            )
        ],
    )
    assert await story.events() == [SUBMITTED, chunk("one "), chunk("two", append=True), DONE]
    assert story.agent.operations == [SEND_, FOLLOW_]
    assert story.agent.cursors == [0, 2]


async def test_a_stream_that_ends_while_the_task_works_was_cut() -> None:
    story = Story(
        [SUBMITTED, chunk("one ")],
        [StreamResponse(task=task(TaskState.COMPLETED, artifact("one two")))],
    )
    assert await story.events() == [
        SUBMITTED,
        chunk("one "),
        chunk("two", append=True, last_chunk=True),
        DONE,
    ]


@pytest.mark.parametrize("problem", [CUT, UnreachableError("a", "b"), UnavailableError()])
async def test_a_send_that_has_no_answer_is_sent_again(problem: DragomanError) -> None:
    story = Story([problem], [SUBMITTED, DONE])
    assert await story.events() == [SUBMITTED, DONE]
    assert story.agent.operations == [SEND_, SEND_]


@pytest.mark.parametrize(
    "problem", [InvalidParamsError(), ProtocolError("a", "b"), TimedOutError("a")]
)
async def test_a_refusal_stands(problem: DragomanError) -> None:
    with pytest.raises(type(problem)):
        await Story([problem]).events()


async def test_in_0_1_a_send_that_may_have_arrived_is_looked_for() -> None:
    story = Story(
        [CUT], [status(TaskState.WORKING), DONE], version="0.1", begin=send(message_id="m-7")
    )
    assert [event.task is not None for event in await story.events()] == [True, False, False]
    assert story.agent.operations == [SEND_, FOLLOW_]
    assert story.agent.asked[1][1] == SubscribeToTaskRequest(id="m-7")


async def test_in_0_1_a_send_that_has_not_arrived_is_sent_again() -> None:
    story = Story([CUT], [TaskNotFoundError("m-1")], [DONE], version="0.1")
    await story.events()
    assert story.agent.operations == [SEND_, FOLLOW_, SEND_]


async def test_a_task_that_is_lost_is_no_passing_problem() -> None:
    story = Story([SUBMITTED, CUT], [TaskNotFoundError("t")], version="0.1")
    with pytest.raises(TaskNotFoundError):
        await story.events()


async def test_a_task_that_is_known_is_asked_for_again_when_that_takes_too_long() -> None:
    story = Story([SUBMITTED, CUT], [TimedOutError("a")], [SUBMITTED, DONE])
    assert await story.events() == [SUBMITTED, DONE]


async def test_it_is_given_up_when_nothing_comes_any_more() -> None:
    story = Story([SUBMITTED, CUT], *([CUT] for _ in range(9)))
    with pytest.raises(CutError) as caught:
        await story.events()
    assert (caught.value.task_id, caught.value.reason) == ("t", "reset")
    assert story.clock.slept == [1.0, 2.0, 4.0]


async def test_who_is_cut_off_because_the_task_has_ended_is_told_so() -> None:
    story = Story([SUBMITTED, CUT], [CUT], read=task(TaskState.COMPLETED))
    with pytest.raises(UnsupportedOperationError, match="follow what has ended"):
        await story.events()
    assert story.agent.operations == [SEND_, FOLLOW_, Operation.GET_TASK]


async def test_who_is_cut_off_because_there_is_no_task_is_told_so() -> None:
    with pytest.raises(TaskNotFoundError):
        await Story([CUT], [CUT], begin=FOLLOW, read=TaskNotFoundError("t")).events()


async def test_whether_a_task_has_ended_is_not_asked_where_streams_can_be_resumed() -> None:
    story = Story(
        [*numbered(SUBMITTED), CUT],
        [CUT],
        [*numbered(chunk("one"), DONE, start=2)],
        read=task(TaskState.COMPLETED),
    )
    assert await story.events() == [SUBMITTED, chunk("one"), DONE]
    assert story.agent.operations == [SEND_, FOLLOW_, FOLLOW_]


async def test_who_cannot_be_asked_for_the_task_either_is_given_up() -> None:
    protocol = ProtocolError("a", "no")
    with pytest.raises(CutError):
        await Story([SUBMITTED, CUT], *([CUT] for _ in range(9)), read=protocol).events()


async def test_the_last_problem_is_told() -> None:
    away = UnreachableError("a", "refused")
    with pytest.raises(UnreachableError):
        await Story([SUBMITTED, CUT], *([away] for _ in range(9))).events()


async def test_streams_that_end_before_they_begin_are_given_up() -> None:
    with pytest.raises(CutError, match="end before they begin"):
        await Story(*(() for _ in range(9))).events()


async def test_who_gives_a_sign_of_life_is_not_given_up() -> None:
    shown = StreamResponse(task=task(TaskState.SUBMITTED))
    story = Story([SUBMITTED, CUT], *([shown, CUT] for _ in range(9)), [shown, DONE])
    assert await story.events() == [SUBMITTED, DONE]


async def test_streams_that_tell_nothing_new_are_left() -> None:
    story = Story([SUBMITTED], *([SUBMITTED] for _ in range(9)))
    with pytest.raises(UnsupportedOperationError):
        await story.events()
    assert story.agent.operations == [SEND_, FOLLOW_, FOLLOW_]


async def test_a_task_that_has_ended_is_refused_in_another_way_by_0_3() -> None:
    story = Story([SUBMITTED, CUT], [InvalidParamsError("Task t is in terminal state")])
    with pytest.raises(UnsupportedOperationError, match="terminal state"):
        await story.events()


async def test_signs_of_life_are_handed_on() -> None:
    story = Story([SUBMITTED, (), (), DONE])
    await story.events()
    assert story.beats == 2


async def test_a_task_is_followed_from_where_it_is_known() -> None:
    story = Story([*numbered(SUBMITTED, DONE, start=7)], begin=FOLLOW, cursor=7)
    assert await story.events() == [SUBMITTED, DONE]
    assert story.agent.cursors == [7]


async def test_a_send_ends_where_the_agent_asks() -> None:
    asked = status(TaskState.INPUT_REQUIRED, said("Which?"))
    assert await Story([SUBMITTED, asked]).events() == [SUBMITTED, asked]
    # Followed by its task it would not end by itself.
    story = Story([SUBMITTED, CUT], [SUBMITTED, asked, chunk("not read")])
    assert await story.events() == [SUBMITTED, asked]


async def test_a_stream_that_waits_for_authorization_goes_on() -> None:
    waiting = status(TaskState.AUTH_REQUIRED)
    story = Story([SUBMITTED, waiting, CUT], [StreamResponse(task=task(TaskState.COMPLETED))])
    assert await story.events() == [SUBMITTED, waiting, DONE]
