"""Agents of pydantic-ai and graphs of LangGraph: served, streamed, interrupted, resumed, killed."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from dragoman import Agent, connect
from dragoman.client.agent import RemoteAgent
from dragoman.model.tasks import TaskState
from dragoman.testing import served
from tests.adapters import trip, weather
from tests.adapters.watching import until
from tests.durability.checking import check_store
from tests.support.serving import AgentProcess

HERE: Final = Path(__file__).parent
BINDINGS: Final = ("JSONRPC", "GRPC")


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_STORE", f"sqlite:///{tmp_path}/tasks.db")
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))


def notes_of(folder: Path) -> list[str]:
    notes = folder / "notes"
    return notes.read_text().splitlines() if notes.exists() else []


async def told_by(client: RemoteAgent, *content: object, **options: str) -> tuple[list[str], str]:
    """Send a message; return the texts of what came, by kind, and the task."""
    stream = client.stream(*content, task_id=options.get("task_id", ""))
    lines = [f"{event.kind}: {event}" async for event in stream if str(event)]
    return lines, stream.task_id


@pytest.mark.parametrize("binding", BINDINGS)
async def test_an_agent_of_pydantic_ai_is_streamed_interrupted_and_resumed(binding: str) -> None:
    agent = Agent.from_pydantic_ai(weather.scripted())
    async with served(agent) as place, connect(place.url, binding=binding) as client:
        lines, task_id = await told_by(client, "delete a.txt")
        assert lines[2:] == [
            "artifact: One moment.",
            "status: [working] One moment.",
            "status: [working] Tool call: delete",
            "status: [input required] May I call delete?",
        ]
        asked = await client.task(task_id).get()
        assert asked.data == {"tool": "delete", "arguments": {"path": "a.txt"}}
        lines, _ = await told_by(client, "yes", task_id=task_id)
        assert [line for line in lines if line.startswith("artifact")] == [
            "artifact: It",
            "artifact:  is",
            "artifact:  gone: a.txt",
        ]
        done = await client.task(task_id).get()
        assert done.state is TaskState.COMPLETED
        assert done.text == "It is gone: a.txt"


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_graph_is_streamed_interrupted_and_resumed(binding: str) -> None:
    agent = Agent.from_langgraph(trip.builder().compile(), name="Trip")
    async with served(agent) as place, connect(place.url, binding=binding) as client:
        lines, task_id = await told_by(client, "Rome")
        assert lines[2:] == [
            "status: [working] Looking at trains",
            "artifact: Message",
            "artifact:  ",
            "artifact: 1",
            "artifact:  ",
            "artifact: it",
            "artifact:  ",
            "artifact: is",
            "status: [working] Message 1 it is",
            "status: [input required]",
        ]
        asked = await client.task(task_id).get()
        assert asked.data == {"question": "Window or aisle?"}
        lines, _ = await told_by(client, "window", task_id=task_id)
        assert "artifact: Booked: window" in lines
        done = await client.task(task_id).get()
        assert done.state is TaskState.COMPLETED
        assert done.text == "Booked: window"


@contextmanager
def processes(agent: str, folder: Path) -> Generator[AgentProcess]:
    process = AgentProcess(HERE / agent, "--store", f"sqlite:///{folder}/tasks.db")
    try:
        yield process
    finally:
        process.kill()


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.crash
@pytest.mark.timeout(90)
async def test_an_approval_survives_a_kill_and_the_model_is_not_asked_again(
    binding: str, tmp_path: Path
) -> None:
    with processes("weather.py", tmp_path) as process:
        await asyncio.to_thread(process.start, DRAGOMAN_STORE=f"sqlite:///{tmp_path}/tasks.db")
        async with connect(process.url, binding=binding) as client:
            await client.send("hello", context_id="c-1")
            asked = await client.send("delete a.txt", context_id="c-1")
        assert asked.state is TaskState.INPUT_REQUIRED
        assert notes_of(tmp_path) == ["model"] * 2
        process.kill()
        await asyncio.to_thread(process.start, DRAGOMAN_STORE=f"sqlite:///{tmp_path}/tasks.db")
        async with connect(process.url, binding=binding) as client:
            done = await client.task(asked.task_id, "c-1").send("yes")
            assert done.text == "It is gone: a.txt"
            remembered = await client.send("and now?", context_id="c-1")
    assert notes_of(tmp_path) == ["model", "model", "deleted a.txt", "model", "model"]
    assert remembered.text == "3: hello, delete a.txt, and now?"
    check_store(tmp_path / "tasks.db")


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.crash
@pytest.mark.timeout(90)
async def test_an_interrupt_survives_a_kill_and_no_node_is_run_again(
    binding: str, tmp_path: Path
) -> None:
    with processes("trip.py", tmp_path) as process:
        await asyncio.to_thread(process.start, DRAGOMAN_STORE=f"sqlite:///{tmp_path}/tasks.db")
        async with connect(process.url, binding=binding) as client:
            asked = await client.send("Rome", context_id="c-1")
        assert asked.state is TaskState.INPUT_REQUIRED
        process.kill()
        await asyncio.to_thread(process.start, DRAGOMAN_STORE=f"sqlite:///{tmp_path}/tasks.db")
        async with connect(process.url, binding=binding) as client:
            done = await client.task(asked.task_id, "c-1").send("aisle")
            assert done.text == "Booked: aisle"
            assert notes_of(tmp_path) == ["look", "work", "book aisle"]
            again = await client.send("Bonn", context_id="c-1")
            history = (await client.task(again.task_id).get(history_length=9)).task
    assert history is not None
    said = [part.text for message in history.history for part in message.parts]
    assert "Message 2 it is" in said


@pytest.mark.crash
@pytest.mark.timeout(90)
async def test_a_graph_that_is_killed_at_work_goes_on_from_its_last_state(tmp_path: Path) -> None:
    with processes("trip.py", tmp_path) as process:
        store = f"sqlite:///{tmp_path}/tasks.db"
        await asyncio.to_thread(process.start, DRAGOMAN_STORE=store, HANG="1")
        async with connect(process.url) as client:
            begun = await client.start("Rome")
        await until(lambda: notes_of(tmp_path) == ["look", "work"])
        process.kill()
        await asyncio.to_thread(process.start, DRAGOMAN_STORE=store)
        async with connect(process.url) as client:
            asked = await client.task(begun.task_id).wait()
            assert asked.state is TaskState.INPUT_REQUIRED
            done = await asked.answer("window")
    assert done.text == "Booked: window"
    # The node that was cut off is run again; the one before it is not.
    assert notes_of(tmp_path) == ["look", "work", "work", "book window"]


@pytest.mark.crash
@pytest.mark.timeout(90)
async def test_an_answer_that_was_cut_off_is_written_anew(tmp_path: Path) -> None:
    with processes("weather.py", tmp_path) as process:
        store = f"sqlite:///{tmp_path}/tasks.db"
        await asyncio.to_thread(process.start, DRAGOMAN_STORE=store, HANG="1")
        async with connect(process.url) as client, client.stream("write") as stream:
            async for event in stream:
                if event.text == "Half":
                    break
        process.kill()
        await asyncio.to_thread(process.start, DRAGOMAN_STORE=store)
        async with connect(process.url) as client:
            done = await client.task(stream.task_id).wait()
    assert done.state is TaskState.COMPLETED
    assert [part.text for artifact in done.artifacts for part in artifact.parts] == ["Half of it"]
