"""A conversation is a context: what earlier tasks of it, and those referred to, are about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from dragoman import Agent, Context, SyncContext, connect
from dragoman.model.messages import text_of
from tests.scenarios.clients import WAYS, Way
from tests.scenarios.guarding import KEY_HEADER, Keys
from tests.support.serving import AgentProcess, Served, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

AGENT = """
from dragoman import Agent, Context
from dragoman.model.messages import text_of

agent = Agent("Memory", "Remembers.")

@agent.skill
async def note(text: str) -> str:
    return f"noted {text}"

@agent.skill
async def recite(ctx: Context, text: str) -> str:
    said = [text_of(message.parts) for message in await ctx.conversation()]
    named = [task.id for task in await ctx.related()]
    await ctx.ask("Go on?")
    return f"{said} {len(named)}"
"""


def make_agent(**options: object) -> Agent:
    """Return an agent that remembers."""
    agent = Agent("Memory", "Remembers.", **options)  # type: ignore[arg-type] # of a test

    @agent.skill
    async def note(text: str) -> str:
        """Note something."""
        return f"noted {text}"

    @agent.skill
    async def recite(ctx: Context, text: str) -> dict[str, object]:
        """Tell what is known."""
        limit = int(text) if text.isdigit() else 50
        said = await ctx.conversation(limit)
        return {
            "said": [f"{m.role.name} {text_of(m.parts)}" for m in said],
            "related": [task.id for task in await ctx.related()],
        }

    @agent.skill
    def recite_in_a_thread(ctx: SyncContext, text: str) -> str:
        """Do so in a thread."""
        return f"{text} {len(ctx.conversation())} {len(ctx.related())}"

    @agent.skill
    async def recite_in_a_step(ctx: Context, text: str) -> int:
        """Do so within a step, which records what it makes of it."""

        async def count() -> int:
            return len(await ctx.conversation()) + len(text)

        return await ctx.step(count)

    return agent


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    """The agent, at work."""
    async with serving(make_agent()) as agent:
        yield agent


@pytest.mark.requirement("R-3.4.1-9")
@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_skill_sees_the_earlier_tasks_of_its_context(way: Way, served: Served) -> None:
    async with way.connect(served.url) as agent:
        first = await agent.send("one", skill="note")
        await first.answer("two", skill="note")
        await agent.send("elsewhere", skill="note")
        known = (await first.answer("tell", skill="recite")).data
    assert isinstance(known, dict)
    assert known["said"] == ["USER one", "AGENT noted one", "USER two", "AGENT noted two"]


async def test_the_newest_tasks_come_within_the_bound(served: Served) -> None:
    async with connect(served.url) as agent:
        first = await agent.send("one", skill="note")
        await first.answer("two", skill="note")
        known = (await first.answer("2", skill="recite")).data
        assert isinstance(known, dict)
        assert known["said"] == ["USER two", "AGENT noted two"]
        known = (await first.answer("0", skill="recite")).data
        assert isinstance(known, dict)
        assert known["said"] == []


async def test_more_tasks_than_a_page_are_seen(served: Served) -> None:
    async with connect(served.url) as agent:
        first = await agent.send("0", skill="note")
        for number in range(1, 55):
            await first.answer(f"{number}", skill="note")
        known = (await first.answer("108", skill="recite")).data
    assert isinstance(known, dict)
    said = cast("list[str]", known["said"])
    assert (len(said), said[0]) == (108, "USER 1")


async def test_the_tasks_that_are_referred_to_are_seen(served: Served) -> None:
    async with connect(served.url) as agent:
        first = await agent.send("one", skill="note")
        second = await agent.send("two", skill="note")
        ids = (second.task_id, "nobodys", first.task_id)
        known = (await agent.send("tell", skill="recite", reference_task_ids=ids)).data
    assert isinstance(known, dict)
    assert known["related"] == [second.task_id, first.task_id]


async def test_the_tasks_of_another_owner_are_not_seen() -> None:
    agent = make_agent(auth=[Keys()])
    async with (
        serving(agent) as served,
        connect(served.url, headers={KEY_HEADER: "key-of-ada"}) as ada,
        connect(served.url, headers={KEY_HEADER: "key-of-bob"}) as bob,
    ):
        hers = await ada.send("secret", skill="note")
        his = await bob.send(
            "tell",
            skill="recite",
            context_id=hers.context_id,
            reference_task_ids=(hers.task_id,),
        )
    assert his.data == {"said": [], "related": []}


async def test_plain_functions_and_steps_see_them_too(served: Served) -> None:
    async with connect(served.url) as agent:
        first = await agent.send("one", skill="note")
        assert (await first.answer("seen", skill="recite_in_a_thread")).text == "seen 2 1"
        assert (await first.answer("x", skill="recite_in_a_step")).data == 5


async def test_what_was_seen_is_the_same_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "agent.py"
    path.write_text(AGENT)
    with AgentProcess(path, "--store", f"sqlite:///{tmp_path}/tasks.db") as process:
        async with connect(process.url) as agent:
            first = await agent.send("one", skill="note")
            asked = await first.answer("tell", skill="recite")
            process.kill()
        process.start()
        async with connect(process.url) as agent:
            # Meanwhile another has been there, of which the first run has not known.
            await agent.send("two", skill="note", context_id=first.context_id)
            done = await agent.task(asked.task_id, asked.context_id).send("yes")
    assert done.text == "['one', 'noted one'] 1"
