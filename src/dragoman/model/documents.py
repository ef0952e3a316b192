"""Tasks and events as JSON that is ready to send.

The model's own JSON is what the store keeps and what a 1.0 peer reads, so the common path hands
bytes through without decoding them. A task is cut into three pieces so that history and artifacts
can be left out or shortened without reading the rest. Other dialects ask for the value and spell it
anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Raw, Struct

from dragoman.model.events import StreamResponse, TaskEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message
from dragoman.model.tasks import Artifact, Task

__all__ = ("EMPTY_ARRAY", "EventDocument", "TaskDocument", "TaskPage", "encode_entry")

EMPTY_ARRAY = b"[]"

_encode = msgspec.json.Encoder().encode
_decode_task = msgspec.json.Decoder(Task).decode
_decode_stream_response = msgspec.json.Decoder(StreamResponse).decode
_decode_raw_array = msgspec.json.Decoder(list[Raw]).decode


class TaskDocument(Struct, frozen=True, gc=False):
    """One task as JSON in three pieces.

    Attributes:
        head: an object with everything but artifacts and history.
        artifacts: an array, or None for a view without artifacts.
        history: an array, oldest message first.
        known: what the pieces were made of, where it is at hand; it saves decoding them.
    """

    head: bytes
    artifacts: bytes | None
    history: bytes
    known: tuple[Task, tuple[Artifact, ...], tuple[Message, ...]] | None = None

    @classmethod
    def of(cls, task: Task) -> TaskDocument:
        """Encode a task."""
        return cls.assemble(
            Task(
                id=task.id, context_id=task.context_id, status=task.status, metadata=task.metadata
            ),
            task.artifacts,
            task.history,
        )

    @classmethod
    def assemble(
        cls, head: Task, artifacts: tuple[Artifact, ...], history: tuple[Message, ...]
    ) -> TaskDocument:
        """Encode the pieces of a task; ``head`` has no artifacts and no history."""
        return cls(
            _encode(head),
            _encode(artifacts) if artifacts else EMPTY_ARRAY,
            _encode(history) if history else EMPTY_ARRAY,
            (head, artifacts, history),
        )

    def json(self, *, keep_empty_artifacts: bool = False) -> bytes:
        """Return the whole object; empty arrays are left out unless asked for (R-3.1.4-3)."""
        pieces = [self.head[:-1]]
        if self.artifacts is not None and (keep_empty_artifacts or self.artifacts != EMPTY_ARRAY):
            pieces += (b',"artifacts":', self.artifacts)
        if self.history != EMPTY_ARRAY:
            pieces += (b',"history":', self.history)
        pieces.append(b"}")
        return b"".join(pieces)

    def task(self) -> Task:
        """Return the value."""
        if self.known is None:
            return _decode_task(self.json())
        head, artifacts, history = self.known
        return Task(
            id=head.id,
            context_id=head.context_id,
            status=head.status,
            artifacts=artifacts,
            history=history,
            metadata=head.metadata,
        )

    def bare(self) -> TaskDocument:
        """Return the JSON alone, to be kept for long."""
        return TaskDocument(self.head, self.artifacts, self.history)

    def with_history(self, length: int | None) -> TaskDocument:
        """Return the view with at most ``length`` of the newest messages; None keeps all.

        R-3.2.4-2: zero leaves the member out. R-3.2.4-3: never more than asked for.
        """
        if length is None or self.history == EMPTY_ARRAY:
            return self
        if length == 0:
            return TaskDocument(self.head, self.artifacts, EMPTY_ARRAY)
        messages = _decode_raw_array(self.history)
        if len(messages) <= length:
            return self
        return TaskDocument(self.head, self.artifacts, _encode(messages[-length:]))

    def without_artifacts(self) -> TaskDocument:
        """Return the view that has no artifacts member at all (R-3.1.4-1)."""
        return TaskDocument(self.head, None, self.history)


class TaskPage(Struct, frozen=True, kw_only=True, gc=False):
    """One page of a list."""

    tasks: tuple[TaskDocument, ...]
    next_page_token: str
    page_size: int
    total_size: int


class EventDocument:
    """One frame of a stream: its number in the task's log and its JSON.

    Shared by all who follow the task: each dialect spells it once (``spelled``).
    ``seq`` is 0 for a frame that has no place in a log (a direct Message).
    """

    __slots__ = ("_spellings", "_value", "json", "seq")

    def __init__(self, seq: int, json: bytes) -> None:
        """Keep the bytes; nothing is decoded until somebody asks."""
        self.seq: Final = seq
        self.json: Final = json
        self._value: StreamResponse | None = None
        self._spellings: dict[str, tuple[bytes, ...]] | None = None

    @property
    def value(self) -> StreamResponse:
        """Decode the frame, once."""
        if self._value is None:
            self._value = _decode_stream_response(self.json)
        return self._value

    def spelled(
        self, form: str, spell: Callable[[EventDocument], tuple[bytes, ...]]
    ) -> tuple[bytes, ...]:
        """Return the frame as the named form has it, one or several; spelled on first use."""
        if self._spellings is None:
            self._spellings = {}
        spelling = self._spellings.get(form)
        if spelling is None:
            spelling = self._spellings[form] = spell(self)
        return spelling


def encode_entry(entry: TaskEvent | Message) -> bytes:
    """Encode an entry of a task's log: a numbered event, or a message of its history."""
    kind = type(entry)
    if kind is TaskStatusUpdateEvent:
        return b'{"statusUpdate":' + _encode(entry) + b"}"
    if kind is Message:
        return b'{"message":' + _encode(entry) + b"}"
    return b'{"artifactUpdate":' + _encode(entry) + b"}"
