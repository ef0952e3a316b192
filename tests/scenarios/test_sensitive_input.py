"""Answers that must not be seen: not in the store, not in the log, not in any answer of ours."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from enum import Enum
from pathlib import Path
from typing import Final, cast

import pytest

from dragoman import Agent, AgentReply, Context, TaskState, connect
from dragoman.client.agent import RemoteAgent
from dragoman.errors import InvalidParamsError
from dragoman.extensions.agent_tools.exchange import ToolResult
from dragoman.model.client_tools import CLIENT_TOOLS
from dragoman.server.tasks.secrets import PLACEHOLDER
from dragoman.testing import pair
from tests.scenarios.clients import WAYS, Way
from tests.scenarios.webhooks import INNER, TOKEN, hooked
from tests.support.serving import Served, serving
from tests.support.tracing import Traced
from tests.support.wire import Wire

SECRET: Final = "-".join(("correct", "horse", "battery"))
WRONG: Final = "not-a-colour-but-secret"


class Colour(Enum):
    """What may be chosen."""

    RED = "red"


def keeper() -> Agent:
    """Return an agent that asks for secrets and never tells them."""
    agent = Agent("Keeper", "Keeps secrets.")

    @agent.skill
    async def unlock(ctx: Context, text: str) -> str:
        """Ask for a key, and then whether to go on."""
        key = await ctx.ask("Your key?", sensitive=True)
        assert ctx.message.parts[0].text == PLACEHOLDER
        assert all(SECRET not in str(message) for message in ctx.history)
        if text == "ask on":
            await ctx.ask("Go on?")
        return f"a key of {len(key)} characters, {'good' if key == SECRET else 'bad'}"

    @agent.skill
    async def choose(ctx: Context, text: str) -> str:
        """Ask for a secret of a kind."""
        colour = await ctx.ask(text, Colour, sensitive=True, tries=2)
        return colour.name

    @agent.skill
    async def enter(ctx: Context, text: str) -> str:
        """Ask for credentials, and then whether to go on."""
        shown = await ctx.require_auth("Your token?", sensitive=text != "in the open")
        await ctx.ask("Go on?")
        return "welcome" if shown.parts[0].data == {"token": SECRET} else "no"

    return agent


def contents(directory: Path) -> bytes:
    """Return all that is in the files of a store."""
    return b"".join(path.read_bytes() for path in sorted(directory.iterdir()) if path.is_file())


def secrets_in(database: Path) -> int:
    """Count what is kept in secret."""
    with closing(sqlite3.connect(database)) as connection:
        return int(connection.execute("SELECT count(*) FROM secrets").fetchone()[0])


@pytest.fixture
async def served(tmp_path: Path) -> AsyncGenerator[Served]:
    """The agent on a store of its own."""
    async with serving(keeper(), store=f"sqlite:///{tmp_path}/tasks.db") as served:
        yield served


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("by_name", [True, False], ids=["by its name", "in words"])
async def test_a_secret_is_nowhere(
    way: Way,
    by_name: bool,  # noqa: FBT001 - a parameter of the test
    served: Served,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.DEBUG)
    traced = Traced()
    monkeypatch.setattr("dragoman.telemetry.active", traced.telemetry)
    async with way.connect(served.url) as agent:
        asked = await agent.send("ask on", skill="unlock")
        if by_name:
            assert asked.input_request is not None
            assert asked.input_request.sensitive
            again = await asked.answer(SECRET)
        else:
            again = await agent.task(asked.task_id, asked.context_id).send(SECRET)
        assert again.text == "Go on?"
        assert secrets_in(tmp_path / "tasks.db") == 1
        assert SECRET.encode() not in contents(tmp_path)
        done = await again.answer("yes")
        assert done.text == f"a key of {len(SECRET)} characters, good"
        told = [str(done.outcome)]
        told += [str(each.outcome) async for each in _listed(agent, way)]
    told += await _everything(served.url, asked.task_id)
    assert any(PLACEHOLDER in each for each in told)
    for text in (*told, caplog.text, *(span.to_json() for span in traced.spans)):
        assert SECRET not in text
    assert SECRET.encode() not in contents(tmp_path)
    assert secrets_in(tmp_path / "tasks.db") == 0


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_what_answers_require_auth_is_a_secret(
    way: Way, served: Served, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with way.connect(served.url) as agent:
        asked = await agent.send("go", skill="enter")
        again = await asked.answer({"token": SECRET})
        assert again.text == "Go on?"
        assert secrets_in(tmp_path / "tasks.db") == 1
        assert SECRET.encode() not in contents(tmp_path)
        done = await again.answer("yes")
    assert done.text == "welcome"
    told = await _everything(served.url, asked.task_id)
    assert any(PLACEHOLDER in each for each in told)
    for text in (*told, str(done.outcome), caplog.text):
        assert SECRET not in text
    assert SECRET.encode() not in contents(tmp_path)
    assert secrets_in(tmp_path / "tasks.db") == 0


async def test_an_authorization_may_be_no_secret(served: Served, tmp_path: Path) -> None:
    async with connect(served.url) as agent:
        asked = await agent.send("in the open", skill="enter")
        again = await asked.answer({"token": SECRET})
        assert secrets_in(tmp_path / "tasks.db") == 0
        assert SECRET in str((await again.answer("yes")).outcome)


async def test_webhooks_are_told_no_secret(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/tasks.db"
    events = ("states", "artifacts", "messages")
    async with (
        hooked() as hook,
        serving(keeper(), store=store, push_events=events, **INNER) as served,
        Wire(served.url) as wire,
        connect(served.url) as agent,
    ):
        asked = await agent.send("go", skill="enter")
        config = {"taskId": asked.task_id, "url": hook.url, "token": TOKEN}
        await wire.result("CreateTaskPushNotificationConfig", config)
        again = await asked.answer({"token": SECRET})
        await again.answer("yes")
        await hook.until_end()
    assert hook.posts
    assert all(SECRET not in json.dumps(post.body) for post in hook.posts)


async def test_another_agent_is_authorized_through_its_parent(tmp_path: Path) -> None:
    parent = Agent("Desk", "Passes on.")
    child = keeper()

    @parent.skill
    async def desk(ctx: Context, text: str) -> str:
        """Have it entered."""
        return (await ctx.call(front.url, text, skill="enter")).text

    store = f"sqlite:///{tmp_path}/parent.db"
    async with (
        serving(child, store="memory:") as front,
        serving(parent, store=store) as served,
        connect(served.url) as agent,
    ):
        asked = await agent.send("go")
        again = await asked.answer({"token": SECRET})
        assert SECRET.encode() not in contents(tmp_path)
        done = await again.answer("yes")
    assert done.text == "welcome"
    assert SECRET not in str(done.outcome)


async def _listed(agent: RemoteAgent, way: Way) -> AsyncGenerator[AgentReply]:
    if way.is_new:
        async for reply in agent.tasks(history_length=100, include_artifacts=True):
            yield reply


async def _everything(url: str, task_id: str) -> list[str]:
    """Return all that the server tells of a task, in 1.0."""
    async with Wire(url) as wire:
        task = await wire.result("GetTask", {"id": task_id, "historyLength": 100})
        tasks = await wire.result("ListTasks", {"historyLength": 100, "includeArtifacts": True})
        async with wire.rpc_stream(
            "SubscribeToTask", {"id": task_id}, **{"Last-Event-ID": "1"}
        ) as events:
            told = [json.dumps(frame.data) async for frame in events]
    return [json.dumps(task), json.dumps(tasks), *told]


async def test_a_secret_is_found_again_after_a_restart(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/tasks.db"
    async with serving(keeper(), store=store) as served, connect(served.url) as agent:
        asked = await agent.send("ask on", skill="unlock")
        again = await asked.answer(SECRET)
    async with serving(keeper(), store=store) as served, connect(served.url) as agent:
        done = await agent.task(again.task_id, again.context_id).send("yes")
    assert done.text == f"a key of {len(SECRET)} characters, good"


async def test_with_another_key_the_task_fails_and_tells_nothing(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/tasks.db"
    async with serving(keeper(), store=store) as served, connect(served.url) as agent:
        again = await (await agent.send("ask on", skill="unlock")).answer(SECRET)
    other = str(tmp_path / "other.key")
    async with (
        serving(keeper(), store=store, secrets_key=other) as served,
        connect(served.url) as agent,
    ):
        done = await agent.task(again.task_id, again.context_id).send("yes")
    assert done.state is TaskState.FAILED
    assert done.text.startswith("The agent failed. Error id: ")


async def test_a_repeated_answer_is_known_for_the_same(served: Served, tmp_path: Path) -> None:
    async with connect(served.url) as agent:
        asked = await agent.send("ask on", skill="unlock")
        first = await asked.answer(SECRET, message_id="answer-1")
        second = await asked.answer(SECRET, message_id="answer-1")
        assert (first.text, second.text) == ("Go on?", "Go on?")
        done = await second.answer("yes")
    assert done.task is not None
    assert [m.message_id for m in done.task.history].count("answer-1") == 1
    assert SECRET.encode() not in contents(tmp_path)


async def test_an_answer_by_name_that_comes_late_is_refused(served: Served, tmp_path: Path) -> None:
    async with connect(served.url) as agent:
        asked = await agent.send("ask on", skill="unlock")
        assert asked.input_request is not None
        await asked.answer(SECRET)
        late = ToolResult(tool_use_id=asked.input_request.request_id, result=SECRET)
        with pytest.raises(InvalidParamsError):
            await agent.task(asked.task_id, asked.context_id).send(late.part())
    assert SECRET.encode() not in contents(tmp_path)


async def test_what_is_wrong_with_a_secret_is_not_told(
    served: Served, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with connect(served.url) as agent:
        asked = await agent.send("Which?", skill="choose")
        again = await asked.answer(WRONG)
        assert again.text == "The answer does not fit what was asked for\nWhich?"
        done = await again.answer(WRONG)
    assert (done.state, done.text) == (
        TaskState.FAILED,
        "The answer does not fit what was asked for",
    )
    assert WRONG not in str(done.outcome)
    assert WRONG not in caplog.text
    assert WRONG.encode() not in contents(tmp_path)
    assert secrets_in(tmp_path / "tasks.db") == 0


async def test_a_canceled_task_leaves_no_secrets(served: Served, tmp_path: Path) -> None:
    async with connect(served.url) as agent:
        again = await (await agent.send("ask on", skill="unlock")).answer(SECRET)
        assert secrets_in(tmp_path / "tasks.db") == 1
        await agent.cancel(again.task_id)
    assert secrets_in(tmp_path / "tasks.db") == 0


async def test_a_child_may_ask_for_a_secret_through_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DRAGOMAN_STORE", "memory:")
    child = keeper()
    parent = Agent("Desk", "Passes on.")

    @parent.skill
    async def desk(ctx: Context, text: str) -> str:
        """Have it unlocked."""
        return (await ctx.call(child, text, skill="unlock")).text

    async with pair(parent) as agent:
        asked = await agent.send("go")
        assert asked.input_request is not None
        assert asked.input_request.sensitive
        done = await asked.answer(SECRET)
    assert done.text == f"a key of {len(SECRET)} characters, good"
    assert SECRET not in str(done.outcome)


async def test_the_question_says_that_it_wants_a_secret() -> None:
    async with pair(keeper()) as agent:
        asked = await agent.send("go", skill="unlock")
    assert asked.message is not None
    assert asked.message.metadata is not None
    entry = cast("dict[str, dict[str, object]]", asked.message.metadata[CLIENT_TOOLS])
    request = entry["inputRequest"]
    assert (request["prompt"], request["sensitive"]) == ("Your key?", True)
    assert request["kind"] == "input-request"
    assert request["requestId"]
