"""Chance that can be repeated, and a store that takes its time by it, and fails by it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, Final

from dragoman.clock import Clock
from dragoman.errors import StoreError, StoreUnavailableError
from dragoman.stores.base import Done, TaskWrite
from dragoman.stores.memory.shared import SharedMemoryTaskStore
from dragoman.stores.memory.store import Change, MemoryRecords

__all__ = ("Dice", "ShakenStore")


class Dice:
    """Chance by a seed. While it is calm, nothing is delayed and nothing fails.

    Attributes:
        loss: the share of writes that are lost; of what is read it is half as much.
    """

    def __init__(self, seed: str) -> None:
        self.chance: Final = Random(seed)  # noqa: S311 - to be repeated, not to be secret
        self.loss: Final = self.chance.choice((0.0, 0.01, 0.05))
        self.is_calm = True

    def happens(self, share: float) -> bool:
        """Tell whether something happens that does in this share of all cases."""
        return not self.is_calm and self.chance.random() < share

    async def dawdle(self, most: int = 6) -> None:
        """Let others go first, for some passes of the loop."""
        if not self.is_calm:
            for _ in range(self.chance.randrange(most)):
                await asyncio.sleep(0)


class ShakenStore(SharedMemoryTaskStore):
    """The store of one replica: each of its steps takes time, and may come to nothing."""

    def __init__(
        self, records: MemoryRecords | None = None, *, clock: Clock | None = None, dice: Dice
    ) -> None:
        super().__init__(records, clock=clock)
        self._dice = dice
        self._committing: asyncio.Task[None] | None = None

    async def ask(self, question: Callable[[], Awaitable[Any]]) -> Any:
        """Read something, unless that fails."""
        await self._dice.dawdle()
        if self._dice.happens(self._dice.loss / 2):
            raise StoreUnavailableError("not read")
        answer = await question()
        await self._dice.dawdle()
        return answer

    def _submit(self, change: Change | TaskWrite, done: Done) -> None:
        if not self._is_open:
            super()._submit(change, done)
            return
        self._waiting.append((change, done))
        if self._committing is None:
            self._committing = self._loop.create_task(self._commit_all())

    async def _commit_all(self) -> None:
        while self._waiting:
            await asyncio.sleep(0)
            await self._dice.dawdle()
            batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
            if self._dice.happens(self._dice.loss):
                outcomes: list[StoreError | None] = [StoreUnavailableError("lost")] * len(batch)
            else:
                outcomes = [
                    change() if callable(change) else self._apply(change) for change, _ in batch
                ]
            await self._dice.dawdle()
            for (_, done), outcome in zip(batch, outcomes, strict=True):
                done(outcome)
        self._committing = None


def _shaken(name: str) -> Callable[..., Awaitable[Any]]:
    """Return a method of the store by which something is read, made to take its time."""
    plain = getattr(SharedMemoryTaskStore, name)

    async def read(self: ShakenStore, *arguments: Any, **options: Any) -> Any:
        return await self.ask(lambda: plain(self, *arguments, **options))

    return read


for _name in (
    *("load", "read_entries", "read_events", "read_inbox", "read_journal"),
    *("find_alias", "find_send", "lost", "moved", "filled", "at_work", "due", "next_lapse"),
):
    setattr(ShakenStore, _name, _shaken(_name))
