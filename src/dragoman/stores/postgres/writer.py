"""Turns a batch of writes into few statements, each of them a transaction of its own.

A statement assumes that every write is welcome. When anything is off, it leaves nothing behind and
its writes are tried again in two halves, so that in the end only the offender fails.

A connection may break while a statement is on its way, and then nobody knows whether it was kept.
The database knows: see the table ``writers``. The next connection asks, and only then is anything
said about those writes.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from dragoman.errors import (
    ConflictError,
    SentBeforeError,
    StoreError,
    StoreUnavailableError,
    UnreadError,
)
from dragoman.stores.base import SendRecord, TaskWrite
from dragoman.stores.postgres.batch import Step, Write, plan_steps
from dragoman.stores.postgres.connection import (
    FAILURES,
    Connection,
    Database,
    close_politely,
    code_of,
    is_lost,
    reason_of,
)
from dragoman.stores.postgres.statements import QUERIES, compose
from dragoman.stores.shared.folding import RefusedError

__all__ = ("SHARDS", "Batch", "BatchWriter", "LostError")

SHARDS: Final = 32
"""In how many places each number is counted. With as many writers no two wait for each other."""

STALE: Final = "DR001"
UNREAD: Final = "DR002"
SENT_BEFORE: Final = "DR003"
REPLACED: Final = "DR004"

_REFUSALS: Final = (
    # Ours, but for the last one.
    (STALE, UNREAD, SENT_BEFORE),
    # A value that does not fit, that is there already, or twice in one statement; or too large.
    ("22", "23", "21000", "54"),
)

_AGAIN: Final = ("40001", "40P01", "57014", "55P03")
"""Two statements stood in each other's way, or somebody has canceled one: nothing is wrong."""

_MOST_REPETITIONS: Final = 10

_UNCLEAR: Final = "PostgreSQL does not know this writer any more; whether this was kept is unclear"

_logger = logging.getLogger(__name__)


class LostError(Exception):
    """The connection is gone; what is left of the batch waits for the next one."""


class Batch:
    """Writes that are on their way together.

    Attributes:
        steps: what is still to be done.
        outcomes: how each write has fared; only of use when no steps are left.
    """

    def __init__(self, writes: Sequence[Write]) -> None:
        self.steps: Final = deque(plan_steps(writes))
        self.outcomes: list[StoreError | None] = [None] * len(writes)

    def settle(self, outcomes: Sequence[StoreError | None]) -> None:
        """Note how the writes of the first step have fared; it is done."""
        step = self.steps.popleft()
        for (number, _), outcome in zip(step.writes, outcomes, strict=True):
            self.outcomes[number] = outcome

    def split(self) -> None:
        """Do the first step in two."""
        self.steps.extendleft(reversed(self.steps.popleft().halves()))

    def fail(self, error: StoreError) -> None:
        """Give up on all that is left."""
        while self.steps:
            self.settle([error] * len(self.steps[0].writes))


