from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs] - its types are in it
    END,
    START,
    MessagesState,
    StateGraph,
)
from langgraph.types import interrupt

from dragoman import Agent, InvalidParamsError, Message, connect
from dragoman.errors import UsageError
from dragoman.model.tasks import TaskState
from dragoman.testing import pair, served
from tests.adapters.trip import builder


class Sum(TypedDict):
    left: int
    right: int
    total: int


def add(state: Sum) -> dict[str, int]:
    return {"total": state["left"] + state["right"]}


def calculator() -> Any:  # LangGraph leaves half of its types open.
    graph: Any = StateGraph(Sum)
    graph.add_node("add", add)
    graph.add_edge(START, "add")
    graph.add_edge("add", END)
    return graph


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_STORE", f"sqlite:///{tmp_path}/tasks.db")


async def test_a_graph_of_other_state_takes_and_gives_data() -> None:
    agent = Agent.from_langgraph(calculator().compile(), name="Sum")
    properties: Any = agent.schemas["run"]["properties"]
    assert set(properties) >= {"left", "right"}
    async with pair(agent) as client:
        reply = await client.send({"left": 1, "right": 2})
        assert reply.data == {"left": 1, "right": 2, "total": 3}
        with pytest.raises(InvalidParamsError, match="no data part"):
            await client.send("one and two")


async def test_input_and_result_may_be_made_otherwise() -> None:
    def read(message: Message) -> object:
        left, right = (message.parts[0].text or "").split("+")
        return {"left": int(left), "right": int(right)}

    def result(state: Sum) -> str:
        return f"= {state['total']}"

    agent = Agent.from_langgraph(calculator().compile(), name="Sum", read=read, result=result)
    async with pair(agent) as client:
        assert (await client.send("1+2")).text == "= 3"


async def test_what_others_have_told_in_a_context_is_known(tmp_path: Path) -> None:
    plain = Agent("Clerk", "Notes.")

    @plain.skill
    async def note(text: str) -> str:
        return f"noted {text}"

    def count(state: MessagesState) -> dict[str, object]:
        said = [f"{each.type} {each.text}" for each in state["messages"]]
        return {"messages": [AIMessage(", ".join(said))]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("count", count)
    graph.add_edge(START, "count")
    graph.add_edge("count", END)
    agent = Agent.from_langgraph(graph.compile(), name="Counter")
    store = f"sqlite:///{tmp_path}/tasks.db"
    async with served(plain, store=store) as place, connect(place.url) as client:
        first = await client.send("one")
    async with served(agent, store=store) as place, connect(place.url) as client:
        second = await client.send("two", context_id=first.context_id)
    assert second.text == "human one, ai noted one, human two"


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_the_checkpointer_of_the_graph_is_left_to_it(tmp_path: Path) -> None:
    agent = Agent.from_langgraph(builder().compile(checkpointer=InMemorySaver()), name="Trip")
    async with pair(agent) as client:
        asked = await client.send("Rome")
        assert (await asked.answer("window")).text == "Booked: window"
    assert files_in(tmp_path) == []


async def test_interrupts_of_one_step_are_asked_one_after_the_other() -> None:
    def ask(name: str) -> object:
        def node(state: MessagesState) -> dict[str, object]:
            return {"messages": [AIMessage(f"{name}={interrupt(f'{name}?')}")]}

        return node

    graph: Any = StateGraph(MessagesState)
    for name in ("seat", "meal"):
        graph.add_node(name, ask(name))
        graph.add_edge(START, name)
        graph.add_edge(name, END)

    def result(state: MessagesState) -> list[str]:
        return sorted(str(message.text) for message in state["messages"][1:])

    agent = Agent.from_langgraph(graph.compile(), name="Two", result=result)
    async with pair(agent) as client:
        first = await client.send("go")
        second = await first.answer(f"for {first.text}")
        done = await second.answer(f"for {second.text}")
    assert {first.text, second.text} == {"seat?", "meal?"}
    assert done.data == ["meal=for meal?", "seat=for seat?"]


async def test_tool_calls_to_be_approved_are_asked_about_one_by_one() -> None:
    request: dict[str, Any] = {
        "action_requests": [{"name": "buy", "args": {"item": "tea"}}, {"name": "pay", "args": {}}],
        "review_configs": [
            {"action_name": "buy", "allowed_decisions": ["approve", "edit"]},
            {"action_name": "pay", "allowed_decisions": ["approve", "reject"]},
        ],
    }

    def review(state: Sum) -> dict[str, object]:
        return {"total": interrupt(request)}

    graph: Any = StateGraph(Sum)
    graph.add_node("review", review)
    graph.add_edge(START, "review")
    graph.add_edge("review", END)

    def result(state: Sum) -> object:
        return state["total"]

    agent = Agent.from_langgraph(graph.compile(), name="Shop", result=result)
    async with pair(agent) as client:
        first = await client.send({"left": 1, "right": 2})
        assert first.text == "May I call buy?"
        second = await first.answer({"decision": "edit", "arguments": {"item": "rice"}})
        assert second.text == "May I call pay?"
        done = await second.answer("no, too expensive")
    assert done.data == {
        "decisions": [
            {"type": "edit", "edited_action": {"name": "buy", "args": {"item": "rice"}}},
            {"type": "reject", "message": "too expensive"},
        ]
    }


async def test_a_pause_that_the_author_has_set_is_asked_about() -> None:
    graph = calculator().compile(interrupt_before=["add"])
    async with pair(Agent.from_langgraph(graph, name="Sum")) as client:
        asked = await client.send({"left": 1, "right": 2})
        assert asked.text == "Go on with add?"
        assert (await asked.answer("no")).state is TaskState.REJECTED
        again = await client.send({"left": 1, "right": 2})
        assert (await again.answer("yes")).data == {"left": 1, "right": 2, "total": 3}


async def test_an_answer_that_comes_after_the_conversation_went_on_is_told_so() -> None:
    agent = Agent.from_langgraph(builder().compile(), name="Trip")
    async with pair(agent) as client:
        first = await client.send("Rome", context_id="c-1")
        second = await client.send("Bonn", context_id="c-1")
        late = await first.answer("window")
        assert late.state is TaskState.FAILED
        assert late.message is not None
        assert "comes too late" in (late.message.parts[0].text or "")
        assert (await second.answer("aisle")).text == "Booked: aisle"


async def test_tasks_of_one_context_run_one_after_the_other() -> None:
    async def count(state: MessagesState) -> dict[str, object]:
        before = len(state["messages"])
        await asyncio.sleep(0.01)  # Time enough for others to get in between.
        return {"messages": [AIMessage(str(before))]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("count", count)
    graph.add_edge(START, "count")
    graph.add_edge("count", END)
    async with pair(Agent.from_langgraph(graph.compile(), name="Count")) as client:
        sent = [client.send(f"{n}", context_id="c-1") for n in range(4)]
        replies = await asyncio.gather(*sent)
    assert sorted(reply.text for reply in replies) == ["1", "3", "5", "7"]


def test_what_is_not_compiled_is_refused() -> None:
    with pytest.raises(UsageError, match=r"call its compile\(\)"):
        Agent.from_langgraph(builder())
