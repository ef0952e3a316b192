"""RemoteBus: what every bus over a network has in common. One connection, made anew when lost.

Knows nothing of any protocol: that is a Line, one connection of some kind.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Protocol

from dragoman.bus.base import Hint, Moved, OnHint, OnReconnect, Unfollow
from dragoman.bus.listeners import Listeners
from dragoman.bus.outgoing import Hints, Outgoing

__all__ = ("Connect", "Line", "RemoteBus")

FIRST_RETRY_SECONDS: Final = 0.1
"""How long after a loss the first attempt is made; a server that restarts is back by then."""

LONGEST_RETRY_SECONDS: Final = 5.0
"""The backoff doubles up to this, the time between two sweeps: waiting longer saves nothing."""

PROBE_SECONDS: Final = 10.0
"""How often the other side has to answer. A cut cable says nothing, and neither does silence."""

ANSWER_SECONDS: Final = 5.0
"""How long one thing asked of a connection may take before it counts as lost."""

CLOSE_SECONDS: Final = 1.0
"""How long the last hints may take; the sweep of the others makes up for them."""

_logger = logging.getLogger(__name__)


class Line(Protocol):
    """One connection.

    Every method but ``close`` raises OSError once it is lost. None bounds its own time; whoever
    calls it does.
    """

    async def follow(self, task_id: str) -> None:
        """Hear of a task from now on."""
        ...

    async def unfollow(self, task_id: str) -> None:
        """Hear of it no longer; nothing happens if it was not followed."""
        ...

    async def send(self, hints: Hints) -> None:
        """Send hints."""
        ...

    async def probe(self) -> None:
        """Return when the other side has answered."""
        ...

    async def close(self) -> None:
        """Let go of the connection, whatever state it is in; never raises."""
        ...


Connect = Callable[[str, Callable[[Hint], None], Callable[[], None]], Awaitable[Line]]
"""Makes a connection for a replica id. It hears what is meant for that replica from the start.

