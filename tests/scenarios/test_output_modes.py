"""acceptedOutputModes: told to the agent, which answers accordingly."""

from __future__ import annotations

import pytest

from tests.scenarios.agents import to
from tests.scenarios.bindings import Binding, drain
from tests.support.wire import Json


@pytest.mark.requirement("R-3.2.2-9")
@pytest.mark.parametrize(
    ("modes", "parts"),
    [
        (["application/json"], [{"data": {"answer": 42}}]),
        (["text/plain"], [{"text": "42"}]),
        (["text/plain", "application/json"], [{"data": {"answer": 42}}]),
    ],
)
async def test_an_agent_tailors_its_output_to_what_is_accepted(
    wire: Binding, modes: list[str], parts: list[Json]
) -> None:
    task = await wire.task(to("tailor"), configuration={"acceptedOutputModes": modes})
    assert task["artifacts"][0]["parts"] == parts


@pytest.mark.requirement("R-3.2.2-9")
async def test_a_stream_is_tailored_too(wire: Binding) -> None:
    stream = wire.send_streaming_message(
        to("tailor"), configuration={"acceptedOutputModes": ["application/json"]}
    )
    updates = [event.result for event in await drain(stream) if event.kind == "artifactUpdate"]
    assert updates[0]["artifactUpdate"]["artifact"]["parts"] == [{"data": {"answer": 42}}]


async def test_whoever_accepts_nothing_in_particular_gets_anything(wire: Binding) -> None:
    seen = (await wire.task(to("inspect")))["artifacts"][0]["parts"][0]["data"]
    assert seen["acceptedOutputModes"] == []


async def test_data_and_files_come_in_parts_of_their_own(wire: Binding) -> None:
    data = await wire.task(to("data", "four"))
    assert data["artifacts"][0]["parts"] == [{"data": {"text": "four", "length": 4}}]
    file = await wire.task(to("file", "hi"))
    assert file["artifacts"][0]["parts"] == [
        {"raw": "aGk=", "filename": "note.txt", "mediaType": "text/plain"}
    ]


async def test_a_skill_takes_its_parameters_from_data(wire: Binding) -> None:
    task = await wire.task(to("count_to", parts=[{"data": {"upto": 3}}]))
    assert task["artifacts"][0]["parts"] == [{"data": [1, 2, 3]}]
