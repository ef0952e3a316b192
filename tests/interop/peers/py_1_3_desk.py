"""The scenarios that a2a-sdk 1.3 plays with ``examples/desk``; run as the drivers are."""

# The SDK is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from contextlib import aclosing
from typing import Any

from a2a.types.a2a_pb2 import ListTasksRequest, TaskState
from peer import Data, Json, Raw, everything, refusal, run
from py_1_3 import Peer, connect, read


async def listed(peer: Peer, **options: Any) -> Json:
    return read(await peer.unary.list_tasks(ListTasksRequest(**options)))


async def send(peer: Peer) -> Json:
    table = Raw(b"name,score\nAda,3\n", "text/csv", "scores.csv")
    return {
        "text": await peer.send(None, "convert 5 km to miles"),
        "by_skill_id": await peer.send("statistics", "convert is a word. So is this."),
        "data": await peer.send(None, Data({"value": 100, "source": "C", "target": "F"})),
        "file": await peer.send(None, table),
        "message": await peer.send(None, "help"),
        "rejected": await peer.send(None, "convert 5 km to kg"),
    }


async def stream(peer: Peer) -> Json:
    events = await everything(peer.stream(None, "report A night. It rained."))
    return {"events": events, "stored": await peer.get(events[0]["task"]["id"])}


async def get(peer: Peer) -> Json:
    task = (await peer.send(None, "convert 20 C"))["task"]
    await peer.send(None, "F", task=task)
    return {
        "whole": await peer.get(task["id"]),
        "last": await peer.get(task["id"], 1),
        "none": await peer.get(task["id"], 0),
    }


async def list_tasks(peer: Peer) -> Json:
    first = (await peer.send(None, "convert 1 m to cm"))["task"]
    context_id = first["contextId"]
    await peer.send(None, "convert 2 m to cm", context_id=context_id)
    await peer.send(None, "convert 3 m to kg", context_id=context_id)
    page = await listed(peer, context_id=context_id, page_size=2)
    return {
        "page": page,
        "rest": await listed(
            peer, context_id=context_id, page_size=2, page_token=page["nextPageToken"]
        ),
        "rejected": await listed(peer, context_id=context_id, status=TaskState.TASK_STATE_REJECTED),
    }


async def cancel(peer: Peer) -> Json:
    async with aclosing(peer.stream(None, "count down from 1000")) as events:
        task_id = (await anext(events))["task"]["id"]
        answer = await peer.cancel(task_id)
        rest = await everything(events)
    return {"answer": answer, "rest": rest, "again": await refusal(peer, peer.cancel(task_id))}


async def subscribe(peer: Peer) -> Json:
    async with aclosing(peer.stream("countdown", "from 20")) as events:
        task_id = (await anext(events))["task"]["id"]
    return {"events": await everything(peer.subscribe(task_id)), "stored": await peer.get(task_id)}


async def input_required(peer: Peer) -> Json:
    asked = (await peer.send(None, "convert"))["task"]
    value = Data({"value": 20, "source": "C"})
    return {
        "asked": asked,
        "further": (await peer.send(None, value, task=asked))["task"],
        "misfit": (await peer.send(None, "parsecs", task=asked))["task"],
        "done": (await peer.send(None, "F", task=asked))["task"],
    }


async def errors(peer: Peer) -> Json:
    task_id = (await peer.send(None, "Words."))["task"]["id"]
    return {
        "unknown": await refusal(peer, peer.get("no-such-task")),
        "cancel": await refusal(peer, peer.cancel(task_id)),
        "subscribe": await refusal(peer, everything(peer.subscribe(task_id))),
        "send": await refusal(peer, peer.send(None, "more", task_id=task_id)),
        "no_skill": await refusal(peer, peer.send("nothing", "please")),
        "no_file": await refusal(peer, peer.send("checksum", "please")),
    }


if __name__ == "__main__":
    run(connect, (send, stream, get, list_tasks, cancel, subscribe, input_required, errors))
