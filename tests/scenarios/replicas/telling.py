"""Agents whose turns go by what the test says, and what is read from their tasks."""

import asyncio

from dragoman.model.messages import text_of
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task
from dragoman.service.worker import Completed, Outcome, Turn
from tests.support.server.fakes import agent_message

__all__ = ("Steps", "relay", "repeat", "told")


class Steps:
    """Turns that publish an artifact whenever the test lets them."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.runs = 0
        self.allowed = asyncio.Semaphore(0)

    def allow(self, count: int) -> None:
        """Let so many more be published."""
        for _ in range(count):
            self.allowed.release()

    async def run(self, turn: Turn) -> Outcome:
        """Publish, each time it is allowed; what was published by an earlier run stands."""
        self.runs += 1
        for number in range(self.count):
            if turn.recall("step", str(number)) is None:
                await self.allowed.acquire()
                artifact = Artifact(artifact_id=f"a-{number}", parts=(Part(text=str(number)),))
                await turn.artifact(artifact, last_chunk=True)
                await turn.record("step", str(number), b"1")
        return Completed()


async def relay(turn: Turn) -> Outcome:
    """Ask, and say what was answered."""
    answer = await turn.ask(agent_message("which?"))
    return Completed(agent_message(text_of(answer.parts)))


async def repeat(turn: Turn) -> Outcome:
    """Say what was sent, and be done."""
    await turn.say(agent_message(text_of(turn.message.parts)))
    return Completed()


def told(task: Task) -> list[str]:
    """Return the texts of the history of a task and of its status."""
    last = () if task.status.message is None else (task.status.message,)
    return [text_of(each.parts) for each in (*task.history, *last)]
