import asyncio
from collections.abc import AsyncIterator
from typing import cast

import msgspec
import pytest

from dragoman.cli.options.settings import NO_SETTINGS
from dragoman.cli.session.following import Follower
from dragoman.cli.session.progress import Progress
from dragoman.errors import (
    InvalidAgentResponseError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.events import StreamResponse, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.operations import GetTaskRequest, SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import Task, TaskState, TaskStatus
from dragoman.service.service import A2AService, Call
from dragoman.testing.clock import FakeClock
from tests.support.client.fakes import chunk

MESSAGE = Message(message_id="m", role=Role.USER, parts=(Part(text="x"),))


def task(state: TaskState) -> Task:
    return Task(id="t", context_id="c", status=TaskStatus(state=state))


def whole(state: TaskState) -> StreamResponse:
    return StreamResponse(task=task(state))


def update(state: TaskState) -> StreamResponse:
    status = TaskStatus(state=state)
    return StreamResponse(
        status_update=TaskStatusUpdateEvent(task_id="t", context_id="c", status=status)
    )


class Batches:
    """A stream; tells whether it was closed."""

    def __init__(self, *batches: tuple[StreamResponse, ...]) -> None:
        self._batches = batches
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[tuple[EventDocument, ...]]:
        for batch in self._batches:
            yield tuple(EventDocument(0, msgspec.json.encode(event)) for event in batch)

    async def aclose(self) -> None:
        self.is_closed = True


class Service:
    """An agent with one stream, and one task that may change from look to look."""

    def __init__(self, stream: Batches | Exception, *looks: TaskState) -> None:
        self.stream = stream
        self.looks = list(looks)
        self.looked = 0

    async def send_streaming_message(self, request: SendMessageRequest, call: Call) -> Batches:
        del request, call
        if isinstance(self.stream, Exception):
            raise self.stream
        return self.stream

    subscribe_to_task = send_streaming_message

    async def get_task(self, request: GetTaskRequest, call: Call) -> TaskDocument:
        del request, call
        self.looked += 1
        state = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        return TaskDocument.of(task(state))


class Followed:
    """A follower, and what it knows."""

    def __init__(self, service: Service, *, streams: bool = True) -> None:
        self.progress = Progress(NO_SETTINGS)
        self.clock = FakeClock()
        self.follower = Follower(
            cast("A2AService", service),
            Call(),
            self.progress,
            streams=streams,
            interval=2,
            clock=self.clock,
        )

    async def send(self, task_id: str = "") -> list[StreamResponse]:
        message = msgspec.structs.replace(MESSAGE, task_id=task_id)
        request = SendMessageRequest(message=message)
        return [event.value async for event in self.follower.send(request)]


@pytest.mark.parametrize("state", [TaskState.COMPLETED, TaskState.INPUT_REQUIRED])
async def test_a_settled_task_is_the_end_whatever_the_stream_does(state: TaskState) -> None:
    stream = Batches((whole(TaskState.WORKING),), (update(state),), (update(TaskState.WORKING),))
    followed = Followed(Service(stream))
    assert await followed.send() == [whole(TaskState.WORKING), update(state)]
    assert stream.is_closed
    assert followed.progress.state is state


async def test_a_question_that_was_just_answered_is_not_the_end() -> None:
    asked, done = whole(TaskState.INPUT_REQUIRED), update(TaskState.COMPLETED)
    followed = Followed(Service(Batches((), (asked,), (done,))))
    assert await followed.send("t") == [asked, done]


async def test_a_question_that_stands_is_the_end() -> None:
    asked = whole(TaskState.INPUT_REQUIRED)
    followed = Followed(Service(Batches((asked,), (), (update(TaskState.WORKING),))))
    assert await followed.send("t") == [asked]


async def test_a_task_that_goes_on_by_itself_is_followed_beyond_its_question() -> None:
    asked, working = whole(TaskState.AUTH_REQUIRED), update(TaskState.WORKING)
    done = update(TaskState.COMPLETED)
    # A sign of life alone does not end the wait.
    followed = Followed(Service(Batches((asked,), (), (working,), (done,))))
    events = followed.follower.subscribe("t", goes_on=True)
    assert [event.value async for event in events] == [asked, working, done]
    followed = Followed(Service(Batches((asked,), (working,), (done,))))
    assert [event.value async for event in followed.follower.subscribe("t")] == [asked]


async def test_without_streams_the_whole_comes_last() -> None:
    stream = Batches((whole(TaskState.SUBMITTED),), (update(TaskState.COMPLETED),))
    followed = Followed(Service(stream, TaskState.COMPLETED), streams=False)
    events = await followed.send()
    assert events[-1] == whole(TaskState.COMPLETED)
    assert len(events) == 3


async def test_without_streams_a_whole_is_not_shown_twice() -> None:
    followed = Followed(Service(Batches((whole(TaskState.COMPLETED),))), streams=False)
    assert await followed.send() == [whole(TaskState.COMPLETED)]


async def test_a_task_that_has_ended_is_shown_in_place_of_its_events() -> None:
    followed = Followed(Service(UnsupportedOperationError(), TaskState.COMPLETED))
    events = [event.value async for event in followed.follower.subscribe("t")]
    assert events == [whole(TaskState.COMPLETED)]


async def test_a_task_that_cannot_be_followed_otherwise_is_told() -> None:
    followed = Followed(Service(UnsupportedOperationError(), TaskState.WORKING))
    with pytest.raises(UnsupportedOperationError):
        _ = [event async for event in followed.follower.subscribe("t")]


async def test_looking_goes_on_until_the_task_is_settled() -> None:
    service = Service(Batches(), TaskState.SUBMITTED, TaskState.WORKING, TaskState.AUTH_REQUIRED)
    followed = Followed(service)
    async with asyncio.TaskGroup() as group:
        found = group.create_task(followed.follower.settled(GetTaskRequest(id="t")))
        for _ in range(2):
            await followed.clock.until_asleep()
            followed.clock.advance(2)
    assert found.result().task().status.state is TaskState.AUTH_REQUIRED
    assert service.looked == 3


async def test_the_outcome_is_what_the_events_have_told() -> None:
    service = Service(Batches((StreamResponse(message=MESSAGE),)), TaskState.COMPLETED)
    followed = Followed(service)
    await followed.send()
    assert await followed.follower.outcome() == MESSAGE
    service.stream = Batches((whole(TaskState.WORKING),), (update(TaskState.COMPLETED),))
    await followed.send()
    found = await followed.follower.outcome()
    assert isinstance(found, TaskDocument)
    assert found.task() == task(TaskState.COMPLETED)
    assert service.looked == 0


async def test_the_outcome_is_read_where_a_part_of_the_task_was_told() -> None:
    service = Service(Batches((update(TaskState.COMPLETED),)), TaskState.COMPLETED)
    followed = Followed(service)
    await followed.send("t")
    assert isinstance(await followed.follower.outcome(), TaskDocument)
    assert service.looked == 1


async def test_what_was_seen_is_the_outcome_if_it_cannot_be_read() -> None:
    class Forgetful(Service):
        async def get_task(self, request: GetTaskRequest, call: Call) -> TaskDocument:
            raise TaskNotFoundError(request.id)

    followed = Followed(Forgetful(Batches((update(TaskState.COMPLETED),))))
    await followed.send("t")
    found = await followed.follower.outcome()
    assert isinstance(found, TaskDocument)
    assert found.task() == task(TaskState.COMPLETED)


async def test_what_is_told_behind_the_end_is_shown() -> None:
    done, late = update(TaskState.COMPLETED), chunk("late")
    followed = Followed(Service(Batches((whole(TaskState.WORKING),), (done,), (late,))))
    assert await followed.send() == [whole(TaskState.WORKING), done, late]
    found = await followed.follower.outcome()
    assert isinstance(found, TaskDocument)
    assert [artifact.parts[0].text for artifact in found.task().artifacts] == ["late"]


async def test_no_answer_at_all_is_no_outcome() -> None:
    with pytest.raises(InvalidAgentResponseError):
        await Followed(Service(Batches())).follower.outcome()
