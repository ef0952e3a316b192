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

from msgspec import Struct
from msgspec.structs import replace

from dragoman.clock import Clock
from dragoman.engine.commands import Begin, Cancel, Deliver, GoOn, Withdraw
from dragoman.engine.effects import Enqueue
from dragoman.engine.fold import TaskFold
from dragoman.engine.journal import TURN
from dragoman.engine.machine import Standing
from dragoman.errors import (
    ConflictError,
    InvalidParamsError,
    StoreError,
    StoreUnavailableError,
    UnavailableError,
)
from dragoman.model.messages import Message
from dragoman.model.operations import SendMessageRequest
from dragoman.model.tasks import TaskState
from dragoman.server.errands import Answer, Errand, QueuedErrand, decode_errand, encode
from dragoman.server.hub import Channel, Hub
from dragoman.server.live import LiveTask
from dragoman.server.nursery import Nursery
from dragoman.server.recovery import fold_of, standing_of
from dragoman.server.slots import Seat, Slots
from dragoman.server.turn import ASK, question_name
from dragoman.server.turns import STORE_POLL_SECONDS, Turns
from dragoman.server.vault import Vault
from dragoman.service.principal import ANONYMOUS
from dragoman.service.worker import Failed, Plan, Suspended, Worker
from dragoman.stores.base import NewTask, Scope, Secret, SendRecord, StoredTask, TaskStore

__all__ = ("Delivery", "Limits", "Runner")

_logger = logging.getLogger(__name__)

_LAST_COMMIT_SECONDS: Final = 5.0
"""How long a stopping server waits for the commits of turns that have ended."""

_STOPPING: Final = "The server is shutting down; try again"
_NO_STORE: Final = "The store is not available; try again later"

INTERRUPTED_REASON: Final = (
    "The server was restarted while this task was under way; it cannot be continued. "
    "Send the message again with a new messageId."
)
"""What is said of a task whose skill is not to be run again (``on_crash="fail"``)."""


class Limits(Struct, frozen=True, kw_only=True):
    """Bounds on the work of one process."""

    running_turns: int = 1000
    waiting_turns: int = 10_000
    turns_per_owner: int = 5000
    cancel_grace_seconds: float = 10.0
    turn_seconds: float = 0.0


class Delivery(Struct, frozen=True):
    """A message handed to a live task; ``settled`` is done when its turn has ended or paused."""

    settled: asyncio.Future[None]
    stored: Coroutine[object, object, object]
    """Await it before the message is acknowledged; raises when it could not be stored."""


