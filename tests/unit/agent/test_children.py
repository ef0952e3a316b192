"""Children as the journal has them; what they do is in the scenarios."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from dragoman import Agent, Context, Reply
from dragoman.agent.children import (
    NEXT,
    CallOptions,
    Child,
    Failure,
    News,
    cancel_children,
    encode,
    lineage_of,
    sub_task_of,
)
from dragoman.agent.peers import Peers
from dragoman.client.agent import RemoteAgent
from dragoman.client.errors import CutError, TimedOutError
from dragoman.client.results.reply import ReplyView
from dragoman.errors import InvalidParamsError, UnavailableError, UnsupportedOperationError
from dragoman.model.messages import Message, text_of
from dragoman.model.tasks import TaskState
from dragoman.service.worker import Waits
from dragoman.testing import pair
from tests.support.agent.remembering import RememberingTurn


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

    @agent.skill
    async def directly(text: str) -> Reply:
        """Answer without a task."""
        return Reply(f"{text}!")

    return agent


@pytest.fixture
async def remote() -> AsyncIterator[RemoteAgent]:
    """An agent to call."""
    async with pair(hotels()) as client:
        yield client


async def call(
    turn: RememberingTurn, remote: RemoteAgent, skill: str = "", seconds: float | None = None
) -> ReplyView:
    """Call it, as a context does."""
    peers = Peers("Travel")

    async def ask(message: Message, is_auth: bool) -> Message:  # noqa: FBT001 - as children do
        return await turn.ask(message, is_auth=is_auth)

    child = Child(
        turn,
        peers,
        peers.name(remote),
        CallOptions(skill=skill, timeout_seconds=seconds),
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
        self,
        message: Message,
        *,
        is_auth: bool = False,
        timeout_seconds: float | None = None,
        waits: Waits | None = None,
    ) -> Message:
        await super().ask(message, is_auth=is_auth, timeout_seconds=timeout_seconds, waits=waits)
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


async def begun_forever(remote: RemoteAgent) -> RememberingTurn:
    """Return a turn that was cut off when it had called what does not end, for a minute at most."""
    turn = RememberingTurn()
    cut = asyncio.ensure_future(call(turn, remote, skill="forever", seconds=60))
    await turn.grown(1)
    turn.put_aside()
    cut.cancel()
    await asyncio.gather(cut, return_exceptions=True)
    assert [entry.kind for entry in turn.journal] == ["call"]
    return turn


async def test_a_call_that_was_not_done_in_time_is_not_so_again(remote: RemoteAgent) -> None:
    late = (await begun_forever(remote)).again()
    await late.sleep(61)
    with pytest.raises(TimedOutError) as first:
        await call(late, remote, skill="forever", seconds=60)
    assert [reply.state for reply in await tasks_of(remote)] == [TaskState.CANCELED]
    with pytest.raises(TimedOutError) as second:
        await call(late.again(), remote, skill="forever", seconds=60)
    assert str(first.value) == str(second.value)
    assert [entry.kind for entry in late.journal] == ["call", "call.next"]


async def test_a_call_that_was_refused_is_so_again(remote: RemoteAgent) -> None:
    turn = RememberingTurn()
    with pytest.raises(InvalidParamsError) as first:
        await call(turn, remote, skill="unknown")
    # It is not asked again: this time it would not refuse.
    with pytest.raises(InvalidParamsError) as second:
        await call(turn.again(), remote, skill="find")
    assert vars(first.value) == vars(second.value)
    assert [entry.kind for entry in turn.journal] == ["call"]
    assert await tasks_of(remote) == []


async def test_an_answer_that_was_refused_is_so_again(remote: RemoteAgent) -> None:
    turn = CancelingTurn(remote, answers=["four"])
    with pytest.raises(UnsupportedOperationError) as first:
        await call(turn, remote)
    again = turn.again()
    with pytest.raises(UnsupportedOperationError) as second:
        await call(again, remote)
    assert vars(first.value) == vars(second.value)
    assert again.asked == []


class CancelingTurn(RememberingTurn):
    """A turn whose caller cancels what asks, and answers nevertheless."""

    def __init__(self, remote: RemoteAgent, answers: list[object]) -> None:
        super().__init__(answers=answers)
        self._remote = remote

    async def ask(
        self,
        message: Message,
        *,
        is_auth: bool = False,
        timeout_seconds: float | None = None,
        waits: Waits | None = None,
    ) -> Message:
        for reply in await tasks_of(self._remote):
            await self._remote.cancel(reply.task_id)
        return await super().ask(
            message, is_auth=is_auth, timeout_seconds=timeout_seconds, waits=waits
        )


async def test_a_call_that_was_answered_without_a_task_is_so_again(remote: RemoteAgent) -> None:
    turn = RememberingTurn()
    assert (await call(turn, remote, skill="directly")).text == "Rome!"
    # In one record: there is no place between two where it could be cut off.
    assert [entry.kind for entry in turn.journal] == ["call"]
    again = turn.again()
    assert (await call(again, remote, skill="directly")).text == "Rome!"
    assert turn.said == again.said == []


async def test_that_another_was_asked_is_said_until_more_than_that_is_recorded(
    remote: RemoteAgent,
) -> None:
    turn = RememberingTurn(answers=["four"])
    await call(turn, remote)
    assert [text_of(message.parts) for message in turn.said] == ["Asked Hotels"]
    whole = turn.again()
    await call(whole, remote)
    assert whole.said == []
    del turn.journal[1:]
    # Whether the log has it is for the turn to know.
    cut_off = turn.again(["four"])
    await call(cut_off, remote)
    assert [text_of(message.parts) for message in cut_off.said] == ["Asked Hotels"]


class FailingTurn(RememberingTurn):
    """A turn whose store is out of reach when something is to be made durable."""

    def __init__(self, *, flushes: bool) -> None:
        super().__init__()
        self._flushes = flushes

    async def flush(self) -> None:
        if not self._flushes:
            raise UnavailableError("our own store")

    async def record(self, kind: str, name: str, result: bytes) -> None:
        raise UnavailableError("our own store")


@pytest.mark.parametrize("flushes", [False, True])
@pytest.mark.parametrize("skill", ["find", "unknown"])
async def test_trouble_of_our_own_store_is_no_failure_of_the_child(
    remote: RemoteAgent, skill: str, *, flushes: bool
) -> None:
    turn = FailingTurn(flushes=flushes)
    with pytest.raises(UnavailableError, match="our own store"):
        await call(turn, remote, skill=skill)
    assert turn.journal == []


async def test_a_child_whose_call_has_failed_is_canceled_with_the_others(
    remote: RemoteAgent,
) -> None:
    turn = await begun_forever(remote)
    turn.note(NEXT, "Hotels", encode(News(failed=Failure.of(CutError("Hotels", "reset")))))
    again = turn.again(["four"])
    with pytest.raises(CutError):
        await call(again, remote, skill="forever")
    await call(again, remote)
    states = {reply.state for reply in await tasks_of(remote)}
    assert states == {TaskState.COMPLETED, TaskState.WORKING}
    peers = Peers("Travel")
    peers.name(remote)
    await cancel_children(again.again(), peers)
    states = {reply.state for reply in await tasks_of(remote)}
    assert states == {TaskState.COMPLETED, TaskState.CANCELED}
