"""Ended spans wait here for a thread that sends them, a batch at a time.

Whoever ends a span appends it to a queue, and that is all it does. The queue is bounded: what does
not fit is dropped and counted, so a collector that is slow or gone costs spans and never memory or
requests. A log line tells when sending begins to fail, and one when it works again.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final
from weakref import WeakMethod

from dragoman.otlp.posting import Away, Busy, Outcome, Taken
from dragoman.otlp.span import RecordedSpan

__all__ = ("ROOM", "SpanSender")

_logger = logging.getLogger(__name__)

ROOM: Final = 8192
"""Spans that can wait: some seconds of a busy server, a few megabytes."""

_BATCH: Final = 512
"""Spans in one request."""

_PAUSE_SECONDS: Final = 1.0
"""How long spans wait for others to go along."""

_TRIES: Final = 6
"""How often a batch is sent to a collector that answers, but would rather not have it now."""

_FIRST_WAIT_SECONDS: Final = 0.5
_LONGEST_WAIT_SECONDS: Final = 30.0
"""Each wait is twice as long as the one before, and up to a half shorter by chance; what the
collector asks for counts if it is longer, but not beyond the longest."""


class SpanSender:
    """A queue of spans and the thread that empties it.

    The thread begins with the first span, and anew in a process that was forked.

    Args:
        encode: makes the body of a request.
        post: sends it and tells what came of it; never raises.
        hang_up: called when nothing more is sent for now, and in a process that was forked: the
            connection is its parent's.
        name: of the collector, for the log.
    """

    def __init__(
        self,
        encode: Callable[[Sequence[RecordedSpan]], bytes],
        post: Callable[[bytes], Outcome],
        name: str,
        *,
        hang_up: Callable[[], None],
        pause_seconds: float = _PAUSE_SECONDS,
        first_wait_seconds: float = _FIRST_WAIT_SECONDS,
    ) -> None:
        self._encode = encode
        self._post = post
        self._name = name
        self._hang_up = hang_up
        self._pause_seconds = pause_seconds
        self._first_wait_seconds = first_wait_seconds
        self._chance = random.Random()  # noqa: S311 - no secret
        self._is_failing = False
        self._begin()
        reset = WeakMethod(self._begin_anew)
        os.register_at_fork(after_in_child=lambda: (found := reset()) and found())

    def _begin_anew(self) -> None:
        """Leave to the parent what is the parent's: what it has not sent yet, and its locks."""
        self._hang_up()
        self._begin()

    def _begin(self) -> None:
        self._queue: deque[RecordedSpan] = deque()
        self._wake = threading.Event()
        self._counting = threading.Lock()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_stopping = False
        self._lost = 0

    @property
    def lost(self) -> int:
        """How many spans were dropped."""
        return self._lost

    def put(self, span: RecordedSpan) -> None:
        """Have a span sent; it is dropped if too many wait, or after ``shutdown``."""
        queue = self._queue
        waiting = len(queue)
        if waiting >= ROOM or self._is_stopping:
            self._lose(1)
            return
        queue.append(span)
        # Threads may pass the mark together; then the next pause ends soon enough.
        if waiting == _BATCH - 1:
            self._wake.set()
        if self._thread is None:
            self._start()

    def shutdown(self, seconds: float) -> None:
        """Send what waits, for no longer than this, and stop; what is left by then is lost.

        A collector that is away now is not waited for.
        """
        if self._is_stopping:
            return
        self._is_stopping = True
        self._wake.set()
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        # Another one, and not cleared: the thread may be at it still.
        left, self._queue = self._queue, deque()
        self._lose(len(left))
        if self._lost:
            _logger.warning("%d spans were not sent to %s", self._lost, self._name)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="dragoman-otlp", daemon=True)
                # Where no thread is to be had now, the next span tries again.
                with suppress(RuntimeError):
                    thread.start()
                    self._thread = thread

    def _run(self) -> None:
        while True:
            if not self._is_stopping:
                self._wake.wait(self._pause_seconds)
                self._wake.clear()
            # Asked before the queue is emptied: nothing comes into it after that.
            is_last = self._is_stopping
            while batch := self._next():
                self._deliver(batch)
            if is_last:
                self._hang_up()
                return

    def _next(self) -> list[RecordedSpan]:
        queue = self._queue
        # Only this thread takes something out.
        return [queue.popleft() for _ in range(min(len(queue), _BATCH))]

    def _deliver(self, batch: list[RecordedSpan]) -> None:
        """Send a batch as often as makes sense."""
        try:
            body = self._encode(batch)
        except Exception:
            # A fault of ours; the next batch may be another matter.
            _logger.exception("%d spans could not be written", len(batch))
            self._lose(len(batch))
            return
        tries, wait_seconds = 0, self._first_wait_seconds
        while True:
            # Asked before: who is told to stop while a try goes wrong has one more.
            is_last = self._is_stopping
            outcome = self._post(body)
            if isinstance(outcome, Taken):
                self._succeeded(outcome)
                return
            self._failed(outcome.reason)
            # Whoever is away has not seen the batch, so it cannot be what is wrong: it waits, and
            # the bounds of the queue are the bounds of that.
            tries += not isinstance(outcome, Away)
            if not isinstance(outcome, Away | Busy) or tries >= _TRIES or is_last:
                self._lose(len(batch))
                return
            asked_seconds = outcome.after_seconds if isinstance(outcome, Busy) else 0.0
            self._wait(max(wait_seconds * self._chance.uniform(0.5, 1.0), asked_seconds))
            wait_seconds = min(wait_seconds * 2, _LONGEST_WAIT_SECONDS)

    def _wait(self, seconds: float) -> None:
        """Wait, but not beyond ``shutdown``."""
        deadline = time.monotonic() + min(seconds, _LONGEST_WAIT_SECONDS)
        while not self._is_stopping and (left := deadline - time.monotonic()) > 0:
            self._wake.wait(left)
            # Unless we are to stop, that was for a full batch, which has to wait as well.
            self._wake.clear()

    def _succeeded(self, outcome: Taken) -> None:
        if outcome.rejected:
            self._lose(outcome.rejected)
            self._failed(f"{outcome.rejected} spans were rejected: {outcome.reason}")
        elif self._is_failing:
            self._is_failing = False
            _logger.warning("%s takes spans again; %d were lost", self._name, self._lost)

    def _failed(self, reason: str) -> None:
        if not self._is_failing:
            self._is_failing = True
            _logger.warning("%s does not take spans: %s", self._name, reason)

    def _lose(self, count: int) -> None:
        with self._counting:
            self._lost += count
