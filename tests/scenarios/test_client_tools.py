"""Tools that live with the caller: declared, asked for, run, answered, in every version."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

import pytest

from dragoman import (
    Agent,
    AgentReply,
    Context,
    RemoteAgent,
    SyncContext,
    TaskState,
    ToolError,
    connect,
    connect_sync,
)
from dragoman.agent.agent import Agent as AnyAgent
from dragoman.client.tools.tool import Tool
from dragoman.errors import InvalidParamsError
from dragoman.extensions.agent_tools.exchange import ToolResult, ToolUse
from dragoman.model.client_tools import CLIENT_TOOLS
from dragoman.testing import FakeClock, pair, served_sync
from tests.scenarios.clients import WAYS, Way
from tests.support.serving import serving
from tests.support.tracing import Traced

BACKGROUND: Final = 4
"""What sleeps in every server: heartbeats, rounds, housekeeping and the sender of notifications."""

FILES: Final = {"a.txt": "alpha", "b.txt": "beta"}


async def read_file(path: str) -> str:
    """Read a file."""
    return FILES[path]


def word_count(text: str) -> int:
    """Count words."""
    return len(text.split())


def reader() -> Agent:
    """Return an agent that works with the caller's files."""
    agent = Agent("Reader", "Reads the caller's files.")

    @agent.skill
    async def one(ctx: Context, text: str) -> dict[str, object]:
        """Read one."""
        return {"content": await ctx.use_tool("read_file", {"path": text})}

    @agent.skill
    async def both(ctx: Context, text: str) -> list[object]:
        """Read two with one question."""
        uses: list[tuple[str, dict[str, object]]] = [
            ("read_file", {"path": path}) for path in text.split()
        ]
        return [
            f"failed: {each}" if isinstance(each, ToolError) else each
            for each in await ctx.use_tools(uses)
        ]

    @agent.skill
    async def gathered(ctx: Context, text: str) -> list[object]:
        """Read two, each in a branch of its own, twice."""

        async def read(path: str) -> object:
            first = await ctx.use_tool("read_file", {"path": path})
            return first, await ctx.use_tool("read_file", {"path": path})

        return list(await ctx.gather(*(read(path) for path in text.split())))

    @agent.skill
    def plain(ctx: SyncContext, text: str) -> object:
        """Read one in a thread, and count its words."""
        content = ctx.use_tool("read_file", {"path": text})
        (count,) = ctx.use_tools([("word_count", {"text": content})])
        return {"content": content, "count": count}

    @agent.skill
    async def names(ctx: Context, text: str) -> list[str]:
        """Tell which tools there are."""
        return [tool.name for tool in ctx.tools]

    @agent.skill
    async def careful(ctx: Context, text: str) -> str:
        """Do without what does not come."""
        return str(await ctx.use_tool("read_file", {"path": text}, timeout=5, default="nothing"))

    @agent.skill
    async def strict(ctx: Context, text: str) -> str:
        """Not do without."""
        return str(await ctx.use_tool("read_file", {"path": text}, timeout=5))

    return agent


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_tool_is_run_when_the_agent_asks_for_it(way: Way) -> None:
    async with (
        serving(reader()) as served,
        way.connect(served.url, tools=[read_file, word_count]) as agent,
    ):
        assert (await agent.send("a.txt", skill="one")).data == {"content": "alpha"}
        assert (await agent.send("a.txt b.txt", skill="both")).data == ["alpha", "beta"]
        names = (await agent.send("?", skill="names")).data
    assert names == ["read_file", "word_count"]


async def test_the_question_is_seen_by_who_follows() -> None:
    async with pair(reader(), tools=[read_file]) as agent:
        async with agent.stream("a.txt", skill="one") as stream:
            told = [event async for event in stream]
        states = [event.state for event in told if event.kind == "status"]
        assert states == [
            TaskState.WORKING,
            TaskState.INPUT_REQUIRED,
            TaskState.WORKING,
            TaskState.COMPLETED,
        ]
        (asked,) = [event for event in told if event.state is TaskState.INPUT_REQUIRED]
        assert asked.text == 'Please run the tool read_file with {"path":"a.txt"}'
        assert stream.reply.data == {"content": "alpha"}


async def test_a_task_that_was_begun_elsewhere_gets_its_tools_too() -> None:
    async with pair(reader(), tools=[read_file]) as agent:
        begun = await agent.start("a.txt", skill="one")
        assert (await agent.task(begun.task_id).wait()).data == {"content": "alpha"}


