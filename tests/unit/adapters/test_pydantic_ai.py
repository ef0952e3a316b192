from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pydantic_ai
import pytest
from pydantic import BaseModel
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from dragoman import Agent, Context, File, connect
from dragoman.adapters.notebook import Notebook
from dragoman.adapters.pydantic_ai import NotedConversations
from dragoman.errors import UsageError
from dragoman.model.tasks import TaskState
from dragoman.testing import pair, served
from tests.adapters.weather import scripted


class Forecast(BaseModel):
    degrees: int


@pytest.fixture
def history() -> Generator[NotedConversations]:
    notebook = Notebook("memory:")
    yield NotedConversations(notebook)
    notebook.close()


async def test_a_tool_call_is_a_status_and_the_answer_is_what_follows(
    history: NotedConversations,
) -> None:
    async with pair(Agent.from_pydantic_ai(scripted(), history=history)) as client:
        lines = [str(event) async for event in client.stream("weather")]
    assert lines[2:] == [
        "[working] Tool call: weather",
        "It",
        " is",
        " sunny in Rome",
        "[completed]",
    ]


async def test_a_context_remembers_and_others_do_not(history: NotedConversations) -> None:
    async with pair(Agent.from_pydantic_ai(scripted(), history=history)) as client:
        talk = client.conversation()
        assert (await talk.send("one")).text == "1: one"
        assert (await talk.send("two")).text == "2: one, two"
        assert (await client.send("three")).text == "1: three"


async def test_what_others_have_told_in_a_context_is_known(
    history: NotedConversations, tmp_path: Path
) -> None:
    plain = Agent("Clerk", "Notes.")

    @plain.skill
    async def note(text: str) -> str:
        return f"noted {text}"

    store = f"sqlite:///{tmp_path}/tasks.db"
    async with served(plain, store=store) as place, connect(place.url) as client:
        first = await client.send("one")
    agent = Agent.from_pydantic_ai(scripted(), history=history)
    async with served(agent, store=store) as place, connect(place.url) as client:
        second = await client.send("two", context_id=first.context_id)
        third = await client.send("three", context_id=first.context_id)
    assert second.text == "2: one, two"
    # From here on it is kept by the agent itself.
    assert third.text == "3: one, two, three"


async def test_what_is_refused_is_told_to_the_model_and_not_done(
    history: NotedConversations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    async with pair(Agent.from_pydantic_ai(scripted(), history=history)) as client:
        asked = await client.send("delete a.txt")
        assert asked.state is TaskState.INPUT_REQUIRED
        done = await asked.answer("no")
    assert done.text == "It is The tool call was denied."
    assert "deleted a.txt" not in (tmp_path / "notes").read_text()


async def test_a_tool_that_is_run_elsewhere_is_run_by_the_caller(
    history: NotedConversations,
) -> None:
    async with pair(Agent.from_pydantic_ai(scripted(), history=history)) as client:
        asked = await client.send("ask")
        assert asked.text == "Please run screen and tell me the result."
        assert asked.data == {"tool": "screen", "arguments": {}}
        assert (await asked.answer("blue")).text == "It is blue"


async def test_a_tool_that_the_caller_has_declared_is_run_by_its_client(
    history: NotedConversations,
) -> None:
    def screen() -> str:
        """Look at the screen."""
        return "green"

    agent = Agent.from_pydantic_ai(scripted(), history=history)
    async with served(agent) as place, connect(place.url, tools=[screen]) as client:
        assert (await client.send("ask")).text == "It is green"


async def test_a_typed_output_is_data(history: NotedConversations) -> None:
    made = pydantic_ai.Agent(TestModel(), output_type=Forecast, name="Typed")
    async with pair(Agent.from_pydantic_ai(made, history=history)) as client:
        assert (await client.send("hi")).data == {"degrees": 0}


async def test_dependencies_are_made_of_the_context(history: NotedConversations) -> None:
    made = pydantic_ai.Agent(TestModel(), deps_type=str, name="Typed")

    @made.tool
    def whoami(run: pydantic_ai.RunContext[str]) -> str:
        """Tell who calls."""
        return run.deps

    def deps(ctx: Context) -> str:
        return f"{ctx.user} in {ctx.context_id}"

    async with pair(Agent.from_pydantic_ai(made, history=history, deps=deps)) as client:
        reply = await client.send("hi", context_id="c-7")
    assert reply.text == '{"whoami":"anonymous in c-7"}'


async def test_files_and_data_reach_the_model(history: NotedConversations) -> None:
    seen: list[object] = []

    async def play(messages: list[ModelMessage], info: AgentInfo) -> AsyncGenerator[str]:
        del info
        (request,) = [each for each in messages if isinstance(each, ModelRequest)]
        seen.extend(part.content for part in request.parts if isinstance(part, UserPromptPart))
        yield "seen"

    made = pydantic_ai.Agent(FunctionModel(stream_function=play), name="Eyes")
    async with pair(Agent.from_pydantic_ai(made, history=history)) as client:
        picture = File(content=b"x", media_type="image/png")
        await client.send("look", picture.part(), {"zoom": 2})
    assert seen == [["look", BinaryContent(b"x", media_type="image/png"), '{"zoom":2}']]


def test_what_is_no_agent_or_has_no_name_is_refused() -> None:
    with pytest.raises(UsageError, match="no agent of pydantic-ai"):
        Agent.from_pydantic_ai("me")
    with pytest.raises(UsageError, match="has no name"):
        Agent.from_pydantic_ai(pydantic_ai.Agent(TestModel()))
