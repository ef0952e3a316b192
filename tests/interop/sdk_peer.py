"""The official client, made easy to play scenarios with; for programs run by the SDK's python.

    python PROGRAM URL BINDING SCENARIO...

BINDING is JSONRPC or HTTP+JSON. Each scenario (all, if none is named) prints one line of JSON with
its name and what the client saw, or the trace of what went wrong.

Such a program runs in an environment of the SDK's own and knows nothing of dragoman: what it prints
is the SDK's reading of our wire, not ours.
"""

# The SDK is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.helpers.proto_helpers import new_message, new_text_part
from a2a.types.a2a_pb2 import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
)
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict

__all__ = ("Json", "Peer", "Scenario", "asking", "everything", "only", "read", "refusal", "run")

SCENARIO_SECONDS = 10.0
"""Longer than any scenario takes; what hangs is cut off here and shows where it hung."""

Json = dict[str, Any]
Scenario = Callable[["Peer"], Awaitable[Any]]


class Peer:
    """The agent, as the SDK reaches it over one binding."""

    def __init__(self, url: str, binding: str, http: httpx.AsyncClient, card: AgentCard) -> None:
        self.url = url
        self.binding = binding
        self.http = http
        self.card = card
        self.unary = self.client(streaming=False)
        self.streaming = self.client(streaming=True)

    def client(
        self, card: AgentCard | None = None, http: httpx.AsyncClient | None = None, **options: Any
    ) -> Client:
        return ClientFactory(self.config(http, **options)).create(card or self.card)

    def config(self, http: httpx.AsyncClient | None = None, **options: Any) -> ClientConfig:
        return ClientConfig(
            httpx_client=http or self.http,
            supported_protocol_bindings=[self.binding],
            **options,
        )

    async def send(self, skill: str | None, *content: Any, **options: Any) -> Json:
        """Send a message and return the one answer, a task or a message."""
        return await only(self.unary.send_message(asking(skill, *content, **options)))

    def stream(
        self, skill: str | None, *content: Any, **options: Any
    ) -> AsyncGenerator[StreamResponse, None]:
        return self.streaming.send_message(asking(skill, *content, **options))

    async def get(self, task_id: str, **options: Any) -> Json:
        return read(await self.unary.get_task(GetTaskRequest(id=task_id, **options)))

    async def list(self, **options: Any) -> Json:
        return read(await self.unary.list_tasks(ListTasksRequest(**options)))

    async def cancel(self, task_id: str) -> Json:
        return read(await self.unary.cancel_task(CancelTaskRequest(id=task_id)))

    def subscribe(self, task_id: str) -> AsyncGenerator[StreamResponse, None]:
        return self.streaming.subscribe(SubscribeToTaskRequest(id=task_id))


def asking(
    skill: str | None,
    *content: Any,
    task: Json | None = None,
    task_id: str | None = None,
    context_id: str | None = None,
    metadata: Json | None = None,
    tenant: str = "",
    references: tuple[str, ...] = (),
    **configuration: Any,
) -> SendMessageRequest:
    """Make a request; text is a text part, other content must be parts.

    Args:
        skill: named in the metadata; None leaves the choice to the agent.
        task: the task to continue; its context is named too.
        configuration: members of the SendMessageConfiguration; without any, there is none.
    """
    parts = [item if isinstance(item, Part) else new_text_part(item) for item in content]
    message = new_message(
        parts,
        context_id=context_id or (task and task["contextId"]),
        task_id=task_id or (task and task["id"]),
        role=Role.ROLE_USER,
    )
    if skill is not None:
        message.metadata.update({"skillId": skill})
    if metadata:
        message.metadata.update(metadata)
    message.reference_task_ids.extend(references)
    request = SendMessageRequest(message=message, tenant=tenant)
    if configuration:
        request.configuration.CopyFrom(SendMessageConfiguration(**configuration))
    return request


def read(message: Any) -> Json:
    return MessageToDict(message)


async def everything(events: AsyncGenerator[StreamResponse, None]) -> list[Json]:
    return [read(event) async for event in events]


async def only(events: AsyncGenerator[StreamResponse, None]) -> Json:
    [event] = await everything(events)
    return event


async def refusal(call: Awaitable[Any]) -> Json:
    """Return the error that a call ends with, or the result it should not have had."""
    try:
        result = await call
    except A2AError as error:
        return {"error": type(error).__name__, "message": error.message, "data": error.data}
    return {"error": None, "result": result if isinstance(result, dict | list) else str(result)}


def run(*scenarios: Scenario) -> None:
    """Play the scenarios that the command line names, or all of them."""
    url, binding, *names = sys.argv[1:]
    chosen = [each for each in scenarios if not names or each.__name__ in names]
    asyncio.run(_play_all(url, binding, chosen))


async def _play_all(url: str, binding: str, scenarios: list[Scenario]) -> None:
    async with httpx.AsyncClient(timeout=SCENARIO_SECONDS, trust_env=False) as http:
        peer = Peer(url, binding, http, await A2ACardResolver(http, url).get_agent_card())
        for scenario in scenarios:
            told = {"scenario": scenario.__name__, **await _play(peer, scenario)}
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()


async def _play(peer: Peer, scenario: Scenario) -> Json:
    try:
        async with asyncio.timeout(SCENARIO_SECONDS):
            return {"saw": await scenario(peer)}
    except Exception:  # noqa: BLE001 - one scenario that breaks must not hide the others
        return {"trace": traceback.format_exc()}
