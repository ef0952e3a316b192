"""ToolAnswers: run the tools an agent asks for in a task, and answer with their results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from dragoman.client.errors import ClientError
from dragoman.dialects.legacy.part_marks import UNKNOWN_KIND
from dragoman.dialects.legacy.tolerant import INPUT_REQUEST as FOREIGN_INPUT_REQUEST
from dragoman.extensions.agent_tools.exchange import (
    ToolResult,
    ToolUse,
    input_request_in,
    uses_in,
)
from dragoman.model.base import is_array, is_object
from dragoman.model.client_tools import TOOL_RESULT
from dragoman.model.parts import Part
from dragoman.model.tasks import TaskState

if TYPE_CHECKING:
    from dragoman.client.results.reply import ReplyView
    from dragoman.client.results.stream import AgentEvent
    from dragoman.client.tools.toolbox import Toolbox
    from dragoman.model.messages import Message
    from dragoman.service.service import EventStream

__all__ = ("MOST_ROUNDS", "ToolAnswers", "addressed", "answer_parts")

MOST_ROUNDS: Final = 100
"""How often an agent may ask for tools in one task; one that asks more often goes round in circles.
"""

Answer = Callable[["ReplyView", tuple[Part, ...]], Awaitable["EventStream"]]
"""answer(reply, parts): send an answer and follow what comes of it."""


class ToolAnswers:
    """Answers the tool calls of one task."""

    def __init__(self, toolbox: Toolbox, answer: Answer) -> None:
        self._toolbox = toolbox
        self._answer = answer
        self._rounds = 0

    def is_asked(self, event: AgentEvent) -> bool:
        """Tell whether an event asks for tools."""
        return event.state is TaskState.INPUT_REQUIRED and bool(_uses_of(_said(event)))

    async def answer(self, reply: ReplyView) -> EventStream:
        """Run what is asked for, send what came of it, and follow what comes of that.

        Raises:
            ClientError: the agent asks for ever.
        """
        self._rounds += 1
        if self._rounds > MOST_ROUNDS:
            raise ClientError(
                f"the agent has asked for tools {MOST_ROUNDS} times in task {reply.task_id}"
            )
        results = await self._toolbox.run(_uses_of(reply.message))
        return await self._answer(reply, answer_parts(reply.message, results))


def answer_parts(asked: Message | None, results: Sequence[ToolResult]) -> tuple[Part, ...]:
    """Return results as the parts of an answer.

    Whoever has asked by a part of its own kind reads no other part as a result.
    """
    parts = tuple(result.part() for result in results)
    if asked is None or not _is_foreign(asked):
        return parts
    return tuple(replace(part, metadata={UNKNOWN_KIND: TOOL_RESULT}) for part in parts)


def addressed(asked: Message | None, text: str) -> tuple[Part, ...]:
    """Return the answer to a question that has a name, or is an interrupt of Strands; else ().

    Such a question is answered by its name: Strands takes no other answer.
    """
    request = input_request_in(asked)
    if request is not None and request.request_id:
        result = ToolResult(tool_use_id=request.request_id, result={"value": text})
        return answer_parts(asked, (result,))
    interrupts = [one for part in (asked.parts if asked else ()) for one in _interrupts_in(part)]
    if len(interrupts) == 1:
        response = {"interruptId": interrupts[0], "response": text}
        return (Part(data={"interruptResponse": response}),)
    return ()


def _interrupts_in(part: Part) -> Iterator[str]:
    """Yield the interrupts of Strands that a part of a question says to be pending."""
    listed = part.data.get("interrupts") if is_object(part.data) else None
    for entry in listed if is_array(listed) else ():
        name = entry.get("interruptId") if is_object(entry) else None
        if isinstance(name, str) and name:
            yield name


def _is_foreign(asked: Message) -> bool:
    return FOREIGN_INPUT_REQUEST in (asked.metadata or {}) or any(
        UNKNOWN_KIND in (part.metadata or {}) for part in asked.parts
    )


def _uses_of(asked: Message | None) -> tuple[ToolUse, ...]:
    return () if asked is None else uses_in(asked.parts)


def _said(event: AgentEvent) -> Message | None:
    return None if event.value.status is None else event.value.status.message
