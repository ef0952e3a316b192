"""The Turn that a worker gets: its view of one live task."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from dragoman.clock import Clock
from dragoman.engine.commands import AddArtifact, Ask, Command, GoOn, Say, TakeUp
from dragoman.engine.journal import Replay, kind_in
from dragoman.errors import NoAnswerError, StoreError, UnavailableError, UsageError
from dragoman.model.base import JsonObject
from dragoman.model.messages import Message
from dragoman.model.tasks import Artifact, Task
from dragoman.server.tasks.delivery import Answer, Delivery, decode_answer, encode
from dragoman.server.tasks.secrets import TaskSecrets
from dragoman.server.tasks.slots import Slot
from dragoman.server.tasks.task import LiveTask
from dragoman.server.tasks.working_time import WorkingTime
from dragoman.service.branches import MAIN, branch
from dragoman.service.principal import Principal
from dragoman.service.worker import Recorded, Suspended, Waits

if TYPE_CHECKING:
    from dragoman.server.tasks.lookup import TaskLookup

__all__ = ("ASK", "LiveTurn", "question_name")

ASK: Final = "ask"
_TIMER: Final = "timer"
_SLEEP: Final = "sleep"
_MESSAGE: Final = "message"

BACKLOG_EVENTS: Final = 256
"""Events a turn may be ahead of the store; beyond that, publishing waits for the commit."""


def question_name(*, is_auth: bool) -> str:
    """Return the name under which a question is in the journal."""
    return "auth" if is_auth else "input"


class LiveTurn:
    """A Turn on a live task. While it waits or sleeps, its slot is free for others.

    Args:
        replay: what an earlier run of the same turn has done.
        vault: opens answers that are secrets.
        lookup: finds other tasks of the owner.
        hold_seconds: how long to hold a chunk that may be the last.

    Attributes:
        is_too_late: whether it was stopped because it had something to say when the task had ended.
        shift: which of its strands are at work; for that it has a slot and a limited time.
    """

    __slots__ = (
        "_begun_n",
        "_beside",
        "_clock",
        "_counts",
        "_errand",
        "_hold_seconds",
        "_live",
        "_lookup",
        "_replay",
        "_slot",
        "_speaker",
        "_task_secrets",
        "is_too_late",
        "shift",
    )

    def __init__(
        self,
        live: LiveTask,
        errand: Delivery,
        slot: Slot,
        clock: Clock,
        replay: Replay | None = None,
        task_secrets: TaskSecrets | None = None,
        lookup: TaskLookup | None = None,
        hold_seconds: float = 0.0,
    ) -> None:
        self._live = live
        self._lookup = lookup
        self._errand = errand
        self._slot = slot
        self._clock = clock
        self._replay = replay
        self._task_secrets = task_secrets
        self._hold_seconds = hold_seconds
        # How many results the branches have each, but for the one that the turn begins with.
        self._counts: Counter[str] = Counter()
        # The entry of the journal that began the turn, and how many since are not of that branch.
        self._begun_n = live.next_result - 1 if replay is None else replay.begun_n
        self._beside = 0 if replay is None else replay.beside
        self._speaker = MAIN if replay is None else replay.speaker
        self.shift: Final = WorkingTime(slot)
        self.is_too_late: bool = False

    @property
    def is_put_aside(self) -> bool:
        """Tell whether this run of the turn does not count any more: there will be another."""
        return isinstance(self._live.lost, Suspended) or self._live.slot is not self._slot

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
    def trace(self) -> str:
        """The trace that the message came with, "" if nothing is traced."""
        return self._errand.trace

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

    async def earlier_tasks(self, limit: int) -> tuple[Task, ...]:
        """Return tasks of the same context and owner that began before this one, newest first."""
        async with self.away():
            return await self._known_lookup().earlier(self._live, limit)

    async def find_tasks(self, task_ids: Sequence[str]) -> tuple[Task, ...]:
        """Return the tasks of these ids that the owner has."""
        async with self.away():
            return await self._known_lookup().named(self._live, task_ids)

    def new_id(self) -> str:
        """Return a fresh id."""
        return self._clock.new_id()

    async def say(self, message: Message | None = None, metadata: JsonObject | None = None) -> None:
        """Publish a status update."""
        strand = branch.get()
        if self._replay is not None:
            replay = self._replay_of(strand, self._replay)
            # Metadata that is set twice is the same; messages are told apart by their number.
            if replay.stands_in(strand) if message is None else replay.has_said(strand):
                self._raise_trouble()
                return
        await self._publish(Say(message, metadata))

    async def artifact(
        self, artifact: Artifact, *, append: bool = False, last_chunk: bool | None = False
    ) -> None:
        """Publish an artifact or a chunk of one."""
        command = AddArtifact(artifact, append, last_chunk is True)
        hold_seconds = self._hold_seconds if last_chunk is None else 0.0
        if self._replay is None:
            await self._publish(command, hold_seconds)
        else:
            self._raise_trouble()
            strand = branch.get()
            for each in self._replay_of(strand, self._replay).publish(command, strand):
                await self._publish(each, hold_seconds)
        if not last_chunk and self._live.is_breath_due:
            # More is to come: what is there goes out now, and others get to run in between.
            await asyncio.sleep(0)

    async def ask(
        self,
        message: Message,
        *,
        is_auth: bool = False,
        timeout_seconds: float | None = None,
        waits: Waits | None = None,
    ) -> Message:
        """Pause the task and wait for the message that answers; the answer is journaled."""
        name = question_name(is_auth=is_auth)
        live = self._live
        # All waits come before the deadline is noted: one that is stored without its question looks
        # like a sleep, and nobody would take the task over before it is due.
        if not self._slot.is_taken:
            await self._sit_down()
        while live.is_answer_due:
            # Its write must be on its way before there can be another answer.
            await self.flush()
        deadline_ms = 0
        if timeout_seconds is not None:
            deadline_ms = self._recorded_time(_TIMER, timeout_seconds)
        recorded = self.recall(ASK, name)
        if recorded is not None:
            return await self._take(decode_answer(recorded), timeout_seconds, waits)
        self._execute(Ask(message, is_auth))
        if waits is not None:
            waits(is_asked=True)

        def give_up() -> None:
            live.note(ASK, name, encode(Answer(is_late=True)))
            live.execute(GoOn())

        try:
            errand = await self._pause(deadline_ms, give_up)
        except BaseException:
            if live.is_questioned and not live.is_stopping and live.failure is None:
                # The author's code does not wait any longer (a timeout of its own, say).
                live.note(ASK, name, encode(Answer()))
                live.execute(GoOn())
            raise
        return await self._take(
            Answer(errand=errand, is_late=errand is None), timeout_seconds, waits
        )

    def check_secrecy(self) -> None:
        """Raise UsageError unless an answer that is a secret can be kept.

        What has been answered before needs no key for its question.
        """
        is_new = self._replay is None or self._replay.is_over_in(MAIN)
        if is_new and self._task_secrets is not None:
            self._task_secrets.unlock()

    async def sleep(self, seconds: float) -> None:
        """Wait, without the slot; the time to wake is journaled."""
        until_ms = self._recorded_time(_SLEEP, seconds)
        if until_ms > self._clock.now_ms():
            await self._pause(until_ms, self._live.note_awake)
            await self.shift.seated()
        elif self._replay is None or self._replay.is_over_in(branch.get()):
            # It was slept through. Earlier ones have no say in when the task is to be woken.
            self._live.note_awake()

    async def take_message(self) -> Message | None:
        """Take up what waits longest in the inbox; what was taken is journaled."""
        recorded = self.recall(_MESSAGE, "")
        if recorded is not None:
            taken = decode_answer(recorded).errand
            return None if taken is None else taken.message
        if not self._slot.is_taken:
            await self._sit_down()
        live = self._live
        item = live.inbox[0] if live.inbox else None
        if item is None or not item.is_stored or not live.knows_all_before(item.stored.result()):
            live.note(_MESSAGE, "", encode(Answer()))
            return None
        self._execute(TakeUp(item.errand.message))
        live.inbox.popleft()
        live.take_up(item.stored.result())
        live.join_settled(item.waiters)
        live.note(_MESSAGE, "", encode(Answer(errand=item.errand)))
        return item.errand.message

    async def flush(self) -> None:
        """Wait until everything published and recorded so far is durable."""
        self._raise_trouble()
        self._live.release()
        await self._live.durable()

    @property
    def recorded(self) -> tuple[Recorded, ...]:
        """What earlier runs of this turn have recorded, oldest first."""
        entries = () if self._replay is None else self._replay.entries
        return tuple(
            Recorded(
                entry.branch, entry.kind.removesuffix(f"@{entry.branch}"), entry.name, entry.result
            )
            for entry in entries
        )

    def recall(self, kind: str, name: str) -> bytes | None:
        """Return the result that is recorded for this call; None if it is to be made now."""
        self._raise_trouble()
        if self._replay is None:
            return None
        strand = branch.get()
        result = self._replay.recall(kind, name, strand)
        if strand and result is not None:
            self._counts[strand] += 1
        return result

    def note(self, kind: str, name: str, result: bytes) -> None:
        """Record a result; it goes with the next write."""
        self._raise_trouble()
        strand = branch.get()
        if strand:
            self._counts[strand] += 1
            self._beside += 1
        # What another strand waits for is waited for all the same.
        self._live.note(kind_in(kind, strand), name, result, wake_at_ms=None if strand else 0)

    async def record(self, kind: str, name: str, result: bytes) -> None:
        """Record a result, durably."""
        self.note(kind, name, result)
        await self._live.durable()

    def check_end(self) -> None:
        """Raise DivergedError if an earlier run has gone further than to the end of this one."""
        if self._replay is not None:
            self._replay.check_end()

    def call_key(self, name: str) -> str:
        """Return what names the next recorded call: its turn, its place in the branch, its name.

        The place alone would not do: one that fails is not recorded, and another may follow.
        """
        strand = branch.get()
        place = f"{strand}/" if strand else ""
        return f"{self.task_id}/{self._begun_n}/{place}{self._results_of(strand) + 1}/{name}"

    @property
    def is_given_up(self) -> bool:
        """Tell whether what the turn does is of no use any more, to this run or to another."""
        live = self._live
        is_cut_off = self.is_put_aside or live.is_stopping or live.failure is not None
        # The end that stopped it may have been refused since; it will be decided about anew.
        return live.standing.has_ended or not (is_cut_off or self.is_too_late)

    def rest(self) -> None:
        """Count out a strand that waits for something; others may have the slot if all do."""
        self._live.release()
        self.shift.rest()
        self._note_pause()

    def join(self, strands: int = 1) -> None:
        """Count in strands that go on; they wait for the slot before they publish anything."""
        self.shift.join(strands)
        self._note_pause()

    async def seated(self) -> None:
        """Wait until the slot is there."""
        await self.shift.seated()

    @asynccontextmanager
    async def away(self) -> AsyncGenerator[None]:
        """Wait for something outside, without the slot, and with the time limit standing still."""
        self._raise_trouble()
        self.rest()
        try:
            yield
        except Exception:
            self.join()
            await self.shift.seated()
            raise
        except BaseException:
            # To be stopped does not wait for a slot.
            self.join()
            raise
        self.join()
        await self.shift.seated()
        self._raise_trouble()

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch."""
        return self._clock.now_ms()

    def _known_lookup(self) -> TaskLookup:
        if self._lookup is None:
            raise UsageError("the task has been canceled: no other tasks are looked for")
        return self._lookup

    def _recorded_time(self, kind: str, seconds: float) -> int:
        """Return when a wait is over, as it was decided when it began."""
        recorded = self.recall(kind, "")
        if recorded is not None:
            return int(recorded)
        until_ms = self._clock.now_ms() + round(seconds * 1000)
        self._live.note(kind, "", b"%d" % until_ms, wake_at_ms=until_ms)
        return until_ms

    async def _pause(self, until_ms: int, time_over: Callable[[], None]) -> Delivery | None:
        """Wait for an answer without a slot; None if the time is over first, 0 being never.

        ``time_over`` is called in the moment in which that is decided, so that no answer can come
        in between.
        """
        live = self._live
        pause: asyncio.Future[Delivery | None] = asyncio.get_running_loop().create_future()
        timer: asyncio.Future[None] | None = None

        def end(_: object) -> None:
            if pause.done():
                return
            try:
                time_over()
            except UnavailableError as error:
                pause.set_exception(error)
            else:
                pause.set_result(None)

        live.pause = pause
        has_rested = False
        try:
            await live.durable()
            has_rested = True
            self.rest()
            if until_ms:
                seconds = max(0.0, (until_ms - self._clock.now_ms()) / 1000)
                timer = asyncio.ensure_future(self._clock.sleep(seconds))
                timer.add_done_callback(end)
            return await pause
        finally:
            if live.pause is pause:
                live.pause = None
            if has_rested:
                self.join()
            if timer is not None:
                timer.remove_done_callback(end)
                timer.cancel()

    def _note_pause(self) -> None:
        """Note since when the task does nothing but wait for what brings it back."""
        if self._live.slot is not self._slot:
            return  # As in ``_raise_trouble``.
        is_idle = self._live.pause is not None and self.shift.is_resting
        if is_idle != bool(self._live.paused_ms):
            self._live.paused_ms = self._clock.now_ms() if is_idle else 0

    def _results_of(self, strand: str) -> int:
        """Count the results of a strand: those handed back, and those of this run."""
        if strand:
            return self._counts[strand]
        return self._live.next_result - 1 - self._begun_n - self._beside

    def _replay_of(self, strand: str, replay: Replay) -> Replay:
        """Return what earlier runs have done, as it concerns a strand where that is now."""
        if self._results_of(strand) > replay.results_of(strand):
            replay.pass_by(strand)
        return replay

    async def _take(
        self, answer: Answer, timeout_seconds: float | None, waits: Waits | None
    ) -> Message:
        """Go on with what became of a question."""
        if answer.is_late:
            await self.shift.seated()
            text = "No answer came in the time that was given for it"
            raise NoAnswerError(text, timeout_seconds=timeout_seconds)
        if answer.errand is None:
            # The author's code had stopped waiting, and will do so again.
            if waits is not None:
                waits(is_asked=False)
            async with self.away():
                await asyncio.get_running_loop().create_future()
        assert answer.errand is not None  # noqa: S101 - the future above has no result
        await self.shift.seated()
        self._errand = answer.errand
        return await self._revealed(answer.errand) if answer.errand.secret else self._errand.message

    async def _revealed(self, errand: Delivery) -> Message:
        """Return an answer with what is kept of it in secret. Only its asker gets to see that."""
        sealed = await self._live.secret(errand.secret)
        if sealed is None or self._task_secrets is None:
            raise StoreError(f"a secret answer of task {self.task_id} is gone")
        return self._task_secrets.open(self.task_id, sealed, errand.message)

    async def _publish(self, command: Command, hold_seconds: float = 0.0) -> None:
        if not self._slot.is_taken:
            await self._sit_down()
        self._raise_trouble()
        strand = branch.get()
        if strand != self._speaker:
            self._speaker = strand
            self._beside += 1
            self._live.note_speaker(strand)
        if hold_seconds and type(command) is AddArtifact:
            self._live.hold(command, hold_seconds)
        else:
            self._live.execute(command)
        if self._live.backlog > BACKLOG_EVENTS:
            await self._live.durable()

    async def _sit_down(self) -> None:
        """Take a slot again after an ``ask`` that was given up."""
        self._raise_trouble()
        await self._slot.taken()

    def _execute(self, command: Command) -> None:
        self._raise_trouble()
        self._live.execute(command)

    def _raise_trouble(self) -> None:
        if self._live.standing.has_ended:
            # The task was canceled: whatever the worker still has to say comes too late.
            self.is_too_late = True
            raise asyncio.CancelledError
        if self._live.slot is not self._slot:
            # It would not stop when its store had failed, and is run again since.
            raise Suspended
        if self._live.lost is not None:
            raise self._live.lost
