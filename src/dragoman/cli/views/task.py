"""How tasks, messages, events and webhooks look as text.

The concise view hides metadata and history, never a part. Labels are relied on by scripts: none
changes, and none is taken away.
"""

from __future__ import annotations

import msgspec

from dragoman.cli.views.labels import Lines
from dragoman.client.results.reply import said_last
from dragoman.extensions.agent_tools.exchange import uses_in
from dragoman.model.base import JsonObject
from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, text_of
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Artifact, Task

__all__ = ("event_lines", "message_lines", "push_lines", "summary_lines", "task_lines")


def task_lines(task: Task, *, is_verbose: bool) -> Lines:
    """Show a task."""
    lines = summary_lines(task)
    said = task.status.message if task.artifacts else said_last(task)
    _add_message(lines, said, is_verbose=is_verbose)
    for artifact in task.artifacts:
        _add_artifact(lines, artifact, is_verbose=is_verbose)
    if is_verbose:
        for message in task.history:
            _add_history(lines, message)
        _add_metadata(lines, task.metadata)
    return lines


def summary_lines(task: Task) -> Lines:
    """Show which task it is and where it stands."""
    lines = Lines()
    lines.field("Task", task.id).field("Context", task.context_id)
    lines.field("State", task.status.state.value)
    if task.status.timestamp:
        lines.field("Updated", task.status.timestamp)
    return lines


def message_lines(message: Message, *, is_verbose: bool) -> Lines:
    """Show a message."""
    lines = Lines().field("Message", message.message_id)
    if message.context_id:
        lines.field("Context", message.context_id)
    if message.task_id:
        lines.field("Task", message.task_id)
    lines.field("Role", message.role.value)
    _add_parts(lines, message.parts, is_verbose=is_verbose)
    if is_verbose:
        _add_metadata(lines, message.metadata)
    return lines


def event_lines(event: StreamResponse, *, is_verbose: bool) -> Lines:
    """Show one event of a stream."""
    if event.task is not None:
        return _headed("task", task_lines(event.task, is_verbose=is_verbose))
    if event.message is not None:
        return _headed("message", message_lines(event.message, is_verbose=is_verbose))
    if event.status_update is not None:
        return _headed("status", _status_lines(event.status_update, is_verbose=is_verbose))
    assert event.artifact_update is not None  # noqa: S101 - the union is closed
    return _headed("artifact", _artifact_lines(event.artifact_update, is_verbose=is_verbose))


def push_lines(config: TaskPushNotificationConfig) -> Lines:
    """Show a webhook; neither its token nor its credentials."""
    lines = Lines()
    lines.field("Config", config.id).field("Task", config.task_id).field("URL", config.url)
    if config.authentication is not None:
        lines.field("Auth", config.authentication.scheme)
    return lines


def _headed(kind: str, lines: Lines) -> Lines:
    return Lines().field("Event", kind).add(lines).gap()


def _status_lines(event: TaskStatusUpdateEvent, *, is_verbose: bool) -> Lines:
    lines = summary_lines(Task(id=event.task_id, context_id=event.context_id, status=event.status))
    _add_message(lines, event.status.message, is_verbose=is_verbose)
    if is_verbose:
        _add_metadata(lines, event.metadata)
    return lines


def _artifact_lines(event: TaskArtifactUpdateEvent, *, is_verbose: bool) -> Lines:
    lines = Lines().field("Task", event.task_id).field("Context", event.context_id)
    lines.field("Append", _yes_or_no(fact=event.append))
    lines.field("Last chunk", _yes_or_no(fact=event.last_chunk))
    _add_artifact(lines, event.artifact, is_verbose=is_verbose)
    if is_verbose:
        _add_metadata(lines, event.metadata)
    return lines


def _add_message(lines: Lines, said: Message | None, *, is_verbose: bool) -> None:
    if said is None:
        return
    text = text_of(said.parts)
    if text:
        lines.block("Status message", text)
    _add_parts(lines, _without_text(said), is_verbose=is_verbose)
    if is_verbose:
        _add_metadata(lines, said.metadata)


def _add_history(lines: Lines, message: Message) -> None:
    head = f"{message.role.value} {message.message_id}"
    lines.block("History message", f"{head}\n{text_of(message.parts)}".rstrip("\n"))
    _add_parts(lines, _without_text(message), is_verbose=True)
    _add_metadata(lines, message.metadata)


def _without_text(message: Message) -> tuple[Part, ...]:
    return tuple(part for part in message.parts if part.text is None)


def _add_artifact(lines: Lines, artifact: Artifact, *, is_verbose: bool) -> None:
    lines.field("Artifact", f"{artifact.artifact_id} {artifact.name}")
    if is_verbose and artifact.description:
        lines.field("Description", artifact.description)
    _add_parts(lines, artifact.parts, is_verbose=is_verbose)
    if is_verbose:
        _add_metadata(lines, artifact.metadata)


def _add_parts(lines: Lines, parts: tuple[Part, ...], *, is_verbose: bool) -> None:
    for number, part in enumerate(parts, 1):
        if is_verbose:
            lines.field("Part", f"{number} {part.kind} {part.effective_media_type}")
        _add_part(lines, part)
        if is_verbose:
            _add_metadata(lines, part.metadata)


def _add_part(lines: Lines, part: Part) -> None:
    match part.kind:
        case "text":
            lines.block("Text", part.text or "")
        case "data":
            _add_data(lines, part)
        case "raw":
            kind = f"{part.media_type}, " if part.media_type else ""
            size = len(part.raw or b"")
            lines.field("File", f"{part.filename or 'unnamed'} ({kind}{size} bytes)")
        case "url":
            kind = f" ({part.media_type})" if part.media_type else ""
            lines.field("File", f"{part.filename or 'unnamed'}{kind} {part.url}")


def _add_data(lines: Lines, part: Part) -> None:
    uses = uses_in((part,))
    if not uses:
        lines.block("Data", _indented_json(part.data))
    for use in uses:
        lines.field("Tool", use.name).field("Tool use", use.tool_use_id)
        lines.block("Input", _indented_json(use.input))


def _add_metadata(lines: Lines, metadata: JsonObject | None) -> None:
    if metadata:
        lines.block("Metadata", _indented_json(metadata))


def _indented_json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _yes_or_no(*, fact: bool) -> str:
    return "yes" if fact else "no"
