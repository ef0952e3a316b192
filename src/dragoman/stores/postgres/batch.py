"""Decides in which steps the writes of a batch are done. Runs no statement.

Each step is one statement. Writes of one kind go together. Those of one task stay in their order;
between tasks there is none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from dragoman.errors import ConflictError, StoreError
from dragoman.stores.base import Placed, SendRecord, TaskWrite
from dragoman.stores.postgres.rows import Rows, columns, send_row
from dragoman.stores.shared.states import STATES

if TYPE_CHECKING:
    from dragoman.stores.postgres.statements import Piece

__all__ = (
    "LogStep",
    "Post",
    "PostStep",
    "Release",
    "ReleaseStep",
    "Step",
    "TakeOver",
    "TakeOverStep",
    "Write",
    "is_urgent",
    "plan_steps",
    "size_of",
)


# --- what can be written --------------------------------------------------------------------------


class Post:
    """Something for the inbox of a task. ``placed`` is set when it is committed.

    Args:
        is_foreign: another replica holds the task; if it has ended, the send is not kept either.
        epoch: the lease that this replica has; if the task has ended under another one, this fails.
    """

    __slots__ = ("body", "epoch", "is_foreign", "placed", "send", "task_id")

    def __init__(
        self,
        task_id: str,
        body: bytes,
        send: SendRecord | None,
        *,
        is_foreign: bool,
        epoch: int | None = None,
    ) -> None:
        self.task_id: Final = task_id
        self.body: Final = body
        self.send: Final = send
        self.is_foreign: Final = is_foreign
        self.epoch: Final = epoch
        self.placed: Placed | None = None


class TakeOver:
    """A change of the lease."""

    __slots__ = ("attempts", "epoch", "task_id")

    def __init__(self, task_id: str, epoch: int, attempts: int | None) -> None:
        self.task_id: Final = task_id
        self.epoch: Final = epoch
        self.attempts: Final = attempts


class Release:
    """The end of being held."""

    __slots__ = ("epoch", "task_id")

    def __init__(self, task_id: str, epoch: int) -> None:
        self.task_id: Final = task_id
        self.epoch: Final = epoch


Write = TaskWrite | SendRecord | Post | TakeOver | Release


def is_urgent(write: Write) -> bool:
    """Tell whether somebody waits for a write who had better be told that it cannot be done now.

    What a turn says about a task that exists can wait; that work must not be lost.
    """
    return write.created is not None if isinstance(write, TaskWrite) else True


def size_of(write: Write) -> int:
    """Return about how many bytes a write has that may be many."""
    if isinstance(write, Post):
        return len(write.body)
    if not isinstance(write, TaskWrite):
        return 0
    size = sum(map(len, write.entries))
    if write.journal:
        size += sum(len(entry.result) for entry in write.journal)
    if (snapshot := write.snapshot) is not None:
        size += len(snapshot.artifacts or b"") + len(snapshot.history)
    return size


# --- steps ----------------------------------------------------------------------------------------


class Step(ABC):
    """Writes of one kind.

    Attributes:
        result: the piece that says what the statement answers; "" for nothing.
        may_repeat: whether a task may be in it more than once.
        sent_as: how many batches its writer had written before it was sent, and nothing was heard
            of it since; None if it is certain that nothing of it is kept.
    """

    result: str = ""
    may_repeat: bool = True

    def __init__(self, writes: Iterable[tuple[int, Write]] = ()) -> None:
        self.writes: Final = list(writes)
        self.sent_as: int | None = None

    def halves(self) -> tuple[Step, Step]:
        """Return the same in two steps."""
        middle = len(self.writes) // 2
        kind = type(self)
        return kind(self.writes[:middle]), kind(self.writes[middle:])

    @abstractmethod
    def pieces(self, *, holder: str, shard: int) -> Sequence[Piece]:
        """Return what to put the statement together from.

        Raises RefusedError when a write does not continue the one before it.
        """

    def outcomes(self, result: Sequence[int | None]) -> Sequence[StoreError | None]:
        """Return how the writes have fared, given what the statement answered."""
        del result
        return [None] * len(self.writes)


class LogStep(Step):
    """Appends to logs, and records of sends."""

    def pieces(self, *, holder: str, shard: int) -> Sequence[Piece]:
        """Return what to put the statement together from."""
        rows = Rows(holder=holder, shard=shard)
        for _, write in self.writes:
            if isinstance(write, TaskWrite):
                rows.add(write)
            elif isinstance(write, SendRecord):
                rows.add_send(write)
        return rows.pieces()


class PostStep(Step):
    """Things for inboxes."""

    result = "posts"

    def pieces(self, *, holder: str, shard: int) -> Sequence[Piece]:
        """Return what to put the statement together from."""
        del holder, shard
        ordinals: dict[str, int] = {}
        posts: list[tuple[object, ...]] = []
        sends: list[tuple[object, ...]] = []
        for place, post in enumerate(self._posts(), 1):
            ordinal = ordinals[post.task_id] = ordinals.get(post.task_id, 0) + 1
            posts.append((post.task_id, ordinal, post.body, post.is_foreign, post.epoch))
            if post.send is not None:
                sends.append((*send_row(post.send), place))
        pieces: list[Piece] = [("posts", columns(posts)), ("numbered", ()), ("kept", ())]
        if sends:
            pieces += (("sending_of_posts", columns(sends)), ("sent", ()))
        return pieces

    def outcomes(self, result: Sequence[int | None]) -> Sequence[StoreError | None]:
        """Tell each where it was placed."""
        outcomes: list[StoreError | None] = []
        answers = zip(result[::3], result[1::3], result[2::3], strict=True)
        for post, (n, state, seq) in zip(self._posts(), answers, strict=True):
            if n is None or state is None or seq is None:
                outcomes.append(ConflictError(post.task_id))
            else:
                post.placed = Placed(n, STATES[state], seq)
                outcomes.append(None)
        return outcomes

    def _posts(self) -> list[Post]:
        return [write for _, write in self.writes if isinstance(write, Post)]


class TakeOverStep(Step):
    """Changes of leases."""

    result = "leases"
    may_repeat = False

    def pieces(self, *, holder: str, shard: int) -> Sequence[Piece]:
        """Return what to put the statement together from."""
        del shard
        rows = [(write.task_id, write.epoch, write.attempts) for write in self._leases()]
        task_ids, *others = columns(rows)
        return [("holders", (task_ids, holder)), ("leases", (task_ids, *others, holder))]

    def outcomes(self, result: Sequence[int | None]) -> Sequence[StoreError | None]:
        """Refuse those whose lease was not the given one, or is another living replica's."""
        return [
            ConflictError(write.task_id) if epoch is None else None
            for write, epoch in zip(self._leases(), result, strict=True)
        ]

    def _leases(self) -> list[TakeOver]:
        return [write for _, write in self.writes if isinstance(write, TakeOver)]


