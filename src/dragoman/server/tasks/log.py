"""TaskLog: the way of one task into the store.

What a task does is first enqueued, then on its way, then durable. At most one write of a task is on
its way; what happens meanwhile goes into the next one. A write is handed over at the end of the
loop's current pass, so a turn that is over by then is a single write.

It does not know what a task may do, nor who does it.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Final, Required, TypedDict

from msgspec.structs import replace

from dragoman import telemetry
from dragoman.clock import Clock
from dragoman.engine.commands import Command
from dragoman.engine.fold import TaskFold
from dragoman.engine.journal import SPEAKER, kind_in
from dragoman.engine.machine import Standing
from dragoman.errors import StoreError, UnavailableError
from dragoman.model.base import JsonObject
from dragoman.model.documents import TaskDocument, encode_entry
from dragoman.model.events import TaskEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message
from dragoman.model.tasks import TaskState
from dragoman.server.tasks.delivery import QueuedDelivery
from dragoman.server.tasks.ending import Ending
from dragoman.server.tasks.known_numbers import KnownNumbers
from dragoman.server.tasks.pending_write import (
    SNAPSHOT_EVENTS,
    Draft,
    Waiters,
    is_snapshot_due,
)
from dragoman.server.tasks.streams import Channel
from dragoman.server.tasks.watcher import TaskLostError
from dragoman.stores.base import (
    WHOLE_INBOX,
    JournalEntry,
    NewTask,
    Scope,
    Secret,
    SendRecord,
    TaskStore,
    TaskWrite,
)
from dragoman.stores.shared.segments import number_events
from dragoman.telemetry import Telemetry

__all__ = ("LogArguments", "TaskLog")

BREATH_EVENTS: Final = 64
"""Events a turn publishes at a stretch before others get to run: about a millisecond."""

_NOT_STORED: Final = -(1 << 62)
"""Where the stored value of a counter would be, had its write not been refused."""


class LogArguments(TypedDict, total=False):
    """What a TaskLog is made of.

    ``announce`` tells other replicas, after each commit, up to which event the log reaches.
    ``revise`` returns an event as it is to be logged.
    """

    store: Required[TaskStore]
    clock: Required[Clock]
    channel: Required[Channel]
    record: Required[NewTask]
    standing: Required[Standing]
    fold: Required[TaskFold]
    epoch: int
    send: SendRecord | None
    journal_n: int
    attempts: int
    wake_at_ms: int
    loop: asyncio.AbstractEventLoop | None
    seen: KnownNumbers | None
    announce: Callable[[str, int], None] | None
    revise: Callable[[TaskEvent], TaskEvent] | None


class TaskLog(ABC):
    """What of a task is enqueued, and how much of that is durable.

    Attributes:
        attempts: how often it was run again since it last got on.
        failure: why commands are refused for now, after a write was lost.
        inbox: acknowledged messages, or such on their way, that no turn has taken up.
        marks: metadata that its events get beside their own; None for none.
        seen: which numbers of its inbox are known; None unless the store is shared.
    """

    # Beyond 30 attributes an object without slots needs a full dictionary of its own.
    __slots__ = (
        "_announce",
        "_answers",
        "_clock",
        "_document",
        "_draft",
        "_ending",
        "_extras",
        "_flying_mark",
        "_fold",
        "_in_flight",
        "_is_flush_due",
        "_is_status_due",
        "_journal_n",
        "_loop",
        "_paused_at",
        "_revise",
        "_snapshot_seq",
        "_status_at_ms",
        "_store",
        "_stored_attempts",
        "_stored_mark",
        "_stored_seq",
        "_stored_state",
        "_stored_wake_at_ms",
        "_waiters",
        "_wake_at_ms",
        "attempts",
        "channel",
        "epoch",
        "failure",
        "inbox",
        "marks",
        "record",
        "seen",
        "standing",
    )

    def __init__(
        self,
        *,
        store: TaskStore,
        clock: Clock,
        channel: Channel,
        record: NewTask,
        standing: Standing,
        fold: TaskFold,
        epoch: int = 1,
        send: SendRecord | None = None,
        journal_n: int = 0,
        attempts: int = 0,
        wake_at_ms: int = 0,
        loop: asyncio.AbstractEventLoop | None = None,
        seen: KnownNumbers | None = None,
        announce: Callable[[str, int], None] | None = None,
        revise: Callable[[TaskEvent], TaskEvent] | None = None,
    ) -> None:
        """Keep what is given, see ``LogArguments``."""
        self.seen: KnownNumbers | None = seen
        self._announce = announce
        self._revise = revise
        self._ending: Ending | None = None
        self._answers: tuple[Message, ...] = ()
        self.record: Final = record
        self.standing: Standing = standing
        self.channel: Final = channel
        self.epoch: int = epoch
        self.inbox: deque[QueuedDelivery] = deque()
        self.attempts: int = attempts
        self.failure: UnavailableError | None = None
        self.marks: JsonObject | None = None
        self._store = store
        self._clock = clock
        # Asking which loop runs costs a system call.
        self._loop = loop or asyncio.get_running_loop()
        self._fold = fold
        self._draft = Draft(send)
        self._stored_seq = standing.seq
        self._stored_mark = standing.seq
        self._stored_state = standing.state
        self._snapshot_seq = standing.seq
        self._status_at_ms = 0
        self._journal_n = journal_n
        # Results and plans that were enqueued. With the number of the last event they tell how much
        # has been enqueued altogether (a mark), and so whether all of it is durable.
        self._extras = 0
        self._flying_mark = 0
        self._wake_at_ms = self._stored_wake_at_ms = wake_at_ms
        self._stored_attempts = attempts
        self._paused_at = 0
        self._in_flight: TaskWrite | None = None
        self._is_flush_due = False
        self._is_status_due = False
        self._document: tuple[int, TaskDocument] | None = None
        self._waiters = Waiters()

    @abstractmethod
    def _lose(self, error: StoreError, write: TaskWrite) -> None:
        """Deal with a write that the store has not taken."""

    @abstractmethod
    def _end(self) -> None:
        """Deal with the end of the task, which is durable now, with all of it."""

    @property
    def task_id(self) -> str:
        """The id of the task."""
        return self.standing.task_id

    @property
    def scope(self) -> Scope:
        """Whose task it is."""
        return self.record.scope

    @property
    def backlog(self) -> int:
        """Count the events that are not durable yet."""
        return self.standing.seq - self._stored_seq

    @property
    def is_breath_due(self) -> bool:
        """Tell whether a turn should let the loop run: to show its first output, and now and then.

        Code that publishes without ever waiting would otherwise keep all of it to its end.
        """
        if self._in_flight is None and self._stored_seq == 0:
            return True
        return self._draft.events % BREATH_EVENTS == BREATH_EVENTS - 1

    @property
    def is_stored(self) -> bool:
        """Tell whether the store has anything of the task."""
        return self._stored_seq > 0

    @property
    def is_settled(self) -> bool:
        """Tell whether the task has ended or waits for its client, durably."""
        state = self.standing.state
        return (
            self.backlog == 0 and state is not None and (state.is_terminal or state.is_interrupted)
        )

    @property
    def is_over(self) -> bool:
        """Tell whether the task has ended and all of it is durable."""
        return self.standing.has_ended and self.backlog == 0

    @property
    def next_result(self) -> int:
        """The number of the next entry of the journal."""
        return self._journal_n + 1

    def note(self, kind: str, name: str, result: bytes, *, wake_at_ms: int | None = 0) -> None:
        """Add a result to the journal; it goes with what is enqueued in the same pass.

        Args:
            wake_at_ms: when the task is to be woken, if it waits for that now; None if it waits, or
                does not, as before.
        """
        self._add_entry(kind, name, result)
        # Only results count: a task that says something and then falls over gets nowhere. To be
        # woken is no attempt, so that one is given in advance.
        if wake_at_ms is not None:
            self._wake_at_ms = wake_at_ms
        self.attempts = -1 if self._wake_at_ms else 0

    def note_speaker(self, branch: str) -> None:
        """Note in the journal which branch of the turn publishes from here on; it is no result."""
        self._add_entry(kind_in(SPEAKER, branch), "", b"")

    def keep(self, secret: Secret) -> None:
        """Keep a secret; it goes with the result that is noted in the same pass."""
        self._draft.secrets.append(secret)

    async def secret(self, n: int) -> bytes | None:
        """Return a secret that was kept, once it is durable; None if it is not there."""
        await self.durable()
        return await self._store.read_secret(self.task_id, n)

    def note_awake(self) -> None:
        """Note that what the task waited for has come to pass; it need not be woken any more."""
        if self._wake_at_ms:
            self._wake_at_ms = 0
            self.attempts = max(0, self.attempts)
            self._extras += 1
            self._flush_soon()

    def count_attempt(self) -> None:
        """Note that the task is run again."""
        self.attempts += 1
        self._extras += 1
        self._flush_soon()

    def take_up(self, n: int) -> None:
        """Note that item ``n`` leaves the inbox with the next write."""
        self._draft.inbox_taken += (n,)

    def history(self) -> tuple[Message, ...]:
        """Return the messages of the task so far."""
        return self._fold.history

    def document(self) -> TaskDocument:
        """Return the task as enqueued; wait for ``durable()`` before showing it to anybody."""
        if self.inbox:
            unread = tuple(item.errand.message for item in self.inbox if item.is_stored)
            if unread:
                return self._fold.document(unread)
        seq = self.standing.seq
        if self._document is None or self._document[0] != seq:
            self._document = (seq, self._fold.document())
        return self._document[1]

    async def durable(self) -> int:
        """Wait until everything enqueued so far is committed; return its last event's number."""
        seq = self.standing.seq
        if self._stored_mark < seq + self._extras:
            await self.written()
        return seq

    def written(self) -> asyncio.Future[None]:
        """Return a future for the commit of what was enqueued last.

        Raises UnavailableError while the log is out of reach.
        """
        if self.failure is not None:
            raise self.failure
        # After an end that was refused, what comes before it waits for whatever is next.
        self._flush_soon()
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.add_durable(self.standing.seq + self._extras, waiter)
        return waiter

    def settled(self) -> asyncio.Future[None]:
        """Return a future for the next commit that ends or pauses the task."""
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.add_settled(self.standing.seq, (waiter,))
        return waiter

    def join_settled(self, waiters: list[asyncio.Future[None]]) -> None:
        """Let more waiters wait for that commit."""
        self._waiters.add_settled(self.standing.seq, waiters)

    def answers_send(self, record: SendRecord, message: Message) -> None:
        """Let the next write remember which send it answers, which has brought this message."""
        self._draft.send = record
        self._answers += (message,)

    @property
    def is_answer_due(self) -> bool:
        """Tell whether an answer waits to be written; a write has room for one."""
        return bool(self._answers) and self._draft.send is not None

    def is_answered_by(self, message: Message) -> bool:
        """Tell whether this is the message of a send that the store does not know of yet."""
        return message in self._answers

    def knows_all_before(self, n: int) -> bool:
        """Tell whether everything is known here that a replica has acknowledged before this."""
        return self.seen is None or n <= self.seen.mark

    def has_had(self, message: Message) -> bool:
        """Tell whether this message is in the history, or waits for its turn."""
        return message in self._fold.history or any(
            item.errand.message == message for item in self.inbox
        )

    @property
    def is_watched(self) -> bool:
        """Tell whether somebody follows the task or waits for it."""
        return self.channel.is_followed or self._waiters.is_any

    def retire(self) -> None:
        """Write and publish nothing any more: the task is another replica's.

        What becomes of a write that is on its way is told by the log.
        """
        self._in_flight = None
        self.failure = self.failure or TaskLostError()

    def fail_waiters(self, error: Exception) -> None:
        """Tell everybody who waits for this task that the wait is in vain."""
        self._waiters.fail(error, [waiter for item in self.inbox for waiter in item.waiters])

    def reset(
        self,
        standing: Standing,
        fold: TaskFold,
        *,
        journal_n: int,
        attempts: int = 0,
        wake_at_ms: int = 0,
    ) -> None:
        """Go back to what the store has, after a write was lost."""
        self.failure = None
        self.standing = standing
        self._fold = fold
        self._stored_seq = self._snapshot_seq = standing.seq
        self._journal_n = journal_n
        self._extras = 0
        self._stored_mark = standing.seq
        self._wake_at_ms = self._stored_wake_at_ms = wake_at_ms
        self.attempts = self._stored_attempts = attempts
        self._stored_state = standing.state
        self._draft = Draft()
        self._answers = ()
        self._document = None
        self._paused_at = 0
        self._is_status_due = False
        self._waiters.forget_numbers()

    def _add_entry(self, kind: str, name: str, result: bytes) -> None:
        if self.failure is not None:
            raise self.failure
        self._journal_n += 1
        self._extras += 1
        self._draft.journal.append(
            JournalEntry(
                n=self._journal_n, kind=kind, name=name, result=result, seq=self.standing.seq
            )
        )
        self._flush_soon()

    def _append(self, event: TaskEvent, now_ms: int) -> None:
        if self.marks is not None:
            event = replace(event, metadata={**(event.metadata or {}), **self.marks})
            if telemetry.active is not None:
                self._trace(telemetry.active, event, self.marks)
        if self._revise is not None:
            event = self._revise(event)
        self._fold.apply(event)
        self._draft.add_event(encode_entry(event))
        if type(event) is TaskStatusUpdateEvent:
            self._status_at_ms = now_ms
            self._is_status_due = True
            if event.status.state is TaskState.INPUT_REQUIRED:
                self._paused_at = self.standing.seq

    def _trace(self, tracing: Telemetry, event: TaskEvent, marks: JsonObject) -> None:
        """Make a span of an event, within the one that its marks name."""
        attributes = {"a2a.task.id": self.task_id, "a2a.event": type(event).__name__}
        if isinstance(event, TaskStatusUpdateEvent):
            attributes["a2a.task.state"] = event.status.state.value
        parent = f"00-{marks['traceId']}-{marks['spanId']}-01"
        with tracing.span("a2a.event", attributes, parent=parent):
            pass

    def _before(self, command: Command) -> Ending:
        """Note what the task is before it ends."""
        return Ending(
            command=command,
            standing=self.standing,
            fold=self._fold.mark(),
            inbox=tuple(self.inbox),
            # The end itself, and what nobody will take up any more.
            added=1 + len(self._unread()),
            status_at_ms=self._status_at_ms,
            snapshot_seq=self._snapshot_seq,
            is_status_due=self._is_status_due,
        )

    def _take_back(self, ending: Ending, write: TaskWrite) -> None:
        """Be again as before the end; ``write``, which the store has refused, is to be written."""
        self._ending = None
        # Some could not be stored meanwhile, and their senders know.
        self.inbox = deque(item for item in ending.inbox if not item.is_lost)
        lost = len(ending.inbox) - len(self.inbox)
        self.standing = replace(ending.standing, unread=ending.standing.unread - lost)
        self._fold.rewind(ending.fold)
        # Nothing of the log comes after an end.
        self._draft.put_back(write, but_for=ending.added)
        self._status_at_ms = ending.status_at_ms
        self._is_status_due = ending.is_status_due
        self._snapshot_seq = ending.snapshot_seq
        self._document = None
        if write.wake_at_ms is not None:
            self._stored_wake_at_ms = _NOT_STORED
        if write.attempts is not None:
            self._stored_attempts = _NOT_STORED

    def _unread(self) -> list[Message]:
        """Return the messages that nobody has taken up, each of them once.

        One on its way to the store may have reached another replica as well, and be known by that;
        the store refuses the copy then.
        """
        unread = [item.errand.message for item in self.inbox if item.is_stored]
        for item in self.inbox:
            message = item.errand.message
            if not (item.is_stored or message in unread or message in self._fold.history):
                unread.append(message)
        return unread

    def _record_unread(self) -> None:
        """Put what nobody will take up any more into the history."""
        for message in self._unread():
            self._fold.record(message)
            self._draft.entries.append(encode_entry(message))
        for item in self.inbox:
            self.join_settled(item.waiters)
        self.inbox.clear()
        # Some may still be on their way to the store, and have no number yet.
        self.take_up(WHOLE_INBOX)

    def _flush_soon(self) -> None:
        if not self._is_flush_due and self._in_flight is None:
            self._is_flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flush_due = False
        standing = self.standing
        mark = standing.seq + self._extras
        if mark == self._stored_mark or self.failure is not None:
            return
        self._flying_mark = mark
        if self._ends_long():
            self._flush_all_but_the_end()
            return
        if standing.has_ended:
            self._wake_at_ms = 0
            if self.seen is not None and self.seen.mark:
                # All of it is known, or the store refuses this. Words to cancel may be among it.
                self.take_up(WHOLE_INBOX)
        wake_at_ms = self._wake_at_ms
        draft, self._draft = self._draft, Draft()
        self._in_flight = write = TaskWrite(
            task_id=standing.task_id,
            epoch=self.epoch,
            expected_seq=self._stored_seq,
            created=self.record if self._stored_seq == 0 else None,
            entries=tuple(draft.entries),
            events=draft.events,
            state=standing.state if self._is_status_due else None,
            status_at_ms=self._status_at_ms,
            snapshot=self._snapshot() if draft.events else None,
            inbox_taken=draft.inbox_taken,
            inbox_seen=self.seen.mark if self.seen is not None and standing.has_ended else None,
            journal=tuple(draft.journal),
            wake_at_ms=wake_at_ms if wake_at_ms != self._stored_wake_at_ms else None,
            attempts=self.attempts if self.attempts != self._stored_attempts else None,
            send=draft.send,
            secrets=tuple(draft.secrets),
            at_ms=self._clock.now_ms(),
        )
        self._stored_wake_at_ms = wake_at_ms
        self._stored_attempts = self.attempts
        self._is_status_due = False
        self._store.append(write, self._committed)

    def _ends_long(self) -> bool:
        """Tell whether the end of a long task is due, whose snapshot others should not wait for."""
        return (
            self.standing.has_ended
            and self._stored_seq > SNAPSHOT_EVENTS
            and self._draft.events > 1
            and self._draft.is_plain
        )

    def _flush_all_but_the_end(self) -> None:
        """Write the last chunks of a long task; the end follows with its snapshot."""
        entries, events = self._draft.take_out()
        self._in_flight = write = TaskWrite(
            task_id=self.standing.task_id,
            epoch=self.epoch,
            expected_seq=self._stored_seq,
            entries=entries,
            events=events,
            at_ms=self._clock.now_ms(),
        )
        self._flying_mark = self._stored_mark + events
        self._store.append(write, self._committed)

    def _snapshot(self) -> TaskDocument | None:
        """Return a snapshot if one is due."""
        if not is_snapshot_due(self.standing, self._snapshot_seq):
            return None
        self._snapshot_seq = self.standing.seq
        if not self.inbox:
            return self.document()
        return self._fold.document()

    def _committed(self, error: StoreError | None) -> None:
        write = self._in_flight
        self._in_flight = None
        if write is None:
            return
        if error is not None:
            self._lose(error, write)
            return
        events = number_events(self._stored_seq + 1, write.entries, self._stored_seq)
        self._stored_seq += write.events
        # Of two answers the one is on its way, the other in the draft.
        self._answers = self._answers[-1:] if self._draft.send is not None else ()
        self._stored_mark = self._flying_mark
        if write.state is not None:
            self._stored_state = write.state
            if telemetry.active is not None:
                telemetry.active.task_moved(write.state.value)
        ended_at = self._stored_seq if self.is_over else 0
        paused_at = self._paused_at if self._paused_at <= self._stored_seq else 0
        self.channel.publish(self._stored_seq, events, paused_at=paused_at, ended_at=ended_at)
        # Of a task that began and ended in one commit nobody can have known before.
        if self._announce is not None and not (ended_at and write.created is not None):
            self._announce(write.task_id, self._stored_seq)
        state = self._stored_state
        is_settled = state is not None and (state.is_terminal or state.is_interrupted)
        self._waiters.release(self._stored_mark, self._stored_seq, is_settled=is_settled)
        if self.standing.seq + self._extras > self._stored_mark:
            self._flush()
        elif ended_at:
            self._end()
