"""What a question asks for is taken, whatever else the agent takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import pytest

from dragoman import Agent, Context, File, Message, connect
from dragoman.errors import ContentTypeNotSupportedError
from tests.scenarios.clients import WAYS, Way
from tests.support.serving import Served, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SOUND = File(b"\1\2", name="a.wav", media_type="audio/wav")


class Trip(TypedDict):
    """Where to."""

    city: str


def make_agent() -> Agent:
    """Return an agent that takes text, and asks for other things."""
    agent = Agent("Clerk", "Asks.")

    @agent.skill
    async def form(ctx: Context, text: str) -> str:
        """Ask for a form."""
        return f"{text} to {(await ctx.ask('Where to?', Trip))['city']}"

    @agent.skill
    async def file(ctx: Context, text: str) -> str:
        """Ask for a file."""
        return f"{text} {(await ctx.ask('Which one?', File)).media_type}"

    @agent.skill
    async def anything(ctx: Context, text: str) -> str:
        """Ask for a message."""
        return f"{text} {len((await ctx.ask('What?', Message)).parts)} parts"

    @agent.skill
    async def authorize(ctx: Context, text: str) -> str:
        """Ask for an authorization."""
        return f"{text} {(await ctx.require_auth('Who are you?')).parts[0].data}"

    @agent.skill
    async def word(ctx: Context, text: str) -> str:
        """Ask for a word."""
        return f"{text} {await ctx.ask('Say it')}"

    return agent


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    """The agent, at work."""
    async with serving(make_agent()) as agent:
        yield agent


@pytest.mark.requirement("R-3.1.1-1")
@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize(
    ("skill", "answer", "text"),
    [
        ("form", {"city": "Rome"}, "go to Rome"),
        ("file", SOUND, "go audio/wav"),
        ("anything", SOUND, "go 1 parts"),
        ("authorize", {"token": "t"}, "go {'token': 't'}"),
    ],
)
async def test_what_a_question_asks_for_is_taken(
    way: Way, skill: str, answer: object, text: str, served: Served
) -> None:
    async with way.connect(served.url) as agent:
        asked = await agent.send("go", skill=skill)
        assert (await asked.answer(answer)).text == text


@pytest.mark.requirement("R-3.1.1-1")
@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_what_a_question_does_not_ask_for_is_refused(way: Way, served: Served) -> None:
    async with way.connect(served.url) as agent:
        asked = await agent.send("go", skill="word")
        with pytest.raises(ContentTypeNotSupportedError):
            await asked.answer(SOUND)
        assert (await asked.answer("abracadabra")).text == "go abracadabra"


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_message_that_answers_nothing_is_checked(way: Way, served: Served) -> None:
    async with way.connect(served.url) as agent:
        with pytest.raises(ContentTypeNotSupportedError):
            await agent.send("go", SOUND, skill="file")


async def test_an_agent_passes_on_whatever_another_asks_for(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_STORE", "memory:")
    desk = Agent("Desk", "Passes on.")

    @desk.skill
    async def ask_clerk(ctx: Context, text: str) -> str:
        """Have the clerk do it."""
        return (await ctx.call(served.url, text, skill="file")).text

    async with serving(desk) as front, connect(front.url) as agent:
        asked = await agent.send("go")
        assert (await asked.answer(SOUND)).text == "go audio/wav"
