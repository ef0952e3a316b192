"""The disk is full: callers are told to come back, nothing told before is lost, and it passes."""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx2
import pytest

from dragoman import Agent, Context, Reply
from dragoman.service.service import Call
from dragoman.stores.sqlite.store import SQLiteTaskStore
from tests.durability.hosting import Hosted, hosting, send_request
from tests.durability.waiting import PATIENCE_SECONDS, find, until
from tests.durability.witness import text_of
from tests.support.wire import Json, message

TERMINAL: Final = ("TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED")


MUCH: Final = "lost " * 10_000
"""More than there is room for."""


class Stepper:
    """An agent whose turns take steps when they are told to."""

    def __init__(self) -> None:
        self.agent = Agent("Stepper")
        self.steps: asyncio.Queue[str | None] = asyncio.Queue()
        self.go_on = asyncio.Event()
        self.stopped: list[str] = []

        @self.agent.skill
        async def echo(text: str) -> str:
            return text

        @self.agent.skill
        async def greet(text: str) -> Reply:
            return Reply(text)

        @self.agent.skill(on_crash="fail")
        async def step(text: str) -> AsyncIterator[str]:
            try:
                while (item := await self.steps.get()) is not None:
                    yield item
            except BaseException:
                self.stopped.append(text)
                raise

        @self.agent.skill
        async def again(text: str) -> AsyncIterator[str]:
            yield text
            await self.go_on.wait()
            yield MUCH

        @self.agent.skill
        async def ask(text: str, ctx: Context) -> str:
            return await ctx.ask(text)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tasks.db"


