"""GetExtendedAgentCard: refused in the two ways the specification knows."""

from __future__ import annotations

import pytest

from tests.scenarios.agents import make_agent
from tests.scenarios.bindings import Binding, JsonRpc, expect
from tests.support.serving import serving


@pytest.mark.requirement("R-3.1.11-1", "R-3.1.11-6", "R-3.3.4-4", "R-13.3-13", "R-3.3.4-1")
async def test_without_the_capability_there_is_no_extended_card(wire: Binding) -> None:
    problem = await expect("UnsupportedOperationError", wire.call("GetExtendedAgentCard"))
    assert problem.message == "This agent has no extended card"


@pytest.mark.requirement("R-3.1.11-6")
async def test_the_card_does_not_promise_what_there_is_not(wire: Binding) -> None:
    card = (await wire.http.get("/.well-known/agent-card.json")).json()
    assert card["capabilities"]["extendedAgentCard"] is False


@pytest.mark.requirement("R-3.1.11-2", "R-3.3.4-5", "R-13.3-14")
async def test_a_promised_card_that_nobody_configured_is_a_different_error(
    kind: type[Binding],
) -> None:
    agent = make_agent(extended_card=True)
    async with serving(agent) as served, kind(served.url) as wire:
        problem = await expect(
            "ExtendedAgentCardNotConfiguredError", wire.call("GetExtendedAgentCard")
        )
        card = (await wire.http.get("/.well-known/agent-card.json")).json()
    assert problem.message == "Extended Agent Card is not configured"
    assert card["capabilities"]["extendedAgentCard"] is True


@pytest.mark.requirement("R-9.4-5")
@pytest.mark.parametrize("params", [{}, {"params": {}}, {"params": None}], ids=repr)
async def test_the_params_may_be_left_out(rpc: JsonRpc, params: dict[str, object]) -> None:
    envelope = {"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard", **params}
    response = await rpc.http.post("/", json=envelope)
    # Neither a parse error nor invalid parameters: the operation itself has answered.
    assert response.json()["error"]["code"] == -32004


@pytest.mark.requirement("R-3.3.1-1")
async def test_asking_again_gives_the_same_answer(wire: Binding) -> None:
    problems = [
        await expect("UnsupportedOperationError", wire.call("GetExtendedAgentCard"))
        for _ in range(2)
    ]
    assert problems[0].details == problems[1].details
