"""What a skill gives back: files and replies, and values as parts, artifacts and messages."""

from __future__ import annotations

import mimetypes
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeGuard

import msgspec
from msgspec import Struct

from dragoman.errors import UsageError
from dragoman.model.media_types import accepts
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.plain_data import BYTES, to_plain_data
from dragoman.model.tasks import Artifact
from dragoman.service.worker import Completed, Outcome, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dragoman.model.base import JsonObject
    from dragoman.model.tasks import Task

__all__ = (
    "ArtifactStream",
    "Failed",
    "File",
    "Rejected",
    "Reply",
    "direct_message",
    "finish",
    "messages_of",
    "parts_of",
    "reply_of",
    "turn_message",
)


class File(Struct, frozen=True):
    """A file by value (``content``) or by reference (``url``): exactly one of them is set.

    Nothing is fetched: a file that came as an address stays one, and reading it is the author's
    decision, since the address was chosen by a peer.
    """

    content: bytes | None = None
    name: str = ""
    media_type: str = ""
    url: str | None = None

    def __post_init__(self) -> None:
        """Hold the choice closed."""
        if (self.content is None) == (self.url is None):
            raise UsageError("File needs exactly one of content, url")

    @classmethod
    def from_path(cls, path: str | Path, *, media_type: str | None = None) -> File:
        """Read a file from disk; its media type is guessed from the name unless given."""
        path = Path(path)
        guess = media_type or mimetypes.guess_type(path.name)[0] or BYTES
        return cls(content=path.read_bytes(), name=path.name, media_type=guess)

    @classmethod
    def from_part(cls, part: Part) -> File:
        """Take the file out of a raw or url part."""
        return cls(content=part.raw, name=part.filename, media_type=part.media_type, url=part.url)

    def read(self) -> bytes:
        """Return the bytes.

        Raises:
            UsageError: the peer sent an address instead of bytes.
        """
        if self.content is None:
            raise UsageError(
                f"file {self.name or '(unnamed)'} was sent as an address; fetch File.url, "
                "after deciding whether to trust it"
            )
        return self.content

    def part(self) -> Part:
        """Return the part that carries this file."""
        return Part(raw=self.content, url=self.url, filename=self.name, media_type=self.media_type)


_COMPLETED: Final = Completed()


class Reply:
    """A message to the caller.

    ``Reply("Done.", {"count": 3})`` has a text part and a data part; each argument becomes parts by
    the rules of return values. A skill annotated ``-> Reply`` answers with it directly and no task
    is made; returned by any other skill it becomes the final status message of the completed task.
    """

    __slots__ = ("extensions", "metadata", "parts")

    def __init__(
        self,
        *content: object,
        metadata: JsonObject | None = None,
        extensions: Sequence[str] = (),
    ) -> None:
        """Turn the content into parts; there must be some.

        Args:
            extensions: the addresses of the extensions that the message makes use of.
        """
        if not content:
            raise UsageError("Reply needs something to say")
        self.parts: tuple[Part, ...] = tuple(part for each in content for part in parts_of(each))
        self.metadata: Final = metadata
        self.extensions: Final = tuple(extensions)


def reply_of(
    content: tuple[object, ...],
    metadata: JsonObject | None = None,
    extensions: Sequence[str] = (),
) -> Reply:
    """Make a reply of some content; a ``Reply`` or a ``Message`` alone is taken as it is."""
    if len(content) != 1 or metadata is not None or extensions:
        return Reply(*content, metadata=metadata, extensions=extensions)
    (only,) = content
    if isinstance(only, Message):
        return Reply(*only.parts, metadata=only.metadata, extensions=only.extensions)
    return only if isinstance(only, Reply) else Reply(only)


class _Verdict(Exception):  # noqa: N818 - the verdicts below are named like states
    """How a skill ends its task otherwise than by a result."""

    def __init__(self, *content: object, metadata: JsonObject | None = None) -> None:
        """Keep what to tell the caller; saying nothing is possible."""
        super().__init__(*content)
        self.reply: Final = reply_of(content, metadata) if content else None


class Rejected(_Verdict):
    """Raised by a skill to decline the work: the task ends as rejected.

    The content is shown to the caller, by the rules of ``Reply``; a ``Reply`` or a ``Message`` is
    shown as it is.
    """


class Failed(_Verdict):
    """Raised by a skill that could not do the work: the task ends as failed, with these words.

    The content is shown to the caller, by the rules of ``Reply``; a ``Reply`` or a ``Message`` is
    shown as it is. What any other exception says is kept from the caller.
    """


