"""The port for those who look after a store from outside: operators, with no agent at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from dragoman.stores.records import TaskRecord
from dragoman.stores.shared.checking import Finding
from dragoman.stores.webhooks import DeadLetter, LetterKey, Webhook

__all__ = ("Keeper",)


class Keeper(Protocol):
    """Looks after one store.

    All methods wait for the database. Whatever cannot be done is a UsageError with a remedy, or a
    StoreError when the database fails.
    """

    @property
    def name(self) -> str:
        """How people know the store; without anything secret."""
        ...

    def check(self, found: Callable[[Finding], None], progress: Callable[[int, int], None]) -> None:
        """Look for all that is wrong, as of one moment; a server may go on meanwhile.

        A store of another version is not looked at: that is a UsageError, and no finding.

        Args:
            found: told each finding.
            progress: told now and then, and at the end, how many tasks have been checked, and how
                many there are.
        """
        ...

    def read_record(self, task_id: str) -> TaskRecord | None:
        """Return all that is stored of a task, None if there is none of this id."""
        ...

    def read_webhooks(
        self, letter: Callable[[DeadLetter], None], webhook: Callable[[Webhook], None]
    ) -> None:
        """Look at all webhooks, as of one moment; a server may go on meanwhile.

        Args:
            letter: told each dead letter first, in the order of their keys.
            webhook: told each webhook after that, in the order of their keys.
        """
        ...

    def retry_letters(self, keys: Sequence[LetterKey], now_ms: int) -> int:
        """Have dead letters sent again by a server, beside it, at once; return how many."""
        ...

    def drop_letters(self, keys: Sequence[LetterKey]) -> int:
        """Remove dead letters, beside a server; return how many there were."""
        ...

    def upgrade(self) -> tuple[int, int]:
        """Bring the store up to date; return the version it had, and the one it has."""
        ...

    def vacuum(self) -> tuple[int, int]:
        """Give back room that is not needed; return the size in bytes before and after."""
        ...
