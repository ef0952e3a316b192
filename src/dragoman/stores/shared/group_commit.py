"""Group commit: one thread that writes whatever waits, in one commit, again and again.

While a commit is on its way, all that arrives waits together and goes into the next one, so the
size of a batch follows the load by itself and there is no timer. Knows nothing of what it writes,
nor where.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Final, Generic, TypeVar

from dragoman import telemetry
from dragoman.errors import StoreError, StoreUnavailableError

__all__ = ("FIRST_PROBE_SECONDS", "LONGEST_PROBE_SECONDS", "Commit", "GroupCommit", "Report")

FIRST_PROBE_SECONDS: Final = 0.2
"""How long after a failure the engine is first tried again; most hiccups are over by then."""

LONGEST_PROBE_SECONDS: Final = 5.0
"""The backoff doubles up to this: an operator who freed the disk sees service within seconds."""

_logger = logging.getLogger(__name__)

W = TypeVar("W")

Report = Callable[[StoreError | None], None]
"""Called exactly once, on the event loop, with the outcome of one write."""

Commit = Callable[[Sequence[W]], Sequence[StoreError | None]]
"""Makes a batch durable and returns one outcome per write, in order.

Raises StoreUnavailableError when the engine below failed; then nothing of the batch is kept.
"""


class GroupCommit(Generic[W]):
    """Owns the writer thread.

    Promised: writes are committed and reported in the order they were handed over; the reports of
    one batch cost one wake-up of the event loop. When the engine fails, every write of the batch is
    told so, writes handed over meanwhile wait, and the engine is probed until it works again.

    All methods are called on the event loop that ``start`` was called on.

    Args:
        commit: called in the writer thread.
        probe: called in the writer thread after a failure; raises StoreUnavailableError while the
            engine is down.
        is_urgent: tells writes that are not to wait for an engine that is down, because somebody
            waits for them who can be told; called in the writer thread.
    """

    def __init__(
        self,
        name: str,
        *,
        commit: Commit[W],
        probe: Callable[[], None],
        is_urgent: Callable[[W], bool] = lambda _: False,
    ) -> None:
        self._name = name
        self._is_urgent = is_urgent
        self._commit = commit
        self._probe = probe
        self._waiting: deque[tuple[W, Report]] = deque()
        # A lock per write would cost more than the rest of handing it over. Instead the thread
        # says when it has run out of work, and only then does a write wake it. A write is appended
        # before the flag is looked at, and the flag raised before the queue is: no gap is left.
        self._is_idle = False
        self._wakeups: SimpleQueue[None] = SimpleQueue()
        self._is_available = True
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_available(self) -> bool:
        """False from a failure of the engine until a probe succeeds."""
        return self._is_available

    def start(self) -> None:
        """Start the thread. It keeps the process alive until ``close``."""
        self._loop = asyncio.get_running_loop()
        self._stopped: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name=self._name)
        self._thread.start()

    def submit(self, write: W, report: Report) -> None:
        """Hand over a write; returns at once."""
        if self._closing.is_set():
            error = StoreUnavailableError(f"{self._name} is closed")
            self._loop.call_soon(report, error)
            return
        if not self._is_available and self._is_urgent(write):
            self._loop.call_soon(report, StoreUnavailableError(f"{self._name} is down"))
            return
        self._waiting.append((write, report))
        if self._is_idle:
            self._is_idle = False
            # Not at once: what else this pass of the loop hands over then joins the same commit.
            self._loop.call_soon(self._wakeups.put, None)

    async def close(self) -> None:
        """Commit what was handed over, then end the thread.

        While the engine is down it is probed once more; if that fails, what waits is told so.
        """
        if self._thread is None:
            return
        self._closing.set()
        self._wakeups.put(None)
        await self._stopped
        # The thread has nothing left to do but return.
        self._thread.join()
        self._thread = None

    # --- in the writer thread -------------------------------------------------------------------

    def _run(self) -> None:
        while batch := self._take():
            self._settle(batch, self._outcomes(batch))
            if not self._is_available:
                self._refuse_urgent()
                if not self._recover():
                    self._give_up()
        self._on_loop(self._stopped.set_result, None)

    def _take(self) -> list[tuple[W, Report]]:
        """Wait for work and return all of it; empty once closed and drained."""
        waiting = self._waiting
        while not waiting:
            if self._closing.is_set():
                return []
            self._is_idle = True
            if not waiting:
                self._wakeups.get()
            self._is_idle = False
        return [waiting.popleft() for _ in range(len(waiting))]

    def _outcomes(self, batch: list[tuple[W, Report]]) -> Sequence[StoreError | None]:
        try:
            return self._commit([write for write, _ in batch])
        except StoreUnavailableError as error:
            failure = error
            _logger.error(  # noqa: TRY400 - the message says it all; a traceback would bury it
                "%s: the storage engine failed (%s); %d writes are refused; probing until it works",
                self._name,
                error,
                len(batch),
            )
        except Exception as error:
            # Were this thread to die, every caller would wait for ever.
            failure = StoreUnavailableError(f"unexpected {type(error).__name__}")
            _logger.critical(
                "%s: a defect failed %d writes", self._name, len(batch), exc_info=error
            )
        self._is_available = False
        return [failure] * len(batch)

    def _settle(self, batch: list[tuple[W, Report]], outcomes: Sequence[StoreError | None]) -> None:
        self._on_loop(self._report, batch, outcomes)

    def _recover(self) -> bool:
        """Probe until the engine works again; False when closed before it did."""
        delay = FIRST_PROBE_SECONDS
        is_closing = False
        while not is_closing:
            is_closing = self._closing.wait(delay)
            try:
                self._probe()
            except StoreUnavailableError:
                delay = min(delay * 2, LONGEST_PROBE_SECONDS)
                continue
            self._is_available = True
            _logger.warning("%s: the storage engine works again", self._name)
            return True
        return False

    def _refuse_urgent(self) -> None:
        """Fail those that came while the refused batch was on its way and are not to wait."""
        found = [self._waiting.popleft() for _ in range(len(self._waiting))]
        urgent = [item for item in found if self._is_urgent(item[0])]
        self._waiting.extendleft(item for item in reversed(found) if not self._is_urgent(item[0]))
        self._settle(urgent, [StoreUnavailableError(f"{self._name} is down")] * len(urgent))

    def _give_up(self) -> None:
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        error = StoreUnavailableError(f"{self._name} was closed while the storage engine was down")
        if batch:
            _logger.error(
                "%s: closed while down; %d waiting writes are lost", self._name, len(batch)
            )
        self._settle(batch, [error] * len(batch))

    def _on_loop(self, callback: Callable[..., None], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:
            # The loop was closed before the store: nobody is left to hear it.
            self._closing.set()

    # --- on the event loop ----------------------------------------------------------------------

    def _report(self, batch: list[tuple[W, Report]], outcomes: Sequence[StoreError | None]) -> None:
        if telemetry.active is not None:
            telemetry.active.committed(len(batch))
        for (_, report), outcome in zip(batch, outcomes, strict=True):
            try:
                report(outcome)
            except Exception as error:  # noqa: BLE001 - one caller's defect must not silence the others
                self._loop.call_exception_handler(
                    {"message": f"{self._name}: a report failed", "exception": error}
                )