async def test_branches_ask_one_after_the_other() -> None:
    async with pair(reader(), tools=[read_file]) as agent:
        reply = await agent.send("a.txt b.txt", skill="gathered")
    assert reply.data == [["alpha", "alpha"], ["beta", "beta"]]


async def test_a_plain_function_may_use_tools() -> None:
    async with pair(reader(), tools=[read_file, word_count]) as agent:
        reply = await agent.send("a.txt", skill="plain")
    assert reply.data == {"content": "alpha", "count": 1}


def test_a_program_that_blocks_has_tools_too() -> None:
    with served_sync(reader()) as place, connect_sync(place.url, tools=[read_file]) as agent:
        assert agent.send("b.txt", skill="one").data == {"content": "beta"}


async def test_what_has_failed_is_told_and_the_rest_counts() -> None:
    async with pair(reader(), tools=[read_file]) as agent:
        reply = await agent.send("a.txt nowhere", skill="both")
    assert reply.data == ["alpha", "failed: KeyError: 'nowhere'"]


async def test_what_nobody_catches_fails_the_task_honestly() -> None:
    async with pair(reader(), tools=[read_file]) as agent:
        reply = await agent.send("nowhere", skill="one")
        assert (reply.state, reply.text) == (TaskState.FAILED, "KeyError: 'nowhere'")
        assert reply.message is not None
        assert reply.message.metadata == {
            CLIENT_TOOLS: {"failure": {"reason": "tool-execution-failed", "tool": "read_file"}}
        }


async def test_the_user_may_refuse() -> None:
    seen: list[ToolUse] = []

    async def approve(use: ToolUse) -> bool:
        seen.append(use)
        return use.input["path"] != "b.txt"

    async with pair(reader(), tools=[read_file], approve=approve) as agent:
        reply = await agent.send("a.txt b.txt", skill="both")
    assert reply.data == ["alpha", "failed: The user does not allow read_file"]
    assert [use.name for use in seen] == ["read_file", "read_file"]


async def test_without_the_tool_the_agent_is_told_at_once() -> None:
    async with pair(reader()) as agent:
        reply = await agent.send("a.txt", skill="one")
    assert (reply.state, reply.text) == (TaskState.FAILED, "The caller has no tool 'read_file'")


# --- answers by hand ----------------------------------------------------------------------------


def _declared() -> dict[str, Any]:
    return {CLIENT_TOOLS: {"tools": [_builtin(Tool(read_file))]}}


def _builtin(tool: Tool) -> dict[str, object]:
    declared = tool.declared
    return {
        "name": declared.name,
        "description": declared.description,
        "parameters": declared.parameters,
    }


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_words_answer_the_only_tool(way: Way) -> None:
    async with serving(reader()) as served, way.connect(served.url) as agent:
        asked = await agent.send("x", skill="one", metadata=_declared())
        (use,) = asked.tool_uses
        assert (use.name, use.input) == ("read_file", {"path": "x"})
        assert (await asked.answer("by hand")).data == {"content": "by hand"}


async def test_an_answer_that_does_not_fit_is_refused_and_the_task_waits_on() -> None:
    async with pair(reader()) as agent:
        asked = await agent.send("x y", skill="both", metadata=_declared())
        first, second = asked.tool_uses
        stray = ToolResult(tool_use_id="nobody", result=1)
        for parts in (
            ["words for two"],
            [ToolResult(tool_use_id=first.tool_use_id, result=1).part()],
            [stray.part()],
        ):
            with pytest.raises(InvalidParamsError):
                await asked.answer(*parts)
        results = [
            ToolResult(tool_use_id=use.tool_use_id, result=use.input) for use in (first, second)
        ]
        done = await asked.answer(*(result.part() for result in results))
        assert done.data == [{"path": "x"}, {"path": "y"}]


async def test_a_result_that_nobody_waits_for_begins_nothing() -> None:
    stray = ToolResult(tool_use_id="nobody", result=1).part()
    async with pair(reader()) as agent:
        with pytest.raises(InvalidParamsError, match="'nobody', too late"):
            await agent.send(stray, skill="one")
        assert [reply async for reply in agent.tasks()] == []


@pytest.mark.parametrize(
    ("tools", "fault"),
    [
        ([_builtin(Tool(read_file))] * 2, "Duplicate tool names: read_file"),
        ([{**_builtin(Tool(read_file)), "name": "read file"}], "name must be"),
        ("read_file", "is no list of tools"),
    ],
)
async def test_a_declaration_that_breaks_a_rule_is_refused(tools: object, fault: str) -> None:
    async with pair(reader()) as agent:
        with pytest.raises(InvalidParamsError, match=fault):
            await agent.send("x", skill="one", metadata={CLIENT_TOOLS: {"tools": tools}})


