"""Extensions: declared, asked for per request, told which are active, required ones enforced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dragoman import AgentExtension
from tests.scenarios.agents import make_agent, to
from tests.scenarios.bindings import OPERATIONS, Binding, drain, expect
from tests.scenarios.test_capabilities import PARAMS
from tests.support.serving import Served, serving
from tests.support.wire import Json, message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    import httpx2

TIMES = "https://ext.example/timestamps/v1"
TRACE = "https://ext.example/trace/v2"
TERMS = "https://ext.example/terms/v1"
DEMANDING = {"SendMessage", "SendStreamingMessage", "SubscribeToTask"}


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    """An agent with two extensions that a caller may use."""
    extensions = [
        AgentExtension(uri=TIMES, description="Stamps.", params={"format": "iso"}),
        AgentExtension(uri=TRACE),
    ]
    async with serving(make_agent(extensions=extensions)) as agent:
        yield agent


@pytest.fixture(scope="module")
async def demanding_agent() -> AsyncIterator[Served]:
    extensions = [AgentExtension(uri=TERMS, required=True), AgentExtension(uri=TIMES)]
    async with serving(make_agent(extensions=extensions)) as agent:
        yield agent


@pytest.fixture
async def demanding(kind: type[Binding], demanding_agent: Served) -> AsyncIterator[Binding]:
    """A client of an agent with one extension that every caller must use."""
    async with kind(demanding_agent.url) as binding:
        yield binding


def naming(*uris: str) -> dict[str, str]:
    return {"A2A-Extensions": ", ".join(uris)}


async def seen_by_skill(wire: Binding, headers: Mapping[str, str]) -> list[str]:
    """Return the extensions that were active for the skill."""
    answer = await wire.send_message(to("inspect"), headers=headers)
    return answer["task"]["artifacts"][0]["parts"][0]["data"]["extensions"]


async def echoed(wire: Binding, headers: Mapping[str, str]) -> str | None:
    """Return the extensions that the response says are active."""
    response = await wire.respond("ListTasks", {}, headers=headers)
    assert response.status_code == 200
    return response.headers.get("a2a-extensions")


@pytest.mark.requirement("R-4.6.1-1")
async def test_extensions_are_declared_in_the_card(wire: Binding) -> None:
    card = (await wire.http.get("/.well-known/agent-card.json")).json()
    declared = {item["uri"]: item for item in card["capabilities"]["extensions"]}
    assert declared[TIMES] == {
        "uri": TIMES,
        "description": "Stamps.",
        "params": {"format": "iso"},
    }
    assert declared[TRACE] == {"uri": TRACE}


@pytest.mark.requirement("R-4.6.1-1", "R-3.3.4-6")
async def test_a_required_extension_is_declared_as_required(demanding: Binding) -> None:
    card = (await demanding.http.get("/.well-known/agent-card.json")).json()
    assert {"uri": TERMS, "required": True} in card["capabilities"]["extensions"]


@pytest.mark.requirement("R-T.ext-9")
async def test_no_extension_is_active_unless_asked_for(wire: Binding) -> None:
    assert await seen_by_skill(wire, {}) == []
    assert await echoed(wire, {}) is None


@pytest.mark.requirement("R-T.ext-9")
async def test_an_extension_is_active_for_that_request_alone(wire: Binding) -> None:
    assert await seen_by_skill(wire, naming(TIMES)) == [TIMES]
    assert await seen_by_skill(wire, {}) == []


@pytest.mark.requirement("R-T.ext-11")
async def test_the_response_tells_which_extensions_are_active(wire: Binding) -> None:
    assert await echoed(wire, naming(TRACE, TIMES)) == f"{TRACE},{TIMES}"


@pytest.mark.requirement("R-T.ext-11")
async def test_a_stream_tells_which_extensions_are_active(wire: Binding) -> None:
    response = await wire.respond(
        "SendStreamingMessage", {"message": message()}, headers=naming(TIMES)
    )
    assert response.headers["a2a-extensions"] == TIMES


@pytest.mark.requirement("R-4.6.3-3", "R-T.ext-10")
async def test_an_unknown_extension_is_ignored(wire: Binding) -> None:
    unknown = "https://ext.example/unknown/v1"
    assert await seen_by_skill(wire, naming(unknown, TIMES)) == [TIMES]
    assert await echoed(wire, naming(unknown)) is None


@pytest.mark.requirement("R-4.6.3-3", "R-4.6.3-5", "R-T.ext-13", "R-T.ext-14")
@pytest.mark.parametrize(
    "uri",
    [
        "https://ext.example/timestamps/v2",
        "https://ext.example/timestamps",
        "https://ext.example/timestamps/v1/",
        "https://ext.example/timestamps/v1.1",
    ],
)
async def test_another_version_of_an_extension_is_another_extension(
    wire: Binding, uri: str
) -> None:
    assert await seen_by_skill(wire, naming(uri)) == []


@pytest.mark.requirement("R-3.2.6-1")
async def test_the_value_of_the_header_has_case(wire: Binding) -> None:
    assert await seen_by_skill(wire, naming(TIMES.upper())) == []


@pytest.mark.requirement("R-3.2.6-1", "R-9.2-2", "R-11.2-2")
async def test_the_name_of_the_header_has_none(wire: Binding) -> None:
    assert await seen_by_skill(wire, {"a2a-EXTENSIONS": TIMES}) == [TIMES]


@pytest.mark.parametrize(
    "value",
    [f"{TIMES},{TRACE}", f" {TIMES} ,\t{TRACE}", f",{TIMES},,{TRACE},", f"{TIMES},{TRACE},{TIMES}"],
)
async def test_several_extensions_are_separated_by_commas(wire: Binding, value: str) -> None:
    assert await seen_by_skill(wire, {"A2A-Extensions": value.strip()}) == [TIMES, TRACE]


async def test_several_headers_are_as_good_as_one(wire: Binding) -> None:
    request = wire.request("ListTasks", {}, {})
    plain = [(name, value) for name, value in request.headers.multi_items()]
    headers = [*plain, ("A2A-Extensions", TIMES), ("A2A-Extensions", TRACE)]
    response = await wire.http.request(
        request.method, request.url, headers=headers, content=request.content
    )
    assert response.headers["a2a-extensions"] == f"{TIMES},{TRACE}"


@pytest.mark.requirement("R-3.3.4-6", "R-T.ext-5")
@pytest.mark.parametrize("operation", sorted(DEMANDING))
async def test_sends_and_streams_need_the_required_extension(
    demanding: Binding, operation: str
) -> None:
    params = PARAMS.get(operation, {"message": message()})
    problem = await expect("ExtensionSupportRequiredError", demanding.call(operation, params))
    assert (
        problem.message == f"This agent requires the extension {TERMS}; name it in A2A-Extensions"
    )
    assert problem.metadata == {"requiredExtensions": TERMS}


@pytest.mark.requirement("R-3.3.4-6")
@pytest.mark.parametrize("operation", sorted(set(OPERATIONS) - DEMANDING))
async def test_other_operations_do_not_need_the_required_extension(
    demanding: Binding, operation: str
) -> None:
    response = await demanding.respond(operation, PARAMS.get(operation, {}))
    assert "EXTENSION_SUPPORT_REQUIRED" not in response.text


@pytest.mark.requirement("R-3.3.4-6")
async def test_a_task_is_read_without_the_required_extension(demanding: Binding) -> None:
    answer = await demanding.send_message(message(), headers=naming(TERMS))
    assert await demanding.get_task(answer["task"]["id"]) == answer["task"]


@pytest.mark.requirement("R-4.6.3-4", "R-4.6.3-5")
async def test_another_version_of_a_required_extension_does_not_do(demanding: Binding) -> None:
    headers = naming("https://ext.example/terms/v2")
    call = demanding.send_message(message(), headers=headers)
    await expect("ExtensionSupportRequiredError", call)


@pytest.mark.requirement("R-3.3.4-6")
async def test_a_request_that_names_the_required_extension_is_served(demanding: Binding) -> None:
    assert await seen_by_skill(demanding, naming(TERMS)) == [TERMS]
    assert await echoed(demanding, naming(TIMES, TERMS)) == f"{TIMES},{TERMS}"


async def test_a_stream_needs_the_required_extension_too(demanding: Binding) -> None:
    stream = demanding.send_streaming_message(message())
    await expect("ExtensionSupportRequiredError", drain(stream))


@pytest.mark.requirement("R-3.3.4-6")
async def test_the_card_is_read_without_any_extension(demanding: Binding) -> None:
    # else nobody could learn what is required.
    response: httpx2.Response = await demanding.http.get("/.well-known/agent-card.json")
    assert response.status_code == 200


async def test_extensions_named_in_a_message_travel_with_it(wire: Binding) -> None:
    params: Json = {"extensions": [TIMES], "referenceTaskIds": ["t-9"]}
    task = await wire.task(message(**params))
    assert task["history"][0]["extensions"] == [TIMES]
    assert task["history"][0]["referenceTaskIds"] == ["t-9"]
