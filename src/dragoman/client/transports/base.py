"""The Transport port: one way to call an agent, over one connection or pool, in one dialect.

A transport asks once and tells honestly what came of it. Trying again, trying elsewhere and going
on after a cut are the business of its callers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from dragoman.dialects.base import Received
    from dragoman.model.events import StreamResponse
    from dragoman.model.operations import Operation, Request

__all__ = ("MAX_STREAM_BYTES", "Batch", "Frame", "Transport")

MAX_STREAM_BYTES: Final = 512 * 1024 * 1024
"""How much one stream may tell. What it tells of a task is kept, so there has to be an end."""


class Frame(NamedTuple):
    """One frame of a stream; ``seq`` is its number in the task's log, 0 if the agent gives none."""

    seq: int
    event: StreamResponse


Batch = tuple[Frame, ...]
"""Frames that came together; none at all is a sign of life."""


class Transport(Protocol):
    """One interface of an agent.

    What asks raises ClientError, or the A2AError with which the agent refuses.
    """

    async def call(
        self, operation: Operation, request: Request, extensions: tuple[str, ...]
    ) -> Received:
        """Perform a unary operation."""
        ...

    def stream(
        self, operation: Operation, request: Request, extensions: tuple[str, ...], cursor: int
    ) -> AsyncGenerator[Batch]:
        """Perform a streaming operation and yield what comes, until the agent ends the stream.

        Args:
            cursor: the last frame seen, 0 for none; agents that do not know cursors ignore it.

        Raises:
            CutError: the connection was lost, or nothing came for too long.
        """
        ...

    def renew(self) -> bool:
        """Note that the agent has refused what was shown to it; tell whether other can be shown."""
        ...

    async def aclose(self) -> None:
        """Let go of what is held for this transport alone."""
        ...
