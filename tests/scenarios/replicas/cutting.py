"""Agents that are cut off in the middle of a turn, and run again by another replica."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from dragoman import Agent, Context
from dragoman.model.messages import text_of
from dragoman.model.tasks import Task
from tests.scenarios.replicas.replicas import Member, Replicas
from tests.support.server.agency import send

__all__ = ("CutOff", "Run", "ended_on", "results")


class Run:
    """One run of a turn.

    Attributes:
        is_first: nothing has been done before it.
    """

    def __init__(self, *, is_first: bool, is_reached: asyncio.Event) -> None:
        self.is_first = is_first
        self._is_reached = is_reached

    async def reach(self) -> None:
        """Be cut off here, in the first run."""
        if self.is_first:
            self._is_reached.set()
            await self.never()

    async def never(self) -> None:
        """Wait for nothing, in the first run."""
        if self.is_first:
            await asyncio.Event().wait()


class CutOff:
    """An agent whose only skill is run twice: until it is cut off, and elsewhere to its end."""

    def __init__(self, skill: Callable[[Context, Run], Awaitable[str | None]]) -> None:
        self._skill = skill
        self._runs = 0
        self._is_reached = asyncio.Event()

    def agent(self) -> Agent:
        """Return it, for one replica."""
        agent = Agent("CutOff", "Does not get to its end at once.")

        @agent.skill
        async def work(ctx: Context) -> str | None:
            """Do it."""
            self._runs += 1
            run = Run(is_first=self._runs == 1, is_reached=self._is_reached)
            return await self._skill(ctx, run)

        return agent

    async def run(self, in_hand: Replicas) -> Task:
        """Return what came of its task."""
        a = await in_hand.serve(self.agent())
        task = await a.send(send(return_immediately=True))
        # Its own code may wait for the machine's time, which passes while nothing happens.
        await asyncio.wait_for(self._is_reached.wait(), 10)
        await in_hand.pass_seconds(1)
        b = await in_hand.serve(self.agent())
        a.stand_still()
        return await ended_on(in_hand, b, task.id)


async def ended_on(in_hand: Replicas, member: Member, task_id: str) -> Task:
    """Let time pass until a task has ended."""

    async def has_ended() -> bool:
        return (await member.get(task_id)).status.state.is_terminal

    await in_hand.until(has_ended)
    return await member.get(task_id)


def results(task: Task) -> list[str]:
    """Return the texts of what came of a task."""
    return [text_of(each.parts) for each in task.artifacts]
