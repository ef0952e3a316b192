"""A reader of a stream never loses an event, and never costs the task or the server anything."""

from __future__ import annotations

import asyncio
import logging
import os
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import httpx2
import pytest

from dragoman import Agent, Context
from dragoman.model.documents import EventDocument
from dragoman.model.operations import SubscribeToTaskRequest
from dragoman.server.tasks.streams import BATCH_EVENTS, RING_BYTES
from dragoman.server.tasks.turn import BACKLOG_EVENTS
from dragoman.service.service import Call, EventStream
from tests.durability.sockets import RawStream, raw_stream
from tests.durability.waiting import PATIENCE_SECONDS, find, until
from tests.support.server.runtimes import runtime_of
from tests.support.serving import Served, serving
from tests.support.wire import Frame, Wire, message

STALL_SECONDS: Final = 1.0
"""Long enough for a reader on a busy machine to show that it is alive."""

READERS: Final = 200


class Gated:
    """An agent that publishes numbered artifacts when it is let, each in the place of the last.

    So what it has said is soon in the log alone: the task itself stays small.
    """

    def __init__(self, *, size: int = 1) -> None:
        self.agent = Agent("Gated")
        self.go = asyncio.Event()
        self.has_ended = asyncio.Event()
        self.watch: Callable[[], object] = bool

        @self.agent.skill
        async def number(text: str, ctx: Context) -> None:
            try:
                await self.go.wait()
                for number in range(int(text)):
                    await ctx.artifact(str(number).ljust(size), artifact_id="number")
                    if number % 100 == 0:
                        await asyncio.sleep(0)
                        self.watch()
            finally:
                self.has_ended.set()

    async def begin(self, wire: Wire, artifacts: int) -> str:
        """Begin a task that publishes so many; return its id."""
        request = {
            "message": message(str(artifacts)),
            "configuration": {"returnImmediately": True},
        }
        return (await wire.result("SendMessage", request))["task"]["id"]


def subscription(task_id: str) -> str:
    """Return the path to follow a task."""
    return f"/tasks/{task_id}:subscribe"


async def collect(wire: Wire, task_id: str, after: int | None = None) -> list[Frame]:
    """Follow a task to its end."""
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    async with wire.stream("GET", subscription(task_id), **headers) as frames:
        return [frame async for frame in frames]


async def collect_more(wire: Wire, task_id: str, after: int) -> list[Frame]:
    """Follow a task from an event on, to its end or as far as this reader is fast enough.

    It shares its thread with the server, and on a busy machine it is slow itself.
    """
    seen: list[Frame] = []
    headers = {"Last-Event-ID": str(after)}
    with suppress(httpx2.RemoteProtocolError):
        async with wire.stream("GET", subscription(task_id), **headers) as frames:
            async for frame in frames:
                seen.append(frame)  # noqa: PERF401 - what was read before a cut counts
    # The first is the task as it was.
    return seen[1:]


def check_complete(frames: list[Frame], artifacts: int) -> None:
    """Check that frames are a task and then every event to its end, in order."""
    assert frames[0].kind == "task"
    first = int(frames[0].id)
    assert [int(frame.id) for frame in frames] == list(range(first, first + len(frames)))
    texts = [
        frame.result["artifactUpdate"]["artifact"]["parts"][0]["text"].strip()
        for frame in frames
        if frame.kind == "artifactUpdate"
    ]
    assert texts == [*map(str, range(artifacts))]
    assert frames[-1].state == "TASK_STATE_COMPLETED"


# --- a reader that does not read ----------------------------------------------------------------


async def test_a_reader_that_stops_reading_neither_blocks_the_task_nor_fills_the_memory(
    tmp_path: Path,
) -> None:
    count, size = 5000, 4000
    gated = Gated(size=size)
    most = 0

    def watch() -> None:
        nonlocal most
        most = max(most, tracemalloc.get_traced_memory()[0])

    gated.watch = watch
    store = f"sqlite:///{tmp_path}/tasks.db"
    async with serving(gated.agent, store=store) as served, Wire(served.url) as wire:
        task_id = await gated.begin(wire, count)
        async with raw_stream(served.url, subscription(task_id)) as stuck:
            tracemalloc.start()
            try:
                gated.go.set()
                await until(gated.has_ended.is_set)
            finally:
                tracemalloc.stop()
            # It is still there, and the task has ended without it.
            assert runtime_of(served.app).open_streams == 1
            task = await wire.result("GetTask", {"id": task_id})
            assert task["status"]["state"] == "TASK_STATE_COMPLETED"
            # What is kept for followers, and what is on its way to one or to the store, which is
            # handed on in more than one form.
            on_its_way = (BACKLOG_EVENTS + BATCH_EVENTS) * (size + 500)
            assert most <= RING_BYTES + 3 * on_its_way < count * size / 1.5
            check_complete([frame async for frame in stuck.frames()], count)


