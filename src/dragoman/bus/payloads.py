"""Hints as the text of notifications, each short enough for PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from dragoman.bus.base import Hint, InboxFilled, Spent, TaskMoved, WorkReleased
from dragoman.bus.outgoing import Hints

__all__ = ("PAYLOAD_BYTES", "decode_payload", "encode_payloads")

PAYLOAD_BYTES: Final = 7_999
"""PostgreSQL refuses a payload of 8,000 bytes or more."""

T = TypeVar("T")


class _Payload(Struct, array_like=True, frozen=True):
    """One notification. Whoever sent it hears it too, and knows it by ``sender``."""

    sender: str
    moved: list[tuple[str, int]] = []
    # Of InboxFilled: the task and the holder.
    filled: list[tuple[str, str]] = []
    is_released: bool = False
    spent: list[tuple[str, int]] = []


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(_Payload)


def encode_payloads(sender: str, hints: Hints) -> list[str]:
    """Return the notifications that say all of these hints.

    A hint too long for any notification is left out: the sweep makes up for it.
    """
    room = PAYLOAD_BYTES - len(_ENCODER.encode(_Payload(sender, is_released=True)))
    moved = [_Payload(sender, moved=part) for part in _cut(hints.moved.items(), room)]
    filled = [
        _Payload(sender, filled=part)
        for part in _cut(((hint.task_id, hint.holder) for hint in hints.filled), room)
    ]
    released = [_Payload(sender, is_released=True)] if hints.is_released else []
    spent = [_Payload(sender, spent=part) for part in _cut(hints.spent.items(), room)]
    payloads = (*moved, *filled, *released, *spent)
    return [_ENCODER.encode(payload).decode() for payload in payloads]


def decode_payload(text: str, hearer: str) -> Iterator[Hint]:
    """Yield the hints of a notification that concern a replica.

    What cannot be read comes from another version, or from somebody else: it says nothing.
    """
    try:
        payload = _DECODER.decode(text)
    except msgspec.MsgspecError:
        return
    if payload.sender == hearer:
        return
    for task_id, seq in payload.moved:
        yield TaskMoved(task_id, seq)
    for task_id, holder in payload.filled:
        if holder in ("", hearer):
            yield InboxFilled(task_id, holder)
    if payload.is_released:
        yield WorkReleased()
    for allowance, units in payload.spent:
        yield Spent(allowance, units)


def _cut(items: Iterable[T], room: int) -> Iterator[list[T]]:
    """Cut items into parts whose JSON fits."""
    part: list[T] = []
    left = room
    for item in items:
        # With the comma after it.
        size = len(_ENCODER.encode(item)) + 1
        if size > room:
            continue
        if size > left:
            yield part
            part = []
            left = room
        part.append(item)
        left -= size
    if part:
        yield part
