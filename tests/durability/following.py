"""Follower: a client that sees one task to its end, however often it is cut off on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from random import Random
from time import monotonic
from typing import Final

import httpx2

from tests.durability.witness import TERMINAL, Witness, text_of
from tests.support.wire import Frame, Json, frames, message

__all__ = ("Follower",)

ASKS: Final = "TASK_STATE_INPUT_REQUIRED"
AWAY: Final = frozenset({502, 503, 504})
"""What a server or a balancer answers that cannot do better now."""


class AwayError(Exception):
    """Whoever was asked is not able to answer now."""


class Follower:
    """Sends one message, and follows its task from the first event to the last.

    Every request is a new connection, so that it may reach another replica than the one before.

    Attributes:
        task_id: "" until the message is acknowledged.
        cursor: the last event seen.
        connections: how many streams it took.
        is_over: it has seen the end.
    """

    def __init__(
        self, http: httpx2.AsyncClient, witness: Witness, random: Random, skill: str, steps: int
    ) -> None:
        self._http = http
        self._witness = witness
        self._random = random
        self._sent = message(str(steps), metadata={"skillId": skill})
        self._answer: Json | None = None
        self.is_over = False
        self.task_id = ""
        self.cursor = 0
        self.connections = 0
        self._stream_began = 0.0

    def __str__(self) -> str:
        answer = "" if self._answer is None else f", answering {self._answer['messageId']}"
        if self._stream_began:
            answer += f", for {monotonic() - self._stream_began:.1f} s on stream {self.connections}"
        return f"{self._sent['messageId']} after event {self.cursor}{answer}"

    async def run(self) -> None:
        """Go on until the task has ended."""
        self._witness.sends(self._sent)
        while not self.is_over:
            with suppress(httpx2.TransportError, AwayError):
                if self._answer is not None:
                    await self._send_answer(self._answer)
                elif self.task_id:
                    await self._follow()
                else:
                    await self._begin()
            await asyncio.sleep(self._random.uniform(0.02, 0.1))

    async def cancel(self) -> None:
        """Cancel the task, which may have ended by then."""
        while True:
            with suppress(httpx2.TransportError, AwayError):
                response = await self._http.post(f"/tasks/{self.task_id}:cancel")
                _check(response.status_code)
                # Canceled now, or at its end before this came, perhaps by this very call.
                assert response.status_code in (200, 400, 409), response.text
                if response.status_code == 200:
                    self._witness.sees(response.content)
                return
            await asyncio.sleep(self._random.uniform(0.02, 0.1))

    async def _begin(self) -> None:
        """Send the message, perhaps again: it begins one task however often it is sent."""
        async with self._stream("POST", "/message:stream", {"message": self._sent}) as stream:
            await self._read(stream)

    async def _follow(self) -> None:
        path = f"/tasks/{self.task_id}:subscribe"
        async with self._stream("GET", path, None, str(self.cursor)) as stream:
            await self._read(stream, expected=self.cursor)

    async def _read(self, stream: AsyncIterator[Frame], expected: int | None = None) -> None:
        reading = self._witness.reading()
        async for frame in stream:
            if frame.kind == "error":
                _check(frame.result["error"]["code"])
                raise AssertionError(f"the stream ends with {frame.result}")
            reading.take(frame)
            if expected is not None and reading.cursor != expected:
                raise AssertionError(f"asked for all after {expected}, got {frame.id} first")
            expected = None
            if not self.task_id:
                self._learn(frame)
                if reading.cursor > 1:
                    # It was begun by an earlier attempt; this one is read from the start.
                    self.cursor = 1
                    return
            self.cursor = reading.cursor
            self._note(frame)
            if self._answer is not None:
                # The stream stays open while the task waits, but it waits for this client.
                return

    def _learn(self, frame: Frame) -> None:
        self.task_id = frame.result["task"]["id"]
        answer = b'{"task":{"id":"%b"}}' % self.task_id.encode()
        self._witness.acknowledged[self._sent["messageId"]] = answer

    def _note(self, frame: Frame) -> None:
        """Note what is to be done next."""
        if frame.state in TERMINAL:
            self.is_over = True
        elif frame.kind == "statusUpdate" and frame.state == ASKS:
            question = text_of(frame.result["statusUpdate"]["status"]["message"])
            self._answer = message(f"yes to {question}", taskId=self.task_id)
            self._witness.sends(self._answer)

    async def _send_answer(self, answer: Json) -> None:
        body = {"message": answer, "configuration": {"returnImmediately": True}}
        response = await self._http.post("/message:send", json=body)
        _check(response.status_code)
        if response.status_code == 200:
            self._witness.hears(answer, response.content)
        else:
            # It was canceled meanwhile: whoever has ended takes no answer.
            assert response.status_code == 400, response.text
            del self._witness.sent[answer["messageId"]]
        self._answer = None

    @asynccontextmanager
    async def _stream(
        self, verb: str, path: str, body: Json | None, cursor: str | None = None
    ) -> AsyncGenerator[AsyncIterator[Frame]]:
        self.connections += 1
        headers = {} if cursor is None else {"Last-Event-ID": cursor}
        async with self._http.stream(verb, path, json=body, headers=headers) as response:
            _check(response.status_code)
            assert response.status_code == 200, await response.aread()
            self._stream_began = monotonic()
            try:
                yield frames(response)
            finally:
                self._stream_began = 0.0


def _check(status: int) -> None:
    if status in AWAY:
        raise AwayError(str(status))
