"""Additions: what a profile writes beyond the version that it builds on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from dragoman.model.messages import Message

__all__ = ("NO_ADDITIONS", "Additions", "Dress")

Dress = Callable[[Message, bool], Message]
"""dress(message, is_question): return a message as the profile has it, in marks and metadata."""


class Additions(Struct, frozen=True, kw_only=True):
    """How a profile differs from its version in what is written.

    Attributes:
        dress: None to write messages as they are.
        ends_at_pauses: a stream is over where the task waits for its client.
    """

    dress: Dress | None = None
    ends_at_pauses: bool = True


NO_ADDITIONS: Final = Additions()
