"""The wire examples of old documents, replayed: each is answered in the form of its own version.

A vector is one conversation: the behaviour of the agent it needs, and exchanges, each with where it
comes from, the request, and what the answer must be. An example's agent does other work than ours,
so shapes, states and ids are looked at, not texts. Where an example leaves content out
(``<base64-encoded-content>``) or has comments in its JSON, the vector has content and no comments.

``ids`` names what stands in a request for an id that only our server knows: a member of the last
result that was a task.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from dragoman import Agent, Artifact, Context, Message, Reply
from tests.scenarios.recorded import Shape, check_card, parts_of
from tests.support.serving import serving
from tests.support.wire import Json, frames

VECTORS: Final = Path(__file__).resolve().parents[1] / "vectors"

RECORDED: Final = {
    f"{path.parent.name}/{path.stem}": path for path in sorted(VECTORS.glob("v0_*/*.json"))
}

_TAKES: Final = ("text/*", "application/json", "image/*")


async def answers(message: Message) -> str:
    """Complete with a text."""
    return f"{len(message.parts)} parts"


async def replies(message: Message) -> Reply:
    """Answer without a task."""
    return Reply(f"{len(message.parts)} parts")


async def streams(message: Message) -> AsyncIterator[str]:
    """Complete with a text in several chunks."""
    for number in range(3):
        yield f"<section {number} of {message.message_id}>"


async def asks(message: Message, ctx: Context) -> dict[str, str]:
    """Ask once, and complete with data."""
    return {"answer": await ctx.ask("Where would you like to fly to?")}


async def mirrors(message: Message) -> Artifact:
    """Complete with the parts as they came."""
    return Artifact(artifact_id="mirror", parts=message.parts)


BEHAVIOURS: Final[dict[str, Callable[..., object]]] = {
    skill.__name__: skill for skill in (answers, replies, streams, asks, mirrors)
}


@pytest.mark.parametrize("vector", RECORDED)
async def test_a_recorded_conversation_is_answered_in_the_form_of_its_version(vector: str) -> None:
    recorded: Json = json.loads(RECORDED[vector].read_text())
    agent = Agent("Recorded", "Answers what was asked of others.")
    agent.skill(input_modes=_TAKES)(BEHAVIOURS[recorded["agent"]])
    family = "0.1" if vector.startswith("v0_1/") else "0.3"
    task: Json = {}
    async with (
        serving(agent, push=False) as served,
        httpx2.AsyncClient(base_url=served.url, trust_env=False, timeout=10) as http,
    ):
        for exchange in recorded["exchanges"]:
            renamed = {theirs: task[member] for theirs, member in exchange.get("ids", {}).items()}
            expected = {"family": family, **_renamed(exchange["expected"], renamed)}
            answer = await _replay(http, _renamed(exchange["request"], renamed), expected)
            task = answer or task


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """Put our ids in the place of those of the example."""
    text = json.dumps(value)
    for theirs, ours in names.items():
        text = text.replace(json.dumps(theirs), json.dumps(ours))
    return json.loads(text)


async def _replay(http: httpx2.AsyncClient, request: Json, expected: Json) -> Json | None:
    """Send a request, check the answer, and return the task that is in it, if there is one."""
    body: Json = request.get("json", {})
    content: str | None = json.dumps(body) if body else request.get("text")
    async with http.stream(
        request["method"], request["path"], headers=request["headers"], content=content
    ) as response:
        assert response.status_code == expected.get("status", 200), await response.aread()
        told = await _told(response)
    if "status" in expected:
        return None
    if "card" in expected:
        check_card(told[0])
        return None
    if expected["family"] != "0.3 bare":
        told = [_opened(each, body.get("id"), expected) for each in told]
    return _check(told, body, expected)


async def _told(response: httpx2.Response) -> list[Json]:
    """Read the one answer, or all the events of a stream."""
    if response.headers["content-type"].startswith("text/event-stream"):
        return [frame.data async for frame in frames(response)]
    return [json.loads(await response.aread())]


def _opened(envelope: Json, request_id: object, expected: Json) -> Json:
    assert envelope["jsonrpc"] == "2.0"
    assert envelope["id"] == request_id
    member = "error" if "error" in expected else "result"
    assert member in envelope, envelope
    return envelope[member]


def _check(told: list[Json], body: Json, expected: Json) -> Json | None:
    shape = Shape(expected["family"], expected.get("marks"))
    if "events" in expected:
        seen = [word for word, _ in groupby(map(shape.event, told))]
        assert seen == expected["events"]
        for event in told:
            assert event.items() >= expected.get("has", {}).items()
        return told[0]
    [answer] = told
    if "error" in expected:
        assert answer["code"] == expected["error"], answer
        assert answer["message"]
        return None
    assert shape.result(answer) == expected["result"]
    assert answer.items() >= expected.get("has", {}).items()
    if "history" in expected:
        assert len(answer.get("history", [])) == expected["history"]
    if "messageId" in expected:
        assert answer["history"][0]["messageId"] == expected["messageId"]
    if "mirrored" in expected:
        assert parts_of(answer["artifacts"][0]) == parts_of(body["params"]["message"])
    return answer
