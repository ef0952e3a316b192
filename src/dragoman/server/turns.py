"""Turns: the worker's code at work on live tasks, one turn of a task at a time."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from dragoman.clock import Clock
from dragoman.engine.commands import Finish, Start, TakeUp
from dragoman.engine.effects import Effect, NextTurn
from dragoman.errors import A2AError, InternalError, StoreError, UnavailableError
from dragoman.model.messages import Message, Role
from dragoman.model.operations import SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import TaskState
from dragoman.server.live import Errand, LiveTask
from dragoman.server.slots import Seat, Slots
from dragoman.server.turn import LiveTurn
from dragoman.service.worker import Completed, Failed, Outcome, Plan, Refused, Worker

__all__ = ("STORE_POLL_SECONDS", "Turns")

_logger = logging.getLogger(__name__)

STORE_POLL_SECONDS: Final = 0.2
"""How often one who waits for a store that failed looks whether it is back."""

_STATE_OF: Final = {
    Completed: TaskState.COMPLETED,
    Failed: TaskState.FAILED,
    Refused: TaskState.REJECTED,
}

_NEXT_TURN: Final = NextTurn()

_OUTPUT_LOST: Final = "The store failed while the task was running; part of its output was lost"


class Turns:
    """Runs the worker. Whatever its code raises ends a task or an answer, never the server."""

    def __init__(self, worker: Worker, slots: Slots, clock: Clock) -> None:
        self._worker = worker
        self._slots = slots
        self._clock = clock

    async def run(self, live: LiveTask, errand: Errand, seat: Seat) -> None:
        """Run turn after turn until nothing waits in the inbox."""
        try:
            # Here and below: a coroutine that would find nothing to wait for is not even begun.
            if not seat.is_taken:
                await seat.taken()
            if live.failure is not None:
                await self._usable(live)
            live.execute(Start())
            following: Errand | None = errand
            while following is not None:
                turn = LiveTurn(live, following, seat, self._clock)
                outcome = await self._work(live, turn)
                following = await self._end(live, outcome)
        finally:
            seat.leave()

    async def answer(
        self,
        plan: Plan,
        request: SendMessageRequest,
        context_id: str,
        answered: asyncio.Future[Message],
        seat: Seat,
    ) -> None:
        """Have a message answered directly, and put the answer or the error into ``answered``."""
        try:
            await seat.taken()
            answered.set_result(await self._worker.answer(plan, request, context_id))
        except A2AError as error:
            answered.set_exception(error)
        except asyncio.CancelledError:
            answered.set_exception(UnavailableError("The server is shutting down; try again"))
            raise
        except Exception:
            error_id = self._clock.new_id()
            _logger.exception("a direct answer failed (error id %s)", error_id)
            text = f"The agent failed. Error id: {error_id}"
            answered.set_exception(InternalError(text, metadata={"errorId": error_id}))
        finally:
            seat.leave()

    async def clean_up(self, live: LiveTask) -> None:
        """Call the worker's hook for a task that was canceled."""
        errand = Errand(message=live.history()[0])
        try:
            await self._worker.canceled(LiveTurn(live, errand, Seat(self._slots), self._clock))
        except Exception:
            _logger.exception("task %s: the cleanup hook failed", live.task_id)

    async def finish(self, live: LiveTask, outcome: Outcome) -> tuple[Effect, ...]:
        """End a turn; wait for the store if it is gone, and be honest about what was lost."""
        if live.failure is not None:
            await self._usable(live)
        if live.standing.has_ended:
            return ()
        if live.lost is not None:
            outcome = Failed(self.status_message(live, _OUTPUT_LOST))
            live.lost = None
        return live.execute(Finish(_STATE_OF[type(outcome)], outcome.message))

    def status_message(self, live: LiveTask, text: str) -> Message:
        """Return what the server itself has to say about a task."""
        return Message(
            message_id=self._clock.new_id(),
            context_id=live.record.context_id,
            task_id=live.task_id,
            role=Role.AGENT,
            parts=(Part(text=text),),
        )

    async def _work(self, live: LiveTask, turn: LiveTurn) -> Outcome:
        try:
            return await self._worker.run(turn)
        except A2AError as error:
            _logger.warning("task %s failed: %s", live.task_id, error.message)
            return Failed(self.status_message(live, error.message))
        except Exception:
            error_id = self._clock.new_id()
            _logger.exception("task %s failed (error id %s)", live.task_id, error_id)
            # the peer gets an id to quote, never the text of the exception.
            return Failed(self.status_message(live, f"The agent failed. Error id: {error_id}"))

    async def _end(self, live: LiveTask, outcome: Outcome) -> Errand | None:
        """End a turn; return what the next one is about, if there is a next one."""
        while _NEXT_TURN in await self.finish(live, outcome):
            outcome = Completed()
            item = live.inbox[0]
            try:
                n = await asyncio.shield(item.stored)
            except StoreError:
                continue  # Its sender was told; the item is gone from the inbox.
            await self._usable(live)
            if live.standing.has_ended:
                return None
            live.inbox.popleft()
            live.take_up(n)
            live.execute(TakeUp(item.errand.message))
            live.join_settled(item.waiters)
            return item.errand
        return None

    async def _usable(self, live: LiveTask) -> None:
        """Wait until the task takes commands; if it never will again, this turn is canceled."""
        while live.failure is not None:
            await self._clock.sleep(STORE_POLL_SECONDS)