@pytest.mark.requirement("R-3.5.2-6")
async def test_a_reader_that_stops_reading_does_not_delay_the_others() -> None:
    count = 3000
    gated = Gated(size=4000)
    async with serving(gated.agent) as served, Wire(served.url) as wire:
        task_id = await gated.begin(wire, count)
        async with (
            raw_stream(served.url, subscription(task_id)),
            wire.stream("GET", subscription(task_id)) as frames,
        ):
            gated.go.set()
            check_complete([frame async for frame in frames], count)


async def test_a_reader_that_takes_nothing_for_too_long_is_closed_and_can_come_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    count = 3000
    gated = Gated(size=4000)
    caplog.set_level(logging.INFO, "dragoman")
    async with (
        serving(gated.agent, stall_seconds=STALL_SECONDS) as served,
        Wire(served.url) as wire,
    ):
        task_id = await gated.begin(wire, count)
        async with raw_stream(served.url, subscription(task_id)) as stuck:
            gated.go.set()
            await until(lambda: runtime_of(served.app).open_streams == 0)
            seen = await read_to_the_cut(stuck)
        assert "its reader took nothing for too long" in caplog.text
        assert seen[-1].state is None
        while seen[-1].state != "TASK_STATE_COMPLETED":
            seen += await collect_more(wire, task_id, int(seen[-1].id))
        check_complete(seen, count)


async def test_a_reader_that_takes_nothing_for_too_long_is_let_go_of() -> None:
    gated = Gated(size=4000)
    async with (
        serving(gated.agent, stall_seconds=STALL_SECONDS) as served,
        Wire(served.url) as wire,
    ):
        task_id = await gated.begin(wire, 3000)
        before = open_files()
        async with raw_stream(served.url, subscription(task_id)):
            # Both ends of the connection are in this process.
            assert open_files() == before + 2
            gated.go.set()
            await until(lambda: runtime_of(served.app).open_streams == 0)
            async with asyncio.timeout(1):
                await until(lambda: open_files() == before + 1)


def open_files() -> int:
    """Count the files and sockets this process holds open."""
    return len(os.listdir("/dev/fd"))


async def read_to_the_cut(stream: RawStream) -> list[Frame]:
    """Read a stream that is cut off before its end."""
    seen: list[Frame] = []
    try:
        async for frame in stream.frames():
            seen.append(frame)  # noqa: PERF401 - what was read before the cut counts
    except (asyncio.IncompleteReadError, ConnectionResetError):
        return seen
    raise AssertionError("the stream came to its end")


# --- many readers -------------------------------------------------------------------------------


@pytest.mark.requirement("R-3.1.6-5", "R-3.1.6-6", "R-3.5.2-1", "R-3.5.2-4")
async def test_200_readers_of_one_task_get_all_its_events_in_order() -> None:
    count = 50
    gated = Gated()
    async with serving(gated.agent) as served, Wire(served.url) as wire:
        task_id = await gated.begin(wire, count)
        # A client opens at most 100 connections.
        wires = [Wire(served.url) for _ in range(4)]
        async with asyncio.TaskGroup() as group:
            readings = [
                group.create_task(collect(wires[number % len(wires)], task_id))
                for number in range(READERS)
            ]
            await until(lambda: runtime_of(served.app).open_streams == READERS)
            gated.go.set()
        for client in wires:
            await client.http.aclose()
    for reading in readings:
        check_complete(reading.result(), count)


async def test_each_event_is_encoded_once_for_all_its_readers() -> None:
    count = 50
    gated = Gated()
    async with serving(gated.agent) as served, Wire(served.url) as wire:
        task_id = await gated.begin(wire, count)
        service = await served.app.runtime.service()
        request = SubscribeToTaskRequest(id=task_id)
        streams = [await service.subscribe_to_task(request, Call()) for _ in range(READERS)]
        gated.go.set()
        async with asyncio.TaskGroup() as group:
            readings = [group.create_task(documents(stream)) for stream in streams]
    first = readings[0].result()
    assert len(first) > count
    for reading in readings:
        # The same objects, and so the same bytes.
        assert [id(event) for event in reading.result()] == [id(event) for event in first]


async def documents(stream: EventStream) -> list[EventDocument]:
    """Read a stream to its end, but for the task it begins with."""
    events = [event async for batch in stream for event in batch]
    await stream.aclose()
    return events[1:]


@pytest.mark.requirement("R-3.5.2-6")
async def test_a_reader_that_leaves_does_not_disturb_the_others() -> None:
    count = 500
    gated = Gated()
    async with serving(gated.agent) as served, Wire(served.url) as wire:
        task_id = await gated.begin(wire, count)
        async with asyncio.TaskGroup() as group:
            staying = [group.create_task(collect(wire, task_id)) for _ in range(5)]
            leaving = [group.create_task(collect(wire, task_id)) for _ in range(5)]
            await until(lambda: runtime_of(served.app).open_streams == len(staying) + len(leaving))
            for reading in leaving:
                reading.cancel()
            await until(lambda: runtime_of(served.app).open_streams == len(staying))
            gated.go.set()
        for reading in staying:
            check_complete(reading.result(), count)


