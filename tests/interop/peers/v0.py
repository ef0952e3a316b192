"""What the drivers of the 0.2 and 0.3 SDKs share: their types have the same names and members."""

# The SDKs are not installed where pyright looks, on purpose; so their types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from functools import cache
from secrets import token_hex
from typing import Any

import grpc
from a2a.types import MessageSendParams
from peer import Content, Data, Json, Raw, Url

__all__ = ("call_facts", "channel", "dump", "dumped", "params", "push_config", "wrap", "wrapped")

_WRAPPERS = {
    "task": "task",
    "message": "message",
    "status-update": "statusUpdate",
    "artifact-update": "artifactUpdate",
}


def params(
    skill: str | None,
    *content: Content,
    task: Json | None = None,
    task_id: str | None = None,
    context_id: str | None = None,
    metadata: Json | None = None,
    request_metadata: Json | None = None,
    references: list[str] | None = None,
    output_modes: list[str] | None = None,
    polling: bool = False,
    push_url: str | None = None,
) -> MessageSendParams:
    """Make the params of a send; see ``peer.Peer`` for the options."""
    message = {
        "messageId": token_hex(16),
        "role": "user",
        "parts": [_part(item) for item in content],
        "taskId": task_id or (task and task["id"]),
        "contextId": context_id or (task and task["contextId"]),
        "metadata": ({"skillId": skill} if skill else {}) | (metadata or {}) or None,
        "referenceTaskIds": references,
    }
    configuration = {
        "acceptedOutputModes": output_modes or [],
        "blocking": not polling,
        "pushNotificationConfig": push_url and {"url": push_url},
    }
    return MessageSendParams.model_validate(
        {"message": message, "configuration": configuration, "metadata": request_metadata}
    )


def _part(content: Content) -> Json:
    match content:
        case Raw(data, media_type, filename):
            file = {"bytes": base64.b64encode(data).decode()}
        case Url(url, media_type, filename):
            file = {"uri": url}
        case Data(value):
            return {"kind": "data", "data": value}
        case text:
            return {"kind": "text", "text": text}
    return {"kind": "file", "file": file | {"mimeType": media_type, "name": filename or None}}


def push_config(task_id: str, url: str) -> Json:
    config = {"id": "c-1", "url": url, "token": "secret"}
    return {"taskId": task_id, "pushNotificationConfig": config}


def dump(value: Any) -> Json:
    return value.model_dump(mode="json", exclude_none=True)


async def dumped(call: Awaitable[Any]) -> Json:
    return dump(await call)


def wrap(value: Any) -> Json:
    """Return an answer or an event under the name that 1.0 has for it."""
    told = dump(value)
    return {_WRAPPERS[told["kind"]]: told}


async def wrapped(values: AsyncIterator[Any]) -> AsyncGenerator[Json, None]:
    async for value in values:
        yield wrap(value)


@cache
def channel(address: str) -> Any:
    """Return the one channel to an address, in clear text; cards may give it with a scheme."""
    return grpc.aio.insecure_channel(address.removeprefix("http://"))


def call_facts(error: Exception) -> Json | None:
    """Tell an error of a gRPC call, which these SDKs let through as it came."""
    if isinstance(error, grpc.aio.AioRpcError):
        return {"grpc": error.code().name, "message": error.details()}
    return None
