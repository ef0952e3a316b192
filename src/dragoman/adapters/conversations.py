"""Conversations: what was said in a context before, kept for frameworks that keep nothing."""

from __future__ import annotations

from typing import Protocol

import msgspec

from dragoman.adapters.notebook import QUERIES, Notebook

__all__ = ("Conversations", "NotedConversations")


class Conversations(Protocol):
    """What was said, by conversation: entries, each as a framework has written it.

    An entry is what one task has added. Tasks of the same conversation that run side by side do not
    see each other's; they stand in the order in which they ended.
    """

    async def read(self, conversation: tuple[str, ...], most: int = -1) -> list[bytes]:
        """Return the entries, oldest first; no more than ``most``, unless that is negative."""
        ...

    async def add(self, conversation: tuple[str, ...], run: str, entry: bytes) -> None:
        """Add an entry, durably. One that is added again under the same run stays as it is."""
        ...


class NotedConversations:
    """Conversations in a notebook."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook

    async def read(self, conversation: tuple[str, ...], most: int = -1) -> list[bytes]:
        """Return the entries, oldest first."""
        key = _key(conversation)
        rows = await self._notebook.run(
            lambda connection: connection.execute(QUERIES["read_said"], (key, most)).fetchall()
        )
        return [row[0] for row in rows]

    async def add(self, conversation: tuple[str, ...], run: str, entry: bytes) -> None:
        """Add an entry, unless it is there."""
        values = (_key(conversation), run, entry)
        await self._notebook.run(lambda connection: connection.execute(QUERIES["add_said"], values))


def _key(conversation: tuple[str, ...]) -> str:
    return msgspec.json.encode(conversation).decode()