The first callback takes what arrives, the second is called when the connection is lost, if that is
noticed. Raises OSError, with a text fit for the log, when there is no connection to be had.
"""


class RemoteBus:
    """A bus that talks to a server.

    Args:
        name: what the log calls it; holds no secret.
        connect: makes the next connection.
        probe_seconds: how often the other side has to answer.
        answer_seconds: how long it may take for that.
    """

    def __init__(
        self,
        name: str,
        connect: Connect,
        *,
        probe_seconds: float = PROBE_SECONDS,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self._name = name
        self._probe_seconds = probe_seconds
        self._answer_seconds = answer_seconds
        self._connect = connect
        self._work = asyncio.Event()
        self._outgoing = Outgoing(self._work.set)
        self._changed: set[str] = set()
        self._listeners = Listeners(self._note_change)
        self._replica_id = ""
        self._is_connected = False
        self._is_lost = False
        # Why there was no connection at the last attempt: said once, not at each.
        self._refusal = ""
        self._closing = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None

    @property
    def is_connected(self) -> bool:
        """False while hints are neither sent nor heard."""
        return self._is_connected

    async def open(self, replica_id: str, *, on_hint: OnHint, on_reconnect: OnReconnect) -> None:
        """Try to connect once, and go on trying in the background if that fails."""
        self._replica_id = replica_id
        self._listeners.begin(on_hint, on_reconnect)
        line = await self._try()
        if line is not None and not await self._begin(line):
            line = None
        # Its owner is this bus: close() ends it, and it handles its own errors.
        self._keeper = asyncio.get_running_loop().create_task(self._keep(line), name=self._name)

    async def close(self) -> None:
        """Send what was published, if there is a connection, and disconnect."""
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return
        self._closing.set()
        self._work.set()
        # Not canceled at once: drivers leave errors behind when that happens as they connect.
        _, late = await asyncio.wait((keeper,), timeout=CLOSE_SECONDS)
        if late:
            keeper.cancel()
            await asyncio.wait((keeper,))
        self._listeners.end()

    def publish(self, hint: Hint) -> None:
        """Tell the other replicas; dropped while there is no connection."""
        if self._is_connected:
            self._outgoing.add(hint)

    def follow(self, task_id: str, moved: Moved) -> Unfollow:
        """Hear of the moves of a task from now on."""
        return self._listeners.follow(task_id, moved)

    def _note_change(self, task_id: str) -> None:
        self._changed.add(task_id)
        self._work.set()

    # --- the connection -------------------------------------------------------------------------

    async def _keep(self, line: Line | None) -> None:
        """Use connections, one after the other, until closed."""
        delay = FIRST_RETRY_SECONDS
        while True:
            if line is not None:
                delay = FIRST_RETRY_SECONDS
                await self._use(line)
            # Replicas that lost their server at one moment do not come back at one.
            await self._rest(delay * random.uniform(0.5, 1))  # noqa: S311 - no secret
            if self._closing.is_set():
                return
            delay = min(delay * 2, LONGEST_RETRY_SECONDS)
            line = await self._try()
            if line is not None and self._closing.is_set():
                await line.close()
                return
            if line is not None and await self._begin(line):
                _logger.warning("%s: connected again", self._name)
                self._listeners.hear_again()
            else:
                line = None

    async def _rest(self, seconds: float) -> None:
        """Wait, but not when there is nothing left to wait for."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    async def _try(self) -> Line | None:
        """Return a new connection, or None."""
        self._is_lost = False
        try:
            line = await self._connect(self._replica_id, self._listeners.hear, self._note_loss)
        except OSError as error:
            # In one line, whatever the other side says.
            refusal = " ".join(str(error).split())
            level = logging.DEBUG if refusal == self._refusal else logging.WARNING
            _logger.log(level, "%s: no connection: %s; trying until it works", self._name, refusal)
            self._refusal = refusal
            return None
        self._refusal = ""
        return line

    def _note_loss(self) -> None:
        self._is_lost = True
        self._work.set()

    async def _begin(self, line: Line) -> bool:
        """Follow on a new connection whatever is followed; tell whether it bore that."""
        self._changed.clear()
        try:
            for task_id in self._listeners.followed():
                async with asyncio.timeout(self._answer_seconds):
                    await line.follow(task_id)
        except OSError as error:
            _logger.warning("%s: lost at once: %s", self._name, error)
            await line.close()
            return False
        except BaseException:
            await line.close()
            raise
        self._is_connected = True
        return True

    async def _use(self, line: Line) -> None:
        """Carry hints until the connection is lost or the bus is closed."""
        loop = asyncio.get_running_loop()
        probe_at = loop.time() + self._probe_seconds
        try:
            while not self._is_lost:
                await self._wait_until(probe_at)
                self._work.clear()
                async with asyncio.timeout(self._answer_seconds):
                    await self._settle(line)
                    if loop.time() >= probe_at:
                        await line.probe()
                        probe_at = loop.time() + self._probe_seconds
                if self._closing.is_set():
                    return
            _logger.warning("%s: connection lost", self._name)
        except OSError as error:
            _logger.warning("%s: connection lost: %s", self._name, error or type(error).__name__)
        except Exception:
            # Were this task to die, hints would cease for good and nobody would know why.
            _logger.exception("%s: a defect cost the connection", self._name)
        finally:
            self._is_connected = False
            self._outgoing.take()
            await line.close()

    async def _wait_until(self, at: float) -> None:
        """Wait for something to do, but not beyond a time of the loop."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(at):
                await self._work.wait()

    async def _settle(self, line: Line) -> None:
        """Do what has been asked for since the last time."""
        while self._changed:
            task_id = self._changed.pop()
            if self._listeners.is_followed(task_id):
                await line.follow(task_id)
            else:
                await line.unfollow(task_id)
        hints = self._outgoing.take()
        if hints is not None:
            await line.send(hints)
