"""The same message sent again gets the same result, whenever and however often it is sent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest

from dragoman import Agent, Context, Reply
from tests.durability.waiting import PATIENCE_SECONDS, find, until
from tests.durability.witness import text_of
from tests.support.serving import serving
from tests.support.wire import Frame, Json, Wire, message

CALLERS: Final = 10


class Counting:
    """An agent that counts how often it is asked to do something, and does it when it is let."""

    def __init__(self) -> None:
        self.agent = Agent("Counting")
        self.runs: list[str] = []
        self.go = asyncio.Event()

        @self.agent.skill
        async def work(text: str) -> str:
            self.runs.append(text)
            await self.go.wait()
            return text

        @self.agent.skill
        async def answer(text: str) -> Reply:
            self.runs.append(text)
            await self.go.wait()
            return Reply(text)

        @self.agent.skill
        async def ask(text: str, ctx: Context) -> str:
            self.runs.append(text)
            answer = await ctx.ask("and?")
            self.runs.append(answer)
            await self.go.wait()
            return f"{text} {answer}"

        @self.agent.skill
        async def spell(text: str) -> AsyncIterator[str]:
            self.runs.append(text)
            for letter in text:
                yield letter
            await self.go.wait()

    async def has_run(self, times: int) -> None:
        """Wait until it was asked so often."""
        await until(lambda: len(self.runs) >= times)


def request(skill: str, text: str = "hello", **members: object) -> Json:
    """Return the parameters of a send."""
    return {"message": message(text, metadata={"skillId": skill}, **members)}


def urgent(params: Json) -> Json:
    """Return the same send, not to be waited for."""
    return {**params, "configuration": {"returnImmediately": True}}


async def together(*calls: Awaitable[Json]) -> list[Json]:
    """Make calls at the same time and return their results."""

    async def one(call: Awaitable[Json]) -> Json:
        return await call

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(call)) for call in calls]
    return [task.result() for task in tasks]


async def total(wire: Wire) -> int:
    return (await wire.result("ListTasks"))["totalSize"]


# --- at the same time ---------------------------------------------------------------------------


@pytest.mark.parametrize("skill", ["work", "answer"])
async def test_callers_who_send_the_same_message_at_once_share_one_run_and_its_result(
    skill: str,
) -> None:
    counting = Counting()
    async with serving(counting.agent) as served, Wire(served.url) as wire:
        params = request(skill)

        async def open_gate() -> Json:
            await counting.has_run(1)
            counting.go.set()
            return {}

        sends = [wire.result("SendMessage", params) for _ in range(CALLERS)]
        results = (await together(open_gate(), *sends))[1:]
        assert counting.runs == ["hello"]
        assert results == [results[0]] * CALLERS
        assert await total(wire) == (1 if skill == "work" else 0)


async def test_a_caller_who_joins_a_run_under_way_gets_its_result() -> None:
    counting = Counting()
    async with serving(counting.agent) as served, Wire(served.url) as wire:
        params = request("work")
        begun = (await wire.result("SendMessage", urgent(params)))["task"]
        await counting.has_run(1)
        again = (await wire.result("SendMessage", urgent(params)))["task"]
        assert again["id"] == begun["id"]
        counting.go.set()
        # How a send is to be answered is no part of what is sent.
        done = (await wire.result("SendMessage", params))["task"]
        assert done["id"] == begun["id"]
        assert done["status"]["state"] == "TASK_STATE_COMPLETED"
        assert counting.runs == ["hello"]


# --- afterwards ---------------------------------------------------------------------------------


@pytest.mark.parametrize("store", ["memory:", "sqlite"])
@pytest.mark.parametrize("skill", ["work", "answer"])
async def test_a_message_sent_again_after_the_end_gets_the_result_of_then(
    skill: str, store: str, tmp_path: Path
) -> None:
    counting = Counting()
    counting.go.set()
    url = f"sqlite:///{tmp_path}/t.db" if store == "sqlite" else store
    async with serving(counting.agent, store=url) as served, Wire(served.url) as wire:
        params = request(skill)
        first = await wire.result("SendMessage", params)
        assert await wire.result("SendMessage", params) == first
        assert counting.runs == ["hello"]


async def test_a_message_sent_again_after_it_was_canceled_gets_the_canceled_task() -> None:
    counting = Counting()
    async with serving(counting.agent) as served, Wire(served.url) as wire:
        params = request("work")
        task = (await wire.result("SendMessage", urgent(params)))["task"]
        canceled = await wire.result("CancelTask", {"id": task["id"]})
        assert (await wire.result("SendMessage", params))["task"] == canceled


async def test_other_content_under_the_same_id_is_a_new_message_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    counting = Counting()
    counting.go.set()
    caplog.set_level(logging.WARNING, "dragoman")
    async with serving(counting.agent) as served, Wire(served.url) as wire:
        first = (await wire.result("SendMessage", request("work", messageId="same")))["task"]
        params = request("work", "other", messageId="same")
        second = (await wire.result("SendMessage", params))["task"]
        assert first["id"] != second["id"]
        assert text_of(second["artifacts"][0]) == "other"
        assert counting.runs == ["hello", "other"]
    [warning] = [record for record in caplog.records if record.name.startswith("dragoman")]
    assert "'same' was used before with other content" in warning.getMessage()


async def test_other_metadata_of_the_request_is_other_content() -> None:
    counting = Counting()
    counting.go.set()
    async with serving(counting.agent) as served, Wire(served.url) as wire:
        params = request("work")
        await wire.result("SendMessage", params)
        await wire.result("SendMessage", {**params, "metadata": {"note": 1}})
        assert counting.runs == ["hello", "hello"]


async def test_another_tenant_may_use_the_same_id() -> None:
    counting = Counting()
    counting.go.set()
    agent = Agent("Tenants", tenants=["acme"])
    agent.skill(id="work")(work_of(counting))
    async with serving(agent) as served, Wire(served.url) as wire:
        params = request("work")
        first = (await wire.result("SendMessage", params))["task"]
        second = (await wire.result("SendMessage", {**params, "tenant": "acme"}))["task"]
        assert first["id"] != second["id"]


def work_of(counting: Counting) -> Callable[[str], Awaitable[str]]:
    """Return a function that counts for an agent of another name."""

    async def work(text: str) -> str:
        counting.runs.append(text)
        return text

    return work


# --- messages for a task ------------------------------------------------------------------------


async def test_an_answer_sent_twice_is_taken_once() -> None:
    counting = Counting()
    async with serving(counting.agent) as served, Wire(served.url) as wire:
        task = (await wire.result("SendMessage", request("ask")))["task"]
        answer = request("ask", "well", taskId=task["id"])

        async def open_gate() -> Json:
            await counting.has_run(2)
            counting.go.set()
            return {}

        sends = [wire.result("SendMessage", answer) for _ in range(CALLERS)]
        results = (await together(open_gate(), *sends))[1:]
        assert counting.runs == ["hello", "well"]
        assert results == [results[0]] * CALLERS
        assert text_of(results[0]["task"]["artifacts"][0]) == "hello well"
        # Also when the task is over, which takes no other message any more.
        assert await wire.result("SendMessage", answer) == results[0]


async def test_a_message_queued_twice_gets_one_turn() -> None:
    counting = Counting()
    async with serving(counting.agent) as served, Wire(served.url) as wire:
        task = (await wire.result("SendMessage", urgent(request("work"))))["task"]
        await counting.has_run(1)
        more = request("work", "more", taskId=task["id"])
        queued = await together(*(wire.result("SendMessage", urgent(more)) for _ in range(CALLERS)))
        assert {result["task"]["id"] for result in queued} == {task["id"]}
        counting.go.set()
        done = (await wire.result("SendMessage", more))["task"]
        assert done["status"]["state"] == "TASK_STATE_COMPLETED"
        assert counting.runs == ["hello", "more"]
        assert [text_of(item) for item in done["history"]] == ["hello", "more"]


# --- streams ------------------------------------------------------------------------------------


async def read(wire: Wire, params: Json, cursor: str | None = None) -> list[Frame]:
    """Send and read the stream to its end."""
    headers = {} if cursor is None else {"Last-Event-ID": cursor}
    async with wire.rpc_stream("SendStreamingMessage", params, **headers) as frames:
        return [frame async for frame in frames]


async def test_a_stream_of_the_same_message_attaches_to_the_task() -> None:
    counting = Counting()
    async with serving(counting.agent) as served, Wire(served.url) as wire:
        params = request("spell", "abc")
        async with wire.rpc_stream("SendStreamingMessage", params) as first:
            task = (await anext(first)).result["task"]
            await counting.has_run(1)
            async with wire.rpc_stream("SendStreamingMessage", params) as second:
                head = await anext(second)
                assert head.result["task"]["id"] == task["id"]
                counting.go.set()
                rest = [frame async for frame in second]
        # The task as it is now, then what comes.
        assert [int(frame.id) for frame in rest] == list(
            range(int(head.id) + 1, int(head.id) + 1 + len(rest))
        )
        assert rest[-1].state == "TASK_STATE_COMPLETED"
        assert counting.runs == ["abc"]


async def test_a_stream_of_the_same_message_with_a_cursor_goes_on_after_it() -> None:
    counting = Counting()
    async with serving(counting.agent) as served, Wire(served.url) as wire:
        params = request("spell", "abcdef")
        seen: list[Frame] = []
        async with wire.rpc_stream("SendStreamingMessage", params) as frames:
            async for frame in frames:
                seen.append(frame)
                if len(seen) == 4:
                    break
        counting.go.set()
        rest = await read(wire, params, seen[-1].id)
        assert rest[0].kind == "task"
        assert rest[0].id == seen[-1].id
        assert [int(frame.id) for frame in (*seen, *rest[1:])] == list(
            range(1, len(seen) + len(rest))
        )
        # And the same when the task has ended meanwhile.
        again = await read(wire, params, seen[-1].id)
        assert [frame.result for frame in again] == [frame.result for frame in rest]
        assert counting.runs == ["abcdef"]


async def test_a_stream_of_the_same_message_after_the_end_is_the_task_alone() -> None:
    counting = Counting()
    counting.go.set()
    async with serving(counting.agent) as served, Wire(served.url) as wire:
        params = request("spell", "abc")
        seen = await read(wire, params)
        [frame] = await read(wire, params)
        assert frame.id == seen[-1].id
        assert frame.state == "TASK_STATE_COMPLETED"
        assert counting.runs == ["abc"]


async def test_a_cursor_means_nothing_with_a_message_that_is_new() -> None:
    counting = Counting()
    counting.go.set()
    async with serving(counting.agent) as served, Wire(served.url) as wire:
        frames = await read(wire, request("spell", "abc"), "3")
        assert frames[0].id == "1"
        assert frames[-1].state == "TASK_STATE_COMPLETED"


async def test_a_stream_of_a_message_answered_directly_is_the_same_answer() -> None:
    counting = Counting()
    counting.go.set()
    async with serving(counting.agent) as served, Wire(served.url) as wire:
        params = request("answer")
        [first] = await read(wire, params)
        [second] = await read(wire, params)
        assert first.result == second.result
        assert counting.runs == ["hello"]


async def test_a_stream_that_attaches_to_a_task_waiting_for_input_ends_like_the_first() -> None:
    counting = Counting()
    async with serving(counting.agent) as served, Wire(served.url) as wire:
        params = request("ask")
        first = await read(wire, params)
        assert first[-1].state == "TASK_STATE_INPUT_REQUIRED"
        async with asyncio.timeout(PATIENCE_SECONDS):
            without = await read(wire, params)
            at_the_end = await read(wire, params, first[-1].id)
            before_it = await read(wire, params, first[-2].id)
        assert [frame.kind for frame in without] == ["task"]
        assert [frame.kind for frame in at_the_end] == ["task"]
        assert [frame.kind for frame in before_it] == ["task", "statusUpdate"]


# --- the window ---------------------------------------------------------------------------------


async def test_with_a_window_of_0_every_send_is_new() -> None:
    counting = Counting()
    counting.go.set()
    async with serving(counting.agent, idempotency_seconds=0) as served, Wire(served.url) as wire:
        params = request("work")
        first = (await wire.result("SendMessage", params))["task"]
        second = (await wire.result("SendMessage", params))["task"]
        assert first["id"] != second["id"]
        assert counting.runs == ["hello", "hello"]


async def test_after_the_window_a_send_is_new() -> None:
    counting = Counting()
    counting.go.set()
    async with (
        serving(counting.agent, idempotency_seconds=0.001) as served,
        Wire(served.url) as wire,
    ):
        params = request("work")
        first = (await wire.result("SendMessage", params))["task"]

        async def look() -> bool | None:
            task = (await wire.result("SendMessage", params))["task"]
            return task["id"] != first["id"] or None

        await find(look)
