"""A turn in miniature: a script of what a function does, a task it does it to, and a crash.

What happens to the task is kept in one timeline, of events and results in the order in which they
became durable; a crash is a cut through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from hypothesis import strategies as st
from msgspec import Struct

from dragoman.engine.commands import AddArtifact, Begin, Command, Say, Start, TakeUp
from dragoman.engine.effects import Append, Record
from dragoman.engine.fold import TaskFold
from dragoman.engine.journal import SPEAKER, TURN, JournalEntry, Replay, kind_in
from dragoman.engine.machine import Standing, decide
from dragoman.model.documents import encode_entry
from dragoman.model.messages import Message, Role, text_of
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, TaskState

__all__ = ("BEGINNING", "Call", "Chunk", "Ids", "Op", "Speak", "World", "play", "scripts")

BEGINNING: Final = 2
"""Events before the function does anything: submitted, working."""


class Speak(Struct, frozen=True):
    """``ctx.say``."""

    text: str


class Chunk(Struct, frozen=True):
    """``ctx.artifact``: ``key`` says which; the id is fresh in every run unless it is named."""

    key: int
    text: str
    append: bool = False
    last: bool = False
    is_named: bool = False


class Call(Struct, frozen=True):
    """A durable call."""

    name: str = "step"
    kind: str = "step"


Op = Speak | Chunk | Call


class World:
    """A task as the store has it, and what the last run published of it."""

    def __init__(self) -> None:
        self.timeline: list[bytes | JournalEntry] = []
        self.published: list[Command] = []
        self._standing = Standing(task_id="t-1", context_id="c-1")
        self._speaker = ""
        self._ids = 0
        self.execute(Begin(_message("hello", Role.USER)))
        self.execute(Start())

    @property
    def log(self) -> list[bytes]:
        return [item for item in self.timeline if isinstance(item, bytes)]

    @property
    def journal(self) -> list[JournalEntry]:
        return [item for item in self.timeline if isinstance(item, JournalEntry)]

    def execute(self, command: Command) -> None:
        """Do as the live task does; whatever the machine refuses is raised."""
        self._standing, effects = decide(self._standing, command, 0)
        for effect in effects:
            if isinstance(effect, Append):
                self.timeline.append(encode_entry(effect.event))
            elif isinstance(effect, Record):
                self.timeline.append(encode_entry(effect.message))

    def publish(self, command: Command, branch: str = "") -> None:
        self.published.append(command)
        if branch != self._speaker:
            self._speaker = branch
            self.note(kind_in(SPEAKER, branch), "", b"")
        self.execute(command)

    def note(self, kind: str, name: str, result: bytes = b"1") -> None:
        n = len(self.journal) + 1
        entry = JournalEntry(n=n, kind=kind, name=name, result=result, seq=self._standing.seq)
        self.timeline.append(entry)

    def next_turn(self) -> None:
        """Take up another message."""
        self.note(TURN, "", b"{}")
        self._speaker = ""
        self.execute(TakeUp(_message("more", Role.USER)))

    def new_id(self) -> str:
        self._ids += 1
        return f"id-{self._ids}"

    def crash(self, at: int) -> Replay:
        """Keep so much of the timeline, and begin the next run."""
        del self.timeline[at:]
        self.published.clear()
        fold = self.fold()
        task = fold.task()
        # As after any restart: which artifacts had their last chunk is not remembered.
        self._standing = Standing(
            task_id="t-1",
            context_id="c-1",
            state=task.status.state,
            seq=sum(not line.startswith(b'{"message"') for line in self.log),
            artifacts=dict.fromkeys(fold.artifact_ids, True),
        )
        replay = Replay("t-1", "c-1", self.journal, self.log)
        self._speaker = replay.speaker
        return replay

    def fold(self) -> TaskFold:
        fold = TaskFold("t-1", "c-1")
        fold.replay(self.log)
        return fold

    def contents(self) -> list[str]:
        """The text of every artifact, in the order in which they began."""
        return [text_of(artifact.parts) for artifact in self.fold().artifacts().values()]

    def said(self) -> list[str]:
        """The text of every status message."""
        task = self.fold().task()
        messages = [message for message in task.history if message.role is Role.AGENT]
        if task.status.message is not None and task.status.state is TaskState.WORKING:
            messages.append(task.status.message)
        return [text_of(message.parts) for message in messages]


Ids = dict[tuple[int, bool], str]
"""The artifacts that a run of a function has begun, by key and by whether they are named."""


def play(
    script: Iterable[Op],
    world: World,
    replay: Replay | None = None,
    *,
    branch: str = "",
    ids: Ids | None = None,
) -> None:
    """Run a function, or one branch of it: from the top, whatever an earlier run has done.

    Args:
        ids: for a script that goes on where another one has ended.
    """
    ids = {} if ids is None else ids
    for op in script:
        match op:
            case Speak(text):
                if replay is None or not replay.has_said(branch):
                    world.publish(Say(_message(text, Role.AGENT)), branch)
            case Chunk(key, text, append, last, is_named):
                if is_named:
                    ids[key, True] = f"named-{key}"
                elif (key, False) not in ids:
                    ids[key, False] = world.new_id()
                artifact = Artifact(artifact_id=ids[key, is_named], parts=(Part(text=text),))
                command = AddArtifact(artifact, append, last)
                for each in (command,) if replay is None else replay.publish(command, branch):
                    world.publish(each, branch)
            case Call(name, kind):
                if replay is None or replay.recall(kind, name, branch) is None:
                    world.note(kind_in(kind, branch), name)


def _message(text: str, role: Role) -> Message:
    return Message(message_id=text, role=role, parts=(Part(text=text),))


@st.composite
def scripts(draw: st.DrawFn, max_size: int = 12) -> Sequence[Op]:
    """What a function may do: to any artifact, whatever the machine allows."""
    ops: list[Op] = []
    is_open: dict[tuple[int, bool], bool] = {}
    for number in range(draw(st.integers(0, max_size))):
        kind = draw(st.sampled_from(["say", "chunk", "chunk", "chunk", "call"]))
        if kind == "say":
            ops.append(Speak(f"s{number}"))
        elif kind == "call":
            ops.append(Call(draw(st.sampled_from(["one", "two"]))))
        else:
            key = (draw(st.integers(0, 2)), draw(st.booleans()))
            append = is_open.get(key, False) and draw(st.booleans())
            last = draw(st.booleans())
            is_open[key] = not last
            ops.append(Chunk(key[0], f"c{number}.", append, last, key[1]))
    return ops