# --- time ---------------------------------------------------------------------------------------


async def test_the_agent_goes_on_without_what_does_not_come() -> None:
    clock = FakeClock()
    async with pair(reader(), clock=clock) as agent:
        asked = await agent.send("x", skill="careful", metadata=_declared())
        (use,) = asked.tool_uses
        await clock.until_asleep(BACKGROUND + 1)
        clock.advance(5)
        done = await _ended(agent)
        assert (done.state, done.text) == (TaskState.COMPLETED, "nothing")
        assert done.task is not None
        assert "Continuing without read_file" in [m.parts[0].text for m in done.task.history]
        late = ToolResult(tool_use_id=use.tool_use_id, result="late").part()
        begun = await agent.start("y", skill="strict", metadata=_declared())
        await agent.task(begun.task_id).wait()
        with pytest.raises(InvalidParamsError, match="nobody waits for"):
            await agent.task(begun.task_id).send(late)


async def test_the_task_fails_for_what_does_not_come() -> None:
    clock = FakeClock()
    async with pair(reader(), clock=clock) as agent:
        await agent.send("x", skill="strict", metadata=_declared())
        await clock.until_asleep(BACKGROUND + 1)
        clock.advance(5)
        done = await _ended(agent)
    assert done.state is TaskState.FAILED
    assert done.text == "The caller has not run read_file in the time given for it"
    assert done.message is not None
    assert done.message.metadata == {
        CLIENT_TOOLS: {"failure": {"reason": "input-timeout", "timeoutSeconds": 5.0}}
    }


async def test_a_tool_that_takes_too_long_is_not_waited_for() -> None:
    clock = FakeClock()
    running, released = asyncio.Event(), asyncio.Event()

    async def slow(path: str) -> str:
        """Take long."""
        running.set()
        await released.wait()
        return path

    async with pair(reader(), clock=clock, tools=[Tool(slow, name="read_file")]) as agent:
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(agent.send("x", skill="careful"))
            await running.wait()
            await clock.until_asleep(BACKGROUND + 1)
            clock.advance(5)
            await _ended(agent)
            released.set()
        assert sending.result().text == "nothing"


async def _ended(agent: RemoteAgent) -> AgentReply:
    """Wait until a task has ended by itself, and return it."""
    async with asyncio.timeout(10):
        while True:
            async for reply in agent.tasks(include_artifacts=True, history_length=100):
                if reply.state is not None and reply.state.is_terminal:
                    return reply
            await asyncio.sleep(0.01)


# --- crashes, children, traces ------------------------------------------------------------------


async def test_a_server_that_stops_meanwhile_asks_under_the_same_id(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/tasks.db"
    async with serving(reader(), store=store) as served, connect(served.url) as agent:
        asked = await agent.send("x y", skill="gathered", metadata=_declared())
        (use,) = asked.tool_uses
    tools = [Tool(_echo, name="read_file")]
    async with (
        serving(reader(), store=store) as served,
        connect(served.url, tools=tools) as agent,
    ):
        task = agent.task(asked.task_id)
        (again,) = (await task.get()).tool_uses
        assert again == use
        assert (await task.wait()).data == [["<x>", "<x>"], ["<y>", "<y>"]]


async def _echo(path: str) -> str:
    """Say what is to be read."""
    return f"<{path}>"


def desk(child: AnyAgent, *, passes: bool) -> Agent:
    """Return an agent that has another one do the work."""
    agent = Agent("Desk", "Passes on.")

    @agent.skill
    async def ask(ctx: Context, text: str) -> str:
        """Have it read."""
        return str((await ctx.call(child, text, skill="one", pass_tools=passes)).data)

    return agent


async def test_a_child_may_be_lent_the_tools_of_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DRAGOMAN_STORE", "memory:")
    async with pair(desk(reader(), passes=True), tools=[read_file]) as agent:
        assert (await agent.send("a.txt")).text == "{'content': 'alpha'}"


async def test_a_child_has_no_tools_unless_they_are_lent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_STORE", "memory:")
    async with pair(desk(reader(), passes=False), tools=[read_file]) as agent:
        reply = await agent.send("a.txt")
    assert reply.state is TaskState.FAILED


async def test_a_tool_is_a_span(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = Traced()
    monkeypatch.setattr("dragoman.telemetry.active", traced.telemetry)
    async with pair(reader(), tools=[read_file]) as agent:
        await agent.send("a.txt", skill="one")
    span = traced.one("execute_tool read_file")
    assert traced.parent_of(span) == "invoke_agent one"
