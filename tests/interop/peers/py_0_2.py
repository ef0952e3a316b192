"""a2a-sdk 0.2.16 as a ``peer.Peer``: JSON-RPC and gRPC; it cannot subscribe again."""

# The SDK is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from itertools import count
from typing import Any

import httpx
from a2a.client import A2ACardResolver, A2AClient, A2AClientHTTPError, A2AGrpcClient
from a2a.grpc.a2a_pb2_grpc import A2AServiceStub
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    SendMessageRequest,
    SendStreamingMessageRequest,
    SetTaskPushNotificationConfigRequest,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
)
from peer import SCENARIO_SECONDS, Content, Json, run
from scenarios import SCENARIOS
from v0 import call_facts, channel, dump, dumped, params, push_config, wrap, wrapped

_ids = count(1)


class RefusedError(Exception):
    """The agent answered with an error; this SDK hands such answers to its caller."""

    def __init__(self, error: Any) -> None:
        super().__init__(error.message)
        self.error = error


class _Client:
    """What both clients of the SDK have in common, with requests and answers out of envelopes."""

    def __init__(self, card: AgentCard, binding: str) -> None:
        self.name = f"py_0_2 {binding}"
        self._card = card

    async def card(self) -> Json:
        return dump(self._card)


class JsonRpcPeer(_Client):
    def __init__(self, card: AgentCard, http: httpx.AsyncClient) -> None:
        super().__init__(card, "JSONRPC")
        self._client = A2AClient(http, card)

    async def send(self, skill: str | None, *content: Content, **options: Any) -> Json:
        request = SendMessageRequest(id=next(_ids), params=params(skill, *content, **options))
        return wrap(_result(await self._client.send_message(request)))

    async def stream(
        self, skill: str | None, *content: Content, **options: Any
    ) -> AsyncGenerator[Json, None]:
        request = SendStreamingMessageRequest(
            id=next(_ids), params=params(skill, *content, **options)
        )
        async for answer in self._client.send_message_streaming(request):
            yield wrap(_result(answer))

    async def get(self, task_id: str, history_length: int | None = None) -> Json:
        query = TaskQueryParams(id=task_id, history_length=history_length)
        request = GetTaskRequest(id=next(_ids), params=query)
        return dump(_result(await self._client.get_task(request)))

    async def cancel(self, task_id: str) -> Json:
        request = CancelTaskRequest(id=next(_ids), params=TaskIdParams(id=task_id))
        return dump(_result(await self._client.cancel_task(request)))

    def push_calls(self, task_id: str, url: str) -> dict[str, Callable[[], Awaitable[Any]]]:
        config = TaskPushNotificationConfig.model_validate(push_config(task_id, url))
        creating = SetTaskPushNotificationConfigRequest(id=next(_ids), params=config)
        getting = GetTaskPushNotificationConfigRequest(
            id=next(_ids), params=TaskIdParams(id=task_id)
        )

        async def create() -> Any:
            return dump(_result(await self._client.set_task_callback(creating)))

        async def get() -> Any:
            return dump(_result(await self._client.get_task_callback(getting)))

        return {"create": create, "get": get}

    def facts(self, error: Exception) -> Json | None:
        match error:
            case RefusedError(error=told):
                return {"code": told.code, "message": told.message, "data": told.data}
            case A2AClientHTTPError():
                return {"http": error.status_code, "message": error.message}
        return None


class GrpcPeer(_Client):
    def __init__(self, card: AgentCard) -> None:
        super().__init__(card, "GRPC")
        [address] = [
            each.url for each in card.additional_interfaces or () if each.transport == "GRPC"
        ]
        self._client = A2AGrpcClient(A2AServiceStub(channel(address)), card)

    async def send(self, skill: str | None, *content: Content, **options: Any) -> Json:
        return wrap(await self._client.send_message(params(skill, *content, **options)))

    def stream(
        self, skill: str | None, *content: Content, **options: Any
    ) -> AsyncGenerator[Json, None]:
        request = params(skill, *content, **options)
        return wrapped(self._client.send_message_streaming(request))

    async def get(self, task_id: str, history_length: int | None = None) -> Json:
        query = TaskQueryParams(id=task_id, history_length=history_length)
        return dump(await self._client.get_task(query))

    async def cancel(self, task_id: str) -> Json:
        return dump(await self._client.cancel_task(TaskIdParams(id=task_id)))

    def push_calls(self, task_id: str, url: str) -> dict[str, Callable[[], Awaitable[Any]]]:
        config = TaskPushNotificationConfig.model_validate(push_config(task_id, url))
        return {
            "create": lambda: dumped(self._client.set_task_callback(config)),
            "get": lambda: dumped(self._client.get_task_callback(TaskIdParams(id=task_id))),
        }

    def facts(self, error: Exception) -> Json | None:
        return call_facts(error)


def _result(answer: Any) -> Any:
    if hasattr(answer.root, "error"):
        raise RefusedError(answer.root.error)
    return answer.root.result


async def connect(url: str, binding: str) -> JsonRpcPeer | GrpcPeer:
    http = httpx.AsyncClient(timeout=SCENARIO_SECONDS, trust_env=False)
    card = await A2ACardResolver(http, url).get_agent_card()
    return GrpcPeer(card) if binding == "GRPC" else JsonRpcPeer(card, http)


if __name__ == "__main__":
    lacking = ("subscribe", "subscribe_in_vain")
    run(connect, tuple(each for each in SCENARIOS if each.__name__ not in lacking))
