"""Workers: several processes that serve the same port, and one that looks after them.

Each is a replica of its own. The first is waited for before the others begin, so that what is wrong
is told once. One that dies is started anew, after a while if it did not live long; all of them are
told to stop with their parent, even if that has no time to say so.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

from dragoman.cli.errors import EXIT_CODES, USAGE
from dragoman.errors import UsageError

__all__ = ("FIRST_DELAY_SECONDS", "LONGEST_DELAY_SECONDS", "STEADY_SECONDS", "Ready", "Workers")

_logger = logging.getLogger(__name__)

STEADY_SECONDS: Final = 10.0
"""Who has lived this long is started anew at once when it dies."""

FIRST_DELAY_SECONDS: Final = 0.5
LONGEST_DELAY_SECONDS: Final = 30.0
"""Who has not waits, twice as long each time: a fault that is always there should cost little."""

_READY: Final = signal.SIGUSR1
"""What a worker sends to its parent when it serves."""

_SIGNALS: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, _READY})

Ready = Callable[[], None]
"""Called by a worker when it serves."""


class Workers:
    """So many processes, each of which serves until it is told to stop.

    Args:
        serve: serves in the process in which it is called, and returns the exit code. It gets the
            number of the worker, from 0, and what to call when it serves.
    """

    def __init__(self, count: int, serve: Callable[[int, Ready], int]) -> None:
        self._count = count
        self._serve = serve
        # The number of each process, and when it was started.
        self._running: dict[int, tuple[int, float]] = {}
        # When each number is to be started, and how long the next one would have to wait.
        self._due: dict[int, float] = {}
        self._delays: dict[int, float] = {}
        self._has_begun = False
        self._is_stopping = False
        self._code = 0

    def run(self) -> int:
        """Keep all of them running until told to stop; return the exit code.

        Must be called before the process has any other thread.
        """
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        # Nobody writes to it: its end is the end of this process.
        self._life, self._breath = os.pipe()
        try:
            self._start(0)
            while self._running or (self._due and not self._is_stopping):
                self._heed(self._next_signal())
                self._bury()
                if not self._is_stopping:
                    self._start_due()
            return self._code
        finally:
            os.close(self._life)
            os.close(self._breath)
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def _next_signal(self) -> int:
        """Wait for a signal, or until a worker is to be started; 0 for the latter."""
        now = time.monotonic()
        timeout = min((at - now for at in self._due.values()), default=3600.0)
        found = signal.sigtimedwait(_SIGNALS, max(0.0, timeout))
        return 0 if found is None else found.si_signo

    def _heed(self, number: int) -> None:
        if number in (signal.SIGINT, signal.SIGTERM):
            self._stop()
        elif number == _READY and not self._has_begun:
            self._has_begun = True
            now = time.monotonic()
            self._due |= dict.fromkeys(range(1, self._count), now)

    def _stop(self) -> None:
        self._is_stopping = True
        for process in self._running:
            os.kill(process, signal.SIGTERM)

    def _bury(self) -> None:
        """Take note of those that have ended."""
        for process in tuple(self._running):
            ended, status = os.waitpid(process, os.WNOHANG)
            if not ended:
                continue
            number, started = self._running.pop(process)
            code = os.waitstatus_to_exitcode(status)
            if self._is_stopping:
                self._code = self._code or max(0, code)
            elif code == EXIT_CODES[USAGE] and not self._has_begun:
                # It has said what is wrong; that will be wrong the next time, too. Later it is
                # something that was right before, such as a database that is away for now.
                self._code = code
                self._stop()
            else:
                self._plan(number, process, code, time.monotonic() - started)

    def _plan(self, number: int, process: int, code: int, lived: float) -> None:
        delay = self._delays.get(number, FIRST_DELAY_SECONDS)
        if lived >= STEADY_SECONDS:
            delay = 0.0
            self._delays.pop(number, None)
        else:
            self._delays[number] = min(2 * delay, LONGEST_DELAY_SECONDS)
        self._due[number] = time.monotonic() + delay
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        _logger.error(
            "worker %d (process %d) ended %s; started anew in %g s", number, process, how, delay
        )

    def _start_due(self) -> None:
        now = time.monotonic()
        for number in [number for number, at in self._due.items() if at <= now]:
            del self._due[number]
            self._start(number)

    def _start(self, number: int) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if process:
            self._running[process] = (number, time.monotonic())
            # The worker says which replica this process is.
            _logger.info("worker %d is process %d", number, process)
            return
        code = 1
        try:
            code = self._work(number)
        except UsageError as error:
            sys.stderr.write(f"dragoman: error: {error}\n")
            code = EXIT_CODES[USAGE]
        except BaseException:
            _logger.critical("worker %d failed", number, exc_info=True)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            logging.shutdown()
            os._exit(code)

    # --- in the process of a worker -------------------------------------------------------------

    def _work(self, number: int) -> int:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        os.close(self._breath)
        threading.Thread(target=_end_with_parent, args=(self._life,), daemon=True).start()
        return self._serve(number, lambda: os.kill(os.getppid(), _READY))


def _end_with_parent(life: int) -> None:
    """Ask this process to stop as soon as its parent is gone."""
    os.read(life, 1)
    os.kill(os.getpid(), signal.SIGTERM)
