"""Scenarios of 1.0 that only a2a-sdk 1.3 plays: lists, tenants, versions, and requests gone wrong.

Run as the drivers are, see ``peer.py``.
"""

# The SDK is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import aclosing
from typing import Any

import httpx
from a2a.client import create_client
from a2a.client.client import ClientCallContext
from a2a.types.a2a_pb2 import (
    AgentCard,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    Part,
    SendMessageRequest,
    TaskState,
)
from a2a.utils.constants import VERSION_HEADER
from peer import Data, Json, everything, refusal, run
from py_1_3 import Peer, asking, connect, read, reading


async def only(events: Any) -> Json:
    [event] = await everything(reading(events))
    return event


async def listed(peer: Peer, **options: Any) -> Json:
    return read(await peer.unary.list_tasks(ListTasksRequest(**options)))


async def client_from_url(peer: Peer) -> Json:
    client = await create_client(peer.url, peer.config(streaming=False))
    return await only(client.send_message(asking("shout", "by url")))


async def sent_twice(peer: Peer) -> list[Json]:
    request = asking("shout", "once")
    return [await only(peer.unary.send_message(request)) for _ in range(2)]


async def tenant(peer: Peer) -> Json:
    answered = await peer.send("mirror", "for acme", tenant="acme")
    task_id = answered["task"]["id"]
    there = GetTaskRequest(id=task_id, tenant="acme")
    return {
        "answered": answered,
        "there": read(await peer.unary.get_task(there)),
        "elsewhere": await refusal(peer, peer.get(task_id)),
        "unknown": await refusal(peer, peer.send("shout", "hi", tenant="nobody")),
    }


DATA: tuple[Any, ...] = ([None, False, "", 0], "just text", 42, False, None)
"""Data that is no object, of every kind."""


async def data_of_every_kind(peer: Peer) -> Json:
    parts = [Data(value) for value in DATA]
    answer = await peer.send("mirror", *parts)
    streamed = await everything(peer.stream("mirror", *parts))
    stored = await peer.get(answer["task"]["id"])
    [update] = [each["artifactUpdate"] for each in streamed if "artifactUpdate" in each]
    return {
        "sent": list(DATA),
        "answered": [part["data"] for part in answer["task"]["artifacts"][0]["parts"]],
        "streamed": [part["data"] for part in update["artifact"]["parts"]],
        "in_history": [part["data"] for part in stored["history"][0]["parts"]],
    }


async def list_tasks(peer: Peer) -> Json:
    first = (await peer.send("shout", "0"))["task"]
    context_id = first["contextId"]
    for text in ("1", "2", "3"):
        await peer.send("shout", text, context_id=context_id)
    last = (await peer.send("book", "Rome", context_id=context_id))["task"]

    pages: list[Json] = [await listed(peer, context_id=context_id, page_size=2)]
    while token := pages[-1].get("nextPageToken"):
        pages.append(await listed(peer, context_id=context_id, page_size=2, page_token=token))

    since = ListTasksRequest(context_id=context_id)
    since.status_timestamp_after.FromJsonString(last["status"]["timestamp"])
    return {
        "last": last["id"],
        "context": await listed(peer, context_id=context_id),
        "pages": pages,
        "completed": await listed(
            peer,
            context_id=context_id,
            status=TaskState.TASK_STATE_COMPLETED,
            include_artifacts=True,
        ),
        "waiting": await listed(
            peer,
            context_id=context_id,
            status=TaskState.TASK_STATE_INPUT_REQUIRED,
            history_length=0,
        ),
        "since": read(await peer.unary.list_tasks(since)),
        "nowhere": await listed(peer, context_id="no-such-context"),
    }


async def subscribe_while_input_is_required(peer: Peer) -> Json:
    task = (await peer.send("book", "Bern"))["task"]
    async with aclosing(peer.subscribe(task["id"])) as events:
        snapshot = await anext(events)
        await peer.send("book", "Friday", task=task)
        await peer.send("book", "3", task=task)
        rest = await everything(events)
    return {"snapshot": snapshot, "rest": rest}


async def bad_requests(peer: Peer) -> Json:
    task_id = (await peer.send("shout", "done"))["task"]["id"]
    unnamed = asking("shout", "hi")
    unnamed.message.ClearField("message_id")
    roleless = asking("shout", "hi")
    roleless.message.ClearField("role")

    def sending(request: SendMessageRequest) -> Awaitable[Json]:
        return refusal(peer, only(peer.unary.send_message(request)))

    return {
        "no_message": await sending(SendMessageRequest()),
        "empty_part": await sending(asking("shout", Part())),
        "no_message_id": await sending(unnamed),
        "no_role": await sending(roleless),
        "negative_history": await refusal(peer, peer.get(task_id, -1)),
        "page_too_large": await refusal(peer, listed(peer, page_size=101)),
        "page_too_small": await refusal(peer, listed(peer, page_size=0)),
        "bad_page_token": await refusal(peer, listed(peer, page_token="not a token")),  # noqa: S106 - no password
    }


async def extended_card(peer: Peer) -> Json:
    # The SDK does not ask an agent whose card lacks the capability, so it is given another card.
    promising = AgentCard()
    promising.CopyFrom(peer.agent_card)
    promising.capabilities.extended_agent_card = True
    client = peer.client(promising)
    return await refusal(peer, client.get_extended_agent_card(GetExtendedAgentCardRequest()))


async def unsupported_version(peer: Peer) -> Json:
    context = ClientCallContext(service_parameters={VERSION_HEADER: "9.9"})
    request = asking("shout", "hi")
    streamed = peer.streaming.send_message(request, context=context)
    return {
        "get": await refusal(peer, peer.unary.get_task(GetTaskRequest(id="any"), context=context)),
        "send": await refusal(peer, only(peer.unary.send_message(request, context=context))),
        "stream": await refusal(peer, everything(reading(streamed))),
    }


async def missing_version(peer: Peer) -> Json:
    """Send without a version, which takes HTTP: on gRPC nothing lets us take it away."""
    async with httpx.AsyncClient(trust_env=False) as http:
        client = peer.client(http=http, streaming=False)
        del http.headers[VERSION_HEADER]
        return await refusal(peer, only(client.send_message(asking("shout", "no version"))))


SCENARIOS = (
    client_from_url,
    sent_twice,
    tenant,
    data_of_every_kind,
    list_tasks,
    subscribe_while_input_is_required,
    bad_requests,
    extended_card,
    unsupported_version,
    missing_version,
)

if __name__ == "__main__":
    run(connect, SCENARIOS)
