"""TaskSupervisor: the live tasks of this process, and what outside calls do to them.

Each turn runs in a task of the supervisor's own, never in the request's, so a dropped connection
cannot touch the work.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from dragoman.clock import Clock
from dragoman.engine.commands import Begin, Cancel, Command, Finish
from dragoman.engine.effects import NextTurn
from dragoman.engine.journal import TURN
from dragoman.errors import (
    ConflictError,
    SentBeforeError,
    StoreError,
    TaskNotCancelableError,
    UnavailableError,
)
from dragoman.model.messages import Message
from dragoman.model.operations import SendMessageRequest
from dragoman.model.tasks import TaskState
from dragoman.server.settings import TurnSettings
from dragoman.server.tasks.background import BackgroundTasks, ended
from dragoman.server.tasks.delivery import Delivery, encode
from dragoman.server.tasks.ending import is_ending
from dragoman.server.tasks.inbox import NO_STORE, Receipt, TaskInbox
from dragoman.server.tasks.lookup import TaskLookup
from dragoman.server.tasks.restoring import TaskRestorer, fold_of, standing_of
from dragoman.server.tasks.secrets import TaskSecrets
from dragoman.server.tasks.slots import Slot, Slots
from dragoman.server.tasks.streams import Hub
from dragoman.server.tasks.task import LiveTask
from dragoman.server.tasks.turns import INTERRUPTED_REASON, STORE_POLL_SECONDS, Turns
from dragoman.server.tasks.watcher import TaskLostError
from dragoman.service.principal import ANONYMOUS
from dragoman.service.worker import Failed, Plan, Suspended, Worker
from dragoman.stores.base import (
    JournalEntry,
    NewTask,
    Scope,
    SendRecord,
    StoredTask,
    TaskStore,
    TaskWrite,
)

if TYPE_CHECKING:
    from dragoman.server.replicas.remote_tasks import RemoteTasks

__all__ = ("TaskSupervisor",)

_logger = logging.getLogger(__name__)

_LAST_COMMIT_SECONDS: Final = 5.0
"""How long a stopping server waits for the commits of turns that have ended."""

_STOPPING: Final = "The server is shutting down; try again"


class TaskSupervisor:
    """Begins, continues and ends tasks, and keeps those that are live.

    Args:
        elsewhere: the tasks of other replicas; None for a store that this process has to itself.
    """

    def __init__(
        self,
        *,
        worker: Worker,
        store: TaskStore,
        clock: Clock,
        hub: Hub,
        settings: TurnSettings,
        remote_tasks: RemoteTasks | None = None,
        marks_traces: bool = False,
        task_secrets: TaskSecrets | None = None,
    ) -> None:
        self._remote_tasks = remote_tasks
        self._worker = worker
        self._store = store
        self._clock = clock
        self._settings = settings
        self.slots: Final = Slots(
            settings.max_running_turns, settings.max_waiting_turns, settings.max_turns_per_owner
        )
        self._turns = Turns(
            worker,
            store,
            self.slots,
            clock,
            take_in=self.take_in,
            settings=settings,
            marks_traces=marks_traces,
            task_secrets=task_secrets,
            lookup=TaskLookup(store),
        )
        self._background = BackgroundTasks()
        self._restorer = TaskRestorer(
            watcher=self,
            store=store,
            clock=clock,
            hub=hub,
            remote_tasks=remote_tasks,
            worker=worker,
        )
        self._deliveries = TaskInbox(
            store, self._background, run_again=self.run_again, cancel=self._cancel_soon
        )
        self._live: dict[str, LiveTask] = {}
        self._adoptions: dict[str, asyncio.Task[LiveTask]] = {}
        # What clients call the tasks whose first write may still be on its way.
        self._aliases: dict[tuple[Scope, str], str] = {}
        # What has a claim on the grace period beside the turns: direct answers and cleanups.
        self._errands: set[asyncio.Task[None]] = set()
        self._is_draining = False
        self._hurry = asyncio.Event()

    @property
    def is_draining(self) -> bool:
        """Tell whether new work is refused because the server stops."""
        return self._is_draining

    def find(self, scope: Scope, task_id: str) -> LiveTask | None:
        """Return the live task of this id if it belongs to this scope."""
        live = self._live.get(task_id)
        return live if live is not None and live.scope == scope else None

    async def find_current(self, scope: Scope, task_id: str) -> LiveTask | None:
        """Return the live task of this id, unless another replica has taken it over meanwhile.

        For that the store is asked only when the lease of this replica may have run out. An end
        that the store may refuse is waited for: the task has left memory then, or goes on.
        """
        live = self.find(scope, task_id)
        if live is None or self._remote_tasks is None:
            return live
        is_doubtful = live.is_stored and not self._remote_tasks.replica.is_sure
        if is_doubtful and await self._remote_tasks.store.lost({task_id: live.epoch}):
            self.let_go(live)
        if is_ending(live):
            # A write that is lost for these reasons leaves the task to another replica, or to its
            # recovery; either is found below.
            with suppress(SentBeforeError, TaskLostError):
                while is_ending(live):
                    await live.durable()
        return self.find(scope, task_id)

    def held(self, task_id: str) -> LiveTask | None:
        """Return the live task of this id, whoever owns it."""
        return self._live.get(task_id)

    def tasks(self) -> tuple[LiveTask, ...]:
        """Return the tasks that are in memory."""
        return tuple(self._live.values())

    async def find_called(self, scope: Scope, alias: str) -> str | None:
        """Return the id of the task that a client of this scope calls by an id of its own."""
        name = scope, alias
        if name not in self._aliases:
            known = await self._store.find_alias(scope, alias)
            # It may have begun while the store was looked at.
            if name not in self._aliases:
                return known
        task_id = self._aliases[name]
        live = self.find(scope, task_id)
        if self._remote_tasks is None or live is None or live.is_stored:
            return task_id
        # Another replica may have begun it by the same message: then it is that one.
        with suppress(SentBeforeError):
            await live.durable()
        return await self.find_called(scope, alias)

    def check(self, owner: str = ANONYMOUS) -> None:
        """Raise UnavailableError when no new work can be taken on, or none of this owner.

        For the latter it is RateLimitedError.
        """
        if self._is_draining:
            raise UnavailableError(_STOPPING)
        if not self._store.is_available:
            raise UnavailableError(NO_STORE)
        self.slots.check(owner)

    def begin(
        self, task_id: str, record: NewTask, errand: Delivery, send: SendRecord | None
    ) -> LiveTask:
        """Create a task and start its first turn."""
        self.check(record.scope.owner)
        live = self._live[task_id] = self._restorer.begin(
            task_id, record, send, self._background.loop
        )
        if record.alias:
            self._aliases[record.scope, record.alias] = task_id
        live.slot = slot = Slot(self.slots, record.scope.owner)
        slot.claim()
        # Spawned before the first write is scheduled: a turn that ends in its first pass is one
        # write.
        live.turn = self._background.spawn(self._turns.run(live, errand, slot), name=task_id)
        if not errand.is_bare:
            # The message is in the history; what came with it is kept here.
            live.note(TURN, "", encode(errand))
        live.execute(Begin(errand.message))
        return live

    def deliver(self, live: LiveTask, errand: Delivery, send: SendRecord | None) -> Receipt:
        """Hand a further message to a task. It is acknowledged once it is ``stored``."""
        self.check()
        return self._deliveries.deliver(live, errand, send)

    async def cancel(self, live: LiveTask) -> None:
        """Cancel a task, durably. The turn is then stopped and cleaned up after.

        Raises:
            TaskNotCancelableError: it came to another end first.
        """
        while is_ending(live):
            await live.durable()
        live.execute(Cancel())
        await self._end_of(live)
        state = live.standing.state
        if state is not None and state is not TaskState.CANCELED:
            raise TaskNotCancelableError(live.task_id, state.value)  # R-3.1.5-3
        self._spawn_errand(self._wind_down(live, live.turn), f"end of {live.task_id}")

    def _cancel_soon(self, live: LiveTask) -> None:
        """Cancel a task because word of it came from another replica."""
        live.execute(Cancel())
        self._spawn_errand(self._wind_down_durably(live), f"end of {live.task_id}")

    async def _wind_down_durably(self, live: LiveTask) -> None:
        with suppress(UnavailableError):
            await self._end_of(live)
            if live.standing.state is TaskState.CANCELED:
                await self._wind_down(live, live.turn)

    async def _end_of(self, live: LiveTask) -> None:
        """Wait until the end of a task is durable.

        The store may refuse it at first, for a message that is not known here; until it is, the
        turn may go on, and what it says gets the number that the end would have had.
        """
        while not live.is_over:
            if live.failure is not None:
                raise live.failure
            await live.settled()

    async def take_in(self, live: LiveTask) -> None:
        """Take up what other replicas have put into the inbox of a task."""
        await self._deliveries.take_in(live)

    async def adopt(self, stored: StoredTask) -> LiveTask:
        """Bring an unfinished task of the store to life, without a turn, under a new lease.

        Raises:
            TaskLostError: somebody else was faster; or it was put aside again before this returned.
            UnavailableError: the server stops, or its store is gone.
        """
        if stored.id in self._live:
            return self._live[stored.id]
        if self._is_draining:
            raise UnavailableError(_STOPPING)
        adoption = self._adoptions.get(stored.id)
        if adoption is None:
            adoption = self._background.loop.create_task(self._adopt(stored), name=stored.id)
            self._adoptions[stored.id] = adoption
            adoption.add_done_callback(self._adopted)
        try:
            with suppress(ConflictError):
                await asyncio.shield(adoption)
        except StoreError:
            raise UnavailableError(NO_STORE) from None
        live = self._live.get(stored.id)
        if live is None:
            raise TaskLostError
        return live

    def _adopted(self, adoption: asyncio.Task[LiveTask]) -> None:
        self._adoptions.pop(adoption.get_name(), None)
        if not adoption.cancelled():
            adoption.exception()  # Whoever waited may have left; that is no fault.

    async def _adopt(self, known: StoredTask) -> LiveTask:
        epoch = await self._store.take_over(known.id, known.epoch)
        try:
            stored, journal = await self._read_taken(known)
            live, rest = self._restorer.revive(stored, journal, epoch)
        except BaseException:
            self._release(known.id, epoch)
            raise
        if self._remote_tasks is not None:
            self._remote_tasks.note_taken(known)
        self._live[known.id] = live
        for item in rest:
            self._deliveries.take(live, item)
        return live

    async def _read_taken(self, known: StoredTask) -> tuple[StoredTask, tuple[JournalEntry, ...]]:
        """Return what the store has of a task that nobody else writes to any more."""
        stored = await self._store.load(known.scope, known.id)
        journal = await self._store.read_journal(known.id)
        if self._is_draining:
            # What is live is being handed over, or has been.
            raise UnavailableError(_STOPPING)
        if stored is None or stored.state.is_terminal:
            # Its last holder has ended it after all.
            raise ConflictError(known.id)
        if known.state.is_interrupted and stored.seq != known.seq:
            # Or made it go on: then it is to be run again, by a sweep.
            raise ConflictError(known.id)
        return stored, journal

    def run_again(self, live: LiveTask) -> None:
        """Run the turn that a task was in from the top; end the task if its skill forbids that."""
        if not self._worker.resumes(live.record.skill_id):
            self._spawn_errand(self._give_up_if_ours(live), f"end of {live.task_id}")
            return
        live.paused_ms = 0
        live.slot = slot = Slot(self.slots, live.scope.owner)
        slot.claim()
        live.turn = self._background.spawn(self._turns.run_again(live, slot), name=live.task_id)

    async def give_up(self, stored: StoredTask, reason: str) -> None:
        """End an unfinished task of the store as failed."""
        await self._give_up(await self.adopt(stored), reason)

    async def abandon(self, live: LiveTask, reason: str) -> None:
        """End a task as failed, durably. Its turn, if it has one, is then stopped."""
        await self._give_up(live, reason)
        if not live.is_over:
            return  # There was an answer after all.
        live.is_stopping = True
        if live.turn is not None:
            self._spawn_errand(self._stop(live, live.turn), f"end of {live.task_id}")

    async def _give_up_if_ours(self, live: LiveTask) -> None:
        with suppress(TaskLostError):
            await self._give_up(live, INTERRUPTED_REASON)

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
        self._release(live.task_id, live.epoch)

    def _release(self, task_id: str, epoch: int) -> None:
        """Let any replica have a task that is not in memory here."""
        if self._remote_tasks is not None:
            self._remote_tasks.release(task_id, epoch)

    async def answer(
        self, plan: Plan, request: SendMessageRequest, context_id: str, owner: str = ANONYMOUS
    ) -> Message:
        """Have a message answered directly, without a task, in a slot like any turn."""
        self.check(owner)
        answered: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        slot = Slot(self.slots, owner)
        slot.claim()
        self._spawn_errand(
            self._turns.answer(plan, request, context_id, answered, slot),
            f"answer to {request.message.message_id[:100]}",
        )
        return await asyncio.shield(answered)

    def hasten(self) -> None:
        """Let ``drain`` wait for no turn any longer."""
        self._hurry.set()

    async def drain(self, grace_seconds: float) -> None:
        """Take no new work, let running turns finish within the grace period, leave the rest.

        What is left stays in the store as it is, for the next start.
        """
        self._is_draining = True
        # One that asks, and does nothing else, is not waited for.
        turns = {live.turn for live in self._live.values() if live.turn and not live.paused_ms}
        turns |= self._errands
        if turns:
            _logger.info("waiting up to %s s for %d running turns", grace_seconds, len(turns))
            await ended(turns, seconds=grace_seconds, hurry=self._hurry)
        # How a turn ended may still be on its way to the store; whoever waits for it gets to know.
        ends = [live.durable() for live in self._live.values() if live.standing.has_ended]
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_COMMIT_SECONDS):
                await asyncio.gather(*ends, return_exceptions=True)
        left = [live for live in self._live.values() if not live.is_over]
        if left:
            is_shared = self._remote_tasks is not None
            goal = "handed over to other replicas" if is_shared else "left for the next start"
            _logger.info("unfinished, %s: %d", goal, len(left))
        for live in left:
            live.is_stopping = True
        if self._adoptions:
            # What they have taken they give back.
            await asyncio.wait(self._adoptions.values(), timeout=_LAST_COMMIT_SECONDS)
        await self._background.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_COMMIT_SECONDS):
                await asyncio.gather(*map(self._hand_over, left), return_exceptions=True)
        for live in left:
            live.fail_waiters(UnavailableError(_STOPPING))

    async def _hand_over(self, live: LiveTask) -> None:
        """Leave a task for the next start, which does not count as an attempt; or for another."""
        await live.durable()
        attempts = max(0, live.attempts) - 1
        epoch = await self._store.take_over(live.task_id, live.epoch, attempts=attempts)
        if self._remote_tasks is not None:
            # From here on others know better how it is.
            self._live.pop(live.task_id, None)
            await self._remote_tasks.store.release(live.task_id, epoch)

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
        """Drop a task another replica has taken; bring one back whose store has failed."""
        if self._live.get(live.task_id) is not live:
            return  # It was let go of while this write was on its way.
        if isinstance(error, ConflictError):
            _logger.warning(
                "task %s: another replica has taken it over; its turn is stopped here", live.task_id
            )
            self._drop(live)
        elif isinstance(error, SentBeforeError) and not live.is_stored:
            _logger.info("task %s is not begun: %s", live.task_id, error)
            self._drop(live)
        else:
            self._background.spawn(self._recover(live), name=f"recovery of {live.task_id}")

    def sent_before(self, live: LiveTask, write: TaskWrite, message_id: str) -> None:
        """Find the other copy of a message that another replica has got first; it is this one."""
        self._spawn_errand(self._write_again(live, write, message_id), live.task_id)

    async def _write_again(self, live: LiveTask, write: TaskWrite, message_id: str) -> None:
        try:
            while (copy := await self._deliveries.find_copy(live, message_id)) is None:
                await self._clock.sleep(STORE_POLL_SECONDS)
        except asyncio.CancelledError:
            # The server stops: nobody is to wait for what will not be written here.
            live.drop_write(write)
            raise
        live.write_again(write, copy)

    def end_refused(self, live: LiveTask, command: Command) -> None:
        """Look into the inbox of a task, then end it anew or go on with what was there."""
        # Asked now: what is on its way to the task may get there before this errand begins.
        asked_at = live.standing.seq if live.is_questioned else 0
        work = self._end_anew(live, command, live.turn, asked_at)
        self._spawn_errand(work, f"end of {live.task_id}")

    async def _end_anew(
        self, live: LiveTask, command: Command, turn: asyncio.Task[None] | None, asked_at: int
    ) -> None:
        """End a task as its turn was to, unless it has got on since.

        Args:
            turn: the one that it had then.
            asked_at: the event by which it asked, if it waited for an answer then.
        """
        while not await self._deliveries.take_in(live, is_ending=True):
            await self._clock.sleep(STORE_POLL_SECONDS)
        if live.standing.has_ended or live.failure is not None:
            return
        if isinstance(command, Finish):
            if live.turn is not turn:
                return  # It is run again, after its store had failed.
            is_answered = asked_at and live.standing.seq != asked_at
            if is_answered and turn and not turn.done():
                return  # It was to end for want of an answer.
        if NextTurn() in live.execute(command):
            live.slot = slot = Slot(self.slots, live.scope.owner)
            slot.claim()
            live.turn = self._background.spawn(self._turns.go_on(live, slot), name=live.task_id)

    def let_go(self, live: LiveTask) -> None:
        """Drop a task that another replica has taken over, before a write finds out."""
        if self._live.get(live.task_id) is live:
            live.failure = TaskLostError()
            _logger.debug("task %s was taken over; its turn is stopped here", live.task_id)
            self._drop(live)

    def _spawn_errand(self, work: Coroutine[object, object, None], name: str) -> asyncio.Task[None]:
        task = self._background.spawn(work, name=name)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)
        return task

    async def _wind_down(self, live: LiveTask, turn: asyncio.Task[None] | None) -> None:
        """Stop a turn, if one runs: cancel, a grace period, then the cleanup hook."""
        if live.is_stopping:
            return  # Another replica was asked to cancel it, too.
        live.is_stopping = True
        if turn is not None:
            await self._stop(live, turn)
        await self._turns.clean_up(live)

    async def _stop(self, live: LiveTask, turn: asyncio.Task[None]) -> None:
        turn.cancel()
        await asyncio.wait([turn], timeout=self._settings.cancel_grace_seconds)
        if not turn.done():
            _logger.warning(
                "task %s: its code ignores cancellation; it is left behind", live.task_id
            )
        live.leave_seat()

    async def _recover(self, live: LiveTask) -> None:
        """Bring a task back to what the store has, as soon as the store is back."""
        # What becomes of these is in what is read then.
        if on_their_way := [item.stored for item in live.inbox if not item.stored.done()]:
            await asyncio.wait(on_their_way)
        stored, journal = await self._restorer.read_when_available(live)
        if stored is None:
            _logger.warning("task %s was never stored; its turn is stopped", live.task_id)
            self._drop(live)
            return
        if stored.epoch != live.epoch:
            self.let_go(live)
            return
        may_resume = self._worker.resumes(live.record.skill_id)
        if may_resume and live.turn is not None:
            # Put aside first, so that nothing of it comes between.
            live.lost = Suspended()
            await self._stop(live, live.turn)
            if self._live.get(live.task_id) is not live:
                return  # It was let go of meanwhile.
            # Should its code still run, it is told by this that it does not count any more.
            live.turn = live.slot = None
            live.paused_ms = self._clock.now_ms()
        else:
            live.lost = UnavailableError("The store failed; output of this turn was lost")
        queue = self._deliveries.take_out(live, stored)
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
        self._deliveries.take_again(live, queue)
        if may_resume:
            # What was in its inbox may have brought the turn back already.
            if live.turn is None and not live.standing.has_ended and not live.is_questioned:
                _logger.info("task %s is run again: its store had failed", live.task_id)
                self.run_again(live)
        elif live.turn is None or live.turn.done():
            await self._turns.finish(live, Failed())

    def _drop(self, live: LiveTask) -> None:
        """Let go of a task that is not ours any more: its turn, its waiters and its followers."""
        self.task_ended(live)
        live.retire()
        live.fail_waiters(live.failure or UnavailableError())
        if self._remote_tasks is not None and live.is_stored:
            self._remote_tasks.keep(live.task_id, live.channel)
        else:
            live.channel.cut()
        live.is_stopping = True
        live.leave_seat()
        if live.turn is not None:
            live.turn.cancel()
