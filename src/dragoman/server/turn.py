"""The Turn that a worker gets: its view of one live task."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from dragoman.clock import Clock
from dragoman.engine.commands import AddArtifact, Ask, Command, GoOn, Say
from dragoman.model.base import JsonObject
from dragoman.model.messages import Message
from dragoman.model.tasks import Artifact
from dragoman.server.live import Errand, LiveTask
from dragoman.server.slots import Seat
from dragoman.service.principal import Principal

__all__ = ("LiveTurn",)

BACKLOG_EVENTS: Final = 256
"""Events a turn may be ahead of the store; beyond that, publishing waits for the commit."""


class LiveTurn:
    """A Turn on a live task. While it waits for an answer, its slot is free for others."""

    __slots__ = ("_clock", "_errand", "_live", "_seat")

    def __init__(self, live: LiveTask, errand: Errand, seat: Seat, clock: Clock) -> None:
        self._live = live
        self._errand = errand
        self._seat = seat
        self._clock = clock

    @property
    def task_id(self) -> str:
        """The task."""
        return self._live.task_id

    @property
    def context_id(self) -> str:
        """The conversation it belongs to."""
        return self._live.record.context_id

    @property
    def tenant(self) -> str:
        """The tenant it belongs to."""
        return self._live.scope.tenant

    @property
    def owner(self) -> str:
        """Who owns it."""
        return self._live.scope.owner

    @property
    def principal(self) -> Principal:
        """Who sent the message this turn answers."""
        return self._errand.principal

    @property
    def skill_id(self) -> str:
        """The skill that was planned for it."""
        return self._live.record.skill_id

    @property
    def message(self) -> Message:
        """The message this turn answers."""
        return self._errand.message

    @property
    def metadata(self) -> JsonObject:
        """The metadata of the request that brought the message."""
        return self._errand.metadata

    @property
    def extensions(self) -> tuple[str, ...]:
        """The extensions active for that request."""
        return self._errand.extensions

    @property
    def accepted_output_modes(self) -> tuple[str, ...]:
        """The media types the caller takes; empty for any."""
        return self._errand.accepted_output_modes

    def history(self) -> tuple[Message, ...]:
        """Return the messages of the task so far, oldest first."""
        return self._live.history()

    def new_id(self) -> str:
        """Return a fresh id."""
        return self._clock.new_id()

    async def say(self, message: Message) -> None:
        """Publish a status message."""
        await self._publish(Say(message))

    async def artifact(
        self, artifact: Artifact, *, append: bool = False, last_chunk: bool = False
    ) -> None:
        """Publish an artifact or a chunk of one."""
        await self._publish(AddArtifact(artifact, append, last_chunk))
        if not last_chunk and self._live.is_breath_due:
            # More is to come: what is there goes out now, and others get to run in between.
            await asyncio.sleep(0)

    async def ask(self, message: Message, *, is_auth: bool = False) -> Message:
        """Pause the task and wait for the message that answers; the answer is journaled."""
        live = self._live
        answer: asyncio.Future[Errand] = asyncio.get_running_loop().create_future()
        if not self._seat.is_taken:
            await self._sit_down()
        self._execute(Ask(message, is_auth))
        live.answer = answer
        try:
            await live.durable()
            self._seat.leave()
            errand = await answer
        except BaseException:
            live.answer = None
            if not live.is_stopping and live.failure is None:
                live.execute(GoOn())  # The author's code does not wait any longer (a timeout, say).
            raise
        live.answer = None
        await self._seat.taken()
        self._errand = errand
        live.note("ask", "auth" if is_auth else "input", msgspec.json.encode(errand.message))
        return errand.message

    async def flush(self) -> None:
        """Wait until everything published so far is durable."""
        self._raise_trouble()
        await self._live.durable()

    async def _publish(self, command: Command) -> None:
        if not self._seat.is_taken:
            await self._sit_down()
        self._execute(command)
        if self._live.backlog > BACKLOG_EVENTS:
            await self._live.durable()

    async def _sit_down(self) -> None:
        """Take a slot again after an ``ask`` that was given up."""
        self._raise_trouble()
        await self._seat.taken()

    def _execute(self, command: Command) -> None:
        self._raise_trouble()
        self._live.execute(command)

    def _raise_trouble(self) -> None:
        if self._live.standing.has_ended:
            # The task was canceled: whatever the worker still has to say comes too late.
            raise asyncio.CancelledError
        if self._live.lost is not None:
            raise self._live.lost
