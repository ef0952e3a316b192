"""Idempotent send: the same message sent again gets the same result, not a second task.

A send is recognised by (tenant, owner, messageId) within a window. Same content: the earlier
result, also while it is still being made. Other content under a reused id: a new message, with a
warning, because real clients reuse ids.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.clock import Clock
from dragoman.model.messages import Message
from dragoman.model.operations import SendMessageRequest
from dragoman.server.tasks.secrets import concealed
from dragoman.stores.base import Scope, SendKey, SendRecord, TaskStore

__all__ = ("KnownSend", "Sends", "digest_of", "digest_of_secret")

_logger = logging.getLogger(__name__)

_encode = msgspec.json.Encoder(order="sorted").encode
_decode_message = msgspec.json.Decoder(Message).decode


class KnownSend(Struct, frozen=True, kw_only=True):
    """An earlier send of the same message: its task, or its direct answer, perhaps to come."""

    digest: bytes
    at_ms: int
    task_id: str = ""
    stored: asyncio.Future[None] | None = None
    """Done when the message is durable, if that has to be waited for."""
    reply: asyncio.Future[Message] | None = None


def digest_of(request: SendMessageRequest) -> bytes:
    """Return what identifies the content of a send; how it is to be answered does not count."""
    content = (request.message, request.metadata)
    return hashlib.blake2b(_encode(content), digest_size=16).digest()


def digest_of_secret(request: SendMessageRequest) -> bytes:
    """Return what identifies a send that is a secret: what it says is in no record, nor its hash.

    Its task may be called by a name of the client's, or by its own id.
    """
    nameless = replace(request, message=replace(request.message, task_id=""))
    return digest_of(concealed(nameless))


class Sends:
    """What became of recent sends. With a window of 0 nothing is remembered."""

    def __init__(self, store: TaskStore, clock: Clock, window_seconds: float) -> None:
        self._store = store
        self._clock = clock
        self._window_ms = int(window_seconds * 1000)
        self._current: dict[SendKey, KnownSend] = {}

    async def recall(
        self, scope: Scope, request: SendMessageRequest
    ) -> tuple[SendRecord | None, KnownSend | None]:
        """Return the record to keep for this send, if any, and an earlier send of the same."""
        if not self._window_ms:
            return None, None
        now_ms = self._clock.now_ms()
        since_ms = now_ms - self._window_ms
        key = SendKey(scope, request.message.message_id)
        record = SendRecord(
            key=key, digest=digest_of(request), at_ms=now_ms, since_ms=max(1, since_ms)
        )
        known = self._current.get(key)
        if known is None:
            stored = await self._store.find_send(key, since_ms)
            # Asked again: the same send may have begun while the store was looked at.
            known = self._current.get(key) or (None if stored is None else _known(stored))
        return record, _if_same(known, record, request)

    def under_way(self, record: SendRecord, request: SendMessageRequest) -> KnownSend | None:
        """Return the same send if it has begun since ``recall`` was asked."""
        return _if_same(self._current.get(record.key), record, request)

    def begin_task(
        self, record: SendRecord, task_id: str, stored: asyncio.Future[None] | None = None
    ) -> Callable[[], None]:
        """Note that a send has its task; call what is returned when that leaves memory.

        Args:
            stored: done when the message is durable; if it is not to be, it was never sent.
        """
        known = KnownSend(digest=record.digest, at_ms=record.at_ms, task_id=task_id, stored=stored)
        end = self._begin(record.key, known)
        if stored is not None:
            stored.add_done_callback(lambda done: None if _is_good(done) else end())
        return end

    def begin_reply(self, record: SendRecord, reply: asyncio.Future[Message]) -> Callable[[], None]:
        """Note that a send is being answered; call what is returned when that is durable."""
        known = KnownSend(digest=record.digest, at_ms=record.at_ms, reply=reply)
        return self._begin(record.key, known)

    async def forget_old(self) -> None:
        """Drop what is outside the window."""
        await self._store.forget_sends(self._clock.now_ms() - self._window_ms)

    def _begin(self, key: SendKey, known: KnownSend) -> Callable[[], None]:
        self._current[key] = known

        def end() -> None:
            if self._current.get(key) is known:
                del self._current[key]

        return end


def _if_same(
    known: KnownSend | None, record: SendRecord, request: SendMessageRequest
) -> KnownSend | None:
    """Return what is known under a messageId if it is this very send, and recent."""
    if known is None or known.at_ms < record.since_ms:
        return None
    if known.digest not in (record.digest, digest_of_secret(request)):
        _logger.warning(
            "messageId %r was used before with other content; it is taken as a new message",
            record.key.message_id[:100],
        )
        return None
    return known


def _is_good(done: asyncio.Future[None]) -> bool:
    return not done.cancelled() and done.exception() is None


def _known(record: SendRecord) -> KnownSend:
    reply: asyncio.Future[Message] | None = None
    if record.reply:
        reply = asyncio.get_running_loop().create_future()
        reply.set_result(_decode_message(record.reply))
    return KnownSend(digest=record.digest, at_ms=record.at_ms, task_id=record.task_id, reply=reply)
