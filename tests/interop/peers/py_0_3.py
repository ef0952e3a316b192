"""a2a-sdk 0.3 as a ``peer.Peer``, over each of its three bindings."""

# The SDK is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError
from a2a.types import (
    AgentCard,
    GetTaskPushNotificationConfigParams,
    MessageSendParams,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
)
from peer import SCENARIO_SECONDS, Content, Json, run
from scenarios import SCENARIOS
from v0 import call_facts, channel, dump, dumped, params, push_config, wrap, wrapped


class Peer:
    def __init__(self, binding: str, http: httpx.AsyncClient, card: AgentCard) -> None:
        self.name = f"py_0_3 {binding}"
        self._binding = binding
        self._http = http
        self._card = card
        self._client = self._configured(streaming=True)

    def _configured(self, **options: Any) -> Client:
        config = ClientConfig(
            httpx_client=self._http,
            grpc_channel_factory=channel,
            supported_transports=[self._binding],
            **options,
        )
        return ClientFactory(config).create(self._card)

    def _send(self, request: MessageSendParams, *, streaming: bool) -> AsyncGenerator[Any, None]:
        # 0.3.26 cannot write a push config that is given with the call; so all goes this way.
        wanted = request.configuration
        hook = wanted.push_notification_config
        client = self._configured(
            streaming=streaming,
            polling=not wanted.blocking,
            accepted_output_modes=wanted.accepted_output_modes,
            push_notification_configs=[hook] if hook else [],
        )
        return _events(client.send_message(request.message, request_metadata=request.metadata))

    async def card(self) -> Json:
        return dump(self._card)

    async def send(self, skill: str | None, *content: Content, **options: Any) -> Json:
        request = params(skill, *content, **options)
        [answer] = [each async for each in self._send(request, streaming=False)]
        return wrap(answer)

    def stream(
        self, skill: str | None, *content: Content, **options: Any
    ) -> AsyncGenerator[Json, None]:
        return wrapped(self._send(params(skill, *content, **options), streaming=True))

    async def get(self, task_id: str, history_length: int | None = None) -> Json:
        query = TaskQueryParams(id=task_id, history_length=history_length)
        return dump(await self._client.get_task(query))

    async def cancel(self, task_id: str) -> Json:
        return dump(await self._client.cancel_task(TaskIdParams(id=task_id)))

    def subscribe(self, task_id: str) -> AsyncGenerator[Json, None]:
        return wrapped(_events(self._client.resubscribe(TaskIdParams(id=task_id))))

    def push_calls(self, task_id: str, url: str) -> dict[str, Callable[[], Awaitable[Any]]]:
        config = TaskPushNotificationConfig.model_validate(push_config(task_id, url))
        one = GetTaskPushNotificationConfigParams(id=task_id, push_notification_config_id="c-1")
        return {
            "create": lambda: dumped(self._client.set_task_callback(config)),
            "get": lambda: dumped(self._client.get_task_callback(one)),
        }

    def facts(self, error: Exception) -> Json | None:
        match error:
            case A2AClientJSONRPCError(error=told):
                return {"code": told.code, "message": told.message, "data": told.data}
            case A2AClientHTTPError():
                return {"http": error.status_code, "message": error.message}
        return call_facts(error)


async def _events(events: AsyncIterator[Any]) -> AsyncGenerator[Any, None]:
    """Take the event, or the task where there is none, out of the SDK's pairs of both."""
    async for event in events:
        yield (event[1] or event[0]) if isinstance(event, tuple) else event


async def connect(url: str, binding: str) -> Peer:
    http = httpx.AsyncClient(timeout=SCENARIO_SECONDS, trust_env=False)
    return Peer(binding, http, await A2ACardResolver(http, url).get_agent_card())


if __name__ == "__main__":
    run(connect, SCENARIOS)
