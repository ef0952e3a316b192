"""FreshCache: what is looked up elsewhere, remembered for a while and asked for once.

Who asks for something that another is fetching waits for that. That something is not there, and
that it could not be told, is remembered as well, but not as long.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dragoman.clock import Clock
from dragoman.extensions.xpr.errors import ChainError, UnknownAccountError

__all__ = ("FreshCache",)

Value = TypeVar("Value")

_KEPT_MS: Final = 300_000
"""How long a fact is good: the network's five minutes."""

_ABSENT_MS: Final = 30_000
"""The same for what is not there: it may be made at any time, and guesses are cheap to make."""

_FAILED_MS: Final = 2_000
"""The same for what could not be told: a chain in trouble is not asked by every request."""

_RENEWED_MS: Final = 10_000
"""The least time from one fetch to the next where somebody hopes that a fact has changed."""

_MOST: Final = 10_000
"""Facts that are kept; callers choose which."""


_logger: Final = logging.getLogger(__name__)


class _Entry(Struct, Generic[Value], frozen=True):
    value: Value | None
    error: ChainError | None
    fetched_ms: int
    until_ms: int


class FreshCache(Generic[Value]):
    """Facts by name; None as a value is that there is nothing.

    Args:
        fetch: looks a fact up; raises ChainError if it cannot be told.
        kept_seconds: how long a fact is good.
    """

    def __init__(
        self,
        fetch: Callable[[str], Awaitable[Value]],
        clock: Clock,
        *,
        kept_seconds: float = _KEPT_MS / 1000,
        most: int = _MOST,
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._kept_ms = round(kept_seconds * 1000)
        self._most = most
        # The ones that were fetched longest ago come first.
        self._entries: dict[str, _Entry[Value]] = {}
        self._pending: dict[str, asyncio.Future[_Entry[Value]]] = {}

    async def get(self, name: str) -> Value | None:
        """Return a fact; raises ChainError if it cannot be told, or could not just now."""
        entry = self._entries.get(name)
        if entry is None or entry.until_ms <= self._clock.now_ms():
            entry = await self._fetched(name)
        return _told(entry)

    async def renewed(self, name: str) -> Value | None:
        """Return a fact, fetched anew unless that was done a few seconds ago."""
        entry = self._entries.get(name)
        if entry is None or entry.fetched_ms + _RENEWED_MS <= self._clock.now_ms():
            entry = await self._fetched(name)
        return _told(entry)

    async def _fetched(self, name: str) -> _Entry[Value]:
        before = self._entries.get(name)
        while (pending := self._pending.get(name)) is not None:
            try:
                return await asyncio.shield(pending)
            except asyncio.CancelledError:
                # If the one who fetches was cancelled, and not this one, somebody else has to.
                task = asyncio.current_task()
                if not pending.cancelled() or (task is not None and task.cancelling()):
                    raise
                # Somebody else may have, already.
                entry = self._entries.get(name)
                if entry is not None and entry is not before:
                    return entry
        future: asyncio.Future[_Entry[Value]] = asyncio.get_running_loop().create_future()
        self._pending[name] = future
        try:
            entry = await self._ask(name)
            self._keep(name, entry)
            future.set_result(entry)
            return entry
        finally:
            del self._pending[name]
            future.cancel()

    async def _ask(self, name: str) -> _Entry[Value]:
        try:
            value = await self._fetch(name)
        except UnknownAccountError as error:
            return self._entry(None, error, _ABSENT_MS)
        except ChainError as error:
            _logger.warning("the chain does not tell of %s: %s", name, error)
            return self._failed(name, error)
        return self._entry(value, None, _ABSENT_MS if value is None else self._kept_ms)

    def _failed(self, name: str, error: ChainError) -> _Entry[Value]:
        """Return what stands while nothing new can be told."""
        known, now_ms = self._entries.get(name), self._clock.now_ms()
        if known is not None and known.error is None and known.until_ms > now_ms:
            # What is known is good until its time is up: nobody can take that away by asking.
            return replace(known, fetched_ms=now_ms)
        return self._entry(None, error, _FAILED_MS)

    def _entry(self, value: Value | None, error: ChainError | None, kept_ms: int) -> _Entry[Value]:
        now_ms = self._clock.now_ms()
        return _Entry(value, error, now_ms, now_ms + min(kept_ms, self._kept_ms))

    def _keep(self, name: str, entry: _Entry[Value]) -> None:
        self._entries.pop(name, None)
        self._entries[name] = entry
        if len(self._entries) > self._most:
            del self._entries[next(iter(self._entries))]


def _told(entry: _Entry[Value]) -> Value | None:
    if entry.error is not None:
        # Whoever has raised it before has left traces in it.
        raise entry.error.with_traceback(None)
    return entry.value
