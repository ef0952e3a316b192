from __future__ import annotations

from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from dragoman.adapters.langgraph_threads import NotedThreads
from dragoman.adapters.notebook import Notebook
from tests.adapters.trip import builder

CONFIG: Any = {"configurable": {"thread_id": "t-1"}, "metadata": {"run": "r-1"}}
ASKED: Any = {"messages": [("human", "Rome")]}


async def history_with(saver: Any) -> list[tuple[object, ...]]:
    """Run a graph to its interrupt and beyond it; return what its history tells."""
    graph = builder().compile(checkpointer=saver)
    await graph.ainvoke(ASKED, CONFIG)
    await graph.ainvoke(Command(resume="window"), CONFIG)
    return [
        (
            each.next,
            [(message.type, str(message.text)) for message in each.values.get("messages", [])],
            each.metadata["step"],
            each.metadata["run"],
            each.parent_config is not None,
            [interrupt.value for interrupt in each.interrupts],
        )
        async for each in graph.aget_state_history(CONFIG)
    ]


async def test_a_graph_has_the_same_history_as_with_the_checkpointer_of_langgraph() -> None:
    notebook = Notebook("memory:")
    ours = await history_with(NotedThreads(notebook))
    assert ours == await history_with(InMemorySaver())
    assert len(ours) > 4
    notebook.close()


async def test_a_thread_survives_and_can_be_forgotten(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/threads.db"
    notebook = Notebook(url)
    await builder().compile(checkpointer=NotedThreads(notebook)).ainvoke(ASKED, CONFIG)
    notebook.close()

    later = Notebook(url)
    saver = NotedThreads(later)
    graph = builder().compile(checkpointer=saver)
    waiting = await graph.aget_state(CONFIG)
    assert [each.value for each in waiting.interrupts] == [{"question": "Window or aisle?"}]
    done = await graph.ainvoke(Command(resume="aisle"), CONFIG)
    assert done["messages"][-1].text == "Booked: aisle"
    await saver.adelete_thread("t-1")
    assert (await graph.aget_state(CONFIG)).values == {}
    later.close()


async def test_states_are_listed_the_last_first_within_bounds() -> None:
    notebook = Notebook("memory:")
    saver = NotedThreads(notebook)
    await builder().compile(checkpointer=saver).ainvoke(ASKED, CONFIG)
    every = [each async for each in saver.alist(CONFIG)]
    ids = [each.checkpoint["id"] for each in every]
    assert ids == sorted(ids, reverse=True)
    assert [each async for each in saver.alist(CONFIG, limit=2)] == every[:2]
    assert [each async for each in saver.alist(CONFIG, before=every[1].config)] == every[2:]
    source = [
        each.metadata.get("source") async for each in saver.alist(CONFIG, filter={"step": -1})
    ]
    assert source == ["input"]
    assert [each async for each in saver.alist(None)] == []
    one = await saver.aget_tuple(every[1].config)
    assert one is not None
    assert one.checkpoint["id"] == ids[1]
    notebook.close()