class BatchWriter:
    """Owns the connection that writes. One batch at a time.

    Attributes:
        holder: the replica that it writes for; "" for none.
        round_trips: statements sent so far.

    Args:
        on_pending: called after a commit that has given webhooks something to send. One whose
            answer was lost is not noticed.
    """

    def __init__(self, database: Database, on_pending: Callable[[], None] = lambda: None) -> None:
        self._database = database
        self._on_pending = on_pending
        self._connection: Connection | None = None
        self._id = 0
        self._connection_number = 0
        # How many batches are known to be written, and what the last of them answered. The answer
        # is as the connection found it when it was opened; None if the database did not know us.
        self._written = 0
        self._answer: Sequence[int | None] | None = None
        self.holder = ""
        self.round_trips: int = 0

    @property
    def shard(self) -> int:
        """Where it counts."""
        return self._id % SHARDS

    async def open(self) -> None:
        """Connect, and settle what the last connection has left open. Raises one of FAILURES.

        It has written to the database when it returns.
        """
        self.abandon()
        connection = await self._database.connect(is_writer=True)
        try:
            await connection.execute(QUERIES["keep_promise"])
            await self._settle(connection)
        except BaseException:
            connection.terminate()
            raise
        self._connection = connection

    def abandon(self) -> None:
        """Drop the connection."""
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        """Leave no trace; whatever goes wrong with that is of no matter."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with suppress(*FAILURES):
            await connection.execute(QUERIES["remove_writer"], self._id)
        await close_politely(connection)

    async def run(self, batch: Batch) -> None:
        """Do what is left of a batch.

        Raises:
            LostError: open another connection, then run the same batch again.
            StoreUnavailableError: PostgreSQL cannot write; nothing more of the batch is kept.
        """
        while batch.steps:
            await self._run_first(batch)

    async def _run_first(self, batch: Batch) -> None:
        step = batch.steps[0]
        if step.sent_as is not None and self._connection is not None:
            if self._answer is None:
                batch.settle([StoreUnavailableError(_UNCLEAR)] * len(step.writes))
                return
            if self._written > step.sent_as:
                batch.settle(step.outcomes(self._answer))
                return
            # Nothing of it was kept, nor will be.
            step.sent_as = None
        for _ in range(_MOST_REPETITIONS):
            try:
                batch.settle(step.outcomes(await self._send(step)))
            except (RefusedError, ValueError, OverflowError, *FAILURES) as error:
                if is_lost(error):
                    self.abandon()
                    raise LostError from error
                # Whatever else is answered, nothing of it was kept.
                step.sent_as = None
                if code_of(error) == REPLACED:
                    self.abandon()
                    raise LostError from error
                if code_of(error) in _AGAIN:
                    continue
                self._refuse(batch, error)
            return
        message = "PostgreSQL: statements keep standing in each other's way"
        raise StoreUnavailableError(message)

    def _refuse(self, batch: Batch, error: Exception) -> None:
        """Try in two halves what was refused, or tell whom it concerns."""
        if not _is_refusal(error):
            message = f"PostgreSQL: {reason_of(error)}"
            raise StoreUnavailableError(message) from error
        writes = batch.steps[0].writes
        if len(writes) > 1:
            batch.split()
        else:
            batch.settle([_error_of(writes[0][1], error)])

    async def _send(self, step: Step) -> Sequence[int | None]:
        pieces = step.pieces(holder=self.holder, shard=self.shard)
        mark = (self._id, self._connection_number, self._written)
        statement, values = compose(pieces, mark, result=step.result)
        if self._connection is None:
            raise LostError
        step.sent_as = self._written
        self.round_trips += 1
        rows = await self._connection.fetch(statement, *values)
        self._written += 1
        # The last row is the result; those before it count webhooks.
        *counts, (result,) = rows
        if any(n for (webhooks,) in counts for n in webhooks):
            self._on_pending()
        return result or ()

    async def _settle(self, connection: Connection) -> None:
        if self._id:
            rows = await connection.fetch(QUERIES["settle"], self._id)
            if rows:
                self._connection_number, self._written, answer = rows[0]
                self._answer = answer or ()
                return
            _logger.error("PostgreSQL: writer %d has been removed by somebody else", self._id)
        self._id = await connection.fetchval(QUERIES["add_writer"])
        self._connection_number = self._written = 0
        self._answer = None
        await connection.execute(QUERIES["remove_old_writers"], self._id)


def _is_refusal(error: Exception) -> bool:
    if isinstance(error, RefusedError | ValueError | OverflowError):
        return True
    code = code_of(error)
    return code in _REFUSALS[0] or code.startswith(_REFUSALS[1])


def _error_of(write: Write, error: Exception) -> StoreError:
    code = code_of(error)
    if code == SENT_BEFORE:
        send = write if isinstance(write, SendRecord) else getattr(write, "send", None)
        assert isinstance(send, SendRecord)  # noqa: S101 - nothing else is refused for this
        return SentBeforeError(send.key.message_id)
    if isinstance(write, TaskWrite):
        if code == UNREAD:
            return UnreadError(write.task_id)
        if code == STALE or code.startswith("23") or isinstance(error, RefusedError):
            return ConflictError(write.task_id)
    return StoreError(f"PostgreSQL will not store this: {reason_of(error)}")
