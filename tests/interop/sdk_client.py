"""The scenarios that the official client plays with ``agent.py``; see ``sdk_peer.py``."""

# The SDK is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import httpx
from a2a.client import create_client
from a2a.client.client import ClientCallContext
from a2a.helpers.proto_helpers import new_data_part, new_raw_part, new_url_part
from a2a.types.a2a_pb2 import (
    AgentCard,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Part,
    SendMessageRequest,
    StreamResponse,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.constants import VERSION_HEADER
from sdk_peer import Json, Peer, asking, everything, only, read, refusal, run

# --- the card -----------------------------------------------------------------------------------


async def card(peer: Peer) -> Json:
    return read(peer.card)


async def client_from_url(peer: Peer) -> Json:
    client = await create_client(peer.url, peer.config(streaming=False))
    return await only(client.send_message(asking("shout", "by url")))


# --- sending ------------------------------------------------------------------------------------


async def send(peer: Peer) -> Json:
    return await peer.send("shout", "hello")


async def send_to_the_default_skill(peer: Peer) -> Json:
    return await peer.send(None, "no skill named")


async def send_without_waiting(peer: Peer) -> Json:
    gate = f"{peer.binding}-polling"
    poller = peer.client(streaming=False, polling=True)
    begun = await only(poller.send_message(asking("hold", gate)))
    await peer.send("open_gate", gate)
    task = await peer.get(begun["task"]["id"])
    while task["status"]["state"] in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"):
        await asyncio.sleep(0.02)
        task = await peer.get(begun["task"]["id"])
    return {"begun": begun, "ended": task}


async def direct_message(peer: Peer) -> Json:
    sent = await peer.send("greet", "Ada", context_id="ctx-direct")
    return {"sent": sent, "streamed": await everything(peer.stream("greet", "Ada"))}


async def stream(peer: Peer) -> list[Json]:
    return await everything(peer.stream("spell", "to be or not"))


async def rejected(peer: Peer) -> Json:
    return await peer.send("decline", "tea")


async def failed(peer: Peer) -> Json:
    sent = await peer.send("fail", "word")
    return {"sent": sent, "streamed": await everything(peer.stream("fail", "word"))}


async def sent_twice(peer: Peer) -> list[Json]:
    request = asking("shout", "once")
    return [await only(peer.unary.send_message(request)) for _ in range(2)]


async def tenant(peer: Peer) -> Json:
    sent = await peer.send("mirror", "for acme", tenant="acme")
    task_id = sent["task"]["id"]
    return {
        "sent": sent,
        "there": await peer.get(task_id, tenant="acme"),
        "elsewhere": await refusal(peer.get(task_id)),
        "unknown": await refusal(peer.send("shout", "hi", tenant="nobody")),
    }


# --- parts --------------------------------------------------------------------------------------


async def files(peer: Peer) -> Json:
    content = bytes(range(256)) * 40
    raw = new_raw_part(content, media_type="image/png", filename="gr\u00fcn.png")
    url = new_url_part("https://files.example/a?b=c&d", media_type="image/png", filename="a.png")
    answer = await peer.send("reverse", raw)
    part = answer["task"]["artifacts"][0]["parts"][0]
    return {
        "part": part | {"raw": None},
        "is_reversed": base64.b64decode(part["raw"]) == content[::-1],
        "mirrored": await peer.send("mirror", url, raw),
        "sent_raw": base64.b64encode(content).decode(),
    }


DATA: tuple[Any, ...] = (
    {"nested": {"list": [1, 2.5, -3e30, {"deep": [[], {}]}], "null": None, "": "empty key"}},
    {
        "unicode": '\u017elu\u0165ou\u010dk\u00fd \U0001f40e \x00 "quoted" \\ \t\r\n',
        "kl\u00ed\u010d": True,
    },
    [None, False, "", 0],
    "just text",
    42,
    False,
    None,
)
"""Values of data parts: objects, a list, and each kind of scalar, null too."""


async def data(peer: Peer) -> Json:
    answer = await peer.send("mirror", *map(new_data_part, DATA))
    streamed = await everything(peer.stream("mirror", *map(new_data_part, DATA)))
    stored = await peer.get(answer["task"]["id"])
    artifacts = [event["artifactUpdate"] for event in streamed if "artifactUpdate" in event]
    return {
        "sent": list(DATA),
        "answered": [part["data"] for part in answer["task"]["artifacts"][0]["parts"]],
        "streamed": [part["data"] for part in artifacts[0]["artifact"]["parts"]],
        "in_history": [part["data"] for part in stored["history"][0]["parts"]],
    }


async def line_separators(peer: Peer) -> Json:
    # str.splitlines cuts at these, and so does the SDK when it reads a stream (httpx aiter_lines).
    text = "next \x85 line \u2028 paragraph \u2029 end"
    streamed = await everything(peer.stream("mirror", text))
    return {"sent": text, "answered": await peer.send("mirror", text), "streamed": streamed}


async def typed_data(peer: Peer) -> Json:
    # Protobuf knows one kind of number: the SDK writes 40 as 40.0.
    return await peer.send("add", new_data_part({"a": 40, "b": 2}))


async def metadata(peer: Peer) -> Json:
    request = asking(
        "mirror",
        "look",
        metadata={"trace": {"id": "t-1", "hops": [1, 2]}},
        references=("earlier-1", "earlier-2"),
        accepted_output_modes=["text/plain", "application/json"],
    )
    request.metadata.update({"priority": "high"})
    return await only(peer.unary.send_message(request))


# --- tasks --------------------------------------------------------------------------------------


async def get(peer: Peer) -> Json:
    task = (await peer.send("book", "Oslo"))["task"]
    await peer.send("book", "Monday", task=task)
    return {
        "whole": await peer.get(task["id"]),
        "last_two": await peer.get(task["id"], history_length=2),
        "none": await peer.get(task["id"], history_length=0),
    }


async def list_tasks(peer: Peer) -> Json:
    first = (await peer.send("shout", "0"))["task"]
    context_id = first["contextId"]
    for text in ("1", "2", "3"):
        await peer.send("shout", text, context_id=context_id)
    last = (await peer.send("book", "Rome", context_id=context_id))["task"]

    pages: list[Json] = [await peer.list(context_id=context_id, page_size=2)]
    while token := pages[-1].get("nextPageToken"):
        pages.append(await peer.list(context_id=context_id, page_size=2, page_token=token))

    since = ListTasksRequest(context_id=context_id)
    since.status_timestamp_after.FromJsonString(last["status"]["timestamp"])
    return {
        "last": last["id"],
        "context": await peer.list(context_id=context_id),
        "pages": pages,
        "completed": await peer.list(
            context_id=context_id, status=TaskState.TASK_STATE_COMPLETED, include_artifacts=True
        ),
        "waiting": await peer.list(
            context_id=context_id, status=TaskState.TASK_STATE_INPUT_REQUIRED, history_length=0
        ),
        "since": read(await peer.unary.list_tasks(since)),
        "nowhere": await peer.list(context_id="no-such-context"),
    }


async def until_holding(events: AsyncGenerator[StreamResponse, None]) -> list[Json]:
    """Read a stream of the hold skill up to where it waits."""
    seen: list[Json] = []
    async for event in events:
        seen.append(read(event))
        if "Holding." in json.dumps(seen[-1]):
            return seen
    raise AssertionError(f"the stream has ended: {seen}")


async def cancel(peer: Peer) -> Json:
    gate = f"{peer.binding}-cancel"
    async with aclosing(peer.stream("hold", gate)) as events:
        seen = await until_holding(events)
        task_id = seen[0]["task"]["id"]
        answer = await peer.cancel(task_id)
        rest = await everything(events)
    return {
        "answer": answer,
        "rest": rest,
        "stored": await peer.get(task_id),
        "again": await refusal(peer.cancel(task_id)),
    }


async def subscribe(peer: Peer) -> Json:
    gate = f"{peer.binding}-subscribe"
    async with aclosing(peer.stream("hold", gate)) as events:
        begun = await until_holding(events)
    task_id = begun[0]["task"]["id"]
    async with aclosing(peer.subscribe(task_id)) as events:
        snapshot = read(await anext(events))
        await peer.send("open_gate", gate)
        rest = await everything(events)
    return {"begun": begun, "snapshot": snapshot, "rest": rest, "stored": await peer.get(task_id)}


async def subscribe_while_input_is_required(peer: Peer) -> Json:
    task = (await peer.send("book", "Bern"))["task"]
    async with aclosing(peer.subscribe(task["id"])) as events:
        snapshot = read(await anext(events))
        await peer.send("book", "Friday", task=task)
        await peer.send("book", "3", task=task)
        rest = await everything(events)
    return {"snapshot": snapshot, "rest": rest}


async def input_required(peer: Peer) -> Json:
    asked = (await peer.send("book", "Paris"))["task"]
    return {
        "asked": asked,
        # The context may be left out: the task knows it.
        "again": (await peer.send("book", "Tuesday", task_id=asked["id"]))["task"],
        "misfit": (await peer.send("book", "several", task=asked))["task"],
        "done": (await peer.send("book", new_data_part(2), task=asked))["task"],
    }


async def input_required_in_streams(peer: Peer) -> Json:
    asked = await everything(peer.stream("book", "Riga"))
    task = asked[0]["task"]
    again = await everything(peer.stream("book", "Sunday", task=task))
    return {
        "asked": asked,
        "again": again,
        "done": await everything(peer.stream("book", "4", task=task)),
    }


# --- errors -------------------------------------------------------------------------------------


async def finished_task_id(peer: Peer) -> str:
    return (await peer.send("shout", "done"))["task"]["id"]


async def unknown_task(peer: Peer) -> Json:
    return {
        "get": await refusal(peer.get("no-such-task")),
        "cancel": await refusal(peer.cancel("no-such-task")),
        "subscribe": await refusal(everything(peer.subscribe("no-such-task"))),
        "send": await refusal(peer.send("shout", "hi", task_id="no-such-task")),
        "stream": await refusal(everything(peer.stream("shout", "hi", task_id="no-such-task"))),
    }


async def finished_task(peer: Peer) -> Json:
    task_id = await finished_task_id(peer)
    return {
        "task_id": task_id,
        "cancel": await refusal(peer.cancel(task_id)),
        "subscribe": await refusal(everything(peer.subscribe(task_id))),
        "send": await refusal(peer.send("shout", "more", task_id=task_id)),
        "stream": await refusal(everything(peer.stream("shout", "more", task_id=task_id))),
    }


async def bad_params(peer: Peer) -> Json:
    task_id = await finished_task_id(peer)
    waiting = (await peer.send("book", "Kyiv"))["task"]
    unnamed = asking("shout", "hi")
    unnamed.message.ClearField("message_id")
    roleless = asking("shout", "hi")
    roleless.message.ClearField("role")
    bad_page = {"page_token": "not a token"}
    return {
        "no_message": await refusal(only(peer.unary.send_message(SendMessageRequest()))),
        "no_parts": await refusal(peer.send("shout")),
        "no_parts_in_a_stream": await refusal(everything(peer.stream("shout"))),
        "empty_part": await refusal(peer.send("shout", Part())),
        "no_message_id": await refusal(only(peer.unary.send_message(unnamed))),
        "no_role": await refusal(only(peer.unary.send_message(roleless))),
        "unknown_skill": await refusal(peer.send("juggle", "hi")),
        "missing_parameter": await refusal(peer.send("add", new_data_part({"a": 1}))),
        "wrong_parameter": await refusal(peer.send("add", new_data_part({"a": 1, "b": 2.5}))),
        "wrong_context": await refusal(
            peer.send("book", "hi", task_id=waiting["id"], context_id="another")
        ),
        "negative_history": await refusal(peer.get(task_id, history_length=-1)),
        "page_too_large": await refusal(peer.list(page_size=101)),
        "page_too_small": await refusal(peer.list(page_size=0)),
        "bad_page_token": await refusal(peer.list(**bad_page)),
    }


async def unsupported_content_type(peer: Peer) -> Json:
    film = new_raw_part(b"\x00", media_type="video/mp4")
    return await refusal(peer.send("mirror", film))


async def push_config(peer: Peer) -> Json:
    task_id = await finished_task_id(peer)
    config = TaskPushNotificationConfig(task_id=task_id, id="c-1", url="https://hooks.example/")
    one = {"task_id": task_id, "id": "c-1"}
    client = peer.unary
    return {
        "create": await refusal(client.create_task_push_notification_config(config)),
        "get": await refusal(
            client.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(**one))
        ),
        "list": await refusal(
            client.list_task_push_notification_configs(
                ListTaskPushNotificationConfigsRequest(task_id=task_id)
            )
        ),
        "delete": await refusal(
            client.delete_task_push_notification_config(
                DeleteTaskPushNotificationConfigRequest(**one)
            )
        ),
        "in_send": await refusal(
            peer.send(
                "shout",
                "hi",
                task_push_notification_config=TaskPushNotificationConfig(url=config.url),
            )
        ),
    }


