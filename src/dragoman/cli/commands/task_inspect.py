"""dragoman task inspect: a task as it is stored, read without asking any agent.

What results say may be known to nobody but the agent, so they are shown only when asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

from dragoman.cli.command import Body, Invocation
from dragoman.cli.commands.db import STORE, keeper_of
from dragoman.cli.commands.task import declare_task
from dragoman.cli.errors import CliError, Failure
from dragoman.cli.options import values
from dragoman.cli.options.options import Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.views.labels import Lines
from dragoman.errors import TaskNotFoundError
from dragoman.model.events import StreamResponse
from dragoman.model.messages import text_of
from dragoman.model.parts import Part
from dragoman.model.timestamps import format_timestamp
from dragoman.stores.maintenance import TaskRecord

__all__ = ("INSPECT",)

_LOG: Final = Option[bool](
    name="log",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="show its log as well, with what the entries say, shortened",
)
_VALUES: Final = Option[bool](
    name="values",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="show what results and waiting messages say, shortened; it may be confidential",
)

_WIDTH: Final = 80
"""How much of a value is shown, in characters."""

_decode_entry: Final = msgspec.json.Decoder(StreamResponse).decode

Row: TypeAlias = dict[str, str | int | None]


def _declare(parser: Parser) -> None:
    declare_task(parser)
    parser.add_options((STORE, _LOG, _VALUES))


def _inspect(invocation: Invocation) -> int:
    keeper, task_id = keeper_of(invocation), invocation.arguments.task
    record = keeper.read_record(task_id)
    if record is None:
        message = f"there is no task {task_id} in {keeper.name}"
        raise CliError(Failure(TaskNotFoundError.__name__, message))
    facts = _facts(record)
    parts = {"journal": list(_journal(record)), "inbox": list(_inbox(record))}
    if not invocation.settings[_VALUES]:
        for row in (row for rows in parts.values() for row in rows):
            del row["text"]
    if invocation.settings[_LOG]:
        parts["log"] = list(_log(record))
    invocation.output.show(msgspec.json.encode({**facts, **parts}), lambda: _lines(facts, parts))
    return 0


def _facts(record: TaskRecord) -> Row:
    """Return what is known of the task as a whole."""
    snapshot = record.end or record.snapshot
    return {
        "taskId": record.id,
        "contextId": record.new.context_id,
        "tenant": record.new.scope.tenant,
        "owner": record.new.scope.owner,
        "skill": record.new.skill_id,
        "origin": record.new.origin_dialect,
        "state": None if record.state is None else record.state.value,
        "created": format_timestamp(record.new.created_ms),
        "updated": format_timestamp(record.status_at_ms),
        "wakeAt": format_timestamp(record.wake_at_ms) if record.wake_at_ms else None,
        "attempts": record.attempts,
        "lease": record.epoch,
        "events": record.last_seq,
        "snapshotOf": None if snapshot is None else snapshot.seq,
    }


def _journal(record: TaskRecord) -> Iterator[Row]:
    for entry in record.journal:
        yield {
            "n": entry.n,
            "kind": entry.kind,
            "name": entry.name,
            "event": entry.seq,
            "bytes": len(entry.result),
            "text": _short(entry.result.decode("utf-8", "replace")),
        }


def _inbox(record: TaskRecord) -> Iterator[Row]:
    for item in record.inbox:
        text = _short(item.body.decode("utf-8", "replace"))
        yield {"n": item.n, "bytes": len(item.body), "text": text}


def _log(record: TaskRecord) -> Iterator[Row]:
    for segment in record.segments:
        number = segment.seq
        for line in segment.entries:
            row = _entry(line)
            is_event = row["kind"] != "message"
            text = row.pop("text")
            yield {
                "event": number if is_event else None,
                **row,
                "bytes": len(line),
                "text": text,
            }
            number += is_event


def _entry(line: bytes) -> Row:
    """Return what kind of entry it is, and what it says; one that cannot be read says itself."""
    try:
        entry = _decode_entry(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {"kind": "unreadable", "text": _short(line.decode("utf-8", "replace"))}
    if entry.message is not None:
        role = entry.message.role.value
        return {"kind": "message", "role": role, "text": _said(entry.message.parts)}
    if entry.status_update is not None:
        status = entry.status_update.status
        said = () if status.message is None else status.message.parts
        return {
            "kind": "status",
            "state": status.state.value,
            "time": status.timestamp,
            "text": _said(said),
        }
    assert entry.artifact_update is not None  # noqa: S101 - the union is closed; no log has a task
    artifact = entry.artifact_update.artifact
    return {"kind": "artifact", "artifact": artifact.artifact_id, "text": _said(artifact.parts)}


def _said(parts: tuple[Part, ...]) -> str:
    others = ", ".join(part.kind for part in parts if part.text is None)
    return _short(text_of(parts) + (f" [{others}]" if others else ""))


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _lines(facts: Row, parts: dict[str, list[Row]]) -> Lines:
    lines = Lines()
    for name, value in facts.items():
        lines.field(_LABELS[name], "-" if value in (None, "") else value)
    for name, rows in parts.items():
        for row in rows:
            words = (f"{key} {value}" for key, value in row.items() if value not in (None, ""))
            lines.field(_LABELS[name], ", ".join(words))
    return lines


_LABELS: Final = {
    "taskId": "Task",
    "contextId": "Context",
    "tenant": "Tenant",
    "owner": "Owner",
    "skill": "Skill",
    "origin": "Origin",
    "state": "State",
    "created": "Created",
    "updated": "Updated",
    "wakeAt": "Wake at",
    "attempts": "Attempts",
    "lease": "Lease",
    "events": "Events",
    "snapshotOf": "Snapshot of event",
    "journal": "Result",
    "inbox": "Waiting",
    "log": "Entry",
}
"""How text names what JSON has."""

INSPECT: Final = Body(run=_inspect, declare=_declare)
