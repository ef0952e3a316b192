"""The Interface port: one way to ask an agent, as checks see it.

Requests and results are JSON of 1.0, by the names of the operations in 1.0, whatever the binding
and the version really spoken. What is wrong with how an answer comes is in the answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Protocol

from dragoman.conformance.answers import Answer

__all__ = ("Interface", "Params")

Params = Mapping[str, object]


class Interface(Protocol):
    """One entry of a card that can be called.

    Everything that asks raises NoAnswerError where there is no answer at all.
    """

    binding: str
    version: str

    async def call(self, operation: str, params: Params, *, version: str | None = None) -> Answer:
        """Perform an operation that has one answer.

        Args:
            version: what to say instead of the version that is spoken.
        """
        ...

    def stream(self, operation: str, params: Params) -> AsyncGenerator[Answer]:
        """Perform a streaming operation and yield what comes, until the agent ends the stream."""
        ...

    async def call_unknown(self) -> Answer:
        """Ask for an operation that does not exist."""
        ...

    async def send_garbage(self) -> Answer:
        """Send a message whose body cannot be read at all."""
        ...
