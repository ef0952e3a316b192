"""Talk: what a caller says on one connection, and what it must hear. Both kinds of HTTP have it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ("HeardWrongError", "Talk")


class Talk(NamedTuple):
    """All that is said on one connection.

    Attributes:
        door: where it goes, and in what words.
        what: what is wrong with it.
        pieces: the bytes, sent one after the other.
        is_whole: each request is complete and framed as it should be, so each has an answer.
        is_stalled: it stops in the midst and waits for the server to lose its patience.
        asked: the method of each request over HTTP/1.1, the number of each stream over HTTP/2.
    """

    door: str
    what: str
    pieces: Sequence[bytes]
    is_whole: bool
    is_stalled: bool = False
    asked: Sequence[str | int] = ()


class HeardWrongError(AssertionError):
    """An answer that no caller may get, or none where there must be one."""