@contextmanager
def full_disk(path: Path) -> Generator[None]:
    """Let the log of the database grow no further."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = Path(f"{path}-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def body(skill: str, text: str = "hello", *, is_urgent: bool = False, **members: object) -> Json:
    """Return a request for a skill."""
    return {
        "message": message(text, metadata={"skillId": skill}, **members),
        "configuration": {"returnImmediately": is_urgent},
    }


async def send(hosted: Hosted, request: Json) -> httpx2.Response:
    return await hosted.http.post("/message:send", json=request)


async def begin(hosted: Hosted, skill: str, text: str = "hello") -> str:
    """Begin a task and return its id."""
    response = await send(hosted, body(skill, text, is_urgent=True))
    assert response.status_code == 200, response.text
    return response.json()["task"]["id"]


async def get(hosted: Hosted, task_id: str) -> Json:
    return await hosted.result("GetTask", {"id": task_id})


async def in_state(hosted: Hosted, task_id: str, *states: str) -> Json:
    """Wait until a task is in one of the states."""
    return await when(hosted, task_id, lambda task: task["status"]["state"] in states)


async def when(hosted: Hosted, task_id: str, condition: Callable[[Json], bool]) -> Json:
    """Wait until something is true of a task; the store may be out of reach meanwhile."""

    async def look() -> Json | None:
        response = await hosted.http.get(f"/tasks/{task_id}")
        is_so = response.status_code == 200 and condition(response.json())
        return response.json() if is_so else None

    return await find(look)


async def readiness(hosted: Hosted, status: int) -> None:
    """Wait until the server says whether it can take work."""

    async def look() -> bool | None:
        return (await hosted.http.get("/readyz")).status_code == status or None

    await find(look)


async def only_task(hosted: Hosted) -> str:
    """Wait until there is a task, and return its id."""

    async def look() -> str | None:
        tasks = (await hosted.result("ListTasks"))["tasks"]
        return tasks[0]["id"] if tasks else None

    return await find(look)


async def outage(hosted: Hosted) -> None:
    """Let a send find out that the disk is full."""
    assert (await send(hosted, body("echo"))).status_code == 503
    await readiness(hosted, 503)


# --- what callers are told ----------------------------------------------------------------------


@pytest.mark.parametrize("skill", ["echo", "greet"])
@pytest.mark.parametrize("is_first", [True, False])
async def test_a_send_is_refused_with_503_and_a_time_to_come_back(
    skill: str, *, is_first: bool, path: Path
) -> None:
    async with hosting(Stepper().agent, SQLiteTaskStore(path)) as hosted:
        with full_disk(path):
            if not is_first:
                await outage(hosted)
            response = await send(hosted, body(skill))
    assert response.status_code == 503
    assert response.headers["retry-after"] == "1"
    error = response.json()["error"]
    assert (error["code"], error["status"]) == (503, "UNAVAILABLE")
    assert error["details"][0]["reason"] == "UNAVAILABLE"
    assert error["details"][1] == {
        "@type": "type.googleapis.com/google.rpc.RetryInfo",
        "retryDelay": "1s",
    }


async def test_json_rpc_tells_the_same_with_its_own_code(path: Path) -> None:
    async with hosting(Stepper().agent, SQLiteTaskStore(path)) as hosted:
        with full_disk(path):
            request = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": body("echo")}
            response = await hosted.http.post("/", json=request)
    assert response.status_code == 503
    assert response.headers["retry-after"] == "1"
    error = response.json()["error"]
    assert error["code"] == -32603
    assert [item["@type"].rpartition(".")[2] for item in error["data"]] == [
        "ErrorInfo",
        "RetryInfo",
    ]


async def test_a_streaming_send_is_refused_before_the_stream_begins(path: Path) -> None:
    async with hosting(Stepper().agent, SQLiteTaskStore(path)) as hosted:
        with full_disk(path):
            response = await hosted.http.post("/message:stream", json=body("step"))
    assert response.status_code == 503


async def test_tasks_can_still_be_read(path: Path) -> None:
    async with hosting(Stepper().agent, SQLiteTaskStore(path)) as hosted:
        task = (await send(hosted, body("echo"))).json()["task"]
        with full_disk(path):
            await outage(hosted)
            assert await get(hosted, task["id"]) == task
            assert (await hosted.result("ListTasks"))["totalSize"] == 1


# --- afterwards ---------------------------------------------------------------------------------


async def test_the_server_recovers_by_itself(path: Path) -> None:
    async with hosting(Stepper().agent, SQLiteTaskStore(path)) as hosted:
        with full_disk(path):
            await outage(hosted)
        await readiness(hosted, 200)
        response = await send(hosted, body("echo"))
    assert response.json()["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_nothing_that_was_acknowledged_is_lost(path: Path) -> None:
    async with hosting(Stepper().agent, SQLiteTaskStore(path)) as hosted:
        tasks = [(await send(hosted, body("echo"))).json()["task"] for _ in range(5)]
        async with asyncio.TaskGroup() as group:
            with full_disk(path):
                sends = [group.create_task(send(hosted, body("echo"))) for _ in range(20)]
                await readiness(hosted, 503)
        await readiness(hosted, 200)
        # One that came in the very moment of the failure may have waited for the end of it.
        answers = [sending.result() for sending in sends]
        assert {answer.status_code for answer in answers} <= {200, 503}
        tasks += [answer.json()["task"] for answer in answers if answer.status_code == 200]
        for task in tasks:
            assert await get(hosted, task["id"]) == task
        assert (await hosted.result("ListTasks"))["totalSize"] == len(tasks)
    # And the file says so, too.
    async with hosting(Stepper().agent, SQLiteTaskStore(path)) as hosted:
        assert (await hosted.result("ListTasks"))["totalSize"] == len(tasks)


async def test_a_message_that_was_refused_can_be_sent_again(path: Path) -> None:
    async with hosting(Stepper().agent, SQLiteTaskStore(path)) as hosted:
        request = body("echo")
        with full_disk(path):
            assert (await send(hosted, request)).status_code == 503

        async def look() -> Json | None:
            response = await send(hosted, request)
            return response.json()["task"] if response.status_code == 200 else None

        assert (await find(look))["status"]["state"] == "TASK_STATE_COMPLETED"
        assert (await hosted.result("ListTasks"))["totalSize"] == 1


async def test_a_turn_that_lost_output_fails_and_says_so(path: Path) -> None:
    stepper = Stepper()
    async with hosting(stepper.agent, SQLiteTaskStore(path)) as hosted:
        task_id = await begin(hosted, "step")
        stepper.steps.put_nowait("kept")
        kept = await when(hosted, task_id, lambda task: "artifacts" in task)
        with full_disk(path):
            stepper.steps.put_nowait(MUCH)
            await readiness(hosted, 503)
        stepper.steps.put_nowait("later")
        task = await in_state(hosted, task_id, *TERMINAL)
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert "lost" in text_of(task["status"]["message"])
    assert task["artifacts"] == kept["artifacts"]


async def test_output_that_may_be_lost_is_shown_to_nobody(path: Path) -> None:
    stepper = Stepper()
    async with hosting(stepper.agent, SQLiteTaskStore(path)) as hosted:
        task_id = await begin(hosted, "step")
        with full_disk(path):
            stepper.steps.put_nowait(MUCH)
            await readiness(hosted, 503)
            async with asyncio.timeout(PATIENCE_SECONDS):
                response = await hosted.http.get(f"/tasks/{task_id}")
            assert "lost" not in response.text
            assert response.status_code in (200, 503)


async def test_a_turn_whose_end_was_lost_fails_and_says_so(path: Path) -> None:
    stepper = Stepper()
    async with hosting(stepper.agent, SQLiteTaskStore(path)) as hosted:
        task_id = await begin(hosted, "step")
        with full_disk(path):
            stepper.steps.put_nowait(MUCH)
            stepper.steps.put_nowait(None)
            await readiness(hosted, 503)
        task = await in_state(hosted, task_id, *TERMINAL)
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert "lost" in text_of(task["status"]["message"])


async def test_the_caller_who_waited_for_lost_output_gets_the_failed_task_when_it_comes_back(
    path: Path,
) -> None:
    stepper = Stepper()
    async with hosting(stepper.agent, SQLiteTaskStore(path)) as hosted:
        request = body("step")
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(send(hosted, request))
            stepper.steps.put_nowait("kept")
            task_id = await only_task(hosted)
            await when(hosted, task_id, lambda task: "artifacts" in task)
            with full_disk(path):
                stepper.steps.put_nowait(MUCH)
                assert (await sending).status_code == 503
        stepper.steps.put_nowait("later")
        await in_state(hosted, task_id, *TERMINAL)
        again = (await send(hosted, request)).json()["task"]
    assert again["id"] == task_id
    assert again["status"]["state"] == "TASK_STATE_FAILED"


async def test_a_follower_sees_no_event_that_was_lost_and_no_gap(path: Path) -> None:
    stepper = Stepper()
    async with hosting(stepper.agent, SQLiteTaskStore(path)) as hosted:
        service = await hosted.app.runtime.service()
        stream = await service.send_streaming_message(send_request("hello", "step"), Call())
        stepper.steps.put_nowait("kept")
        task_id = await only_task(hosted)
        await when(hosted, task_id, lambda task: "artifacts" in task)
        with full_disk(path):
            stepper.steps.put_nowait(MUCH)
            await readiness(hosted, 503)
        stepper.steps.put_nowait("later")
        async with asyncio.timeout(PATIENCE_SECONDS):
            events = [event async for batch in stream for event in batch]
        await stream.aclose()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert not any(b"lost lost" in event.json for event in events)
    assert b"TASK_STATE_FAILED" in events[-1].json


async def test_a_turn_that_may_be_run_again_makes_good_what_was_lost(path: Path) -> None:
    stepper = Stepper()
    async with hosting(stepper.agent, SQLiteTaskStore(path)) as hosted:
        service = await hosted.app.runtime.service()
        stream = await service.send_streaming_message(send_request("hello", "again"), Call())
        task_id = await only_task(hosted)
        await when(hosted, task_id, lambda task: "artifacts" in task)
        with full_disk(path):
            stepper.go_on.set()
            await readiness(hosted, 503)
        async with asyncio.timeout(PATIENCE_SECONDS):
            events = [event async for batch in stream for event in batch]
        await stream.aclose()
        task = (await hosted.http.get(f"/tasks/{task_id}")).json()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert text_of(task["artifacts"][0]) == "hello" + MUCH


async def test_a_task_that_waits_for_input_is_not_harmed(path: Path) -> None:
    async with hosting(Stepper().agent, SQLiteTaskStore(path)) as hosted:
        task = (await send(hosted, body("ask"))).json()["task"]
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        with full_disk(path):
            await outage(hosted)
            answer = body("ask", "too early", taskId=task["id"])
            assert (await send(hosted, answer)).status_code == 503
        await readiness(hosted, 200)
        response = await send(hosted, body("ask", "in time", taskId=task["id"]))
    done = response.json()["task"]
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    assert text_of(done["artifacts"][0]) == "in time"


async def test_a_cancel_that_could_not_be_stored_is_refused_and_can_be_tried_again(
    path: Path,
) -> None:
    stepper = Stepper()
    async with hosting(stepper.agent, SQLiteTaskStore(path)) as hosted:
        task_id = await begin(hosted, "step")
        with full_disk(path):
            response = await hosted.http.post(f"/tasks/{task_id}:cancel")
            assert response.status_code == 503
        await readiness(hosted, 200)
        task = await in_state(hosted, task_id, "TASK_STATE_WORKING", *TERMINAL)
        if task["status"]["state"] == "TASK_STATE_WORKING":
            response = await hosted.http.post(f"/tasks/{task_id}:cancel")
            assert response.json()["status"]["state"] == "TASK_STATE_CANCELED"


async def test_a_message_that_could_not_be_queued_is_refused_and_the_task_goes_on(
    path: Path,
) -> None:
    stepper = Stepper()
    async with hosting(stepper.agent, SQLiteTaskStore(path)) as hosted:
        task_id = await begin(hosted, "step")
        stepper.steps.put_nowait("before")
        await when(hosted, task_id, lambda task: "artifacts" in task)
        with full_disk(path):
            lost = body("step", "never taken in", taskId=task_id)
            assert (await send(hosted, lost)).status_code == 503
        await readiness(hosted, 200)
        stepper.steps.put_nowait(None)
        task = await in_state(hosted, task_id, *TERMINAL)
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert "never taken in" not in [text_of(item) for item in task["history"]]


# --- another writer -----------------------------------------------------------------------------


async def test_a_task_that_another_server_took_over_is_stopped_here(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stepper = Stepper()
    store = SQLiteTaskStore(path)
    caplog.set_level(logging.WARNING, "dragoman")
    async with hosting(stepper.agent, store) as hosted:
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(send(hosted, body("step", "taken")))
            task_id = await only_task(hosted)
            await in_state(hosted, task_id, "TASK_STATE_WORKING")
            assert await store.take_over(task_id, 1) == 2
            stepper.steps.put_nowait("one too many")
            response = await sending
        await until(lambda: bool(stepper.stopped))
    assert response.status_code == 503
    assert "another server" in response.json()["error"]["message"]
    assert stepper.stopped == ["taken"]
    assert "its turn is stopped here" in caplog.text


async def test_the_tasks_that_nobody_took_over_go_on(path: Path) -> None:
    stepper = Stepper()
    store = SQLiteTaskStore(path)
    async with hosting(stepper.agent, store) as hosted:
        taken = await begin(hosted, "step", "taken")
        await in_state(hosted, taken, "TASK_STATE_WORKING")
        await store.take_over(taken, 1)
        kept = await begin(hosted, "step", "kept")
        # Who has waited longest gets the first item; that is the one that was taken.
        stepper.steps.put_nowait("one too many")
        await until(lambda: bool(stepper.stopped))
        stepper.steps.put_nowait("fine")
        stepper.steps.put_nowait(None)
        task = await in_state(hosted, kept, *TERMINAL)
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert text_of(task["artifacts"][0]) == "fine"
    assert stepper.stopped == ["taken"]
