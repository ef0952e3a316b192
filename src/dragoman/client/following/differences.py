"""What has happened to a task between two looks at it, as the events that tell it.

For agents whose streams cannot be resumed where they were cut, and for those that have none. The
events are not those the agent has sent: chunks that came in between are one, and of several states
only the last is known (R-3.7-4). But no content is told twice and none is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.model.events import (
    StreamResponse,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from dragoman.model.messages import Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ("differences", "extension_of", "joined")


def differences(before: Task, after: Task) -> tuple[StreamResponse, ...]:
    """Return the events that lead from one state of a task to another."""
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
