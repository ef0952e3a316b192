"""LiveTask: one task in memory: what is asked of it, and who works on it.

It is the only writer of its log. Commands are decided on the last *enqueued* standing; what they
cause is visible only once it is committed, which is told in ``task_log``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Unpack

from msgspec.structs import replace

from dragoman.engine.commands import AddArtifact, Command, Finish
from dragoman.engine.effects import Append, Effect, Record
from dragoman.engine.machine import decide
from dragoman.errors import (
    ConflictError,
    SentBeforeError,
    StoreError,
    StoreUnavailableError,
    UnavailableError,
    UnreadError,
)
from dragoman.model.documents import encode_entry
from dragoman.model.messages import Message
from dragoman.model.tasks import TaskState
from dragoman.server.tasks.delivery import Delivery
from dragoman.server.tasks.log import LogArguments, TaskLog
from dragoman.server.tasks.slots import Slot
from dragoman.server.tasks.watcher import TaskLostError, Watcher
from dragoman.service.worker import Suspended
from dragoman.stores.base import TaskWrite

__all__ = ("LiveTask",)


class LiveTask(TaskLog):
    """One task in memory.

    Attributes:
        turn: the asyncio task that runs its turns, if one does.
        seat: the slot its turns run in.
        pause: what a turn waits for while it does not work: an answer, or the end of a sleep.
        paused_ms: since when it does nothing but wait, 0 while it works.
        is_stopping: the turn is being stopped from outside.
        lost: what the running turn is told at its next call: that output of it was lost, or that it
            is put aside.
        epilogue: what to do when the task leaves memory.
    """

    __slots__ = (
        "_held",
        "_hold_timer",
        "_watcher",
        "epilogue",
        "is_stopping",
        "lost",
        "pause",
        "paused_ms",
        "slot",
        "turn",
    )

    def __init__(self, *, watcher: Watcher, **log: Unpack[LogArguments]) -> None:
        """Keep what is given; ``log`` is for ``TaskLog``."""
        super().__init__(**log)
        self._watcher = watcher
        self._held: AddArtifact | None = None
        self._hold_timer: asyncio.Task[None] | None = None
        self.turn: asyncio.Task[None] | None = None
        self.pause: asyncio.Future[Delivery | None] | None = None
        self.paused_ms: int = 0
        self.slot: Slot | None = None
        self.is_stopping: bool = False
        self.lost: UnavailableError | Suspended | None = None
        self.epilogue: list[Callable[[], None]] = []

    @property
    def is_questioned(self) -> bool:
        """Tell whether the task waits for its client, as enqueued."""
        state = self.standing.state
        return state is not None and state.is_interrupted

    @property
    def question(self) -> Message | None:
        """What the task waits to be told, as enqueued; None if it does not wait for its client."""
        return self._fold.status_message if self.is_questioned else None

    def execute(self, command: Command) -> tuple[Effect, ...]:
        """Decide a command, log what it causes, and return the effects that are not the log's.

        Raises the error of a refused command, and UnavailableError while the log is out of reach.
        """
        if self.failure is not None:
            raise self.failure
        if self._held is not None:
            is_end = type(command) is Finish and command.state is TaskState.COMPLETED
            self.release(is_last=is_end)
        now_ms = self._clock.now_ms()
        standing, effects = decide(self.standing, command, now_ms)
        if standing.has_ended:
            if self.seen is not None and not self.standing.has_ended:
                self._ending = self._before(command)
            if self.inbox:
                self._record_unread()
        self.standing = standing
        others: tuple[Effect, ...] = ()
        for effect in effects:
            # isinstance takes 200 ns to say no for a Struct, which has a metaclass; this takes 20.
            if type(effect) is Append:
                self._append(effect.event, now_ms)
            elif type(effect) is Record:
                self._fold.record(effect.message)
                self._draft.entries.append(encode_entry(effect.message))
            else:
                others += (effect,)
        if self._draft.events and not self._is_flush_due and self._in_flight is None:
            self._is_flush_due = True
            self._loop.call_soon(self._flush)
        return others

    def hold(self, chunk: AddArtifact, seconds: float) -> None:
        """Execute a chunk that may be the last of its artifact, once that is known.

        It is the last if the next thing that happens is that the turn completes. Whatever else is
        executed or noted comes after it, so that the log and the journal have the order in which
        things were said. It is held for at most ``seconds``.

        Raises what ``execute`` raises.
        """
        held = self._held
        if held is not None:
            self._held = None
            self.execute(held)
        elif self.failure is not None:
            raise self.failure
        if chunk.append and not self.standing.artifacts.get(chunk.artifact.artifact_id):
            self.execute(chunk)  # Refused, and its sender should be told.
            return
        self._held = chunk
        # One timer for all chunks: a chunk which is followed by another has none of its own.
        if self._hold_timer is None:
            self._hold_timer = self._loop.create_task(self._release_after(seconds))

    def release(self, *, is_last: bool = False) -> None:
        """Execute the chunk that is held, if any."""
        held = self._held
        self._held = None
        if held is not None and self.failure is None:
            self.execute(AddArtifact(held.artifact, held.append, is_last) if is_last else held)

    @property
    def has_open_artifacts(self) -> bool:
        """Whether an artifact was begun, and no chunk of it marked as the last."""
        return self._held is not None or any(self.standing.artifacts.values())

    def replace_open_artifacts(self) -> None:
        """End every artifact that is open by publishing all of it once more, as one update.

        Do nothing if the task has ended already, or output of the turn was lost.
        """
        self.release()
        if self.standing.has_ended or self.lost is not None or self.failure is not None:
            return
        for artifact_id, is_open in self.standing.artifacts.items():
            if is_open:
                whole = self._fold.artifact(artifact_id)
                self.execute(AddArtifact(whole, append=False, last_chunk=True))

    def hold_nothing(self) -> None:
        """Drop the chunk that is held, if any: the turn is over, or will be run again."""
        self._held = None
        if self._hold_timer is not None:
            self._hold_timer.cancel()
            self._hold_timer = None

    async def _release_after(self, seconds: float) -> None:
        seen: AddArtifact | None = None
        while self._held is not None and self.failure is None:
            if self._held is seen:
                self.release()
            else:
                # Seen twice, it has been held for half of the time at least, and for all at most.
                seen = self._held
                await self._clock.sleep(seconds / 2)
        self._hold_timer = None

    def _add_entry(self, kind: str, name: str, result: bytes) -> None:
        self.release()
        super()._add_entry(kind, name, result)

    def leave_seat(self) -> None:
        """Give back the slot of a turn that was stopped, perhaps before it ever ran."""
        if self.slot is not None:
            self.slot.leave()

    def _lose(self, error: StoreError, write: TaskWrite) -> None:
        ending = self._ending
        if isinstance(error, UnreadError) and ending is not None:
            self._take_back(ending, write)
            self._watcher.end_refused(self, ending.command)
            return
        is_known = isinstance(error, SentBeforeError) and self.is_stored
        if is_known and self.seen is not None and write.send is not None:
            # The same message, for this very task: what it has led to here stands. Nothing else is
            # written before its copy is found.
            self._in_flight = write
            self._watcher.sent_before(self, write, write.send.key.message_id)
            return
        self._fail(error)

    def write_again(self, write: TaskWrite, copy: int) -> None:
        """Write what was refused because its send is known, with the copy of it in the inbox.

        Without a copy it was taken up before, and is undone here.
        """
        if self._in_flight is not write or self.seen is None or write.send is None:
            return  # The task is another replica's by now.
        if not copy:
            self._in_flight = None
            self._fail(SentBeforeError(write.send.key.message_id))
            return
        self.seen.add(copy)
        self._in_flight = write = replace(
            write,
            send=None,
            inbox_taken=(*write.inbox_taken, copy),
            inbox_seen=None if write.inbox_seen is None else self.seen.mark,
        )
        self._store.append(write, self._committed)

    def drop_write(self, write: TaskWrite) -> None:
        """Take what was refused for lost: it will not be known whether there is a copy."""
        if self._in_flight is write:
            self._in_flight = None
            self._fail(StoreUnavailableError("a message was sent before, and its copy not found"))

    def _fail(self, error: StoreError) -> None:
        if isinstance(error, ConflictError):
            self.failure: UnavailableError | None = TaskLostError()
        else:
            self.failure = UnavailableError("The store is not available")
        self.hold_nothing()
        # Who sent what was sent before is to be answered like the first one.
        self.fail_waiters(error if isinstance(error, SentBeforeError) else self.failure)
        self._watcher.write_lost(self, error)

    def _end(self) -> None:
        self._watcher.task_ended(self)
