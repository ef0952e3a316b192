"""PostgresBus: hints by LISTEN and NOTIFY, on the database that the tasks are in.

All replicas listen on one channel, so each hears of everything, and picks what concerns it. That
is little for a few replicas, and it is why many of them want NATS: each notification takes a lock
of the whole server and wakes every listener.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Final, Protocol, TypeVar, cast

import asyncpg  # type: ignore[import-untyped] - it declares no types
import msgspec
from msgspec import Struct

from dragoman.bus.base import Hint, InboxFilled, Spent, TaskMoved, WorkReleased
from dragoman.bus.outgoing import Hints
from dragoman.bus.remote import ANSWER_SECONDS, RemoteBus

__all__ = (
    "CHANNEL",
    "PAYLOAD_BYTES",
    "PostgresBus",
    "decode_payload",
    "encode_payloads",
)


CHANNEL: Final = "dragoman_hints"

_NOTIFY: Final = "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload"
"""All payloads of a pass in one statement, which is one transaction: one lock, one wake-up."""

_SESSION: Final = {
    "application_name": "dragoman bus",
    # A notification is a transaction. Nothing of it has to reach the disk, nor a standby far away,
    # before it is heard.
    "synchronous_commit": "off",
}

_FAILURES: Final = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""What the driver raises beside OSError; its texts name hosts and users, but no password."""


PAYLOAD_BYTES: Final = 7_999
"""PostgreSQL refuses a payload of 8,000 bytes or more."""

T = TypeVar("T")


class PostgresBus(RemoteBus):
    """A bus on a database, over one connection of its own.

    Args:
        url: ``postgres://user:password@host/database``, with the options that libpq knows. It must
            lead to the server itself: a pooler that lends connections per transaction does not pass
            notifications on.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        super().__init__("bus on PostgreSQL", self._line)

    async def _line(
        self, replica_id: str, hear: Callable[[Hint], None], lost: Callable[[], None]
    ) -> _PostgresLine:
        def heard(_connection: object, _pid: int, _channel: str, payload: str) -> None:
            for hint in decode_payload(payload, replica_id):
                hear(hint)

        try:
            connection = await _connect(self._url)
            try:
                await connection.add_listener(CHANNEL, heard)
            except BaseException:
                connection.terminate()
                raise
        except _FAILURES as error:
            raise ConnectionError(str(error)) from error
        connection.add_termination_listener(lambda _: lost())
        return _PostgresLine(connection, replica_id)


class _PostgresLine:
    """One connection that listens."""

    def __init__(self, connection: _Connection, replica_id: str) -> None:
        self._connection = connection
        self._replica_id = replica_id

    async def follow(self, task_id: str) -> None:
        """Do nothing: all that happens is heard of anyway."""

    async def unfollow(self, task_id: str) -> None:
        """Do nothing, for the same reason."""

    async def send(self, hints: Hints) -> None:
        """Notify all others, in one transaction."""
        await self._execute(_NOTIFY, CHANNEL, encode_payloads(self._replica_id, hints))

    async def probe(self) -> None:
        """Ask for nothing and wait for it."""
        await self._execute("SELECT 1")

    async def close(self) -> None:
        """Drop the connection: nothing is left on it that would have to be finished."""
        self._connection.terminate()

    async def _execute(self, statement: str, *arguments: object) -> None:
        try:
            await self._connection.fetch(statement, *arguments)
        except _FAILURES as error:
            raise ConnectionError(str(error)) from error


class _Connection(Protocol):
    """As much of asyncpg's connection as is used here; asyncpg declares no types."""

    async def add_listener(
        self, channel: str, callback: Callable[[object, int, str, str], None]
    ) -> None: ...
    def add_termination_listener(self, callback: Callable[[object], None]) -> None: ...
    async def fetch(self, query: str, *args: object) -> object: ...
    def terminate(self) -> None: ...


_Connect = Callable[..., Awaitable[_Connection]]


async def _connect(url: str) -> _Connection:
    connect = cast("_Connect", asyncpg.connect)  # type: ignore[no-untyped-call] - see _Connection
    return await connect(
        url,
        timeout=ANSWER_SECONDS,
        # Of several hosts the primary: a standby takes no LISTEN.
        target_session_attrs="read-write",
        server_settings=_SESSION,
    )


# --- payloads: hints as text, each short enough for PostgreSQL ------------------------------------


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