class ReleaseStep(Step):
    """Tasks that are held no longer."""

    may_repeat = False

    def pieces(self, *, holder: str, shard: int) -> Sequence[Piece]:
        """Return what to put the statement together from."""
        del holder, shard
        rows = [(w.task_id, w.epoch) for _, w in self.writes if isinstance(w, Release)]
        return [("released", columns(rows))]


_KINDS: Final[dict[type, type[Step]]] = {
    TaskWrite: LogStep,
    SendRecord: LogStep,
    Post: PostStep,
    TakeOver: TakeOverStep,
    Release: ReleaseStep,
}


def plan_steps(writes: Sequence[Write]) -> list[Step]:
    """Return the steps for a batch, in order."""
    steps: list[Step] = []
    last: dict[str, int] = {}
    for number, write in enumerate(writes):
        kind = _KINDS[type(write)]
        task_id = "" if isinstance(write, SendRecord) else write.task_id
        earliest = last.get(task_id, -1) + (0 if kind.may_repeat else 1)
        at = _place(steps, kind, max(earliest, 0))
        steps[at].writes.append((number, write))
        if task_id:
            last[task_id] = at
    return steps


def _place(steps: list[Step], kind: type[Step], earliest: int) -> int:
    """Return where the next step of a kind is; it is added if there is none."""
    for at in range(earliest, len(steps)):
        if type(steps[at]) is kind:
            return at
    steps.append(kind())
    return len(steps) - 1
