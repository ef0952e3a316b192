"""How long a send waits: what it says of that itself, and what a server makes of its silence."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.scenarios.agents import Gate, make_agent, to
from tests.support.serving import Served, serving
from tests.support.wire import Json, Wire, message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.scenarios.bindings import Binding


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    """An agent that does not wait at all where a client of 0.x leaves it open."""
    async with serving(
        make_agent(), shutdown_grace_seconds=0, max_wait_seconds=60, default_wait_seconds=0
    ) as agent:
        yield agent


def old(gate: Gate) -> Json:
    """Return a message of 0.3 for a skill that waits at a gate."""
    text = {"kind": "text", "text": gate.name}
    said = message(metadata={"skillId": "hold"}, parts=[text])
    return {**said, "kind": "message", "role": "user"}


# --- 1.0 ----------------------------------------------------------------------------------------


@pytest.mark.requirement("R-3.2.2-4")
async def test_blocking_false_in_1_0_returns_immediately(wire: Binding, gate: Gate) -> None:
    task = await wire.task(to("hold", gate.name), configuration={"blocking": False})
    assert task["status"]["state"] in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
    gate.open()


@pytest.mark.requirement("R-3.2.2-1")
async def test_blocking_true_in_1_0_waits(wire: Binding, gate: Gate) -> None:
    configuration = {"blocking": True, "historyLength": 0}
    sending = asyncio.ensure_future(wire.task(to("hold", gate.name), configuration=configuration))
    await gate.reached()
    gate.open()
    task = await sending
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert "history" not in task


async def test_the_word_of_1_0_comes_first(wire: Binding, gate: Gate) -> None:
    configuration = {"blocking": True, "returnImmediately": True}
    task = await wire.task(to("hold", gate.name), configuration=configuration)
    assert task["status"]["state"] != "TASK_STATE_COMPLETED"
    gate.open()


# --- 0.x ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("configuration", [{}, {"configuration": {"historyLength": 1}}])
async def test_a_client_of_0_3_that_leaves_it_open_soon_gets_its_task(
    served: Served, gate: Gate, configuration: Json
) -> None:
    async with Wire(served.url, **{"A2A-Version": "0.3"}) as wire:
        task = await wire.result("message/send", {"message": old(gate), **configuration})
        assert task["status"]["state"] in ("submitted", "working")
        gate.open()


async def test_a_client_of_0_3_on_the_routes_of_the_schema_soon_gets_its_task(
    served: Served, gate: Gate
) -> None:
    async with Wire(served.url, **{"A2A-Version": "0.3"}) as wire:
        answer = await wire.http.post("/v1/message:send", json={"message": old(gate)})
        assert answer.json()["status"]["state"] in ("submitted", "working")
        gate.open()


async def test_a_client_of_0_1_soon_gets_its_task(served: Served, gate: Gate) -> None:
    said = {"role": "user", "parts": [{"type": "text", "text": gate.name}]}
    params = {"id": gate.name, "message": {**said, "metadata": {"skillId": "hold"}}}
    async with Wire(served.url, **{"A2A-Version": "0.1"}) as wire:
        task = await wire.result("tasks/send", params)
        assert (task["id"], task["status"]["state"]) == (gate.name, "working")
        gate.open()


async def test_a_client_of_0_3_that_wants_to_wait_does(served: Served, gate: Gate) -> None:
    async with Wire(served.url, **{"A2A-Version": "0.3"}) as wire:
        params = {"message": old(gate), "configuration": {"blocking": True}}
        sending = asyncio.ensure_future(wire.result("message/send", params))
        await gate.reached()
        gate.open()
        assert (await sending)["status"]["state"] == "completed"


async def test_proto_json_of_0_3_without_a_configuration_waits(served: Served, gate: Gate) -> None:
    # 5.10: there the text says that the call blocks.
    said = message(metadata={"skillId": "hold"}, content=[{"text": gate.name}])
    del said["parts"]
    async with Wire(served.url, **{"A2A-Version": "0.3"}) as wire:
        sending = asyncio.ensure_future(wire.http.post("/v1/message:send", json={"message": said}))
        await gate.reached()
        gate.open()
        answer = (await sending).json()
    assert answer["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
