"""Turn: what comes of one message, shown as it comes; and what the user may do meanwhile.

Ctrl-C asks the agent to cancel the task, and pressed again leaves the chat; the task is then told,
so that nothing is lost. A connection that is lost on the way is the client's business: it is told
here only where the client has given up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final

from msgspec import Struct

from dragoman.cli.chat.terminal import heeding
from dragoman.cli.chat.view import View
from dragoman.cli.options.settings import Settings
from dragoman.cli.session.following import within_budget
from dragoman.cli.session.session import Session
from dragoman.client.following.progress import Progress
from dragoman.client.transports.base import Frame
from dragoman.errors import DragomanError, InvalidAgentResponseError
from dragoman.model.documents import EventDocument
from dragoman.model.messages import Message
from dragoman.model.operations import CancelTaskRequest
from dragoman.model.tasks import Task

__all__ = ("Ending", "Turn")

_GRACE_SECONDS: Final = 2.0
"""How long the stream of a canceled task may take to tell of its end."""

_MOST_KEPT: Final = 200
"""How many events of a turn are kept for /raw: nobody reads more, and a stream may be long."""


class Ending(Struct, frozen=True):
    """What a turn has come to.

    Attributes:
        outcome: the answer as far as it is known; None if nothing came.
        is_left: the user wants to leave.
        received: the last of the events, as JSON.
    """

    outcome: Task | Message | None
    is_left: bool
    received: tuple[bytes, ...]


class Turn:
    """One turn.

    Args:
        known: what was shown of the task before; only what is new is shown.
        tell: tells the user of a failure, which does not end the chat.
    """

    def __init__(
        self,
        session: Session,
        settings: Settings,
        view: View,
        *,
        known: Progress,
        tell: Callable[[DragomanError], None],
    ) -> None:
        self._session = session
        self._settings = settings
        self._view = view
        self._known = known
        self._tell = tell
        self._received: deque[bytes] = deque(maxlen=_MOST_KEPT)
        self._canceled: Task | None = None
        self._is_left = False

    async def follow(self, events: AsyncGenerator[EventDocument]) -> Ending:
        """Show the events until the task has ended, waits for an answer, or the user leaves."""
        canceling: asyncio.Task[None] | None = None
        presses = 0

        def press() -> None:
            nonlocal canceling, presses
            presses += 1
            if presses > 1:
                leave()
            elif self._known.task_id:
                self._view.note("canceling the task; Ctrl-C again leaves it as it is")
                canceling = group.create_task(self._cancel(reading))
            else:
                self._view.note("there is no task to cancel yet; Ctrl-C again leaves")

        def leave() -> None:
            self._is_left = True
            reading.cancel()
            if canceling is not None:
                canceling.cancel()

        async with asyncio.TaskGroup() as group:
            reading = group.create_task(self._read(events))
            with self._view.turn(), heeding(press, leave):
                await asyncio.wait({reading})
                if canceling is not None and not self._known.has_ended:
                    # The stream was lost, or stays behind: the answer to this tells the end.
                    await asyncio.wait({canceling})
            if canceling is not None:
                canceling.cancel()
        outcome = self._known.outcome
        if not self._known.has_ended and self._canceled is not None:
            outcome = self._canceled
        return Ending(outcome, self._is_left, tuple(self._received))

    async def _read(self, events: AsyncGenerator[EventDocument]) -> None:
        try:
            async with aclosing(events), within_budget(self._settings, is_live=True):
                async for document in events:
                    self._received.append(document.json)
                    frame = Frame(document.seq, document.value)
                    for news in self._known.take((frame,)):
                        self._view.show(news.event)
            self._known.conclude()
            if self._known.outcome is None:
                self._tell(InvalidAgentResponseError("The agent has answered with nothing"))
        except DragomanError as problem:
            self._tell(problem)

    async def _cancel(self, reading: asyncio.Task[None]) -> None:
        request = CancelTaskRequest(id=self._known.task_id)
        try:
            document = await self._session.service.cancel_task(request, self._session.call)
        except DragomanError as problem:
            # The task may be about to end by itself, or cannot be canceled: it is followed further.
            self._tell(problem)
            return
        task = document.task()
        if task.status.state.is_terminal:
            self._canceled = task
            await asyncio.wait({reading}, timeout=_GRACE_SECONDS)
            reading.cancel()
