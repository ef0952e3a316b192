"""What a skill says of its task: metadata, extensions, signs of life, and why it has failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from dragoman import Agent, Context, Failed, Reply, SyncContext, TaskState, connect
from dragoman.errors import InternalError
from dragoman.model.messages import Message
from tests.scenarios.clients import WAYS, Way
from tests.scenarios.test_sensitive_input import contents
from tests.support.serving import Served, serving
from tests.support.wire import Wire, message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

TIMES = "https://ext.example/timestamps/v1"
runs: list[str] = []


def make_agent() -> Agent:
    """Return an agent that has something to say of its tasks."""
    agent = Agent("Clerk", "Keeps books.")

    @agent.skill
    async def annotate(ctx: Context, text: str) -> str:
        """Set metadata before and after a question."""
        await ctx.set_metadata({"cost": 1, "text": text})
        await ctx.set_metadata({"cost": 2})
        await ctx.ask("Go on?")
        return "done"

    @agent.skill
    def annotate_in_a_thread(ctx: SyncContext, text: str) -> str:
        """Do so in a thread."""
        ctx.heartbeat()
        ctx.set_metadata({"text": text})
        ctx.say("said", extensions=[TIMES])
        return "done"

    @agent.skill
    async def extend(ctx: Context, text: str) -> object:
        """Name extensions in all that is said."""
        await ctx.say("said", extensions=[TIMES])
        await ctx.artifact(text, extensions=[TIMES])
        await ctx.ask(Reply("asked", extensions=[TIMES]))
        return Reply("replied", extensions=[TIMES])

    @agent.skill
    async def beat(ctx: Context, text: str) -> str:
        """Give signs of life."""
        await ctx.heartbeat()
        await ctx.step(runs.append, text)
        await ctx.heartbeat()
        return text

    @agent.skill
    async def fail(text: str) -> str:
        """Fail, and say why."""
        raise Failed(f"No {text} today", {"code": 7}, metadata={"retry": False})

    @agent.skill
    async def fail_as_said(ctx: Context, text: str) -> str:
        """Fail with a message, and with nothing."""
        raise Failed(Reply(text, metadata={"retry": True}, extensions=[TIMES])) if text else Failed

    @agent.skill
    async def fail_directly(text: str) -> Reply:
        """Fail where there is no task."""
        raise Failed(f"No {text} today")

    return agent


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    """The agent, at work."""
    async with serving(make_agent()) as agent:
        yield agent


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_skill_sets_metadata_of_its_task(way: Way, served: Served) -> None:
    async with way.connect(served.url) as agent:
        asked = await agent.send("tea", skill="annotate")
        done = await asked.answer("yes")
        assert done.task is not None
        metadata = done.task.metadata or {}
        assert (metadata["cost"], metadata["text"]) == (2, "tea")
        done = await agent.send("tea", skill="annotate_in_a_thread")
        assert done.task is not None
        assert (done.task.metadata or {})["text"] == "tea"


async def test_streams_show_the_metadata_and_reads_have_it(served: Served) -> None:
    params = {"message": message("tea", metadata={"skillId": "annotate_in_a_thread"})}
    async with Wire(served.url) as wire:
        async with wire.rpc_stream("SendStreamingMessage", params) as events:
            frames = [frame.result async for frame in events]
        updates = [frame["statusUpdate"] for frame in frames if "statusUpdate" in frame]
        assert [update["metadata"] for update in updates if "metadata" in update] == [
            {"text": "tea"}
        ]
        task_id = frames[0]["task"]["id"]
        assert (await wire.result("GetTask", {"id": task_id}))["metadata"] == {"text": "tea"}
        (listed,) = (
            task for task in (await wire.result("ListTasks"))["tasks"] if task["id"] == task_id
        )
        assert listed["metadata"] == {"text": "tea"}


async def test_metadata_survives_a_restart_and_is_set_once(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/tasks.db"
    async with serving(make_agent(), store=store) as served, connect(served.url) as agent:
        asked = await agent.send("tea", skill="annotate")
    async with (
        serving(make_agent(), store=store) as served,
        connect(served.url) as agent,
        Wire(served.url) as wire,
    ):
        done = await agent.task(asked.task_id, asked.context_id).send("yes")
        assert done.task is not None
        assert done.task.metadata == {"cost": 2, "text": "tea"}
        cursor = {"Last-Event-ID": "1"}
        async with wire.rpc_stream("SubscribeToTask", {"id": asked.task_id}, **cursor) as events:
            frames = [frame.result async for frame in events]
    updates = [frame["statusUpdate"] for frame in frames if "statusUpdate" in frame]
    assert [update["metadata"]["cost"] for update in updates if "metadata" in update] == [1, 2]
    assert b'"cost":2' in contents(tmp_path)


async def test_messages_and_artifacts_name_extensions(served: Served) -> None:
    async with connect(served.url) as agent:
        asked = await agent.send("tea", skill="extend")
        assert asked.message is not None
        assert asked.message.extensions == (TIMES,)
        done = await asked.answer("yes")
    assert done.task is not None
    said = [each for each in done.task.history if each.role.value == "ROLE_AGENT"]
    assert {each.extensions for each in said} == {(TIMES,)}
    assert done.task.artifacts[0].extensions == (TIMES,)
    assert cast("Message", done.task.status.message).extensions == (TIMES,)


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_heartbeat_is_an_update_without_content(way: Way, served: Served) -> None:
    async with way.connect(served.url) as agent:
        states = [
            (event.state, event.parts)
            async for event in agent.stream("tea", skill="beat")
            if event.value.status_update is not None
        ]
    assert states.count((TaskState.WORKING, ())) >= 2


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_task_fails_with_words(way: Way, served: Served) -> None:
    async with way.connect(served.url) as agent:
        reply = await agent.send("bread", skill="fail")
    assert (reply.state, reply.text) == (TaskState.FAILED, "No bread today")
    assert reply.data == {"code": 7}
    assert reply.message is not None
    assert (reply.message.metadata or {})["retry"] is False


async def test_a_task_fails_with_a_status_message(served: Served) -> None:
    async with connect(served.url) as agent:
        reply = await agent.send("Later.", skill="fail_as_said")
        assert (reply.state, reply.text) == (TaskState.FAILED, "Later.")
        assert reply.message is not None
        assert reply.message.metadata == {"retry": True}
        assert reply.message.extensions == (TIMES,)
        reply = await agent.send("", skill="fail_as_said")
        assert (reply.state, reply.message) == (TaskState.FAILED, None)


async def test_without_a_task_a_failure_is_an_error(served: Served) -> None:
    async with connect(served.url) as agent:
        with pytest.raises(InternalError, match="No tea today"):
            await agent.send("tea", skill="fail_directly")
