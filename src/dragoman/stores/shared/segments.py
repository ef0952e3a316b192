"""What every store does with the entries of a segment: find the events and number them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman.model.documents import EventDocument

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ("entries_until", "number_events")

_MESSAGE: Final = b'{"message":'
"""How an entry begins that is no event and has no number."""


def number_events(first: int, entries: Sequence[bytes], after: int) -> Iterator[EventDocument]:
    """Yield the events of a segment that come after ``after``; ``first`` numbers its first one."""
    seq = first - 1
    for entry in entries:
        if entry.startswith(_MESSAGE):
            continue
        seq += 1
        if seq > after:
            yield EventDocument(seq, entry)


def entries_until(segments: Iterable[tuple[int, Sequence[bytes]]], until: int) -> tuple[bytes, ...]:
    """Return all entries up to event ``until``, without the messages that belong to a later one."""
    kept: list[bytes] = []
    for first, entries in segments:
        seq = first - 1
        for at, entry in enumerate(entries, 1):
            if entry.startswith(_MESSAGE):
                continue
            seq += 1
            if seq == until:
                return (*kept, *entries[:at])
        kept += entries
    return tuple(kept)
