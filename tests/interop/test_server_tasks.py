"""Our client against the servers of ``test_servers``: tasks that take their time, and webhooks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import pytest

from dragoman import RemoteAgent, TaskState
from dragoman.client.results.stream import AgentStream
from dragoman.errors import (
    A2AError,
    InternalError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from dragoman.model.operations import (
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.service.service import Call
from tests.interop.lines import LINES, Line, moved
from tests.interop.peculiarities import (
    CANCELED_STREAMS_STAY_OPEN,
    CANCELS_LATER,
    CANCELS_NOTHING_THAT_HAS_ENDED,
    CANCELS_WHAT_HAS_ENDED,
    CHUNKS_COUNT_FOR_EACH_FOLLOWER,
    FAILS_TO_REFUSE_STREAMS,
    FOLLOWERS_SEE_NO_TASK,
    NO_PUSH,
    NOT_CANCELABLE_IS_UNSUPPORTED,
    PUSH_WITHOUT_LIST_AND_DELETE,
    SENDS_ALWAYS_WAIT,
)
from tests.support.proxy import Proxy, proxied

pytestmark = [
    pytest.mark.interop,
    # The first test of a peer may have to install it.
    pytest.mark.timeout(600),
]

SECONDS: Final = 30.0
"""Nothing here takes as long; what hangs ends with an error that says where."""

SILENCE_SECONDS: Final = 0.5
"""How long a stream is listened to on which nothing is to come."""


@pytest.fixture(params=LINES, ids=str)
def line(request: pytest.FixtureRequest) -> Line:
    return request.param


@pytest.fixture
def url(line: Line, server_of: Callable[[str], str]) -> str:
    return server_of(line.peer)


@pytest.fixture
async def agent(line: Line, url: str) -> AsyncIterator[RemoteAgent]:
    async with line.connect(url) as agent:
        yield agent


@pytest.fixture
def gate(line: Line, request: pytest.FixtureRequest) -> str:
    """The name of a gate that nobody else opens."""
    return f"{line} {request.node.name} {id(request)}"


async def held(agent: RemoteAgent, gate: str) -> AgentStream:
    """Begin a task that waits at a gate, and return its stream when it does."""
    stream = agent.stream(f"hold {gate}", timeout_seconds=SECONDS)
    async for event in stream:
        if event.text == "Holding.":
            break
    return stream


async def ending(stream: AgentStream) -> list[str]:
    """Follow a stream to its end; return the texts of its chunks, and the last state."""
    texts: list[str] = []
    state = ""
    async for event in stream.events:
        state = event.state.name if event.state else state
        texts += [event.text] if event.kind == "artifact" else []
    return [*texts, state]


# --- waiting and following ----------------------------------------------------------------------


async def test_who_does_not_wait_is_answered_at_once(
    agent: RemoteAgent, line: Line, gate: str
) -> None:
    starting = asyncio.ensure_future(agent.start(f"hold {gate}"))
    if line not in SENDS_ALWAYS_WAIT:
        begun = await starting
        assert begun.state in (TaskState.SUBMITTED, TaskState.WORKING)
    await agent.send(f"open {gate}")
    task = agent.task((await starting).task_id)
    done = await task.wait(timeout_seconds=SECONDS)
    assert (done.text, done.state) == ("before after", TaskState.COMPLETED)
    if line in SENDS_ALWAYS_WAIT:
        assert (await starting).state is TaskState.COMPLETED


async def test_a_task_is_followed_by_a_second_caller(
    agent: RemoteAgent, line: Line, gate: str
) -> None:
    async with await held(agent, gate) as first:
        second = agent.task(first.task_id).stream(timeout_seconds=SECONDS)
        if line not in FOLLOWERS_SEE_NO_TASK:
            shown = await anext(second.events)
            assert (shown.kind, shown.text) == ("task", "before ")
        following = asyncio.ensure_future(ending(second))
        if line in FOLLOWERS_SEE_NO_TASK:
            await asyncio.sleep(SILENCE_SECONDS)
            assert second.task_id == ""
        await agent.send(f"open {gate}")
        assert await ending(first) == ["after", "COMPLETED"]
        texts = await following
    stored = await agent.task(first.task_id).get()
    assert second.reply.text == stored.text
    if line in CHUNKS_COUNT_FOR_EACH_FOLLOWER:
        assert "".join(stored.text.split()) == "beforeafterafter"
    else:
        assert (stored.text, texts) == ("before after", ["after", "COMPLETED"])


async def test_a_task_that_has_ended_is_shown_to_those_who_follow_it(agent: RemoteAgent) -> None:
    done = await agent.send("echo hello")
    events = [event async for event in agent.task(done.task_id).stream(timeout_seconds=SECONDS)]
    assert [(event.kind, event.state, event.text) for event in events] == [
        ("task", TaskState.COMPLETED, "echo hello")
    ]


async def test_a_task_that_is_not_there_cannot_be_followed(agent: RemoteAgent, line: Line) -> None:
    refusal = InternalError if line in FAILS_TO_REFUSE_STREAMS else TaskNotFoundError
    with pytest.raises(refusal):
        await agent.task("no-such-task").wait(timeout_seconds=SECONDS)


async def test_what_ends_while_the_line_is_cut_is_told(
    agent: RemoteAgent, line: Line, gate: str
) -> None:
    async with far_away(agent, line) as (proxy, far), await held(far, gate) as stream:
        proxy.cut_all()
        await agent.send(f"open {gate}")
        assert await ending(stream) == ["after", "COMPLETED"]
        assert stream.reply.text == "before after"
        assert proxy.cuts == 1


@pytest.mark.parametrize(
    "line", [line for line in LINES if line not in FOLLOWERS_SEE_NO_TASK], ids=str
)
async def test_a_stream_that_was_cut_goes_on(agent: RemoteAgent, line: Line, gate: str) -> None:
    """Where nothing tells when the stream goes on, it cannot be told from the one that ended."""
    async with far_away(agent, line) as (proxy, far), await held(far, gate) as stream:
        before = proxy.connections
        proxy.cut_all()
        going_on = asyncio.ensure_future(ending(stream))
        async with asyncio.timeout(SECONDS):
            while proxy.connections == before:  # noqa: ASYNC110 - a proxy offers nothing to wait on
                await asyncio.sleep(0.01)
        await agent.send(f"open {gate}")
        assert await going_on == ["after", "COMPLETED"]
        assert stream.reply.text == "before after"
        assert proxy.cuts == 1


@asynccontextmanager
async def far_away(agent: RemoteAgent, line: Line) -> AsyncGenerator[tuple[Proxy, RemoteAgent]]:
    """Put a proxy before the agent's interface, and connect to it there."""
    await agent.send("echo hello")
    interface = agent.interface
    assert interface is not None
    async with (
        proxied(_origin(interface.url)) as proxy,
        line.connect(moved(interface, proxy.url)) as far,
    ):
        yield proxy, far


