"""Children as the journal has them; what they do is in the scenarios."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from dragoman import Agent, Context
from dragoman.agent.children import CallOptions, Child, cancel_children
from dragoman.agent.lineage import lineage_of, sub_task_of
from dragoman.agent.peers import Peers
from dragoman.client.client import RemoteAgent
from dragoman.client.reply import ReplyView
from dragoman.model.messages import Message
from dragoman.model.tasks import TaskState
from dragoman.testing import pair
from tests.unit.agent.remembering import RememberingTurn


def hotels() -> Agent:
    """Return an agent that asks."""
    agent = Agent("Hotels", "Finds hotels.")

    @agent.skill
    async def find(ctx: Context, text: str) -> str:
        """Ask once."""
        return f"{text}: {await ctx.ask('Stars?')}"

    @agent.skill
    async def forever(text: str) -> str:
        """Never end."""
        await asyncio.Event().wait()
        return text

    return agent


@pytest.fixture
async def remote() -> AsyncIterator[RemoteAgent]:
    """An agent to call."""
    async with pair(hotels()) as client:
        yield client


async def call(turn: RememberingTurn, remote: RemoteAgent, skill: str = "") -> ReplyView:
    """Call it, as a context does."""
    peers = Peers("Travel")

    async def ask(message: Message, is_auth: bool) -> Message:  # noqa: FBT001 - as children do
        return await turn.ask(message, is_auth=is_auth)

    child = Child(
        turn,
        peers,
        peers.name(remote),
        CallOptions(skill=skill),
        ask=ask,
        say=turn.say,
    )
    return await child.run(("Rome",))


async def tasks_of(remote: RemoteAgent) -> list[ReplyView]:
    """Return what the called agent has."""
    return [reply async for reply in remote.tasks(history_length=10)]


async def test_a_turn_that_runs_again_makes_no_second_child(remote: RemoteAgent) -> None:
    turn = RememberingTurn(answers=["four"])
    assert (await call(turn, remote)).text == "Rome: four"
    again = turn.again()
    assert (await call(again, remote)).text == "Rome: four"
    assert again.asked == []
    (child,) = await tasks_of(remote)
    assert child.task is not None
    begun = child.task.history[0]
    assert begun.reference_task_ids == ("task-1",)
    assert lineage_of(begun.metadata).path == ("Travel",)


@pytest.mark.parametrize("kept", range(5))
async def test_wherever_it_was_cut_off_it_is_the_same_child(remote: RemoteAgent, kept: int) -> None:
    turn = RememberingTurn(answers=["four"])
    await call(turn, remote)
    assert [entry.kind for entry in turn.journal] == ["call", "call.next", "ask", "call.next"]
    del turn.journal[kept:]
    again = turn.again(["four"])
    assert (await call(again, remote)).text == "Rome: four"
    assert len(await tasks_of(remote)) == 1


class DyingTurn(RememberingTurn):
    """A turn whose process dies when its caller has answered, before that is passed on."""

    async def ask(
        self, message: Message, *, is_auth: bool = False, timeout_seconds: float | None = None
    ) -> Message:
        await super().ask(message, is_auth=is_auth, timeout_seconds=timeout_seconds)
        self.put_aside()
        raise asyncio.CancelledError


async def test_an_answer_that_was_not_passed_on_is(remote: RemoteAgent) -> None:
    turn = DyingTurn(answers=["four"])
    with pytest.raises(asyncio.CancelledError):
        await call(turn, remote)
    assert [reply.state for reply in await tasks_of(remote)] == [TaskState.INPUT_REQUIRED]
    assert (await call(turn.again(), remote)).text == "Rome: four"


async def test_a_question_tells_whose_it_is(remote: RemoteAgent) -> None:
    turn = RememberingTurn(answers=["four"])
    await call(turn, remote)
    told = sub_task_of(turn.asked[0].metadata)
    (child,) = await tasks_of(remote)
    assert told is not None
    assert (told.agent, told.task_id) == ("Hotels", child.task_id)
    assert told.state == TaskState.INPUT_REQUIRED.value


async def test_children_that_have_not_ended_are_canceled(remote: RemoteAgent) -> None:
    turn = RememberingTurn(answers=["four"])
    await call(turn, remote)
    ended = turn.journal
    turn = RememberingTurn(journal=ended)
    cut = asyncio.ensure_future(call_forever(turn, remote))
    await turn.grown(len(ended) + 1)
    turn.put_aside()
    cut.cancel()
    await asyncio.gather(cut, return_exceptions=True)
    states = {reply.state for reply in await tasks_of(remote)}
    assert states == {TaskState.COMPLETED, TaskState.WORKING}
    peers = Peers("Travel")
    peers.name(remote)
    await cancel_children(turn.again(), peers)
    states = {reply.state for reply in await tasks_of(remote)}
    assert states == {TaskState.COMPLETED, TaskState.CANCELED}


async def call_forever(turn: RememberingTurn, remote: RemoteAgent) -> None:
    """Call what does not end, after a call that has."""
    await call(turn, remote)
    await call(turn, remote, skill="forever")
