"""Signed requests that are sent again: a request is taken once, and so is a message with an id."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from dragoman import Agent, Context, connect
from dragoman.client.retry import RetryPolicy
from dragoman.extensions.xpr import XprAuth, XprSigner
from dragoman.extensions.xpr.signing import sign_request
from dragoman.model.base import JsonObject
from dragoman.testing.chain import FakeChain
from tests.scenarios.xpr import ALICE, XprCaller, now, said
from tests.support.serving import Served, serving

SOON = RetryPolicy(first_seconds=0.001, most_seconds=0.01)


class Clerk:
    """An agent that notes what it was told."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        chain = FakeChain({"alice": ALICE.public.text})
        self.agent = Agent("Clerk", "Takes notes.", auth=[XprAuth(chain)])

        @self.agent.skill
        async def note(text: str, ctx: Context) -> str:
            """Take a note."""
            self.heard.append(text)
            return f"{ctx.user}: {text}"


@pytest.fixture
async def clerk() -> Clerk:
    return Clerk()


@pytest.fixture
async def served(clerk: Clerk) -> AsyncIterator[Served]:
    async with serving(clerk.agent) as place:
        yield place


class Cutting(httpx2.AsyncHTTPTransport):
    """Has the first answer to a call lost, after all the work was done for it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = await super().handle_async_request(request)
        if request.method == "POST":
            self.calls += 1
            if self.calls == 1:
                await answer.aread()
                await answer.aclose()
                raise httpx2.ReadError("the connection was lost")
        return answer


def xpr_card(folder: Path, url: str) -> Path:
    """The card of an agent that knows nothing but the XPR network."""
    members: JsonObject = {
        "name": "Clerk",
        "description": "Takes notes.",
        "url": url,
        "version": "1.0.0",
        "capabilities": {},
        "defaultInputModes": ["text"],
        "defaultOutputModes": ["text"],
        "skills": [{"id": "a", "name": "a", "description": "a capability", "tags": ["a"]}],
        "xpr:account": "clerk",
    }
    file = folder / "agent.json"
    file.write_text(json.dumps(members))
    return file


@pytest.mark.parametrize("form", ["1.0", "0.3", "xpr"])
async def test_a_client_that_asks_again_gets_the_task_that_there_is(
    served: Served, clerk: Clerk, tmp_path: Path, form: str
) -> None:
    cutting = Cutting()
    async with (
        httpx2.AsyncClient(transport=cutting) as http,
        connect(
            xpr_card(tmp_path, served.url) if form == "xpr" else served.url,
            version=None if form == "xpr" else form,
            auth=XprSigner("alice", ALICE),
            http=http,
            retry=SOON,
        ) as agent,
    ):
        reply = await agent.send("once")
        assert reply.text == "xpr:alice: once"
        # It was signed anew, or it would have been refused; and it was known for the same.
        assert cutting.calls > 1
        assert clerk.heard == ["once"]


async def test_the_same_bytes_are_refused_and_signed_anew_they_are_the_same_message(
    served: Served, clerk: Clerk
) -> None:
    message = {**said("once")["message"], "messageId": "m-1"}
    params = {"message": message, "xpr:callerAccount": "alice"}
    async with XprCaller(served) as caller:
        body = caller.body("message/send", params)
        signed = sign_request(ALICE, "alice", now(), body)
        first = await caller.post(body, signed)
        code, words = (await caller.post(body, signed)).error
        assert (code, words) == (-32000, "Request was seen before: sign it anew")
        again = await caller.post(body, sign_request(ALICE, "alice", now() + 1, body))
    assert again.result == first.result
    assert clerk.heard == ["once"]


async def test_a_message_without_an_id_that_is_sent_again_is_another_one(
    served: Served, clerk: Clerk
) -> None:
    async with XprCaller(served) as caller:
        first = await caller.send("twice")
        again = await caller.send("twice")
    assert first.result["id"] != again.result["id"]
    assert clerk.heard == ["twice", "twice"]
