"""SIGTERM: work that can finish does, streams end so that clients come back, and nothing hangs."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Final

import httpx2
import pytest

from tests.durability.waiting import find, until
from tests.durability.witness import text_of
from tests.support.serving import AgentProcess
from tests.support.wire import Frame, Json, Wire, message

AGENT: Final = Path(__file__).with_name("agent.py")
LONG_GRACE: Final = 20.0
SHORT_GRACE: Final = 0.2
HOUR: Final = 3600.0
RESTARTS: Final = 5
"""More than a task that crashes its server is granted."""

pytestmark = [pytest.mark.crash, pytest.mark.timeout(60)]


def agent_process(folder: Path, *, grace_seconds: float = LONG_GRACE) -> AgentProcess:
    """Return the agent, to be started, with a grace period."""
    config = folder / "dragoman.toml"
    config.write_text(f"shutdown_grace_seconds = {grace_seconds}\n", "utf-8")
    store = f"sqlite:///{folder}/tasks.db"
    return AgentProcess(AGENT, "--store", store, "--config", str(config))


def hold(file: Path, skill: str = "hold") -> Json:
    """Return the request for a turn that ends when there is a file."""
    return {"message": message(str(file), metadata={"skillId": skill})}


async def begin_hold(wire: Wire, file: Path, skill: str = "hold") -> str:
    """Begin such a turn, wait until it runs, and return the id of its task."""
    async with wire.stream("POST", "/message:stream", hold(file, skill)) as frames:
        async for frame in frames:
            if is_holding(frame):
                return frame.result["statusUpdate"]["taskId"]
    raise AssertionError("the stream ended")


def is_holding(frame: Frame) -> bool:
    return frame.kind == "statusUpdate" and "message" in frame.result["statusUpdate"]["status"]


def provide(file: Path, content: str) -> None:
    """Let a file appear with all its content."""
    draft = Path(f"{file}.draft")
    draft.write_text(content, "utf-8")
    draft.rename(file)


async def refusal_of_connections(url: str) -> None:
    """Wait until nobody listens at an address any more."""

    async def look() -> bool | None:
        try:
            async with httpx2.AsyncClient(trust_env=False, timeout=2) as client:
                await client.get(f"{url}/healthz")
        except httpx2.ConnectError:
            return True
        return None

    await find(look)


async def working_task(wire: Wire) -> str:
    """Wait until the only task there is works, and return its id."""

    async def look() -> str | None:
        page = (await wire.http.get("/tasks", params={"status": "TASK_STATE_WORKING"})).json()
        is_holding = page["tasks"] and "message" in page["tasks"][0]["status"]
        return page["tasks"][0]["id"] if is_holding else None

    return await find(look)


async def test_an_idle_server_stops_with_exit_code_0(tmp_path: Path) -> None:
    with agent_process(tmp_path) as process:
        assert await asyncio.to_thread(process.stop) == 0


async def test_a_turn_that_finishes_within_the_grace_period_answers_its_caller(
    tmp_path: Path,
) -> None:
    file = tmp_path / "go"
    with agent_process(tmp_path) as process:
        async with Wire(process.url) as wire, asyncio.TaskGroup() as group:
            sending = group.create_task(wire.http.post("/message:send", json=hold(file)))
            await working_task(wire)
            stopping = group.create_task(asyncio.to_thread(process.stop))
            await refusal_of_connections(process.url)
            provide(file, "finished")
            answer = await sending
            assert await stopping == 0
        assert answer.status_code == 200, answer.text
        assert text_of(answer.json()["task"]["artifacts"][0]) == "finished"
        process.start()
        async with Wire(process.url) as wire:
            again = await wire.http.get(f"/tasks/{answer.json()['task']['id']}")
        assert again.json() == answer.json()["task"]


async def test_a_second_ctrl_c_ends_the_wait_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "news"
    with agent_process(tmp_path, grace_seconds=HOUR) as process:
        async with Wire(process.url) as wire:
            task_id = await begin_hold(wire, file, "outlast")
            process.tell(signal.SIGINT)
            await refusal_of_connections(process.url)
            assert await asyncio.to_thread(process.stop, signal.SIGINT) == 0
        assert "Traceback" not in "".join(process.output)
        file.write_text("at last", "utf-8")
        process.start()
        async with Wire(process.url) as wire:
            path = f"/tasks/{task_id}:subscribe"
            async with wire.stream("GET", path, **{"Last-Event-ID": "1"}) as frames:
                rest = [frame async for frame in frames]
    assert rest[-1].state == "TASK_STATE_COMPLETED"


async def test_a_direct_answer_that_comes_within_the_grace_period_is_given(tmp_path: Path) -> None:
    file = tmp_path / "go"
    with agent_process(tmp_path) as process:
        async with Wire(process.url) as wire, asyncio.TaskGroup() as group:
            request = hold(file, "hold_reply")
            sending = group.create_task(wire.http.post("/message:send", json=request))
            await until(Path(f"{file}.begun").exists)
            stopping = group.create_task(asyncio.to_thread(process.stop))
            await refusal_of_connections(process.url)
            provide(file, "finished")
            answer = await sending
            assert await stopping == 0
    assert answer.status_code == 200, answer.text
    assert text_of(answer.json()["message"]) == "finished"


async def test_a_stream_that_is_open_when_the_server_stops_gets_the_end_of_its_task(
    tmp_path: Path,
) -> None:
    file = tmp_path / "go"
    with agent_process(tmp_path) as process:
        async with Wire(process.url) as wire, asyncio.TaskGroup() as group:
            task_id = await begin_hold(wire, file)
            async with wire.stream("GET", f"/tasks/{task_id}:subscribe") as frames:
                assert (await anext(frames)).state == "TASK_STATE_WORKING"
                stopping = group.create_task(asyncio.to_thread(process.stop))
                await refusal_of_connections(process.url)
                provide(file, "finished")
                rest = [frame async for frame in frames]
            assert await stopping == 0
    assert rest[-1].state == "TASK_STATE_COMPLETED"


async def test_streams_are_closed_when_the_grace_period_is_over_and_go_on_after_the_restart(
    tmp_path: Path,
) -> None:
    with agent_process(tmp_path, grace_seconds=SHORT_GRACE) as process:
        async with Wire(process.url) as wire, asyncio.TaskGroup() as group:
            task_id = await begin_hold(wire, tmp_path / "never")
            path = f"/tasks/{task_id}:subscribe"
            async with wire.stream("GET", path) as frames:
                head = await anext(frames)
                stopping = group.create_task(asyncio.to_thread(process.stop))
                assert [frame async for frame in frames] == []
            assert await stopping == 0
        process.start()
        cursor = {"Last-Event-ID": head.id}
        async with Wire(process.url) as wire, wire.stream("GET", path, **cursor) as frames:
            rest = [frame async for frame in frames]
    assert [int(frame.id) for frame in rest] == [int(head.id), int(head.id) + 1]
    assert rest[0].kind == "task"
    assert rest[1].state == "TASK_STATE_FAILED"


@pytest.mark.parametrize("skill", ["hold", "lag"])
async def test_a_turn_longer_than_the_grace_period_is_left_and_fails_at_the_next_start(
    skill: str, tmp_path: Path
) -> None:
    with agent_process(tmp_path, grace_seconds=SHORT_GRACE) as process:
        async with Wire(process.url) as wire, asyncio.TaskGroup() as group:
            request = hold(tmp_path / "never", skill)
            sending = group.create_task(wire.http.post("/message:send", json=request))
            task_id = await working_task(wire)
            assert await asyncio.to_thread(process.stop) == 0
            answer = await sending
        # The caller who waited is told to come back.
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        process.start()
        async with Wire(process.url) as wire:
            task = (await wire.http.get(f"/tasks/{task_id}")).json()
            # Who comes back with the same message gets the same task.
            again = (await wire.http.post("/message:send", json=request)).json()["task"]
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert "restarted" in text_of(task["status"]["message"])
    assert again == task


async def test_a_turn_that_outlasts_the_stop_goes_on_at_the_next_start(tmp_path: Path) -> None:
    file = tmp_path / "news"
    with agent_process(tmp_path, grace_seconds=SHORT_GRACE) as process:
        async with Wire(process.url) as wire:
            task_id = await begin_hold(wire, file, "outlast")
        path = f"/tasks/{task_id}:subscribe"
        for _ in range(RESTARTS):
            # Stopping in order is no attempt that has failed: it may be done often.
            assert await asyncio.to_thread(process.stop) == 0
            process.start()
            async with Wire(process.url) as wire:
                async with wire.stream("GET", path, **{"Last-Event-ID": "1"}) as frames:
                    seen = [int((await anext(frames)).id) for _ in range(3)]
                # Said once, however often it was run.
                assert seen == [1, 2, 3]
        file.write_text("at last", "utf-8")
        async with Wire(process.url) as wire:
            async with wire.stream("GET", path, **{"Last-Event-ID": "3"}) as frames:
                rest = [frame async for frame in frames]
            task = (await wire.http.get(f"/tasks/{task_id}")).json()
    assert [int(frame.id) for frame in rest] == [3, 4, 5]
    assert rest[-1].state == "TASK_STATE_COMPLETED"
    assert text_of(task["artifacts"][0]) == "at last"


async def test_a_function_that_blocks_its_thread_does_not_keep_the_server_from_stopping(
    tmp_path: Path,
) -> None:
    file = tmp_path / "go"
    with agent_process(tmp_path, grace_seconds=SHORT_GRACE) as process:
        async with Wire(process.url) as wire, asyncio.TaskGroup() as group:
            sending = group.create_task(wire.http.post("/message:send", json=hold(file, "block")))
            await working_task(wire)
            stopping = group.create_task(asyncio.to_thread(process.stop))
            assert (await sending).status_code == 503
            # All that is left to do is to close the store and go.
            done, _ = await asyncio.wait([stopping], timeout=3)
            file.touch()
            await stopping
        assert done


async def test_new_connections_are_refused_while_turns_finish(tmp_path: Path) -> None:
    file = tmp_path / "go"
    with agent_process(tmp_path) as process:
        async with Wire(process.url) as wire, asyncio.TaskGroup() as group:
            await begin_hold(wire, file)
            stopping = group.create_task(asyncio.to_thread(process.stop))
            await refusal_of_connections(process.url)
            assert not stopping.done()
            file.touch()
            assert await stopping == 0


async def test_new_work_is_refused_on_open_connections_while_turns_finish(tmp_path: Path) -> None:
    file = tmp_path / "go"
    with agent_process(tmp_path) as process:
        async with Wire(process.url) as wire, asyncio.TaskGroup() as group:
            await begin_hold(wire, file)
            # Opened before the stop, for each of the two requests that follow it.
            async with asyncio.TaskGroup() as opening:
                for _ in range(2):
                    opening.create_task(wire.http.get("/healthz"))
            stopping = group.create_task(asyncio.to_thread(process.stop))
            await refusal_of_connections(process.url)
            answer = await wire.http.post("/message:send", json={"message": message()})
            ready = await wire.http.get("/readyz")
            file.touch()
            assert await stopping == 0
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"
    assert ready.status_code == 503