def _origin(url: str) -> str:
    return url if "//" in url else f"http://{url}"


# --- canceling ----------------------------------------------------------------------------------


async def test_a_task_is_canceled(agent: RemoteAgent, line: Line, gate: str) -> None:
    async with await held(agent, gate) as stream:
        canceled = await agent.cancel(stream.task_id)
        if line in CANCELS_LATER:
            assert canceled.state is TaskState.WORKING
        else:
            assert canceled.state is TaskState.CANCELED
        if line in CANCELED_STREAMS_STAY_OPEN:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(stream.events), SILENCE_SECONDS)
        else:
            assert await ending(stream) == ["CANCELED"]
        assert (await agent.task(stream.task_id).get()).state is TaskState.CANCELED


async def test_what_has_ended_cannot_be_canceled(agent: RemoteAgent, line: Line) -> None:
    done = await agent.send("echo hello")
    if line in CANCELS_NOTHING_THAT_HAS_ENDED:
        assert (await agent.cancel(done.task_id)).state is TaskState.COMPLETED
    elif line in CANCELS_WHAT_HAS_ENDED:
        assert (await agent.cancel(done.task_id)).state is TaskState.CANCELED
    elif line in NOT_CANCELABLE_IS_UNSUPPORTED:
        with pytest.raises(UnsupportedOperationError, match="not cancelable"):
            await agent.cancel(done.task_id)
    else:
        with pytest.raises(TaskNotCancelableError):
            await agent.cancel(done.task_id)


# --- webhooks -----------------------------------------------------------------------------------


async def test_webhooks_are_created_read_listed_and_deleted(agent: RemoteAgent, line: Line) -> None:
    task_id = (await agent.send("ask")).task_id
    service, call = agent.service, Call()
    config = TaskPushNotificationConfig(
        task_id=task_id, id="c-1", url="https://hook.example/x", token=f"for {line}"
    )
    if line in NO_PUSH:
        with pytest.raises(PushNotificationNotSupportedError):
            await service.create_task_push_notification_config(config, call)
        return
    assert await service.create_task_push_notification_config(config, call) == config
    named = GetTaskPushNotificationConfigRequest(task_id=task_id, id="c-1")
    assert await service.get_task_push_notification_config(named, call) == config
    all_of_it = ListTaskPushNotificationConfigsRequest(task_id=task_id)
    removal = DeleteTaskPushNotificationConfigRequest(task_id=task_id, id="c-1")
    if line in PUSH_WITHOUT_LIST_AND_DELETE:
        with pytest.raises(A2AError):
            await service.list_task_push_notification_configs(all_of_it, call)
        with pytest.raises(A2AError):
            await service.delete_task_push_notification_config(removal, call)
        return
    listed = await service.list_task_push_notification_configs(all_of_it, call)
    assert listed.configs == (config,)
    await service.delete_task_push_notification_config(removal, call)
    listed = await service.list_task_push_notification_configs(all_of_it, call)
    assert listed.configs == ()