# --- readers that come back ---------------------------------------------------------------------


async def test_a_stream_cut_after_any_event_goes_on_with_the_next_one() -> None:
    count = 47
    gated = Gated()
    gated.go.set()
    async with serving(gated.agent) as served, Wire(served.url) as wire:
        task_id = await gated.begin(wire, count)
        await until(gated.has_ended.is_set)
        whole = await collect(wire, task_id, 1)
        assert len(whole) == 50
        check_complete(whole, count)
        for cut in range(1, len(whole) + 1):
            rest = await collect(wire, task_id, cut)
            assert rest[0].kind == "task"
            assert [frame.id for frame in rest] == [frame.id for frame in whole[cut - 1 :]]
            assert [frame.data for frame in rest[1:]] == [frame.data for frame in whole[cut:]]


async def test_a_stream_of_a_running_task_goes_on_where_it_was_cut() -> None:
    agent = Agent("Stepwise")
    steps: asyncio.Queue[str | None] = asyncio.Queue()

    @agent.skill
    async def take_steps(text: str, ctx: Context) -> None:
        while (step := await steps.get()) is not None:
            await ctx.artifact(step, artifact_id="step")

    async with serving(agent) as served, Wire(served.url) as wire:
        request = {"message": message(), "configuration": {"returnImmediately": True}}
        task_id = (await wire.result("SendMessage", request))["task"]["id"]
        seen: list[Frame] = []
        for number in range(48):
            cursor = {"Last-Event-ID": seen[-1].id} if seen else {}
            async with wire.stream("GET", subscription(task_id), **cursor) as frames:
                head = await anext(frames)
                if seen:
                    assert head.id == seen[-1].id
                else:
                    seen.append(head)
                steps.put_nowait(str(number))
                seen.append(await artifact_update(frames, seen))
        steps.put_nowait(None)
        seen += (await collect(wire, task_id, int(seen[-1].id)))[1:]
    check_complete(seen, 48)


async def artifact_update(frames: AsyncIterator[Frame], before: list[Frame]) -> Frame:
    """Return the next artifact update; whatever comes before it is noted."""
    async for frame in frames:
        if frame.kind == "artifactUpdate":
            return frame
        before.append(frame)
    raise AssertionError("the stream ended")


@pytest.mark.requirement("R-3.1.6-3")
@pytest.mark.parametrize("cursor", ["0", "9999", "-1", "x", "1" * 30, ""])
async def test_an_unknown_cursor_counts_as_none(cursor: str) -> None:
    gated = Gated()
    async with serving(gated.agent) as served, Wire(served.url) as wire:
        task_id = await gated.begin(wire, 3)
        headers = {"Last-Event-ID": cursor}
        async with wire.stream("GET", subscription(task_id), **headers) as frames:
            head = await anext(frames)
            assert head.kind == "task"
            gated.go.set()
            check_complete([head, *[frame async for frame in frames]], 3)
        error = await wire.error("SubscribeToTask", {"id": task_id}, **headers)
        assert error["code"] == -32004


# --- connections that come to nothing -----------------------------------------------------------


async def test_an_idle_stream_gets_heartbeats() -> None:
    gated = Gated()
    async with serving(gated.agent, heartbeat_seconds=0.05) as served, Wire(served.url) as wire:
        task_id = await gated.begin(wire, 1)
        async with raw_stream(served.url, subscription(task_id)) as stream:
            seen = b""
            while seen.count(b"\n\n:\n\n:\n\n") < 1:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    seen += await stream.chunk()
            gated.go.set()
            rest = [frame async for frame in stream.frames()]
            assert rest[-1].state == "TASK_STATE_COMPLETED"


@pytest.mark.requirement("R-3.5.2-7")
@pytest.mark.parametrize("path", ["/message:stream", "/message:send"])
async def test_a_dropped_connection_does_not_cancel_the_work(path: str) -> None:
    gated = Gated()
    async with serving(gated.agent) as served, Wire(served.url) as wire:
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(drop_after_sending(served, path))
            task_id = await only_task(wire)
            sending.cancel()
        gated.go.set()
        frames = await collect(wire, task_id, 1)
        check_complete(frames, 5)


async def drop_after_sending(served: Served, path: str) -> None:
    """Send a message and wait for its answer until canceled; then the connection is gone."""
    async with (
        Wire(served.url) as wire,
        wire.http.stream("POST", path, json={"message": message("5")}) as response,
    ):
        await response.aread()


async def only_task(wire: Wire) -> str:
    """Wait until there is a task, and return its id."""

    async def look() -> str | None:
        tasks = (await wire.result("ListTasks"))["tasks"]
        return tasks[0]["id"] if tasks else None

    return await find(look)
