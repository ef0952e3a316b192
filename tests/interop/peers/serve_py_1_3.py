"""An agent made with a2a-sdk 1.3, over each of its three bindings."""

# The SDK is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import asyncio
from typing import Any

import grpc
from a2a.helpers.proto_helpers import (
    new_data_part,
    new_raw_part,
    new_task_from_user_message,
    new_text_part,
)
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
from a2a.server.tasks import (
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import a2a_pb2_grpc
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part
from play import NAME, SKILL, VERSION, perform
from stage import listen, serve
from starlette.applications import Starlette


class Turn:
    def __init__(self, context: RequestContext, events: EventQueue) -> None:
        self.words = context.get_user_input()
        self.parts = list(context.message.parts)
        self.is_answer = context.current_task is not None
        self._context = context
        self._events = events
        self._updater = TaskUpdater(events, context.task_id, context.context_id)

    async def begin(self) -> None:
        task = new_task_from_user_message(self._context.message)
        task.id, task.context_id = self._context.task_id, self._context.context_id
        await self._events.enqueue_event(task)

    async def work(self, said: str) -> None:
        await self._updater.start_work(self._saying(said))

    async def ask(self, question: str) -> None:
        await self._updater.requires_input(self._saying(question))

    async def fail(self, reason: str) -> None:
        await self._updater.failed(self._saying(reason))

    async def complete(self) -> None:
        await self._updater.complete()

    async def reply(self, text: str) -> None:
        message = self._saying(text)
        # What belongs to no task must not name one.
        message.ClearField("task_id")
        await self._events.enqueue_event(message)

    async def give(self, *parts: Part, append: bool = False, last: bool = True) -> None:
        await self._updater.add_artifact(
            list(parts), artifact_id="result", append=append, last_chunk=last
        )

    def text(self, text: str) -> Part:
        return new_text_part(text)

    def file(self, content: bytes, media_type: str, filename: str) -> Part:
        return new_raw_part(content, media_type=media_type, filename=filename)

    def data(self, value: Any) -> Part:
        return new_data_part(value)

    def _saying(self, text: str) -> Any:
        return self._updater.new_agent_message([new_text_part(text)])


class Executor(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        await perform(Turn(context, event_queue))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def _card(url: str, grpc_address: str) -> AgentCard:
    addresses = {"JSONRPC": f"{url}/", "HTTP+JSON": url, "GRPC": grpc_address}
    return AgentCard(
        name=NAME,
        description="An agent made with a2a-sdk 1.3.",
        version=VERSION,
        supported_interfaces=[
            AgentInterface(url=address, protocol_binding=binding, protocol_version="1.0")
            for binding, address in addresses.items()
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(**SKILL)],
    )


async def main() -> None:
    listener, url = listen()
    grpc_server = grpc.aio.server()
    port = grpc_server.add_insecure_port("127.0.0.1:0")
    card = _card(url, f"127.0.0.1:{port}")
    handler = DefaultRequestHandler(
        agent_executor=Executor(),
        task_store=InMemoryTaskStore(),
        agent_card=card,
        push_config_store=InMemoryPushNotificationConfigStore(),
    )
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), grpc_server)
    routes = [
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, "/"),
        *create_rest_routes(handler),
    ]
    await grpc_server.start()
    await serve(Starlette(routes=routes), listener, url)
    await grpc_server.stop(None)


if __name__ == "__main__":
    asyncio.run(main())