def parts_of(value: object) -> tuple[Part, ...]:
    """Turn a value into parts.

    Text becomes a text part, bytes and files a file part, parts stay what they are (alone or in a
    list or tuple); everything else that JSON can express becomes one data part.

    Raises:
        UsageError: JSON cannot express it.
    """
    if isinstance(value, str):
        # What is more than a str would not be encoded.
        return (Part(text=value if type(value) is str else str.__str__(value)),)
    if isinstance(value, Part):
        return (value,)
    if isinstance(value, File):
        return (value.part(),)
    if isinstance(value, Reply | Message):
        return value.parts
    if isinstance(value, bytes | bytearray):
        return (Part(raw=bytes(value), media_type=BYTES),)
    if _is_sequence(value) and value and all(isinstance(item, Part | File) for item in value):
        return tuple(part for item in value for part in parts_of(item))
    data = to_plain_data(value, instead="text, bytes, File, Part, Artifact")
    return (Part(data=data),)


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple)


def turn_message(turn: Turn, reply: Reply) -> Message:
    """Make the agent's message within a task."""
    return Message(
        message_id=turn.new_id(),
        context_id=turn.context_id,
        task_id=turn.task_id,
        role=Role.AGENT,
        parts=reply.parts,
        metadata=reply.metadata,
        extensions=reply.extensions,
    )


def messages_of(task: Task) -> tuple[Message, ...]:
    """Return what was said in a task, and then what it gave, as messages of the agent."""
    last = task.status.message
    given = (
        Message(
            message_id=artifact.artifact_id,
            context_id=task.context_id,
            task_id=task.id,
            role=Role.AGENT,
            parts=artifact.parts,
            metadata=artifact.metadata,
            extensions=artifact.extensions,
        )
        for artifact in task.artifacts
    )
    return (*task.history, *given, *(() if last is None else (last,)))


def direct_message(reply: Reply, context_id: str, new_id: Callable[[], str]) -> Message:
    """Make the agent's message outside of any task."""
    return Message(
        message_id=new_id(),
        context_id=context_id,
        role=Role.AGENT,
        parts=reply.parts,
        metadata=reply.metadata,
        extensions=reply.extensions,
    )


def _tailored(turn: Turn, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Write data as text for a caller who takes text but no JSON (R-3.2.2-9)."""
    modes = turn.accepted_output_modes
    if not modes or accepts(modes, "application/json") or not accepts(modes, "text/plain"):
        return parts
    return tuple(
        Part(text=msgspec.json.encode(part.data).decode(), metadata=part.metadata)
        if part.kind == "data"
        else part
        for part in parts
    )


async def finish(turn: Turn, value: object) -> Outcome:
    """Publish what a skill returned, and complete the task with it."""
    if value is None:
        return _COMPLETED
    if isinstance(value, Message | Reply):
        return Completed(turn_message(turn, reply_of((value,))))
    if not isinstance(value, Artifact):
        value = Artifact(artifact_id=turn.new_id(), parts=_tailored(turn, parts_of(value)))
    await turn.artifact(value, last_chunk=True)
    return _COMPLETED


class ArtifactStream:
    """The chunks of one artifact, as a generator yields them.

    Nobody knows of a chunk whether it is the last, so the turn is left to find out: it marks the
    one after which the generator returns. An end of its own, which would be an empty text because
    a chunk must have a part (R-5.7-3), is taken for the answer by clients that keep what comes
    last.

    An ``Artifact`` that is yielded is an artifact of its own and no chunk. An empty text adds
    nothing and is left out, unless the artifact begins with it.
    """

    __slots__ = ("_artifact_id", "_turn")

    def __init__(self, turn: Turn) -> None:
        """Publish nothing yet: a generator that yields nothing has no artifact."""
        self._turn = turn
        self._artifact_id = ""

    async def add(self, value: object) -> None:
        """Publish one chunk."""
        if isinstance(value, Artifact):
            await self._turn.artifact(value, last_chunk=True)
            return
        if isinstance(value, Reply):
            raise UsageError("a generator yields chunks of an artifact; a Reply is said by ctx.say")
        is_first = not self._artifact_id
        if is_first:
            self._artifact_id = self._turn.new_id()
        elif isinstance(value, str) and not value:
            return
        chunk = Artifact(
            artifact_id=self._artifact_id, parts=_tailored(self._turn, parts_of(value))
        )
        await self._turn.artifact(chunk, append=not is_first, last_chunk=None)

    async def close(self) -> Outcome:
        """Complete the task."""
        return _COMPLETED
