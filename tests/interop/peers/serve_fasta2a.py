"""An agent made with fasta2a 2.1, which has JSON-RPC alone.

Its workers, storage and streams are fasta2a's own. What is told to a stream and what is stored are
two things there, and the agent does both.
"""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from fasta2a import FastA2A, Worker
from fasta2a.broker import InMemoryBroker
from fasta2a.schema import Artifact, Message, Part, TaskIdParams, TaskSendParams
from fasta2a.storage import InMemoryStorage
from play import NAME, SKILL, VERSION, perform
from stage import listen, serve

WORKERS = 8
"""A worker does one thing at a time: some may hold while others cancel."""


class Turn:
    def __init__(self, player: Player, params: TaskSendParams, *, is_answer: bool) -> None:
        self.parts = params["message"]["parts"]
        self.words = "\n".join(part["text"] for part in self.parts if "text" in part)
        self.is_answer = is_answer
        self._player = player
        self._ids = (params["id"], params["context_id"])
        self._given: Artifact | None = None

    async def begin(self) -> None:
        await self._player.storage.update_task(self._ids[0], state="working")

    async def work(self, said: str) -> None:
        await self._tell("working", said)

    async def ask(self, question: str) -> None:
        await self._player.storage.update_context(self._ids[1], "asked")
        await self._tell("input-required", question)

    async def fail(self, reason: str) -> None:
        await self._tell("failed", reason)

    async def complete(self) -> None:
        await self._player.storage.update_task(self._ids[0], state="completed")

    async def reply(self, text: str) -> None:
        # There is no answer without a task.
        await self.give(self.text(text))
        await self.complete()

    async def give(self, *parts: Part, append: bool = False, last: bool = True) -> None:
        if self._given is None:
            self._given = Artifact(artifact_id="result", parts=list(parts))
            await self._player.storage.update_task(
                self._ids[0], state="working", new_artifacts=[self._given]
            )
        else:
            # The storage can add artifacts, but not to an artifact; it holds this very object.
            self._given["parts"].extend(parts)
        chunk = Artifact(artifact_id="result", parts=list(parts))
        await self._player.publish_artifact(*self._ids, chunk, append=append, last_chunk=last)

    def text(self, text: str) -> Part:
        return Part(text=text)

    def file(self, content: bytes, media_type: str, filename: str) -> Part:
        raw = base64.b64encode(content).decode()
        return Part(raw=raw, media_type=media_type, filename=filename)

    def data(self, value: Any) -> Part:
        return Part(data=value)

    async def _tell(self, state: Any, text: str) -> None:
        message = Message(role="agent", parts=[Part(text=text)], message_id=token_hex(16))
        await self._player.storage.update_task(self._ids[0], state=state, new_messages=[message])
        await self._player.publish_status(*self._ids, state, message)


@dataclass
class Player(Worker[str]):
    running: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def run_task(self, params: TaskSendParams) -> None:
        # Each message makes a task, be it an answer: that it is one, only its context tells.
        is_answer = await self.storage.load_context(params["context_id"]) == "asked"
        await self.storage.update_context(params["context_id"], "")
        playing = asyncio.ensure_future(perform(Turn(self, params, is_answer=is_answer)))
        self.running[params["id"]] = playing
        await asyncio.wait([playing])
        del self.running[params["id"]]
        if not playing.cancelled():
            playing.result()

    async def cancel_task(self, params: TaskIdParams) -> None:
        playing = self.running.get(params["id"])
        if playing is not None:
            playing.cancel()
            await self.storage.update_task(params["id"], state="canceled")

    def build_message_history(self, history: list[Message]) -> list[Any]:
        return history

    def build_artifacts(self, result: Any) -> list[Artifact]:
        return result


async def main() -> None:
    listener, url = listen()
    storage: InMemoryStorage[str] = InMemoryStorage()
    broker = InMemoryBroker()
    player = Player(broker=broker, storage=storage)

    @asynccontextmanager
    async def lifespan(app: FastA2A) -> AsyncIterator[None]:
        async with app.task_manager, AsyncExitStack() as stack:
            for _ in range(WORKERS):
                await stack.enter_async_context(player.run())
            yield

    app = FastA2A(
        storage=storage,
        broker=broker,
        name=NAME,
        version=VERSION,
        url=url,
        description="An agent made with fasta2a.",
        skills=[{**SKILL, "input_modes": ["text/plain"], "output_modes": ["text/plain"]}],
        lifespan=lifespan,
    )
    await serve(app, listener, url)


if __name__ == "__main__":
    asyncio.run(main())
