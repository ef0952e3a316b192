"""a2a-sdk 1.3 as a ``peer.Peer``, over each of its three bindings."""

# The SDK is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import cache
from typing import Any

import grpc
import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.helpers.proto_helpers import (
    new_data_part,
    new_message,
    new_raw_part,
    new_text_part,
    new_url_part,
)
from a2a.types.a2a_pb2 import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict
from peer import SCENARIO_SECONDS, Content, Data, Json, Raw, Url, run
from scenarios import SCENARIOS

__all__ = ("Peer", "asking", "connect", "read", "reading")


class Peer:
    def __init__(self, url: str, binding: str, http: httpx.AsyncClient, card: AgentCard) -> None:
        self.name = f"py_1_3 {binding}"
        self.url = url
        self.binding = binding
        self.http = http
        self.agent_card = card
        self.unary = self.client(streaming=False)
        self.streaming = self.client(streaming=True)

    def client(
        self, card: AgentCard | None = None, http: httpx.AsyncClient | None = None, **options: Any
    ) -> Client:
        return ClientFactory(self.config(http, **options)).create(card or self.agent_card)

    def config(self, http: httpx.AsyncClient | None = None, **options: Any) -> ClientConfig:
        return ClientConfig(
            httpx_client=http or self.http,
            grpc_channel_factory=_channel,
            supported_protocol_bindings=[self.binding],
            **options,
        )

    async def card(self) -> Json:
        return read(self.agent_card)

    async def send(self, skill: str | None, *content: Content, **options: Any) -> Json:
        polling = options.pop("polling", False)
        client = self.client(streaming=False, polling=True) if polling else self.unary
        [answer] = [each async for each in client.send_message(asking(skill, *content, **options))]
        return read(answer)

    def stream(
        self, skill: str | None, *content: Content, **options: Any
    ) -> AsyncGenerator[Json, None]:
        return reading(self.streaming.send_message(asking(skill, *content, **options)))

    async def get(self, task_id: str, history_length: int | None = None) -> Json:
        request = GetTaskRequest(id=task_id, history_length=history_length)
        return read(await self.unary.get_task(request))

    async def cancel(self, task_id: str) -> Json:
        return read(await self.unary.cancel_task(CancelTaskRequest(id=task_id)))

    def subscribe(self, task_id: str) -> AsyncGenerator[Json, None]:
        return reading(self.streaming.subscribe(SubscribeToTaskRequest(id=task_id)))

    def push_calls(self, task_id: str, url: str) -> dict[str, Callable[[], Awaitable[Any]]]:
        client, one = self.unary, {"task_id": task_id, "id": "c-1"}
        return {
            "create": lambda: _told(
                client.create_task_push_notification_config(
                    TaskPushNotificationConfig(**one, url=url, token="secret")  # noqa: S106 - of a test
                )
            ),
            "get": lambda: _told(
                client.get_task_push_notification_config(
                    GetTaskPushNotificationConfigRequest(**one)
                )
            ),
            "list": lambda: _told(
                client.list_task_push_notification_configs(
                    ListTaskPushNotificationConfigsRequest(task_id=task_id)
                )
            ),
            "delete": lambda: client.delete_task_push_notification_config(
                DeleteTaskPushNotificationConfigRequest(**one)
            ),
        }

    def facts(self, error: Exception) -> Json | None:
        match error:
            case A2AError(message=message, data=data):
                return {"error": type(error).__name__, "message": message, "data": data}
        return None


def asking(
    skill: str | None,
    *content: Content | Part,
    task: Json | None = None,
    task_id: str | None = None,
    context_id: str | None = None,
    metadata: Json | None = None,
    request_metadata: Json | None = None,
    references: tuple[str, ...] = (),
    output_modes: tuple[str, ...] = (),
    push_url: str | None = None,
    tenant: str = "",
) -> SendMessageRequest:
    """Make a request; see ``peer.Peer`` for the options."""
    message = new_message(
        [_part(item) for item in content],
        context_id=context_id or (task and task["contextId"]),
        task_id=task_id or (task and task["id"]),
        role=Role.ROLE_USER,
    )
    message.metadata.update(({"skillId": skill} if skill else {}) | (metadata or {}))
    message.reference_task_ids.extend(references)
    request = SendMessageRequest(message=message, tenant=tenant)
    if output_modes or push_url:
        hook = TaskPushNotificationConfig(url=push_url) if push_url else None
        request.configuration.CopyFrom(
            SendMessageConfiguration(
                accepted_output_modes=output_modes, task_push_notification_config=hook
            )
        )
    if request_metadata:
        request.metadata.update(request_metadata)
    return request


def _part(content: Content | Part) -> Part:
    match content:
        case Raw(data, media_type, filename):
            return new_raw_part(data, media_type=media_type, filename=filename)
        case Url(url, media_type, filename):
            return new_url_part(url, media_type=media_type, filename=filename)
        case Data(value):
            return new_data_part(value)
        case Part():
            return content
        case text:
            return new_text_part(text)


def read(message: Any) -> Json:
    return MessageToDict(message)


async def _told(call: Awaitable[Any]) -> Json:
    return read(await call)


async def reading(events: AsyncGenerator[StreamResponse, None]) -> AsyncGenerator[Json, None]:
    async for event in events:
        yield read(event)


@cache
def _channel(address: str) -> Any:
    """Return the one channel to an address, in clear text; cards may give it with a scheme."""
    return grpc.aio.insecure_channel(address.removeprefix("http://"))


async def connect(url: str, binding: str) -> Peer:
    http = httpx.AsyncClient(timeout=SCENARIO_SECONDS, trust_env=False)
    return Peer(url, binding, http, await A2ACardResolver(http, url).get_agent_card())


if __name__ == "__main__":
    run(connect, SCENARIOS)
