"""The rules of a task, without I/O: no clock, no socket, no asyncio."""

from typing import TYPE_CHECKING

from dragoman._lazy import exported

if TYPE_CHECKING:
    from dragoman.engine.states import BEGINNING, MOVES

__all__ = (
    "BEGINNING",
    "MOVES",
)

if not TYPE_CHECKING:
    __getattr__, __dir__ = exported(
        __name__,
        {
            "dragoman.engine.states": ("BEGINNING", "MOVES"),
        },
    )
