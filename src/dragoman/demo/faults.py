"""Faults: what an agent's own code cannot do wrong, done to its answers and card over HTTP.

A scenario asks for one by what it says in a status message. Answers that do not hold such a message
pass as they are.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import MutableMapping
from typing import Any, Final, TypeAlias

from dragoman.net.asgi import REPLY, ASGIApp, Receive, Scope, Send
from dragoman.server.http.cards import CARD_PATHS

__all__ = (
    "CUT",
    "CUT_WITHOUT_IDS",
    "UNSPECIFIED",
    "with_card",
    "with_faults",
)


CUT: Final = "the stream is cut here"
CUT_WITHOUT_IDS: Final = "the stream, without ids, is cut here"
UNSPECIFIED: Final = "in no state at all"

_Event: TypeAlias = MutableMapping[str, Any]

_EVENT_ID: Final = re.compile(rb"^id:.*\r?\n", re.MULTILINE)
_TASK_ID: Final = re.compile(rb'"(?:taskId|id)"\s*:\s*"([^"]+)"')
_WORKING: Final = re.compile(rb'"state"\s*:\s*"(?:TASK_STATE_WORKING|working)"')


class _CutError(asyncio.CancelledError):
    """The answer is given up, as if its connection were lost: the app must not complete it."""


def with_faults(app: ASGIApp) -> ASGIApp:
    """Return the app with the faults that its answers ask for; each stream is cut but once."""
    cut: set[bytes] = set()

    async def faulty(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        try:
            await app(scope, receive, _Sender(send, cut))
        except _CutError:
            # An answer that is not completed is one whose connection is closed.
            return

    return faulty


class _Sender:
    """Sends one answer on."""

    def __init__(self, send: Send, cut: set[bytes]) -> None:
        self._send = send
        self._cut = cut

    async def __call__(self, event: _Event) -> None:
        """Send one event of ASGI, or a whole answer.

        Raises:
            _CutError: it was the last one.
        """
        if event["type"] == REPLY:
            # Whoever writes it counts its bytes.
            event["body"] = _without_state(event["body"])
        elif event["type"] == "http.response.body":
            await self._send_piece(event)
            return
        await self._send(event)

    async def _send_piece(self, event: _Event) -> None:
        """Send a piece of a stream."""
        body = _without_state(event.get("body", b""))
        marks = [mark for mark in (CUT, CUT_WITHOUT_IDS) if mark.encode() in body]
        if CUT_WITHOUT_IDS in marks:
            body = _EVENT_ID.sub(b"", body)
        event["body"] = body
        await self._send(event)
        task = _TASK_ID.search(body)
        if marks and task is not None and task[1] not in self._cut:
            self._cut.add(task[1])
            raise _CutError


def _without_state(body: bytes) -> bytes:
    """Take away the state of a task that says it has none."""
    if UNSPECIFIED.encode() not in body:
        return body
    return _WORKING.sub(b'"state":"TASK_STATE_UNSPECIFIED"', body)


def with_card(app: ASGIApp, card: bytes) -> ASGIApp:
    """Return the app with this card, shown byte for byte; all else stays as it is.

    It may be signed, tampered with, of an old version, or broken.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in CARD_PATHS:
            await app(scope, receive, send)
            return
        headers = ((b"content-type", b"application/json"), (b"cache-control", b"no-cache"))
        await send({"type": REPLY, "status": 200, "headers": headers, "body": card})

    return answer
