"""Deliveries: incoming messages on their way to a turn, with their request metadata."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from dragoman.engine.journal import TURN, JournalEntry
from dragoman.model.base import JsonObject
from dragoman.model.messages import Message
from dragoman.service.principal import NOBODY, Principal

__all__ = (
    "Answer",
    "Delivery",
    "QueuedDelivery",
    "decode_answer",
    "decode_delivery",
    "encode",
    "trace_at",
)


class Delivery(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A message and what came with it.

    Attributes:
        principal: who sent it. It is stored with the rest, so that a turn which is run again finds
            its caller to be who it was.
        is_answer: it was sent to a task that waited for its client, which another replica holds.
        trace: what it came with, as ``dragoman.telemetry`` has it; "" if nothing is traced.
        secret: the number of the secret that holds the content of the message, which itself has a
            placeholder; 0 if it is no secret.
        sealed: that content on its way there, encrypted.
    """

    message: Message
    metadata: JsonObject = {}
    extensions: tuple[str, ...] = ()
    accepted_output_modes: tuple[str, ...] = ()
    principal: Principal = NOBODY
    is_answer: bool = False
    trace: str = ""
    secret: int = 0
    sealed: bytes = b""

    @property
    def is_bare(self) -> bool:
        """Tell whether the message is all there is."""
        return self.principal == NOBODY and not (
            self.metadata or self.extensions or self.accepted_output_modes or self.trace
        )


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What became of a question, or of a look into the inbox.

    Attributes:
        errand: the answer; None if the agent's code stopped waiting for one, or found none there.
        is_late: the time that the agent had given was over first.
    """

    errand: Delivery | None = None
    is_late: bool = False


encode: Final = msgspec.json.Encoder().encode
decode_delivery: Final = msgspec.json.Decoder(Delivery).decode
decode_answer: Final = msgspec.json.Decoder(Answer).decode


class _Traced(Struct, gc=False):
    """An errand, as far as its trace is concerned."""

    trace: str = ""


_decode_traced: Final = msgspec.json.Decoder(_Traced).decode


def trace_at(journal: Sequence[JournalEntry], seq: int) -> str:
    """Return the trace of the turn that an event belongs to, "" if it was not traced."""
    begun = [entry for entry in journal if entry.kind == TURN and entry.seq < seq]
    return _decode_traced(begun[-1].result).trace if begun else ""


class QueuedDelivery:
    """An errand in the inbox: ``stored`` gives its number once it is durable."""

    __slots__ = ("errand", "stored", "waiters")

    def __init__(self, errand: Delivery) -> None:
        self.errand: Final = errand
        self.stored: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        # Senders that wait for the turn of this very message.
        self.waiters: list[asyncio.Future[None]] = []

    @property
    def is_stored(self) -> bool:
        """Tell whether it is durable."""
        return self.stored.done() and not self.stored.exception()

    @property
    def is_lost(self) -> bool:
        """Tell whether it could not be stored."""
        return self.stored.done() and self.stored.exception() is not None
