"""The attacker: says what it was told to on real connections, and listens until they end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import monotonic
from typing import Final

from tests.fuzz.guard.http1_answers import judge
from tests.fuzz.guard.http2_answers import Answers
from tests.fuzz.guard.process import KEEP_ALIVE_SECONDS
from tests.fuzz.guard.talks import HeardWrongError, Talk

__all__ = ("attack",)

HANG_SECONDS: Final = 60
"""A connection on which nothing has ended by then hangs. No limit of the server is as long; a
machine with much else to do may be."""

PAUSE_SECONDS: Final = 0.01
"""Between two pieces."""

LISTEN_SECONDS: Final = 0.1
"""How long to wait for an answer to what may not have any, before our side is closed."""


async def attack(port: int, talk: Talk) -> list[str]:
    """Have a talk and return what its answers came to; none at all is "closed".

    Raises:
        HeardWrongError: an answer is the server's own fault, or missing, or never ends.
    """
    try:
        async with asyncio.timeout(HANG_SECONDS):
            return await _Connection(port, talk).talk() or ["closed"]
    except TimeoutError:
        raise HeardWrongError("it hangs") from None


class _Connection:
    """One connection, from the first byte to the last."""

    def __init__(self, port: int, talk: Talk) -> None:
        self._port = port
        self._talk = talk
        self._heard = b""
        self._answers = Answers(talk) if talk.door in ("gRPC", "HTTP/2") else None

    async def talk(self) -> list[str]:
        began = monotonic()
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        listening = asyncio.ensure_future(self._listen())
        try:
            await self._speak()
            await self._close_our_side(listening)
            await listening
        finally:
            listening.cancel()
            self._writer.transport.abort()
        # On a machine so busy that one side has waited for the other as long as a connection may
        # idle, it may just have been closed.
        is_whole = self._talk.is_whole and monotonic() - began < KEEP_ALIVE_SECONDS
        if self._answers is not None:
            return self._answers.close(is_whole=is_whole)
        return judge(self._talk, self._heard, is_whole=is_whole)

    async def _speak(self) -> None:
        """Send all pieces."""
        with suppress(ConnectionError):  # It need not listen to the end.
            for piece in self._talk.pieces:
                self._writer.write(piece)
                await self._writer.drain()
                if len(self._talk.pieces) > 1:
                    await asyncio.sleep(PAUSE_SECONDS)

    async def _close_our_side(self, listening: asyncio.Future[None]) -> None:
        if self._talk.is_whole or self._talk.is_stalled:
            return
        await asyncio.wait([listening], timeout=LISTEN_SECONDS)
        with suppress(OSError):
            self._writer.write_eof()

    async def _listen(self) -> None:
        """Read until the server closes, or until all calls of HTTP/2 have ended."""
        with suppress(ConnectionError):
            while data := await self._reader.read(65_536):
                self._heard += data
                if self._answers is None:
                    continue
                self._answers.take(data)
                if self._talk.is_whole and self._answers.is_over:
                    return
