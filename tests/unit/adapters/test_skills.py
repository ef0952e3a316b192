import pytest

from dragoman import Agent, Context, Failed, InvalidParamsError, Message
from dragoman.adapters.skills import AdaptedSkill
from dragoman.model.cards import AgentSkill
from dragoman.model.tasks import TaskState
from dragoman.testing import pair

SKILL = AgentSkill(id="do", name="Do", description="Does.", tags=("do",))


async def do(ctx: Context, message: Message) -> str:
    del ctx
    raise Failed(f"No {message.parts[0].text} today", {"code": 7})


def no_soup(message: Message) -> None:
    if message.parts[0].text == "soup":
        raise InvalidParamsError.of("message.parts[0].text", "must not be soup")


async def test_a_failure_is_told_to_the_caller() -> None:
    agent = Agent("Cook", "Cooks.")
    agent.add_skill(AdaptedSkill(do, SKILL))
    async with pair(agent) as client:
        reply = await client.send("bread")
    assert reply.state is TaskState.FAILED
    assert reply.text == "No bread today"
    assert reply.data == {"code": 7}


async def test_a_message_is_checked_before_anything_is_stored() -> None:
    agent = Agent("Cook", "Cooks.")
    agent.add_skill(AdaptedSkill(do, SKILL, check=no_soup))
    async with pair(agent) as client:
        with pytest.raises(InvalidParamsError, match="must not be soup"):
            await client.send("soup")
        assert [task async for task in client.tasks()] == []


def test_a_schema_from_elsewhere_is_published() -> None:
    agent = Agent("Cook", "Cooks.")
    agent.add_skill(AdaptedSkill(do, SKILL, schema={"type": "object"}))
    assert agent.schemas == {"do": {"type": "object"}}
