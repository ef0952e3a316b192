"""Answers: the text that a model writes, published as it grows, and what callers answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from dragoman.model.messages import Message, text_of

if TYPE_CHECKING:
    from dragoman.agent.context import Context

__all__ = ("GrowingAnswer", "said_in", "speaker", "words_of")


class GrowingAnswer:
    """The answer of a turn: one artifact, to which text is added as it comes.

    A model may say something, and then go on to use a tool: only then is it known that this was no
    answer. It becomes a status message, and the text that follows takes its place.

    The artifact is named after the message that is answered. So a turn that is run again, or that
    goes on after a question, writes to the same one.
    """

    def __init__(self, ctx: Context, message: Message) -> None:
        """Publish nothing yet."""
        self._ctx = ctx
        self._artifact_id = f"answer-{message.message_id}"
        self._is_published = False
        self._text = ""

    async def add(self, text: str) -> None:
        """Add text to the answer."""
        if text:
            await self._ctx.artifact(text, artifact_id=self._artifact_id, append=bool(self._text))
            self._is_published = True
            self._text += text

    async def take_back(self) -> None:
        """Say as a status message what was taken for the answer so far."""
        if self._text.strip():
            await self._ctx.say(self._text)
        self._text = ""

    async def close(self, value: object) -> object:
        """End the answer, which is this value; return what is left to be published, or None.

        What was published as it grew is complete: the end of the task is the end of it.
        """
        if not self._is_published:
            return value
        if value != self._text:
            await self._ctx.artifact(value, artifact_id=self._artifact_id, last_chunk=True)
        return None


def said_in(answer: Message) -> object:
    """Return what a caller has answered: the data if there is any, else the text."""
    for part in answer.parts:
        if part.data is not UNSET:
            return part.data
    return text_of(answer.parts)


def words_of(message: Message) -> str:
    """Return a message in words: its text, and data as JSON."""
    return "\n".join(
        part.text if part.text is not None else msgspec.json.encode(part.data).decode()
        for part in message.parts
        if part.text is not None or part.data is not UNSET
    )


def speaker(ctx: Context) -> tuple[str, str, str]:
    """Return whose conversation this is.

    A context is named by whoever begins it. So what is remembered of it is told apart by tenant and
    owner as well: naming the context of somebody else tells nothing of it.
    """
    return (ctx.tenant, ctx.user, ctx.context_id)
