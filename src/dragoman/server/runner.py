"""Runner: performs what the engine decides about turns.

Each turn runs in a task of the runner's own, never in the request's, so a dropped connection cannot
touch the work.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress

import msgspec
from msgspec import Struct

from dragoman.clock import Clock
from dragoman.engine.commands import (
    Begin,
    Cancel,
    Deliver,
    Finish,
    Start,
    TakeUp,
    Withdraw,
)
from dragoman.engine.effects import Effect, Enqueue, NextTurn, ResumeTurn, StopTurn
from dragoman.engine.fold import TaskFold
from dragoman.engine.machine import Standing
from dragoman.errors import (
    A2AError,
    ConflictError,
    InternalError,
    StoreError,
    StoreUnavailableError,
    UnavailableError,
)
from dragoman.model.messages import Message, Role
from dragoman.model.operations import SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import TaskState
from dragoman.server.hub import Channel, Hub
from dragoman.server.live import Errand, LiveTask, QueuedErrand
from dragoman.server.nursery import Nursery
from dragoman.server.recovery import fold_of, standing_of
from dragoman.server.slots import Seat, Slots
from dragoman.server.turn import LiveTurn
from dragoman.service.worker import Completed, Failed, Outcome, Plan, Refused, Worker
from dragoman.stores.base import NewTask, Scope, SendRecord, StoredTask, TaskStore

__all__ = ("Delivery", "Limits", "Runner")

_logger = logging.getLogger(__name__)

_STATE_OF = {
    Completed: TaskState.COMPLETED,
    Failed: TaskState.FAILED,
    Refused: TaskState.REJECTED,
}

_STORE_POLL_SECONDS = 0.2
_LAST_COMMIT_SECONDS = 5.0

_decode_message = msgspec.json.Decoder(Message).decode


class Limits(Struct, frozen=True, kw_only=True):
    """Bounds on the work of one process."""

    running_turns: int = 1000
    waiting_turns: int = 10_000
    cancel_grace_seconds: float = 10.0


class Delivery(Struct, frozen=True):
    """A message handed to a live task; ``settled`` is done when its turn has ended or paused."""

    settled: asyncio.Future[None]
    stored: Coroutine[object, object, object]
    """Await it before the message is acknowledged; raises when it could not be stored."""


class Runner:
    """The live tasks of this process and their turns."""

    def __init__(
        self, *, worker: Worker, store: TaskStore, clock: Clock, hub: Hub, limits: Limits
    ) -> None:
        self._worker = worker
        self._store = store
        self._clock = clock
        self._hub = hub
        self._limits = limits
        self._slots = Slots(limits.running_turns, limits.waiting_turns)
        self._nursery = Nursery()
        self._live: dict[str, LiveTask] = {}
        self._answers: set[asyncio.Task[None]] = set()
        self._is_draining = False

    @property
    def is_draining(self) -> bool:
        """Tell whether new work is refused because the server stops."""
        return self._is_draining

    def find(self, scope: Scope, task_id: str) -> LiveTask | None:
        """Return the live task of this id if it belongs to this scope."""
        live = self._live.get(task_id)
        return live if live is not None and live.scope == scope else None

    def check(self) -> None:
        """Raise UnavailableError when no new work can be taken on."""
        if self._is_draining:
            raise UnavailableError("The server is shutting down; try again")
        if not self._store.is_available:
            raise UnavailableError("The store is not available; try again later")
        self._slots.check()

    def begin(
        self, task_id: str, record: NewTask, errand: Errand, send: SendRecord | None
    ) -> LiveTask:
        """Create a task and start its first turn."""
        self.check()
        live = LiveTask(
            watcher=self,
            store=self._store,
            clock=self._clock,
            channel=self._channel(task_id),
            record=record,
            standing=Standing(task_id=task_id, context_id=record.context_id),
            fold=TaskFold(task_id, record.context_id),
            send=send,
        )
        self._live[task_id] = live
        # Spawned before the first write is scheduled: a turn that ends in its first pass is one
        # write.
        live.turn = self._nursery.spawn(self._turns(live, errand), name=f"turns of {task_id}")
        live.execute(Begin(errand.message))
        return live

    def deliver(self, live: LiveTask, errand: Errand, send: SendRecord | None) -> Delivery:
        """Hand a further message to a task. It is acknowledged once ``stored`` has been awaited."""
        self.check()
        effects = live.execute(Deliver(errand.message))
        match effects[0]:
            case ResumeTurn():
                if send is not None:
                    live.answers_send(send)
                settled = live.settled()
                if live.answer is not None and not live.answer.done():
                    live.answer.set_result(errand)
                return Delivery(settled, live.durable())
            case Enqueue():
                item = QueuedErrand(errand)
                live.inbox.append(item)
                settled = asyncio.get_running_loop().create_future()
                item.waiters.append(settled)
                return Delivery(settled, self._store_item(live, item, send))
            case _:
                raise AssertionError(effects)

    async def cancel(self, live: LiveTask) -> None:
        """Cancel a task, durably. The turn is then stopped and cleaned up after."""
        effects = live.execute(Cancel())
        await live.durable()
        if StopTurn() in effects and live.turn is not None:
            self._nursery.spawn(self._wind_down(live), name=f"end of {live.task_id}")

    async def adopt(self, stored: StoredTask) -> LiveTask:
        """Bring an unfinished task of the store to life, without a turn, under a new lease."""
        epoch = await self._store.take_over(stored.id, stored.epoch)
        record = NewTask(
            scope=stored.scope,
            context_id=stored.context_id,
            skill_id=stored.skill_id,
            origin_dialect=stored.origin_dialect,
            created_ms=stored.created_ms,
        )
        fold = fold_of(stored)
        live = LiveTask(
            watcher=self,
            store=self._store,
            clock=self._clock,
            channel=self._channel(stored.id, stored.seq, is_paused=stored.state.is_interrupted),
            record=record,
            standing=standing_of(stored, fold, unread=len(stored.inbox)),
            fold=fold,
            epoch=epoch,
        )
        for item in stored.inbox:
            queued = QueuedErrand(Errand(message=_decode_message(item.message)))
            queued.stored.set_result(item.n)
            live.inbox.append(queued)
        self._live[stored.id] = live
        return live

    async def abandon(self, stored: StoredTask, reason: str) -> None:
        """End an unfinished task of the store as failed."""
        live = await self.adopt(stored)
        live.execute(Finish(TaskState.FAILED, self._status_message(live, reason)))
        await live.durable()

    async def answer(self, plan: Plan, request: SendMessageRequest, context_id: str) -> Message:
        """Have a message answered directly, without a task, in a slot like any turn."""
        self.check()
        answered: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        task = self._nursery.spawn(
            self._answer(plan, request, context_id, answered),
            name=f"answer to {request.message.message_id[:100]}",
        )
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)
        return await asyncio.shield(answered)

    async def drain(self, grace_seconds: float) -> None:
        """Take no new work, let running turns finish within the grace period, leave the rest.

        What is left stays in the store as it is, to be recovered at the next start.
        """
        self._is_draining = True
        turns = [live.turn for live in self._live.values() if live.turn and live.answer is None]
        turns += self._answers
        if turns:
            _logger.info("waiting up to %s s for %d running turns", grace_seconds, len(turns))
            await asyncio.wait(turns, timeout=grace_seconds)
        # How a turn ended may still be on its way to the store; whoever waits for it gets to know.
        ended = [live.durable() for live in self._live.values() if live.standing.has_ended]
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_COMMIT_SECONDS):
                await asyncio.gather(*ended, return_exceptions=True)
        left = [live for live in self._live.values() if not live.is_over]
        if left:
            _logger.warning("unfinished, to be ended as failed at the next start: %d", len(left))
        for live in left:
            live.is_stopping = True
        await self._nursery.close()
        for live in left:
            live.fail_waiters(UnavailableError("The server is shutting down; try again"))

    def task_ended(self, live: LiveTask) -> None:
        """Forget a task that is over; its followers keep what they need."""
        self._forget(live)

    def write_lost(self, live: LiveTask, error: StoreError) -> None:
        """Drop a task another owner has taken; bring one back whose store has failed."""
        if isinstance(error, ConflictError):
            _logger.warning("task %s: %s; its turn is stopped here", live.task_id, error)
            self._drop(live)
        else:
            self._nursery.spawn(self._recover(live), name=f"recovery of {live.task_id}")

    def _channel(self, task_id: str, seq: int = 0, *, is_paused: bool = False) -> Channel:
        return Channel(
            self._hub,
            lambda after, limit: self._store.read_events(task_id, after=after, limit=limit),
            seq=seq,
            paused_at=seq if is_paused else 0,
        )

    async def _turns(self, live: LiveTask, errand: Errand) -> None:
        """Run turn after turn until nothing waits in the inbox."""
        seat = Seat(self._slots)
        try:
            await seat.take()
            await self._usable(live)
            live.execute(Start())
            next_errand: Errand | None = errand
            while next_errand is not None:
                turn = LiveTurn(live, next_errand, seat, self._clock)
                outcome = await self._work(live, turn)
                next_errand = await self._end_turn(live, outcome)
        finally:
            seat.leave()

    async def _work(self, live: LiveTask, turn: LiveTurn) -> Outcome:
        try:
            return await self._worker.run(turn)
        except A2AError as error:
            _logger.warning("task %s failed: %s", live.task_id, error.message)
            return Failed(self._status_message(live, error.message))
        except Exception:
            error_id = self._clock.new_id()
            _logger.exception("task %s failed (error id %s)", live.task_id, error_id)
            # the peer gets an id to quote, never the text of the exception.
            return Failed(self._status_message(live, f"The agent failed. Error id: {error_id}"))

    async def _answer(
        self,
        plan: Plan,
        request: SendMessageRequest,
        context_id: str,
        answered: asyncio.Future[Message],
    ) -> None:
        seat = Seat(self._slots)
        try:
            await seat.take()
            answered.set_result(await self._worker.answer(plan, request, context_id))
        except A2AError as error:
            answered.set_exception(error)
        except asyncio.CancelledError:
            answered.set_exception(UnavailableError("The server is shutting down; try again"))
            raise
        except Exception:
            error_id = self._clock.new_id()
            _logger.exception("a direct answer failed (error id %s)", error_id)
            answered.set_exception(
                InternalError(
                    f"The agent failed. Error id: {error_id}", metadata={"errorId": error_id}
                )
            )
        finally:
            seat.leave()

    async def _finish(self, live: LiveTask, outcome: Outcome) -> tuple[Effect, ...]:
        """End the turn; wait for the store if it is gone, and be honest about what was lost."""
        await self._usable(live)
        if live.standing.has_ended:
            return ()
        if live.lost is not None:
            lost = "The store failed while the task was running; part of its output was lost"
            outcome = Failed(self._status_message(live, lost))
            live.lost = None
        return live.execute(Finish(_STATE_OF[type(outcome)], outcome.message))

    async def _end_turn(self, live: LiveTask, outcome: Outcome) -> Errand | None:
        """End a turn; return what the next one is about, if there is a next one."""
        while NextTurn() in await self._finish(live, outcome):
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
            await self._clock.sleep(_STORE_POLL_SECONDS)

    async def _store_item(
        self, live: LiveTask, item: QueuedErrand, send: SendRecord | None
    ) -> None:
        message = msgspec.json.encode(item.errand.message)
        try:
            n = await self._store.put_inbox(live.task_id, message, send)
        except StoreError as error:
            item.stored.set_exception(error)
            item.stored.exception()  # Perhaps nobody else looks at it; that is no fault.
            if item in live.inbox:
                live.inbox.remove(item)
                if live.failure is None:
                    live.execute(Withdraw())
            raise UnavailableError("The store is not available; try again later") from error
        item.stored.set_result(n)

    async def _wind_down(self, live: LiveTask) -> None:
        """Stop a turn: cancel, a grace period, then the cleanup hook."""
        turn = live.turn
        if turn is None:
            return
        live.is_stopping = True
        turn.cancel()
        await asyncio.wait([turn], timeout=self._limits.cancel_grace_seconds)
        if not turn.done():
            _logger.warning(
                "task %s: its code ignores cancellation; it is left behind", live.task_id
            )
        try:
            errand = Errand(message=live.history()[0])
            await self._worker.canceled(LiveTurn(live, errand, Seat(self._slots), self._clock))
        except Exception:
            _logger.exception("task %s: the cleanup hook failed", live.task_id)

    async def _recover(self, live: LiveTask) -> None:
        """Bring a task back to what the store has, as soon as the store is back."""
        while True:
            while not self._store.is_available:
                await self._clock.sleep(_STORE_POLL_SECONDS)
            try:
                stored = await self._store.load(live.scope, live.task_id)
            except StoreUnavailableError:
                await self._clock.sleep(_STORE_POLL_SECONDS)
                continue
            break
        if stored is None:
            _logger.warning("task %s was never stored; its turn is stopped", live.task_id)
            self._drop(live)
            return
        live.lost = UnavailableError("The store failed; output of this turn was lost")
        fold = fold_of(stored)
        live.reset(standing_of(stored, fold, unread=len(live.inbox)), fold)
        if live.turn is None or live.turn.done():
            await self._finish(live, Failed())

    def _forget(self, live: LiveTask) -> None:
        self._live.pop(live.task_id, None)
        for step in live.epilogue:
            step()

    def _drop(self, live: LiveTask) -> None:
        self._forget(live)
        live.fail_waiters(live.failure or UnavailableError())
        live.is_stopping = True
        if live.turn is not None:
            live.turn.cancel()

    def _status_message(self, live: LiveTask, text: str) -> Message:
        return Message(
            message_id=self._clock.new_id(),
            context_id=live.record.context_id,
            task_id=live.task_id,
            role=Role.AGENT,
            parts=(Part(text=text),),
        )
