"""The scenarios that the Python SDKs of every generation play with ``agent.py``.

``scenarios.mjs`` has the same for JavaScript.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing

from peer import Data, Json, Peer, Raw, Scenario, Url, everything, refusal

__all__ = ("SCENARIOS",)

# --- sending ------------------------------------------------------------------------------------


async def card(peer: Peer) -> Json:
    return await peer.card()


async def send(peer: Peer) -> Json:
    return await peer.send("shout", "hello")


async def send_to_the_default_skill(peer: Peer) -> Json:
    return await peer.send(None, "no skill named")


async def send_without_waiting(peer: Peer) -> Json:
    gate = f"{peer.name} polling"
    begun = (await peer.send("hold", gate, polling=True))["task"]
    await peer.send("open_gate", gate)
    task = begun
    while not task.get("artifacts") or "after" not in json.dumps(task["artifacts"]):
        await asyncio.sleep(0.02)
        task = await peer.get(begun["id"])
    return {"begun": begun, "later": task}


async def direct_message(peer: Peer) -> Json:
    answered = await peer.send("greet", "Ada", context_id="ctx-direct")
    return {"answered": answered, "streamed": await everything(peer.stream("greet", "Ada"))}


async def stream(peer: Peer) -> list[Json]:
    return await everything(peer.stream("spell", "to be or not"))


async def rejected(peer: Peer) -> Json:
    return await peer.send("decline", "tea")


async def failed(peer: Peer) -> Json:
    answered = await peer.send("fail", "word")
    return {"answered": answered, "streamed": await everything(peer.stream("fail", "word"))}


# --- parts --------------------------------------------------------------------------------------


async def files(peer: Peer) -> Json:
    raw = Raw(bytes(range(256)) * 40, "image/png", "gr\u00fcn.png")
    url = Url("https://files.example/a?b=c&d", "image/png", "a.png")
    return {
        "sent_raw": base64.b64encode(raw.content).decode(),
        "reversed_raw": base64.b64encode(raw.content[::-1]).decode(),
        "reversed": await peer.send("reverse", raw),
        "streamed": await everything(peer.stream("reverse", raw)),
        "mirrored": await peer.send("mirror", url, raw),
    }


DATA: tuple[Json, ...] = (
    {"nested": {"list": [1, 2.5, -3e30, {"deep": [[], {}]}], "null": None, "": "empty key"}},
    {
        "unicode": '\u017elu\u0165ou\u010dk\u00fd \U0001f40e \x00 "quoted" \\ \t\r\n',
        "kl\u00ed\u010d": True,
    },
    {},
)
"""Objects, which are all that a data part could hold before 1.0."""


async def data(peer: Peer) -> Json:
    parts = [Data(value) for value in DATA]
    answer = await peer.send("mirror", *parts)
    streamed = await everything(peer.stream("mirror", *parts))
    return {
        "sent": list(DATA),
        "answered": answer["task"]["artifacts"][0],
        "streamed": [each["artifactUpdate"] for each in streamed if "artifactUpdate" in each],
        "stored": await peer.get(answer["task"]["id"]),
        # Protobuf knows one kind of number: some SDKs write 40 as 40.0.
        "added": await peer.send("add", Data({"a": 40, "b": 2})),
    }


async def line_separators(peer: Peer) -> Json:
    # str.splitlines cuts at these, and so do SDKs when they read a stream (httpx aiter_lines).
    text = "next \x85 line \u2028 paragraph \u2029 end"
    streamed = await everything(peer.stream("mirror", text))
    return {"sent": text, "answered": await peer.send("mirror", text), "streamed": streamed}


async def metadata(peer: Peer) -> Json:
    return await peer.send(
        "mirror",
        "look",
        metadata={"trace": {"id": "t-1", "hops": [1, 2]}},
        request_metadata={"priority": "high"},
        references=["earlier-1", "earlier-2"],
        output_modes=["text/plain", "application/json"],
    )


# --- tasks --------------------------------------------------------------------------------------


async def get(peer: Peer) -> Json:
    task = (await peer.send("book", "Oslo"))["task"]
    await peer.send("book", "Monday", task=task)
    return {
        "whole": await peer.get(task["id"]),
        "last_two": await peer.get(task["id"], 2),
        "zero": await peer.get(task["id"], 0),
    }


async def until_holding(events: AsyncGenerator[Json, None]) -> list[Json]:
    """Read a stream of the hold skill up to where it waits."""
    seen: list[Json] = []
    async for event in events:
        seen.append(event)
        if "Holding." in json.dumps(event):
            return seen
    raise AssertionError(f"the stream has ended: {seen}")


async def cancel(peer: Peer) -> Json:
    async with aclosing(peer.stream("hold", f"{peer.name} cancel")) as events:
        task_id = (await until_holding(events))[0]["task"]["id"]
        answer = await peer.cancel(task_id)
        rest = await everything(events)
    return {
        "answer": answer,
        "rest": rest,
        "stored": await peer.get(task_id),
        "again": await refusal(peer, peer.cancel(task_id)),
    }


async def subscribe(peer: Peer) -> Json:
    gate = f"{peer.name} subscribe"
    async with aclosing(peer.stream("hold", gate)) as events:
        begun = await until_holding(events)
    task_id = begun[0]["task"]["id"]
    async with aclosing(peer.subscribe(task_id)) as events:
        snapshot = await anext(events)
        await peer.send("open_gate", gate)
        rest = await everything(events)
    return {"begun": begun, "snapshot": snapshot, "rest": rest, "stored": await peer.get(task_id)}


async def input_required(peer: Peer) -> Json:
    asked = (await peer.send("book", "Paris"))["task"]
    return {
        "asked": asked,
        # The context may be left out: the task knows it.
        "again": (await peer.send("book", "Tuesday", task_id=asked["id"]))["task"],
        "misfit": (await peer.send("book", "several", task=asked))["task"],
        "done": (await peer.send("book", "2", task=asked))["task"],
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


async def unknown_task(peer: Peer) -> Json:
    nowhere = "no-such-task"
    return {
        "get": await refusal(peer, peer.get(nowhere)),
        "cancel": await refusal(peer, peer.cancel(nowhere)),
        "send": await refusal(peer, peer.send("shout", "hi", task_id=nowhere)),
        "stream": await refusal(peer, everything(peer.stream("shout", "hi", task_id=nowhere))),
    }


async def finished_task(peer: Peer) -> Json:
    task_id = (await peer.send("shout", "done"))["task"]["id"]
    return {
        "task_id": task_id,
        "cancel": await refusal(peer, peer.cancel(task_id)),
        "send": await refusal(peer, peer.send("shout", "more", task_id=task_id)),
        "stream": await refusal(peer, everything(peer.stream("shout", "more", task_id=task_id))),
    }


async def subscribe_in_vain(peer: Peer) -> Json:
    task_id = (await peer.send("shout", "done"))["task"]["id"]
    return {
        "unknown": await refusal(peer, everything(peer.subscribe("no-such-task"))),
        "finished": await refusal(peer, everything(peer.subscribe(task_id))),
    }


async def bad_params(peer: Peer) -> Json:
    waiting = (await peer.send("book", "Kyiv"))["task"]
    elsewhere = {"task_id": waiting["id"], "context_id": "another"}
    return {
        "no_parts": await refusal(peer, peer.send("shout")),
        "no_parts_in_a_stream": await refusal(peer, everything(peer.stream("shout"))),
        "unknown_skill": await refusal(peer, peer.send("juggle", "hi")),
        "missing_parameter": await refusal(peer, peer.send("add", Data({"a": 1}))),
        "wrong_parameter": await refusal(peer, peer.send("add", Data({"a": 1, "b": 2.5}))),
        "wrong_context": await refusal(peer, peer.send("book", "hi", **elsewhere)),
    }


async def unsupported_content_type(peer: Peer) -> Json:
    return await refusal(peer, peer.send("mirror", Raw(b"\x00", "video/mp4")))


async def push_config(peer: Peer) -> Json:
    hook = f"{os.environ.get('HOOK', 'http://127.0.0.1:9')}/{peer.name.replace(' ', '-')}"
    task_id = (await peer.send("shout", "done"))["task"]["id"]
    told = {
        name: await refusal(peer, call()) for name, call in peer.push_calls(task_id, hook).items()
    }
    if "list" in told:
        told["list_after"] = await refusal(peer, peer.push_calls(task_id, hook)["list"]())
    return {**told, "in_send": await refusal(peer, peer.send("shout", "hi", push_url=hook))}


SCENARIOS: tuple[Scenario, ...] = (
    card,
    send,
    send_to_the_default_skill,
    send_without_waiting,
    direct_message,
    stream,
    rejected,
    failed,
    files,
    data,
    line_separators,
    metadata,
    get,
    cancel,
    subscribe,
    input_required,
    input_required_in_streams,
    unknown_task,
    finished_task,
    subscribe_in_vain,
    bad_params,
    unsupported_content_type,
    push_config,
)
