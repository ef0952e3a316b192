"""Watcher: whoever keeps the live tasks, and what a live task tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dragoman.errors import StoreError, UnavailableError

if TYPE_CHECKING:
    from dragoman.engine.commands import Command
    from dragoman.server.tasks.task import LiveTask
    from dragoman.stores.base import TaskWrite

__all__ = ("TaskLostError", "Watcher")


class TaskLostError(UnavailableError):
    """Another replica has taken the task over; what was asked of it here is to be asked there."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__("The task was taken over by another server")


class Watcher(Protocol):
    """Whoever keeps the live tasks; called on the event loop."""

    def task_ended(self, live: LiveTask) -> None:
        """The task has ended and all of it is durable."""
        ...

    def write_lost(self, live: LiveTask, error: StoreError) -> None:
        """A write has failed; the task refuses commands until it is ``reset`` or dropped."""
        ...

    def sent_before(self, live: LiveTask, write: TaskWrite, message_id: str) -> None:
        """A write was refused because another replica has got its message first; so has the inbox.

        The task waits for ``write_again``.
        """
        ...

    def end_refused(self, live: LiveTask, command: Command) -> None:
        """A command has not ended the task after all: its inbox has more than is known here."""
        ...