async def extended_card(peer: Peer) -> Json:
    # The SDK does not ask an agent whose card lacks the capability, so it is given another card.
    promising = AgentCard()
    promising.CopyFrom(peer.card)
    promising.capabilities.extended_agent_card = True
    client = peer.client(promising)
    return await refusal(client.get_extended_agent_card(GetExtendedAgentCardRequest()))


async def unsupported_version(peer: Peer) -> Json:
    context = ClientCallContext(service_parameters={VERSION_HEADER: "9.9"})
    request = asking("shout", "hi")
    return {
        "get": await refusal(peer.unary.get_task(GetTaskRequest(id="any"), context=context)),
        "send": await refusal(only(peer.unary.send_message(request, context=context))),
        "stream": await refusal(everything(peer.streaming.send_message(request, context=context))),
    }


async def missing_version(peer: Peer) -> Json:
    async with httpx.AsyncClient(trust_env=False) as http:
        client = peer.client(http=http, streaming=False)
        del http.headers[VERSION_HEADER]
        return await refusal(only(client.send_message(asking("shout", "no version"))))


if __name__ == "__main__":
    run(
        card,
        client_from_url,
        send,
        send_to_the_default_skill,
        send_without_waiting,
        direct_message,
        stream,
        rejected,
        failed,
        sent_twice,
        tenant,
        files,
        data,
        line_separators,
        typed_data,
        metadata,
        get,
        list_tasks,
        cancel,
        subscribe,
        subscribe_while_input_is_required,
        input_required,
        input_required_in_streams,
        unknown_task,
        finished_task,
        bad_params,
        unsupported_content_type,
        push_config,
        extended_card,
        unsupported_version,
        missing_version,
    )
