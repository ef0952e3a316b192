"""Progress: what is known of a task that is followed, and which of the frames are news.

Pure. A stream that was cut is followed by another that begins with the task as it is then, or as it
was at the cursor; either way, only what is not known yet is handed on.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dragoman.client.transports.base import Frame
from dragoman.engine.fold import TaskFold
from dragoman.model.events import (
    StreamResponse,
    TaskArtifactUpdateEvent,
    TaskEvent,
    TaskStatusUpdateEvent,
)
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dragoman.client.transports.base import Batch
    from dragoman.model.base import JsonObject

__all__ = ("Progress", "differences", "extension_of", "joined")

_logger = logging.getLogger(__name__)


class Progress:
    """One task as far as it is known.

    Attributes:
        task_id: "" until the agent has named it.
        cursor: the number of the last frame, 0 if the agent gives none.
        state: None until there is a task.
        message: what the agent has answered instead of making a task.
        is_partial: the stream did not begin with the task, and has not told all of it since.
    """

    def __init__(self, *, context_id: str = "", continues: bool = False) -> None:
        """Begin to follow what comes of a send.

        Args:
            context_id: the context that the client has named, if any.
            continues: the send is to a task that exists.
        """
        self._context_id = context_id
        self._continues = continues
        self._fold: TaskFold | None = None
        self._metadata: JsonObject | None = None
        self._reconciles = False
        self._told: TaskStatus | None = None
        self._spoken: Message | None = None
        self._is_spoken_last = False
        self.task_id: str = ""
        self.cursor: int = 0
        self.state: TaskState | None = None
        self.message: Message | None = None
        self.is_partial: bool = False

    @property
    def has_ended(self) -> bool:
        """Tell whether nothing more can come: the task has ended, or there is none."""
        return self.message is not None or (self.state is not None and self.state.is_terminal)

    @property
    def outcome(self) -> Task | Message | None:
        """Return what has come of it so far; None if nothing has."""
        if self.message is not None or self._fold is None:
            return self.message
        task = self._fold.task()
        if self._spoken is not None:
            task = replace(task, history=(*task.history, self._spoken))
        return replace(task, metadata=self._metadata)

    def take(self, batch: Batch) -> Batch:
        """Return the news of a batch."""
        return tuple(news for frame in batch for news in self._take(frame))

    def reconnect(self) -> None:
        """Note that the frames to come are of another stream, which may repeat what is known."""
        self._reconciles = True

    def conclude(self) -> None:
        """Note that a stream has ended as it should, and that nothing more is to come of it.

        A message behind which nothing came is the answer, be there a task or not.
        """
        if self._is_spoken_last and self.message is None:
            self.message = self._spoken

    def look(self, task: Task) -> Batch:
        """Return the news in a task as it was read."""
        return tuple(self._take_task(0, task))

    def _take(self, frame: Frame) -> Iterable[Frame]:
        seq, event = frame
        update = event.status_update or event.artifact_update
        if update is not None:
            return self._take_update(seq, update) if self._is_own(update.task_id) else ()
        if event.task is not None:
            return self._take_task(seq, event.task) if self._is_own(event.task.id) else ()
        message = event.message
        if message is not None and self._fold is not None and message.task_id == self.task_id:
            self._speak(message)
        else:
            self.message = message
        return (frame,)

    def _speak(self, message: Message) -> None:
        """Note what is said while the task goes on: agno sends a message for each token."""
        spoken = self._spoken
        self._is_spoken_last = True
        if spoken is None or not _is_same(spoken, message):
            self._record()
            self._spoken = message
        else:
            self._spoken = replace(spoken, parts=joined((*spoken.parts, *message.parts)))

    def _record(self) -> None:
        """Put what was said where the task keeps it."""
        if self._spoken is not None and self._fold is not None:
            self._fold.record(self._spoken)
        self._spoken = None

    def _is_own(self, task_id: str) -> bool:
        """Tell whether what is told is of this task; what is not has no place in it."""
        if self.task_id in ("", task_id):
            return True
        _logger.warning(
            "told of task %r while task %r is followed: left out", task_id, self.task_id
        )
        return False

    def _take_task(self, seq: int, task: Task) -> Iterable[Frame]:
        self._record()
        known = self._fold
        self._is_spoken_last = False
        self._fold = TaskFold.of(task)
        self._metadata = task.metadata
        self.cursor = seq or self.cursor
        self.task_id, self.state = task.id, task.status.state
        self._reconciles = self.is_partial = False
        if known is None:
            return (Frame(seq, StreamResponse(task=task)),)
        self._told = task.status
        events = differences(known.task(), task)
        # The number belongs to all of them together: it is told with the last.
        return (
            Frame(seq if place == len(events) else 0, event)
            for place, event in enumerate(events, start=1)
        )

    def _take_update(self, seq: int, update: TaskEvent) -> Iterable[Frame]:
        news: list[Frame] = []
        self._record()
        self._is_spoken_last = False
        fold = self._fold
        if fold is None:
            fold = self._fold = self._introduce(update)
            news.append(Frame(0, StreamResponse(task=fold.task())))
        self.cursor = seq or self.cursor
        if self._is_echo(update):
            return news
        fresh = _reconciled(fold, update) if self._reconciles else update
        # 0.x reference, 5.9: behind a task that has stopped, its status comes again to be final.
        told, self._told = self._told, None
        if isinstance(fresh, TaskStatusUpdateEvent) and fresh.status == told:
            fresh = None
        if fresh is not None:
            fold.apply(fresh)
            news.append(Frame(seq, self._note(fresh)))
        return news

    def _is_echo(self, update: TaskEvent) -> bool:
        """Tell whether an event only repeats that the task has ended, or waits.

        fasta2a says so once with what there is to say about it, and once more without.
        """
        if isinstance(update, TaskArtifactUpdateEvent) or update.metadata:
            return False
        state = update.status.state
        is_settled = state.is_terminal or state.is_interrupted
        return is_settled and state is self.state and update.status.message is None

    def _introduce(self, update: TaskEvent) -> TaskFold:
        """Make up the task that a stream should have begun with (0.x reference, 5.9; Q-25)."""
        # 0.1 does not name the context; there it would be the id of the task, which is none.
        told = update.context_id if update.context_id != update.task_id else ""
        context_id = self._context_id or told
        status = TaskStatus(state=TaskState.SUBMITTED)
        self.task_id, self.state = update.task_id, status.state
        self.is_partial = self._continues or not context_id
        return TaskFold.of(Task(id=update.task_id, context_id=context_id, status=status))

    def _note(self, update: TaskEvent) -> StreamResponse:
        """Keep what an event tells beside its artifact, and return it as a frame."""
        if isinstance(update, TaskArtifactUpdateEvent):
            return StreamResponse(artifact_update=update)
        self.state = update.status.state
        if update.metadata:
            self._metadata = {**(self._metadata or {}), **update.metadata}
        return StreamResponse(status_update=update)


def _is_same(spoken: Message, message: Message) -> bool:
    return spoken.message_id == message.message_id and spoken.metadata == message.metadata


def _reconciled(fold: TaskFold, update: TaskEvent) -> TaskEvent | None:
    """Return what is new in an event that may repeat what is known.

    A stream of 0.1 does not begin with a task but with events that tell it anew.
    """
    if not isinstance(update, TaskArtifactUpdateEvent):
        return None if update.status == fold.task().status else update
    if update.append:
        return update
    artifact_id = update.artifact.artifact_id
    known = (each for each in fold.task().artifacts if each.artifact_id == artifact_id)
    old = next(known, None)
    added = None if old is None else extension_of(old, update.artifact)
    if added is None:
        return update
    if not added:
        return None
    return replace(update, artifact=Artifact(artifact_id=artifact_id, parts=added), append=True)


# --- what has changed between two states of a task ----------------------------------------------


def differences(before: Task, after: Task) -> tuple[StreamResponse, ...]:
    """Return the events that lead from one state of a task to another.

    For agents whose streams cannot be resumed where they were cut, and for those that have none.
    The events are not those the agent has sent: chunks that came in between are one, and of
    several states only the last is known (R-3.7-4). But no content is told twice and none is
    missing.
    """
    return (
        *_missed_messages(before, after),
        *_artifacts(before, after),
        *_status(before, after),
    )


def extension_of(old: Artifact, new: Artifact) -> tuple[Part, ...] | None:
    """Return what a newer state of an artifact adds; None if it is not the older one and more.

    Servers differ in whether they join the texts of chunks, so texts count as joined.
    """
    if _described(old) != _described(new):
        return None
    known, found = joined(old.parts), joined(new.parts)
    if not known:
        return found
    *whole, last = known
    if len(found) < len(known) or found[: len(whole)] != tuple(whole):
        return None
    counterpart = found[len(whole)]
    rest = found[len(known) :]
    if counterpart == last:
        return rest
    if not (_is_plain(last) and _is_plain(counterpart)):
        return None
    known_text, text = last.text or "", counterpart.text or ""
    return (Part(text=text[len(known_text) :]), *rest) if text.startswith(known_text) else None


def _artifacts(before: Task, after: Task) -> Iterator[StreamResponse]:
    known = {artifact.artifact_id: artifact for artifact in before.artifacts}
    for artifact in after.artifacts:
        old = known.get(artifact.artifact_id)
        added = None if old is None else extension_of(old, artifact)
        if added == ():
            continue
        chunk = artifact
        if added is not None:
            chunk = Artifact(artifact_id=artifact.artifact_id, parts=added)
        yield StreamResponse(
            artifact_update=TaskArtifactUpdateEvent(
                task_id=after.id,
                context_id=after.context_id or after.id,
                artifact=chunk,
                append=added is not None,
                last_chunk=after.status.state.is_terminal,
            )
        )


def _status(before: Task, after: Task) -> Iterator[StreamResponse]:
    if after.status != before.status:
        yield _told(after, after.status)


def _missed_messages(before: Task, after: Task) -> Iterator[StreamResponse]:
    """Tell what the agent has said in between: it has moved from the status to the history."""
    heard = {message.message_id for message in before.history}
    if before.status.message is not None:
        heard.add(before.status.message.message_id)
    for message in after.history:
        if message.role is Role.AGENT and message.message_id not in heard:
            yield _told(after, TaskStatus(state=before.status.state, message=message))


def _told(task: Task, status: TaskStatus) -> StreamResponse:
    return StreamResponse(
        status_update=TaskStatusUpdateEvent(
            task_id=task.id, context_id=task.context_id or task.id, status=status
        )
    )


def _described(artifact: Artifact) -> tuple[object, ...]:
    return artifact.name, artifact.description, artifact.metadata, artifact.extensions


def _is_plain(part: Part) -> bool:
    return (
        part.text is not None
        and part.metadata is None
        and not part.filename
        and not part.media_type
    )


def joined(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return parts with plain texts that follow each other as one, and without empty ones."""
    found: list[Part] = []
    texts: list[str] = []
    for part in parts:
        if _is_plain(part):
            texts.append(part.text or "")
            continue
        _flush(texts, found)
        found.append(part)
    _flush(texts, found)
    return tuple(found)


def _flush(texts: list[str], found: list[Part]) -> None:
    if text := "".join(texts):
        found.append(Part(text=text))
    texts.clear()
