"""SQLiteKeeper: looks after a database file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from dragoman.stores.records import TaskRecord
from dragoman.stores.shared.checking import Finding
from dragoman.stores.sqlite import upkeep
from dragoman.stores.sqlite.beside import changing
from dragoman.stores.sqlite.checking import check_database
from dragoman.stores.sqlite.inspection import looking_at, read_record
from dragoman.stores.sqlite.schema import check_current
from dragoman.stores.sqlite.webhook_rows import WebhookRows
from dragoman.stores.webhooks import DeadLetter, LetterKey, Webhook, WebhookKey

__all__ = ("SQLiteKeeper",)

_AT_ONCE: Final = 500
"""Webhooks in memory at a time; a store may have very many."""


class SQLiteKeeper:
    """Looks after one file. See ``Keeper``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        """The path of the file."""
        return str(self.path)

    def check(self, found: Callable[[Finding], None], progress: Callable[[int, int], None]) -> None:
        """Look for all that is wrong; a server may use the file meanwhile."""
        with looking_at(self.path) as connection:
            check_current(self.path, connection, verb="checked")
            for finding in check_database(connection, progress):
                found(finding)

    def read_record(self, task_id: str) -> TaskRecord | None:
        """Return all that is stored of a task."""
        with looking_at(self.path) as connection:
            check_current(self.path, connection)
            return read_record(connection, task_id)

    def read_webhooks(
        self, letter: Callable[[DeadLetter], None], webhook: Callable[[Webhook], None]
    ) -> None:
        """Look at all webhooks, as of one moment."""
        after_letter: LetterKey | None = None
        after: WebhookKey | None = None
        with looking_at(self.path) as connection:
            check_current(self.path, connection)
            rows = WebhookRows(connection)
            while letters := rows.dead_letters(after_letter, _AT_ONCE):
                for each in letters:
                    letter(each)
                after_letter = letters[-1].key
            while webhooks := rows.every(after, _AT_ONCE):
                for each in webhooks:
                    webhook(each)
                after = webhooks[-1].key

    def retry_letters(self, keys: Sequence[LetterKey], now_ms: int) -> int:
        """Have dead letters sent again; the server beside waits meanwhile."""
        with changing(self.path) as connection:
            return WebhookRows(connection).retry(keys, now_ms)

    def drop_letters(self, keys: Sequence[LetterKey]) -> int:
        """Remove dead letters; the server beside waits meanwhile."""
        with changing(self.path) as connection:
            return WebhookRows(connection).drop(keys)

    def upgrade(self) -> tuple[int, int]:
        """Bring the file up to date; no server may use it."""
        return upkeep.upgrade(self.path)

    def vacuum(self) -> tuple[int, int]:
        """Rewrite the file without gaps; no server may use it."""
        return upkeep.vacuum(self.path)
