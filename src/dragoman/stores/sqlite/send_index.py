"""Finds the record of a send by its key, from memory.

Keys of sends are made by clients and mostly random. An index of them on disk would rewrite one
page for each send, which measured a third of all that storing a small task costs, and nearly every
question asked of it has the answer "never seen". So the records lie on disk in the order they were
written, and the way from a key to its row is kept here, in 12 bytes.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dragoman.stores.base import SendKey

__all__ = ("SendIndex",)

_SLOTS: Final = 1 << 17
"""Slots in one table: 1 MB, made at once and never moved, so that no send waits for a resize."""

_FULL: Final = _SLOTS * 11 // 16
"""Above this share, searching a table takes ever more steps."""

_SLOT_MASK: Final = _SLOTS - 1
_LOW: Final = 0xFFFF_FFFF


class SendIndex:
    """Rows by the hash of their key. Tells where to look, not what is there.

    Written by the writer thread and read by the event loop at the same time, without a lock: every
    step of a change leaves all else findable. A row it names may hold another key, or be gone.
    Two keys share a slot with a chance of one in four thousand million; the older is then lost.
    """

    def __init__(self) -> None:
        # Newest first.
        self._tables: tuple[_Table, ...] = ()

    def add(self, rows: Iterable[tuple[SendKey, int]]) -> None:
        """Note the rows of keys, in ascending order of rows; a later row of the same key wins."""
        table = self._tables[0] if self._tables else None
        for key, row in rows:
            if table is None or table.used >= _FULL:
                table = _Table(row)
                self._tables = (table, *self._tables)
            table.put(hash(key), row)

    def rows(self, key: SendKey) -> list[int]:
        """Return the rows to look at, newest first."""
        key_hash = hash(key)
        return [row for table in self._tables if (row := table.get(key_hash)) is not None]

    def forget_before(self, row: int) -> None:
        """Give back the memory for rows before this one, as far as it is in whole tables."""
        self._tables = tuple(table for table in self._tables if table.last >= row)


class _Table:
    """A hash table with linear probing; a slot has 32 bits of hash and 32 of distance in rows."""

    __slots__ = ("_base", "_slots", "last", "used")

    def __init__(self, first: int) -> None:
        # A slot in use is never zero.
        self._base = first - 1
        self._slots = array("Q", bytes(8 * _SLOTS))
        self.last = first
        self.used = 0

    def put(self, key_hash: int, row: int) -> None:
        slots = self._slots
        at = key_hash & _SLOT_MASK
        tag = key_hash >> 20 & _LOW
        while (slot := slots[at]) and slot >> 32 != tag:
            at = (at + 1) & _SLOT_MASK
        if not slot:
            self.used += 1
        slots[at] = tag << 32 | (row - self._base)
        self.last = row

    def get(self, key_hash: int) -> int | None:
        slots = self._slots
        at = key_hash & _SLOT_MASK
        tag = key_hash >> 20 & _LOW
        while slot := slots[at]:
            if slot >> 32 == tag:
                return self._base + (slot & _LOW)
            at = (at + 1) & _SLOT_MASK
        return None
