"""What the agents made with the 0.2 and 0.3 SDKs share: those have the same names and members."""

# The SDKs are not installed where pyright looks, on purpose; so their types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import base64
from typing import Any

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import (
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import (
    AgentCapabilities,
    DataPart,
    FilePart,
    FileWithBytes,
    Message,
    Part,
    TaskState,
    TextPart,
)
from a2a.utils import new_task
from play import NAME, SKILL, VERSION, perform

__all__ = ("card_facts", "make_handler")


class Turn:
    def __init__(self, context: RequestContext, events: EventQueue) -> None:
        self.words = context.get_user_input()
        self.parts = list(context.message.parts)
        self.is_answer = context.current_task is not None
        self._context = context
        self._events = events
        self._updater = TaskUpdater(events, context.task_id, context.context_id)

    async def begin(self) -> None:
        message = self._context.message
        message.task_id, message.context_id = self._context.task_id, self._context.context_id
        await self._events.enqueue_event(new_task(message))

    async def work(self, said: str) -> None:
        await self._updater.update_status(TaskState.working, self._saying(said))

    async def ask(self, question: str) -> None:
        saying = self._saying(question)
        await self._updater.update_status(TaskState.input_required, saying, final=True)

    async def fail(self, reason: str) -> None:
        await self._updater.failed(self._saying(reason))

    async def complete(self) -> None:
        await self._updater.complete()

    async def reply(self, text: str) -> None:
        # What belongs to no task must not name one.
        message = self._saying(text).model_copy(update={"task_id": None})
        await self._events.enqueue_event(message)

    async def give(self, *parts: Part, append: bool = False, last: bool = True) -> None:
        await self._updater.add_artifact(
            list(parts), artifact_id="result", append=append, last_chunk=last
        )

    def text(self, text: str) -> Part:
        return Part(root=TextPart(text=text))

    def file(self, content: bytes, media_type: str, filename: str) -> Part:
        held = base64.b64encode(content).decode()
        file = FileWithBytes(bytes=held, mime_type=media_type, name=filename)
        return Part(root=FilePart(file=file))

    def data(self, value: Any) -> Part:
        return Part(root=DataPart(data=value))

    def _saying(self, text: str) -> Message:
        return self._updater.new_agent_message([self.text(text)])


class Executor(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        await perform(Turn(context, event_queue))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.update_status(TaskState.canceled, final=True)


def make_handler() -> DefaultRequestHandler:
    return DefaultRequestHandler(
        agent_executor=Executor(),
        task_store=InMemoryTaskStore(),
        push_config_store=InMemoryPushNotificationConfigStore(),
    )


def card_facts(sdk: str) -> dict[str, Any]:
    """Return what the cards have in common."""
    return {
        "name": NAME,
        "description": f"An agent made with a2a-sdk {sdk}.",
        "version": VERSION,
        "capabilities": AgentCapabilities(streaming=True, push_notifications=True),
        "default_input_modes": ["text/plain"],
        "default_output_modes": ["text/plain"],
        "skills": [SKILL],
    }
