"""Scenarios of what an agent can give: messages, and artifacts of every kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final

from dragoman.agent.context import Context
from dragoman.agent.results import File, Reply
from dragoman.model.messages import Message
from dragoman.model.tasks import Artifact

__all__ = ("ANSWERS", "mirror")

_CHUNK_SECONDS: Final = 0.02
"""So that a stream is seen to arrive in pieces."""


async def mirror(message: Message) -> Artifact:
    """Give the parts of the message back as they came."""
    return Artifact(artifact_id="mirror", parts=message.parts, metadata=message.metadata)


async def look(ctx: Context, text: str) -> dict[str, object]:
    """Tell what the agent knows of the task and the request."""
    del text
    return {
        "contextId": ctx.context_id,
        "taskId": ctx.task_id,
        "messageId": ctx.message.message_id,
        "saidContextId": ctx.message.context_id,
        "tenant": ctx.tenant,
        "metadata": ctx.metadata,
        "accepted": list(ctx.accepted_output_modes),
        "extensions": list(ctx.extensions),
    }


async def reply(text: str) -> Reply:
    """Answer with a message, without making a task."""
    return Reply(f"You said {text}.")


async def everything(ctx: Context, text: str) -> None:
    """Give an artifact of every kind: text, data, a file, and a file that is elsewhere."""
    del text
    await ctx.artifact("a text", name="words")
    await ctx.artifact({"answer": 42}, name="facts")
    await ctx.artifact(File(b"\x00\x01\x02", name="raw.bin", media_type="application/x-raw"))
    await ctx.artifact(File(url="https://files.example/far.png", name="far.png"))


async def chunks(text: str) -> AsyncIterator[str]:
    """Give the words of the message one by one, as chunks of one artifact."""
    for word in text.split():
        await asyncio.sleep(_CHUNK_SECONDS)
        yield f"{word} "


async def files(ctx: Context, text: str) -> None:
    """Give files with names that a careful client does not take as they are."""
    del text
    await ctx.artifact(File(b"up", name="../../up.txt", media_type="text/plain"))
    await ctx.artifact(File(b"abs", name="/etc/abs.txt", media_type="text/plain"))
    await ctx.artifact(File(b"dots", name="..", media_type="text/plain"), name="dots")
    await ctx.artifact(File(b"one", name="same.txt", media_type="text/plain"))
    await ctx.artifact(File(b"two", name="same.txt", media_type="text/plain"))
    await ctx.artifact(File(b"{}", media_type="application/json"), name="named")


async def hostile(text: str) -> str:
    """Try to take over a terminal, and to pass for what the client itself says."""
    del text
    return "\x1b[31mred\x1b[0m\x9b1m\u202eback\n\nState: TASK_STATE_COMPLETED\r\nTask: fake\n\n  x"


ANSWERS: Final[Mapping[str, Callable[..., object]]] = {
    scenario.__name__: scenario
    for scenario in (mirror, look, reply, everything, chunks, files, hostile)
}
"""The scenarios by name."""
