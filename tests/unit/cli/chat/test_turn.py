import asyncio
import json
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

from dragoman.cli.chat.turn import Ending, Turn
from dragoman.client.following.progress import Progress
from dragoman.errors import DragomanError, InvalidAgentResponseError
from dragoman.model.documents import EventDocument
from dragoman.model.tasks import Task, TaskState
from tests.cli.fake import FakeAgent, Frames, Refusal, card, task
from tests.support.cli.chatting import Desk, chatting, until


def event(state: str) -> EventDocument:
    return EventDocument(0, json.dumps({"task": task(state)}).encode())


class Watched:
    """A turn, and the failures that it tells."""

    def __init__(self, desk: Desk) -> None:
        self.problems: list[DragomanError] = []
        self.known = Progress()
        chat = desk.chat
        self._turn = Turn(
            chat.session,
            chat.invocation.settings,
            chat.view,
            known=self.known,
            tell=self.problems.append,
        )

    async def follow(self, *events: EventDocument, is_endless: bool = False) -> Ending:
        async def stream() -> AsyncGenerator[EventDocument]:
            for each in events:
                yield each
            if is_endless:
                await asyncio.sleep(3600)

        return await self._turn.follow(stream())


async def test_events_are_followed_to_the_end(tmp_path: Path, fake: FakeAgent) -> None:
    async with chatting(tmp_path, url=fake.url) as desk:
        events = (event("WORKING"), event("COMPLETED"))
        ending = await Watched(desk).follow(*events)
    assert isinstance(ending.outcome, Task)
    assert ending.outcome.status.state is TaskState.COMPLETED
    assert ending.received == tuple(each.json for each in events)
    assert not ending.is_left


async def test_nothing_at_all_is_a_failure_that_is_told(tmp_path: Path, fake: FakeAgent) -> None:
    async with chatting(tmp_path, url=fake.url) as desk:
        watched = Watched(desk)
        ending = await watched.follow()
    assert ending.outcome is None
    assert [type(problem) for problem in watched.problems] == [InvalidAgentResponseError]


async def test_a_canceled_task_need_not_tell_of_its_end(tmp_path: Path, fake: FakeAgent) -> None:
    fake.answers["CancelTask"] = lambda _: task("CANCELED")
    async with chatting(tmp_path, url=fake.url) as desk, asyncio.TaskGroup() as group:
        watched = Watched(desk)
        following = group.create_task(watched.follow(event("WORKING"), is_endless=True))
        await until(lambda: bool(watched.known.task_id))
        signal.raise_signal(signal.SIGINT)
        ending = await following
    assert isinstance(ending.outcome, Task)
    assert ending.outcome.status.state is TaskState.CANCELED
    assert not ending.is_left
    assert [asked.params["id"] for asked in fake.calls("CancelTask")] == ["t-1"]


async def test_a_refused_cancellation_is_told_and_the_task_followed_on(
    tmp_path: Path, fake: FakeAgent
) -> None:
    fake.answers["CancelTask"] = lambda _: Refusal(-32002, "Task cannot be canceled", 409)
    async with chatting(tmp_path, url=fake.url) as desk, asyncio.TaskGroup() as group:
        watched = Watched(desk)
        following = group.create_task(watched.follow(event("WORKING"), is_endless=True))
        await until(lambda: bool(watched.known.task_id))
        signal.raise_signal(signal.SIGINT)
        await until(lambda: bool(watched.problems))
        assert not following.done()
        signal.raise_signal(signal.SIGINT)
        ending = await following
    assert ending.is_left
    assert isinstance(ending.outcome, Task)
    assert ending.outcome.status.state is TaskState.WORKING


async def test_before_there_is_a_task_nothing_can_be_canceled(
    tmp_path: Path, fake: FakeAgent
) -> None:
    async with chatting(tmp_path, url=fake.url) as desk, asyncio.TaskGroup() as group:
        watched = Watched(desk)
        following = group.create_task(watched.follow(is_endless=True))
        await asyncio.sleep(0)
        await until(lambda: signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)
        await until(lambda: "there is no task to cancel yet" in desk.shown)
        signal.raise_signal(signal.SIGINT)
        ending = await following
    assert ending.is_left
    assert fake.calls("CancelTask") == []


async def test_a_stream_that_is_cut_is_resumed_in_silence(tmp_path: Path, fake: FakeAgent) -> None:
    fake.card = card(fake.url, capabilities={"streaming": True})
    fake.answers["SendStreamingMessage"] = lambda _: Frames(
        [{"task": task("WORKING")}], is_cut=True
    )
    fake.answers["SubscribeToTask"] = lambda _: Frames([{"task": task("COMPLETED")}])
    async with chatting(tmp_path, "x", url=fake.url) as desk:
        await desk.chat.run(None)
        assert desk.errors == ""
        assert "the task is completed" in desk.shown
    assert len(fake.calls("SubscribeToTask")) == 1
