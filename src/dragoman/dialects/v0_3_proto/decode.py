"""From the messages of the proto to the model (0.x reference, 5.3 to 5.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeGuard, cast

import msgspec
from msgspec.structs import replace

from dragoman.dialects.fields import Fields
from dragoman.dialects.legacy.file_bytes import is_raw, read_file_bytes
from dragoman.dialects.legacy.part_marks import lift_part
from dragoman.dialects.legacy.strict import check_file
from dragoman.dialects.legacy.tolerant import (
    read_any_state,
    read_file,
    read_role,
    read_state,
    read_timestamp,
)
from dragoman.dialects.v0_3_proto import wire
from dragoman.errors import InvalidParamsError
from dragoman.model.base import INT32_MAX, is_array, is_object
from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import UNSPECIFIED, Artifact, Task, TaskState, TaskStatus

if TYPE_CHECKING:
    from dragoman.dialects.legacy.file_bytes import FileBytes
    from dragoman.model.base import JsonObject

__all__ = ("AnswerDecoder", "Decoder", "count", "free_json", "required", "state_of")

_ONE_PART: Final = "needs exactly one of text, file, data"
_ONE_PAYLOAD: Final = "needs exactly one of task, message, statusUpdate, artifactUpdate"

# By name and by number, in a query by its digits. The proto numbers its values in the order of the
# model; 0 is "unset".
_ROLES: Final[dict[object, Role]] = {
    **{name: role for role, name in wire.ROLES.items()},
    **dict(enumerate(Role, 1)),
}
_STATES: Final[dict[object, TaskState]] = {
    **{name: state for state, name in wire.STATES.items()},
    **dict(enumerate(TaskState, 1)),
    **{str(number): state for number, state in enumerate(TaskState, 1)},
}
_EXACT: Final = 2**53
"""Up to here a double tells all integers apart."""


def required(text: str | None, place: str) -> str:
    """Return a text that must be there."""
    if text:
        return text
    raise InvalidParamsError.of(place, "is required")


def count(value: wire.Number | None, place: str, *, most: int = INT32_MAX) -> int | None:
    """Return a number, None for the zero that ProtoJSON leaves out.

    Raises:
        InvalidParamsError: it is negative, too large, or no integer.
    """
    if value is None:
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        number = -1
    is_fraction = isinstance(value, float) and not value.is_integer()
    if is_fraction or not 0 <= number <= most:
        raise InvalidParamsError.of(place, f"must be an integer between 0 and {most}")
    return number or None


def state_of(value: wire.EnumValue | None, place: str) -> TaskState:
    """Return a state to look for, given by name or number; "unspecified" is none."""
    state = _STATES.get(value)
    if state is None and isinstance(value, str):
        state = read_state(value)
    if state is None:
        fault = "is not one of the known values" if value else "is required"
        raise InvalidParamsError.of(place, fault)
    return state


def _told_state(value: wire.EnumValue | None) -> TaskState:
    """Return the state that a peer tells of a task; what A2A does not have keeps its name."""
    return _STATES.get(value) or (read_any_state(str(value)) if value else UNSPECIFIED)


class Decoder:
    """Reads the values of a peer, and learns from them how it writes file content.

    All readers raise InvalidParamsError, which names the path, for what is no value.

    Attributes:
        shown: the habit that files have shown, of a peer whose habit is not known: ``raw`` for
            certain, one of them being nothing else; ``base64text`` in all likelihood.
    """

    __slots__ = ("_is_strict", "_pinned", "shown")

    def __init__(self, pinned: FileBytes | None, *, is_strict: bool = False) -> None:
        """Begin with the peer's habit, None to judge by the bytes.

        Args:
            is_strict: refuse messages without ``messageId`` (D10), with a role or a name of the
                content that the proto does not have (D11), and files given twice.
        """
        self._pinned: FileBytes | None = pinned
        self._is_strict = is_strict
        self.shown: FileBytes | None = None

    def message(self, found: wire.Message, path: str, otherwise: Role) -> Message:
        """Return a message.

        Args:
            otherwise: who speaks if the message does not say (0.x reference, 5.6).
        """
        role = _ROLES.get(found.role)
        if self._is_strict:
            _check_message(found, path)
        content = found.content or found.parts or ()
        return Message(
            message_id=found.message_id or "",
            context_id=found.context_id or "",
            task_id=found.task_id or "",
            role=read_role(found.role, otherwise) if role is None else role,
            parts=self._parts(content, f"{path}.content"),
            metadata=free_json(found.metadata),
            extensions=found.extensions or (),
            reference_task_ids=found.reference_task_ids or (),
        )

    def task(self, found: wire.Task, path: str = "") -> Task:
        """Return a task."""
        place = f"{path}." if path else ""
        return Task(
            id=required(found.id, f"{place}id"),
            context_id=found.context_id or "",
            status=self._status(found.status, f"{place}status"),
            artifacts=tuple(
                [
                    self._artifact(item, f"{place}artifacts[{index}]", index)
                    for index, item in enumerate(found.artifacts or ())
                ]
            ),
            history=tuple(
                [
                    self.message(item, f"{place}history[{index}]", Role.AGENT)
                    for index, item in enumerate(found.history or ())
                ]
            ),
            metadata=free_json(found.metadata),
        )

    def payload(self, found: wire.StreamResponse) -> StreamResponse:
        """Return a frame of a stream."""
        payloads = (found.task, found.message, found.status_update, found.artifact_update)
        match [payload for payload in payloads if payload is not None]:
            case [wire.Task() as task]:
                return StreamResponse(task=self.task(task, "task"))
            case [wire.Message() as message]:
                return StreamResponse(message=self.message(message, "message", Role.AGENT))
            case [wire.TaskStatusUpdateEvent() as update]:
                return StreamResponse(status_update=self._status_update(update))
            case [wire.TaskArtifactUpdateEvent() as update]:
                return StreamResponse(artifact_update=self._artifact_update(update))
            case _:
                raise InvalidParamsError.of("", _ONE_PAYLOAD)

    def _status_update(self, found: wire.TaskStatusUpdateEvent) -> TaskStatusUpdateEvent:
        task_id = required(found.task_id, "statusUpdate.taskId")
        return TaskStatusUpdateEvent(
            task_id=task_id,
            context_id=found.context_id or task_id,
            status=self._status(found.status, "statusUpdate.status"),
            metadata=free_json(found.metadata),
        )

    def _artifact_update(self, found: wire.TaskArtifactUpdateEvent) -> TaskArtifactUpdateEvent:
        task_id = required(found.task_id, "artifactUpdate.taskId")
        if found.artifact is None:
            raise InvalidParamsError.of("artifactUpdate.artifact", "is required")
        return TaskArtifactUpdateEvent(
            task_id=task_id,
            context_id=found.context_id or task_id,
            artifact=self._artifact(found.artifact, "artifactUpdate.artifact"),
            append=found.append or False,
            last_chunk=found.last_chunk or False,
            metadata=free_json(found.metadata),
        )

    def _status(self, found: wire.TaskStatus | None, path: str) -> TaskStatus:
        if found is None:
            raise InvalidParamsError.of(path, "is required")
        message, timestamp = found.message, found.timestamp
        return TaskStatus(
            state=_told_state(found.state),
            message=message and self.message(message, f"{path}.message", Role.AGENT),
            # 5.3: a time that cannot be read is dropped.
            timestamp=read_timestamp(timestamp) if timestamp else None,
        )

    def _artifact(self, found: wire.Artifact, path: str, position: int = 0) -> Artifact:
        return Artifact(
            artifact_id=found.artifact_id or f"idx-{position}",
            name=found.name or "",
            description=found.description or "",
            parts=self._parts(found.parts or (), f"{path}.parts"),
            metadata=free_json(found.metadata),
            extensions=found.extensions or (),
        )

    def _parts(self, found: tuple[wire.Part, ...], path: str) -> tuple[Part, ...]:
        if not found:
            raise InvalidParamsError.of(path, "must not be empty")
        return tuple([self._part(part, path, index) for index, part in enumerate(found)])

    def _part(self, found: wire.Part, path: str, index: int) -> Part:
        metadata = free_json(found.metadata)
        match found.text, found.file, found.data:
            case str() as text, None, None:
                part = Part(text=text, metadata=metadata)
            case None, dict() as file, None:
                fields = Fields(file, f"{path}[{index}].file")
                if self._is_strict:
                    check_file(fields)
                return self._file(read_file(fields, metadata))
            case None, None, dict() as data:
                # The object is in a member of its own; some leave that out.
                inner = data.get("data")
                content = inner if is_object(inner) else data
                part = Part(data=_whole_numbers(content), metadata=metadata)
            case _:
                raise InvalidParamsError.of(f"{path}[{index}]", _ONE_PART)
        return lift_part(part) if metadata else part

    def _file(self, part: Part) -> Part:
        if part.raw is None:
            return part
        known = self._pinned or ("raw" if self.shown == "raw" else None)
        content = read_file_bytes(part.raw, part.media_type, pinned=known)
        if known is None and is_raw(part.raw):
            self.shown = "raw"
        if content == part.raw:
            return part
        if known is None:
            self.shown = "base64text"
        return replace(part, raw=content)


class AnswerDecoder(Decoder):
    """Reads an answer, which is not lost for one of its parts.

    A file that cannot be read is kept as data; what has no content at all is left out.
    """

    __slots__ = ()

    def _parts(self, found: tuple[wire.Part, ...], path: str) -> tuple[Part, ...]:
        read = [self._any_part(part, path, index) for index, part in enumerate(found)]
        return tuple([part for part in read if part is not None]) or (Part(text=""),)

    def _any_part(self, found: wire.Part, path: str, index: int) -> Part | None:
        try:
            return self._part(found, path, index)
        except InvalidParamsError:
            content = msgspec.to_builtins(found)
            return Part(data=content) if content else None


def _check_message(found: wire.Message, path: str) -> None:
    required(found.message_id, f"{path}.messageId")
    if found.role not in _ROLES:
        fault = "is not one of the known values" if found.role else "is required"
        raise InvalidParamsError.of(f"{path}.role", fault)
    if found.parts:
        raise InvalidParamsError.of(f"{path}.parts", "is called content")


def free_json(found: JsonObject | None) -> JsonObject | None:
    """Return metadata, with integers for the floats that a Struct makes of them."""
    return cast("JsonObject", _whole_numbers(found)) if found else found


def _whole_numbers(value: object) -> object:
    if is_object(value):
        return {name: _whole_numbers(item) for name, item in value.items()}
    if is_array(value):
        return [_whole_numbers(item) for item in value]
    return int(value) if _is_whole(value) else value


def _is_whole(value: object) -> TypeGuard[float]:
    return isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT
