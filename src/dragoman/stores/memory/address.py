"""The address ``memory:``, of a store that is gone with its process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.stores.base import TaskStore
    from dragoman.stores.maintenance import Maintenance

__all__ = ("MemoryAddress", "read_address")

_MEMORY: Final = "memory:"


def read_address(url: str) -> MemoryAddress | None:
    """Return the address; None if it has another form."""
    return MemoryAddress() if url == _MEMORY else None


class MemoryAddress:
    """A new store in the memory of this process. See ``StoreAddress``."""

    is_shared: Final = False
    bus: Final = ""
    file: Final = None

    def open(self) -> TaskStore:
        """Return the store."""
        from dragoman.stores.memory.store import MemoryTaskStore  # noqa: PLC0415 - only when asked for

        return MemoryTaskStore()

    def maintenance(self, folder: Path) -> Maintenance:
        """Raise UsageError: nothing stays."""
        del folder
        message = f"{_MEMORY!r} is gone with its process; there is nothing to look at"
        raise UsageError(message)

    def beside(self, name: str) -> str:
        """Return the same address: every agent has a store of its own."""
        del name
        return _MEMORY