class Runner:
    """Begins, continues and ends tasks, and keeps those that are live."""

    def __init__(
        self,
        *,
        worker: Worker,
        store: TaskStore,
        clock: Clock,
        hub: Hub,
        limits: Limits,
        marks_traces: bool = False,
        vault: Vault | None = None,
    ) -> None:
        self._worker = worker
        self._store = store
        self._clock = clock
        self._hub = hub
        self._limits = limits
        self._slots = Slots(limits.running_turns, limits.waiting_turns, limits.turns_per_owner)
        self._turns = Turns(
            worker,
            store,
            self._slots,
            clock,
            turn_seconds=limits.turn_seconds,
            marks_traces=marks_traces,
            vault=vault,
        )
        self._nursery = Nursery()
        self._live: dict[str, LiveTask] = {}
        self._adoptions: dict[str, asyncio.Task[LiveTask]] = {}
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

    def tasks(self) -> tuple[LiveTask, ...]:
        """Return the tasks that are in memory."""
        return tuple(self._live.values())

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
        if not errand.is_bare:
            # The message is in the history; what came with it is kept here.
            live.note(TURN, "", encode(errand))
        live.execute(Begin(errand.message))
        return live

    def deliver(
        self,
        live: LiveTask,
        errand: Errand,
        send: SendRecord | None,
        sealed: bytes | None = None,
    ) -> Delivery:
        """Hand a further message to a task. It is acknowledged once ``stored`` has been awaited.

        Args:
            sealed: what the message says if that is a secret; the errand has a placeholder then.
        """
        self.check()
        is_auth = live.standing.state is TaskState.AUTH_REQUIRED
        question = question_name(is_auth=is_auth)
        if live.pause is not None and live.pause.cancelled() and live.is_questioned:
            # The author's code has just stopped waiting: this is no answer any more.
            live.note(ASK, question, encode(Answer()))
            live.execute(GoOn())
        if sealed is not None and not live.is_questioned:
            raise InvalidParamsError.of("message", "comes too late: nobody waits for it any more")
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
        if sealed is not None:
            errand = replace(errand, secret=live.next_result)
            live.keep(Secret(errand.secret, sealed))
        live.note(ASK, question, encode(Answer(errand=errand)))
        if send is not None:
            live.answers_send(send)
        settled = live.settled()
        if live.pause is not None and not live.pause.done():
            live.pause.set_result(errand)
        elif live.turn is None:
            self.run_again(live)
        return Delivery(settled, live.durable())

    async def cancel(self, live: LiveTask) -> None:
        """Cancel a task, durably. The turn is then stopped and cleaned up after."""
        live.execute(Cancel())
        await live.durable()
        self._spawn_errand(self._wind_down(live, live.turn), f"end of {live.task_id}")

    async def adopt(self, stored: StoredTask) -> LiveTask:
        """Bring an unfinished task of the store to life, without a turn, under a new lease.

        Raises:
            UnavailableError: somebody else has it.
        """
        if stored.id in self._live:
            return self._live[stored.id]
        adoption = self._adoptions.get(stored.id)
        if adoption is None:
            adoption = self._nursery.loop.create_task(self._adopt(stored), name=stored.id)
            self._adoptions[stored.id] = adoption
            adoption.add_done_callback(lambda _: self._adoptions.pop(stored.id, None))
        try:
            return await asyncio.shield(adoption)
        except ConflictError:
            live = self._live.get(stored.id)
            if live is not None:
                return live
            raise UnavailableError("The task is run by another server; try again later") from None
        except StoreError:
            raise UnavailableError(_NO_STORE) from None

    async def _adopt(self, stored: StoredTask) -> LiveTask:
        epoch = await self._store.take_over(stored.id, stored.epoch)
        journal = await self._store.read_journal(stored.id)
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
            journal_n=journal[-1].n if journal else 0,
            attempts=stored.attempts,
            wake_at_ms=stored.wake_at_ms,
        )
        for item in stored.inbox:
            queued = QueuedErrand(decode_errand(item.body))
            queued.stored.set_result(item.n)
            live.inbox.append(queued)
        live.paused_ms = self._clock.now_ms()
        self._live[stored.id] = live
        return live

    def run_again(self, live: LiveTask) -> None:
        """Run the turn that a task was in from the top; end the task if its skill forbids that."""
        if not self._worker.resumes(live.record.skill_id):
            self._spawn_errand(self._give_up(live, INTERRUPTED_REASON), f"end of {live.task_id}")
            return
        live.paused_ms = 0
        live.seat = seat = Seat(self._slots, live.scope.owner)
        seat.claim()
        live.turn = self._nursery.spawn(self._turns.run_again(live, seat), name=live.task_id)

    async def give_up(self, stored: StoredTask, reason: str) -> None:
        """End an unfinished task of the store as failed."""
        await self._give_up(await self.adopt(stored), reason)

    async def abandon(self, live: LiveTask, reason: str) -> None:
        """End a task as failed, durably. Its turn, if it has one, is then stopped."""
        await self._give_up(live, reason)
        live.is_stopping = True
        if live.turn is not None:
            self._spawn_errand(self._stop(live, live.turn), f"end of {live.task_id}")

    async def _give_up(self, live: LiveTask, reason: str) -> None:
        await self._turns.finish(live, Failed(self._turns.status_message(live, reason)))
        await live.durable()

    def put_aside(self, live: LiveTask) -> None:
        """Let a task that only waits leave memory. What it waits for brings it back."""
        self.task_ended(live)
        live.is_stopping = True
        live.lost = Suspended()
        if live.pause is not None and not live.pause.done():
            live.pause.set_exception(live.lost)

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
        turns = {live.turn for live in self._live.values() if live.turn and live.pause is None}
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
            _logger.info("unfinished, to be continued at the next start: %d", len(left))
        for live in left:
            live.is_stopping = True
        await self._nursery.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_COMMIT_SECONDS):
                await asyncio.gather(*map(self._hand_over, left), return_exceptions=True)
        for live in left:
            live.fail_waiters(UnavailableError(_STOPPING))

    async def _hand_over(self, live: LiveTask) -> None:
        """Leave a task for the next start, which does not count as an attempt."""
        await live.durable()
        await self._store.take_over(live.task_id, live.epoch, attempts=max(0, live.attempts) - 1)

    def task_ended(self, live: LiveTask) -> None:
        """Forget a task that is over; its followers keep what they need."""
        if self._live.get(live.task_id) is live:
            del self._live[live.task_id]
        name = live.scope, live.record.alias
        if self._aliases.get(name) == live.task_id:
            # Another task may have taken it over.
            del self._aliases[name]
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
        body = encode(item.errand)
        try:
            item.stored.set_result(await self._store.put_inbox(live.task_id, body, send))
        except (StoreError, asyncio.CancelledError) as error:
            if item in live.inbox:
                live.inbox.remove(item)
                if live.failure is None:
                    live.execute(Withdraw())
            item.stored.set_exception(StoreUnavailableError(str(error)))
            item.stored.exception()  # Perhaps nobody looks at it; that is no fault.

    async def _wind_down(self, live: LiveTask, turn: asyncio.Task[None] | None) -> None:
        """Stop a turn, if one runs: cancel, a grace period, then the cleanup hook."""
        live.is_stopping = True
        if turn is not None:
            await self._stop(live, turn)
        await self._turns.clean_up(live)

    async def _stop(self, live: LiveTask, turn: asyncio.Task[None]) -> None:
        turn.cancel()
        await asyncio.wait([turn], timeout=self._limits.cancel_grace_seconds)
        if not turn.done():
            _logger.warning(
                "task %s: its code ignores cancellation; it is left behind", live.task_id
            )
        live.leave_seat()

    async def _recover(self, live: LiveTask) -> None:
        """Bring a task back to what the store has, as soon as the store is back."""
        stored = await self._load_when_available(live)
        if stored is None:
            _logger.warning("task %s was never stored; its turn is stopped", live.task_id)
            self._drop(live)
            return
        journal = await self._store.read_journal(live.task_id)
        may_resume = self._worker.resumes(live.record.skill_id)
        if may_resume and live.turn is not None:
            # Put aside first, so that nothing of it comes between.
            live.lost = Suspended()
            await self._stop(live, live.turn)
            live.turn = None
            live.paused_ms = self._clock.now_ms()
        else:
            live.lost = UnavailableError("The store failed; output of this turn was lost")
        fold = fold_of(stored)
        standing = standing_of(stored, fold, unread=len(live.inbox))
        live.reset(
            standing,
            fold,
            journal_n=journal[-1].n if journal else 0,
            attempts=stored.attempts,
            wake_at_ms=stored.wake_at_ms,
        )
        if may_resume:
            live.lost = None
            if not standing.has_ended and not live.is_questioned:
                self.run_again(live)
        elif live.turn is None or live.turn.done():
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
