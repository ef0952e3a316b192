"""PostgresKeeper: looks after a store in PostgreSQL. Servers may go on with it meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from dragoman.stores.postgres.checking import check_database
from dragoman.stores.postgres.connection import SCHEMA, Database
from dragoman.stores.postgres.inspection import connected, looking_at, read_records
from dragoman.stores.postgres.schema import check_current, check_same, migrate
from dragoman.stores.postgres.statements import QUERIES
from dragoman.stores.postgres.webhooks import PostgresWebhooks
from dragoman.stores.records import TaskRecord
from dragoman.stores.shared.checking import Finding
from dragoman.stores.webhooks import DeadLetter, LetterKey, Webhook, WebhookKey

__all__ = ("PostgresKeeper",)

_AT_ONCE: Final = 500
"""Webhooks in memory at a time; a store may have very many."""


class PostgresKeeper:
    """Looks after the store in one database. See ``Keeper``."""

    def __init__(self, url: str) -> None:
        self._database = Database(url)

    @property
    def name(self) -> str:
        """The address, without a password."""
        return self._database.name

    def check(self, found: Callable[[Finding], None], progress: Callable[[int, int], None]) -> None:
        """Look for all that is wrong."""

        async def check() -> None:
            async with looking_at(self._database) as connection:
                await check_same(connection, self.name)
                async for finding in check_database(connection, progress):
                    found(finding)

        asyncio.run(check())

    def read_record(self, task_id: str) -> TaskRecord | None:
        """Return all that is stored of a task."""

        async def read() -> TaskRecord | None:
            async with looking_at(self._database) as connection:
                await check_current(connection, self.name)
                records = await read_records(connection, [task_id])
                return records[0] if records else None

        return asyncio.run(read())

    def read_webhooks(
        self, letter: Callable[[DeadLetter], None], webhook: Callable[[Webhook], None]
    ) -> None:
        """Look at all webhooks, as of one moment."""

        async def read() -> None:
            after_letter: LetterKey | None = None
            after: WebhookKey | None = None
            async with looking_at(self._database) as connection:
                await check_current(connection, self.name)
                rows = PostgresWebhooks(connection)
                while letters := await rows.dead_letters(after=after_letter, limit=_AT_ONCE):
                    for each in letters:
                        letter(each)
                    after_letter = letters[-1].key
                while webhooks := await rows.every(after=after, limit=_AT_ONCE):
                    for each in webhooks:
                        webhook(each)
                    after = webhooks[-1].key

        asyncio.run(read())

    def retry_letters(self, keys: Sequence[LetterKey], now_ms: int) -> int:
        """Have dead letters sent again."""
        return asyncio.run(self._change(lambda webhooks: webhooks.retry(keys, now_ms)))

    def drop_letters(self, keys: Sequence[LetterKey]) -> int:
        """Remove dead letters."""
        return asyncio.run(self._change(lambda webhooks: webhooks.drop(keys)))

    async def _change(self, change: Callable[[PostgresWebhooks], Awaitable[int]]) -> int:
        async with connected(self._database) as connection:
            await check_current(connection, self.name)
            await connection.execute(QUERIES["keep_promise"])
            return await change(PostgresWebhooks(connection))

    def upgrade(self) -> tuple[int, int]:
        """Bring the store up to date; in an empty database it is made."""

        async def upgrade() -> tuple[int, int]:
            async with connected(self._database) as connection:
                return await migrate(connection, self.name)

        return asyncio.run(upgrade())

    def vacuum(self) -> tuple[int, int]:
        """Have PostgreSQL reuse the room of what was removed, and learn anew what there is."""

        async def vacuum() -> tuple[int, int]:
            async with looking_at(self._database) as connection:
                await check_current(connection, self.name)
            async with connected(self._database) as connection:
                before = await connection.fetchval(QUERIES["size"], SCHEMA)
                for kind, table in await connection.fetch(QUERIES["select_schema"], SCHEMA):
                    if kind == "table":
                        await connection.execute(f'VACUUM (ANALYZE) "{table}"')
                return before, await connection.fetchval(QUERIES["size"], SCHEMA)

        return asyncio.run(vacuum())
