"""A stream that is open when its caller's token ends, on every binding."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from dragoman.auth.incoming.api_key import ApiKeys
from dragoman.auth.incoming.bearer_jwt import BearerJwt
from dragoman.auth.outgoing.credentials import Custom
from dragoman.client.connect import connect
from dragoman.testing.clock import FakeClock
from tests.scenarios.agents import Gate, make_agent, to
from tests.scenarios.bindings import Binding, Grpc, HttpJson, JsonRpc, expect
from tests.support.auth.issuing import AUDIENCE, Issuer
from tests.support.serving import serving

LIFETIME_SECONDS = 600
"""Of the tokens of ``Issuer``."""

pytestmark = pytest.mark.parametrize("kind", [JsonRpc, HttpJson, Grpc])


class Place(NamedTuple):
    """An agent that takes tokens and keys, its issuer, and its clock."""

    url: str
    issuer: Issuer
    clock: FakeClock

    def bearer(self) -> dict[str, str]:
        """Return the headers of a caller with a fresh token."""
        return {"Authorization": f"Bearer {self.issuer.token()}"}


@asynccontextmanager
async def place(heartbeat_seconds: float = 15) -> AsyncGenerator[Place]:
    clock = FakeClock()
    issuer = Issuer(clock)
    jwt = BearerJwt(issuer=issuer.url, audience=AUDIENCE, keys=issuer.jwks, clock=clock)
    agent = make_agent(auth=[jwt, ApiKeys({"key-of-bob": "bob"}, clock=clock)])
    async with serving(
        agent,
        clock=clock,
        heartbeat_seconds=heartbeat_seconds,
        shutdown_grace_seconds=0,
        # Time stands still, so a chunk that is held would be held for ever.
        chunk_hold_seconds=0,
    ) as served:
        yield Place(served.url, issuer, clock)


async def test_an_idle_stream_ends_in_order_when_the_token_has(
    kind: type[Binding], gate: Gate
) -> None:
    async with place() as at, kind(at.url) as wire:
        stream = wire.send_streaming_message(to("chunks", gate.name), headers=at.bearer())
        async with stream as events:
            assert (await anext(events)).kind == "task"
            assert (await anext(events)).state == "TASK_STATE_WORKING"
            await gate.reached()
            at.clock.advance(LIFETIME_SECONDS)
            # No error: who follows is not told that anything went wrong, and nothing did.
            assert [event async for event in events] == []


async def test_events_after_the_end_of_the_token_wait_for_who_comes_back_with_a_fresh_one(
    kind: type[Binding], gate: Gate
) -> None:
    async with place(heartbeat_seconds=100_000) as at, kind(at.url) as wire:
        stream = wire.send_streaming_message(to("chunks", gate.name), headers=at.bearer())
        async with stream as events:
            task_id = (await anext(events)).result["task"]["id"]
            await anext(events)
            gate.open()
            chunk = await anext(events)
            assert chunk.kind == "artifactUpdate"
            at.clock.advance(LIFETIME_SECONDS)
            gate.open()
            assert [event async for event in events] == []
        back = {**at.bearer(), "Last-Event-ID": chunk.id}
        async with wire.subscribe_to_task(task_id, headers=back) as events:
            assert (await anext(events)).kind == "task"
            assert int((await anext(events)).id) == int(chunk.id) + 1
            gate.open()
            assert [event.state async for event in events][-1] == "TASK_STATE_COMPLETED"


async def test_the_token_that_has_ended_does_not_open_another(
    kind: type[Binding], gate: Gate
) -> None:
    async with place() as at, kind(at.url) as wire:
        bearer = at.bearer()
        task = await wire.start(to("hold", gate.name), headers=bearer)
        at.clock.advance(LIFETIME_SECONDS + 60)

        async def follow() -> None:
            async with wire.subscribe_to_task(task["id"], headers=bearer):
                pass

        await expect("UnauthenticatedError", follow())


@pytest.mark.parametrize("days", [1, 1000])
async def test_a_stream_of_a_key_without_end_goes_on(
    kind: type[Binding], gate: Gate, days: int
) -> None:
    async with place() as at, kind(at.url) as wire:
        key = {"X-API-Key": "key-of-bob"}
        stream = wire.send_streaming_message(to("chunks", gate.name), headers=key)
        async with stream as events:
            await anext(events)
            await gate.reached()
            at.clock.advance(days * 86_400)
            gate.open(3)
            assert [event.state async for event in events][-1] == "TASK_STATE_COMPLETED"


async def test_our_own_client_comes_back_and_misses_nothing(
    kind: type[Binding], gate: Gate
) -> None:
    async with place() as at:
        tokens: list[str] = []

        def fresh(is_retry: bool) -> dict[str, str]:  # noqa: FBT001 - as ``Custom`` calls it
            del is_retry
            tokens.append(at.bearer()["Authorization"])
            return {"Authorization": tokens[-1]}

        async with connect(at.url, auth=Custom(fresh), binding=kind.name) as agent:
            texts: list[str] = []
            async for event in agent.stream(gate.name, skill="chunks"):
                if event.kind == "artifact":
                    texts.append(event.text)
                    at.clock.advance(LIFETIME_SECONDS)
                if event.kind in ("task", "artifact"):
                    gate.open()
        assert "".join(texts) == "one two three"
        assert len(set(tokens)) > 1
