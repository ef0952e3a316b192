"""Runner: the live tasks of this process, and what outside calls do to them.

Each turn runs in a task of the runner's own, never in the request's, so a dropped connection cannot
touch the work.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Struct

from dragoman.clock import Clock
from dragoman.engine.commands import Begin, Cancel, Deliver, Finish, Withdraw
from dragoman.engine.effects import Enqueue
from dragoman.engine.fold import TaskFold
from dragoman.engine.machine import Standing
from dragoman.errors import ConflictError, StoreError, StoreUnavailableError, UnavailableError
from dragoman.model.messages import Message
from dragoman.model.operations import SendMessageRequest
from dragoman.model.tasks import TaskState
from dragoman.server.hub import Channel, Hub
from dragoman.server.live import Errand, LiveTask, QueuedErrand
from dragoman.server.nursery import Nursery
from dragoman.server.recovery import fold_of, standing_of
from dragoman.server.slots import Seat, Slots
from dragoman.server.turns import STORE_POLL_SECONDS, Turns
from dragoman.service.principal import ANONYMOUS
from dragoman.service.worker import Failed, Plan, Worker
from dragoman.stores.base import NewTask, Scope, SendRecord, StoredTask, TaskStore

__all__ = ("Delivery", "Limits", "Runner")

_logger = logging.getLogger(__name__)

_LAST_COMMIT_SECONDS: Final = 5.0
"""How long a stopping server waits for the commits of turns that have ended."""

_STOPPING: Final = "The server is shutting down; try again"
_NO_STORE: Final = "The store is not available; try again later"

_decode_message = msgspec.json.Decoder(Message).decode


class Limits(Struct, frozen=True, kw_only=True):
    """Bounds on the work of one process."""

    running_turns: int = 1000
    waiting_turns: int = 10_000
    turns_per_owner: int = 5000
    cancel_grace_seconds: float = 10.0


class Delivery(Struct, frozen=True):
    """A message handed to a live task; ``settled`` is done when its turn has ended or paused."""

    settled: asyncio.Future[None]
    stored: Coroutine[object, object, object]
    """Await it before the message is acknowledged; raises when it could not be stored."""


class Runner:
    """Begins, continues and ends tasks, and keeps those that are live."""

    def __init__(
        self, *, worker: Worker, store: TaskStore, clock: Clock, hub: Hub, limits: Limits
    ) -> None:
        self._store = store
        self._clock = clock
        self._hub = hub
        self._limits = limits
        self._slots = Slots(limits.running_turns, limits.waiting_turns, limits.turns_per_owner)
        self._turns = Turns(worker, self._slots, clock)
        self._nursery = Nursery()
        self._live: dict[str, LiveTask] = {}
        # What clients call the tasks whose first write may still be on its way.
        self._aliases: dict[tuple[Scope, str], str] = {}
        # What has a claim on the grace period beside the turns: direct answers and cleanups.
        self._errands: set[asyncio.Task[None]] = set()
        self._is_draining = False

    @property
    def is_draining(self) -> bool:
        """Tell whether new work is refused because the server stops."""
        return self._is_draining

    def find(self, scope: Scope, task_id: str) -> LiveTask | None:
        """Return the live task of this id if it belongs to this scope."""
        live = self._live.get(task_id)
        return live if live is not None and live.scope == scope else None

    def find_alias(self, scope: Scope, alias: str) -> str | None:
        """Return the id of the live task that a client of this scope calls by an id of its own."""
        return self._aliases.get((scope, alias))

    def check(self, owner: str = ANONYMOUS) -> None:
        """Raise UnavailableError when no new work can be taken on, or none of this owner.

        For the latter it is RateLimitedError.
        """
        if self._is_draining:
            raise UnavailableError(_STOPPING)
        if not self._store.is_available:
            raise UnavailableError(_NO_STORE)
        self._slots.check(owner)

    def begin(
        self, task_id: str, record: NewTask, errand: Errand, send: SendRecord | None
    ) -> LiveTask:
        """Create a task and start its first turn."""
        self.check(record.scope.owner)
        live = LiveTask(
            watcher=self,
            store=self._store,
            clock=self._clock,
            channel=self._channel(task_id),
            record=record,
            standing=Standing(task_id=task_id, context_id=record.context_id),
            fold=TaskFold(task_id, record.context_id),
            send=send,
            loop=self._nursery.loop,
        )
        self._live[task_id] = live
        if record.alias:
            self._aliases[record.scope, record.alias] = task_id
        live.seat = seat = Seat(self._slots, record.scope.owner)
        seat.claim()
        # Spawned before the first write is scheduled: a turn that ends in its first pass is one
        # write.
        live.turn = self._nursery.spawn(self._turns.run(live, errand, seat), name=task_id)
        live.execute(Begin(errand.message))
        return live

    def deliver(self, live: LiveTask, errand: Errand, send: SendRecord | None) -> Delivery:
        """Hand a further message to a task. It is acknowledged once ``stored`` has been awaited."""
        self.check()
        effects = live.execute(Deliver(errand.message))
        if isinstance(effects[0], Enqueue):
            item = QueuedErrand(errand)
            live.inbox.append(item)
            # R-3.2.2-1: a pause of the turn before its own ends the wait as well.
            settled = live.settled()
            item.waiters.append(settled)
            # In a task of ours: whatever becomes of the request, the message is stored or not.
            storing = self._nursery.spawn(self._store_item(live, item, send), name=live.task_id)
            return Delivery(settled, _stored(storing, item))
        if send is not None:
            live.answers_send(send)
        settled = live.settled()
        if live.answer is not None and not live.answer.done():
            live.answer.set_result(errand)
        return Delivery(settled, live.durable())

    async def cancel(self, live: LiveTask) -> None:
        """Cancel a task, durably. The turn is then stopped and cleaned up after."""
        live.execute(Cancel())
        await live.durable()
        if live.turn is not None:
            self._spawn_errand(self._wind_down(live, live.turn), f"end of {live.task_id}")

    async def adopt(self, stored: StoredTask) -> LiveTask:
        """Bring an unfinished task of the store to life, without a turn, under a new lease."""
        epoch = await self._store.take_over(stored.id, stored.epoch)
        fold = fold_of(stored)
        live = LiveTask(
            watcher=self,
            store=self._store,
            clock=self._clock,
            channel=self._channel(stored.id, stored.seq, is_paused=stored.state.is_interrupted),
            record=NewTask(
                scope=stored.scope,
                context_id=stored.context_id,
                skill_id=stored.skill_id,
                origin_dialect=stored.origin_dialect,
                created_ms=stored.created_ms,
            ),
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
        live.execute(Finish(TaskState.FAILED, self._turns.status_message(live, reason)))
        await live.durable()

    async def answer(
        self, plan: Plan, request: SendMessageRequest, context_id: str, owner: str = ANONYMOUS
    ) -> Message:
        """Have a message answered directly, without a task, in a slot like any turn."""
        self.check(owner)
        answered: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        seat = Seat(self._slots, owner)
        seat.claim()
        self._spawn_errand(
            self._turns.answer(plan, request, context_id, answered, seat),
            f"answer to {request.message.message_id[:100]}",
        )
        return await asyncio.shield(answered)

    async def drain(self, grace_seconds: float) -> None:
        """Take no new work, let running turns finish within the grace period, leave the rest.

        What is left stays in the store as it is, for the next start.
        """
        self._is_draining = True
        turns = {live.turn for live in self._live.values() if live.turn and live.answer is None}
        turns |= self._errands
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
            live.fail_waiters(UnavailableError(_STOPPING))

    def task_ended(self, live: LiveTask) -> None:
        """Forget a task that is over; its followers keep what they need."""
        self._live.pop(live.task_id, None)
        if live.record.alias:
            self._aliases.pop((live.scope, live.record.alias), None)
        for step in live.epilogue:
            step()

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

    def _spawn_errand(self, work: Coroutine[object, object, None], name: str) -> asyncio.Task[None]:
        task = self._nursery.spawn(work, name=name)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)
        return task

    async def _store_item(
        self, live: LiveTask, item: QueuedErrand, send: SendRecord | None
    ) -> None:
        """Store a message of the inbox, and tell by ``item.stored`` what became of it."""
        message = msgspec.json.encode(item.errand.message)
        try:
            item.stored.set_result(await self._store.put_inbox(live.task_id, message, send))
        except (StoreError, asyncio.CancelledError) as error:
            if item in live.inbox:
                live.inbox.remove(item)
                if live.failure is None:
                    live.execute(Withdraw())
            item.stored.set_exception(StoreUnavailableError(str(error)))
            item.stored.exception()  # Perhaps nobody looks at it; that is no fault.

    async def _wind_down(self, live: LiveTask, turn: asyncio.Task[None]) -> None:
        """Stop a turn: cancel, a grace period, then the cleanup hook."""
        live.is_stopping = True
        turn.cancel()
        await asyncio.wait([turn], timeout=self._limits.cancel_grace_seconds)
        if not turn.done():
            _logger.warning(
                "task %s: its code ignores cancellation; it is left behind", live.task_id
            )
        live.leave_seat()
        await self._turns.clean_up(live)

    async def _recover(self, live: LiveTask) -> None:
        """Bring a task back to what the store has, as soon as the store is back."""
        stored = await self._load_when_available(live)
        if stored is None:
            _logger.warning("task %s was never stored; its turn is stopped", live.task_id)
            self._drop(live)
            return
        live.lost = UnavailableError("The store failed; output of this turn was lost")
        fold = fold_of(stored)
        live.reset(standing_of(stored, fold, unread=len(live.inbox)), fold)
        if live.turn is None or live.turn.done():
            await self._turns.finish(live, Failed())

    async def _load_when_available(self, live: LiveTask) -> StoredTask | None:
        while True:
            if self._store.is_available:
                with suppress(StoreUnavailableError):
                    return await self._store.load(live.scope, live.task_id)
            await self._clock.sleep(STORE_POLL_SECONDS)

    def _drop(self, live: LiveTask) -> None:
        """Let go of a task that is not ours any more: its turn, its waiters and its followers."""
        self.task_ended(live)
        live.fail_waiters(live.failure or UnavailableError())
        live.channel.cut()
        live.is_stopping = True
        live.leave_seat()
        if live.turn is not None:
            live.turn.cancel()


async def _stored(storing: asyncio.Task[None], item: QueuedErrand) -> None:
    """Wait until a message of the inbox is durable; raises UnavailableError if it is not to be."""
    await asyncio.shield(storing)
    if item.stored.exception() is not None:
        raise UnavailableError(_NO_STORE)
