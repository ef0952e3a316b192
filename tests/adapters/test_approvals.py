"""Tool calls that a person must approve: LangChain's middleware and pydantic-ai, over sockets."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, connect
from dragoman.client.agent import RemoteAgent
from dragoman.model.tasks import TaskState
from dragoman.testing import served
from tests.adapters import weather


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_STORE", f"sqlite:///{tmp_path}/tasks.db")


@asynccontextmanager
async def shopping(mode: str, **config: Any) -> AsyncGenerator[RemoteAgent]:
    pytest.importorskip("langchain")
    from tests.adapters.shop import shop  # noqa: PLC0415 - not everybody has langchain

    agent = Agent.from_langgraph(shop(mode, **config), name="Shop")
    async with served(agent) as place, connect(place.url) as client:
        yield client


MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


@MODES
async def test_the_question_has_words_and_a_form(mode: str) -> None:
    async with shopping(mode) as client:
        asked = await client.send("tea")
    assert asked.state is TaskState.INPUT_REQUIRED
    assert "Tool: buy" in asked.text
    assert asked.message is not None
    _, call, form = asked.message.parts
    assert call.data == {"tool": "buy", "arguments": {"item": "tea", "price": 3}}
    schema: Any = form.data
    kinds = ["approve", "edit", "reject", "respond"]
    assert schema["schema"]["properties"]["decision"] == {"enum": kinds}


@MODES
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("yes", "bought tea for 3"),
        ("Approve!", "bought tea for 3"),
        ({"decision": "approve"}, "bought tea for 3"),
        ("no, too expensive", "too expensive"),
        ("reject", "rejected the tool call"),
        ({"type": "reject", "message": "too dear"}, "too dear"),
        ({"decision": "edit", "arguments": {"item": "rice", "price": 1}}, "bought rice for 1"),
        (
            {"type": "edit", "edited_action": {"name": "buy", "args": {"item": "a", "price": 2}}},
            "bought a for 2",
        ),
        ({"decision": "respond", "message": "we have some"}, "we have some"),
        ({"decisions": [{"type": "approve"}]}, "bought tea for 3"),
    ],
)
async def test_people_answer_in_words_and_programs_by_the_form(
    mode: str, answer: object, told: str
) -> None:
    async with shopping(mode) as client:
        done = await (await client.send("tea")).answer(answer)
    assert done.state is TaskState.COMPLETED
    assert told in done.text


@MODES
@pytest.mark.parametrize(
    "wrong",
    [
        "perhaps",
        "yes, but cheaper",
        {"decision": "sell"},
        {"decision": "edit"},
        {"decision": "edit", "arguments": "rice"},
        {"decisions": []},
        {"decisions": ["yes"]},
        ["yes"],
        "nothing",
    ],
)
async def test_what_is_no_decision_is_asked_again(mode: str, wrong: object) -> None:
    async with shopping(mode) as client:
        asked = await client.send("tea")
        for _ in range(6):
            asked = await asked.answer(wrong)
            assert asked.state is TaskState.INPUT_REQUIRED
        assert "That is no decision about buy." in asked.text
        assert "bought tea" in (await asked.answer("yes")).text


async def test_arguments_that_do_not_fit_are_asked_for_again() -> None:
    async with shopping("per_call") as client:
        asked = await client.send("tea")
        again = await asked.answer({"decision": "edit", "arguments": {"item": "rice"}})
        assert again.state is TaskState.INPUT_REQUIRED
        assert "bought tea" in (await again.answer("yes")).text


@MODES
async def test_what_is_not_allowed_is_not_done(mode: str) -> None:
    async with shopping(mode, allowed_decisions=["reject"]) as client:
        asked = await (await client.send("tea")).answer("yes")
        assert asked.state is TaskState.INPUT_REQUIRED
        assert "because" in (await asked.answer("no: because")).text


@MODES
async def test_each_of_several_calls_is_decided_about(mode: str) -> None:
    async with shopping(mode) as client:
        asked = await (await client.send("tea rice")).answer("yes")
        assert asked.state is TaskState.INPUT_REQUIRED
        done = await asked.answer("no, there is enough")
    assert "bought tea" in done.text
    assert "there is enough" in done.text


async def test_all_calls_may_be_decided_about_at_once() -> None:
    async with shopping("batched") as client:
        decisions = [{"type": "approve"}, {"type": "reject", "message": "enough"}]
        done = await (await client.send("tea rice")).answer({"decisions": decisions})
    assert "bought tea" in done.text
    assert "enough" in done.text


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("yes", "It is gone: a.txt"),
        (True, "It is gone: a.txt"),
        ("no, I need it", "It is I need it"),
        ("no", "It is The tool call was denied."),
        ({"decision": "edit", "arguments": {"path": "b.txt"}}, "It is gone: b.txt"),
    ],
)
async def test_approvals_of_pydantic_ai_take_a_reason(answer: object, told: str) -> None:
    agent = Agent.from_pydantic_ai(weather.scripted())
    async with served(agent) as place, connect(place.url) as client:
        asked = await client.send("delete a.txt")
        again = await asked.answer("perhaps")
        assert again.state is TaskState.INPUT_REQUIRED
        assert (await again.answer(answer)).text == told
