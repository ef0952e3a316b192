"""The modes of a skill hold once it is known: named by the caller, or chosen by the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dragoman import Agent, Context, File, Message, connect
from dragoman.errors import ContentTypeNotSupportedError
from tests.scenarios.clients import WAYS, Way
from tests.support.serving import Served, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PICTURE = File(b"\1\2", name="a.png", media_type="image/png")


def make_agent() -> Agent:
    """Return an agent that takes text and pictures, each by another skill."""
    agent = Agent("Studio", "Reads and paints.")

    @agent.skill
    async def read(text: str) -> str:
        """Read a text."""
        return f"read {text}"

    @agent.skill(input_modes=["text/plain", "image/*"], output_modes=["image/png"])
    async def paint(ctx: Context, message: Message) -> File:
        """Paint."""
        del ctx, message
        return PICTURE

    @agent.skill
    async def count(text: str) -> dict[str, int]:
        """Count letters."""
        return {"letters": len(text)}

    @agent.route
    def choose(message: Message) -> str:
        return "paint" if message.parts[0].text == "paint" else "read"

    return agent


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    """The agent, at work."""
    async with serving(make_agent()) as agent:
        yield agent


@pytest.mark.requirement("R-3.1.1-1")
@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("skill", ["read", ""], ids=["named", "routed"])
async def test_a_skill_refuses_what_only_another_takes(
    way: Way, skill: str, served: Served
) -> None:
    async with way.connect(served.url) as agent:
        with pytest.raises(ContentTypeNotSupportedError):
            await agent.send("this", PICTURE, skill=skill)
        with pytest.raises(ContentTypeNotSupportedError):
            [event async for event in agent.stream("this", PICTURE, skill=skill)]
        taken = await agent.send("paint", PICTURE, skill=skill and "paint")
        assert taken.files[0].media_type == "image/png"


@pytest.mark.requirement("R-3.2.2-9")
@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("skill", ["paint", ""], ids=["named", "routed"])
async def test_a_skill_refuses_who_accepts_nothing_that_it_gives(
    way: Way, skill: str, served: Served
) -> None:
    async with way.connect(served.url) as agent:
        with pytest.raises(ContentTypeNotSupportedError):
            await agent.send("paint", skill=skill, accept=["text/plain"])
        for modes in (["image/*"], ["text/plain", "image/png"], ["*/*"]):
            reply = await agent.send("paint", skill=skill, accept=modes)
            assert reply.files[0].media_type == "image/png"


async def test_the_refusal_says_what_the_skill_takes(served: Served) -> None:
    async with connect(served.url) as agent:
        with pytest.raises(ContentTypeNotSupportedError, match=r"skill read takes text/plain$"):
            await agent.send("this", PICTURE)
        with pytest.raises(ContentTypeNotSupportedError, match="skill paint gives image/png"):
            await agent.send("paint", accept=["audio/*"])


async def test_data_is_written_as_text_for_who_accepts_that(served: Served) -> None:
    async with connect(served.url) as agent:
        assert (await agent.send("four", skill="count", accept=["text/plain"])).text == (
            '{"letters":4}'
        )
