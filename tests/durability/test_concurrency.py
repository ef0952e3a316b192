"""One turn of a task at a time, no message left behind, and no more work than there is room for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from dragoman import Agent, Context, Rejected
from dragoman.stores.base import SendRecord
from dragoman.stores.memory.store import MemoryTaskStore
from dragoman.stores.sqlite.store import SQLiteTaskStore
from tests.durability.hosting import Hosted, hosting
from tests.durability.recording import RecordingStore
from tests.durability.waiting import PATIENCE_SECONDS, find, until
from tests.durability.witness import text_of
from tests.support.serving import serving
from tests.support.wire import Json, Wire, message

ROUNDS: Final = 124
TERMINAL: Final = ("TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED")


class Gated:
    """An agent whose turns begin, and go on when they are let."""

    def __init__(self) -> None:
        self.agent = Agent("Gated")
        self.begun: list[str] = []
        self.stopped: list[str] = []
        self._permits: asyncio.Queue[None] = asyncio.Queue()

        @self.agent.skill
        async def work(text: str) -> str:
            self.begun.append(text)
            try:
                await self._permits.get()
            except asyncio.CancelledError:
                self.stopped.append(text)
                raise
            if text == "fail":
                raise RuntimeError
            if text == "decline":
                raise Rejected("No.")
            return f"did {text}"

        @self.agent.skill
        async def ask(text: str, ctx: Context) -> str:
            self.begun.append(text)
            return await ctx.ask("and?")

    def let(self, turns: int = 1) -> None:
        """Let some turns go on."""
        for _ in range(turns):
            self._permits.put_nowait(None)

    def forget_permits(self) -> None:
        """Take back what nobody has used."""
        while not self._permits.empty():
            self._permits.get_nowait()

    async def have_begun(self, count: int) -> None:
        """Wait until so many turns have begun."""
        await until(lambda: len(self.begun) >= count)


def request(text: str, *, skill: str = "work", is_urgent: bool = True, **members: object) -> Json:
    """Return the parameters of a send."""
    return {
        "message": message(text, metadata={"skillId": skill}, **members),
        "configuration": {"returnImmediately": is_urgent},
    }


async def send(
    wire: Wire, text: str, *, skill: str = "work", is_urgent: bool = True, **members: object
) -> Json:
    """Send a message and return the task."""
    params = request(text, skill=skill, is_urgent=is_urgent, **members)
    return (await wire.result("SendMessage", params))["task"]


async def state_of(wire: Wire, task_id: str) -> str:
    return (await wire.result("GetTask", {"id": task_id}))["status"]["state"]


async def ended(wire: Wire, task_id: str) -> Json:
    """Wait for the end of a task and return it."""

    async def look() -> Json | None:
        task = await wire.result("GetTask", {"id": task_id})
        return task if task["status"]["state"] in TERMINAL else None

    return await find(look)


async def states_in_log(wire: Wire, task_id: str) -> list[str | None]:
    """Return the states a finished task went through, beginning with submitted."""
    headers = {"Last-Event-ID": "1"}
    async with wire.rpc_stream("SubscribeToTask", {"id": task_id}, **headers) as frames:
        return [frame.state async for frame in frames if frame.state]


# --- cancel against completion ------------------------------------------------------------------


@pytest.mark.requirement("R-3.1.5-2", "R-3.1.5-3", "R-3.3.1-4")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_cancel_that_races_with_the_end_agrees_with_the_log(
    kind: str, tmp_path: Path
) -> None:
    gated = Gated()
    outcomes: set[str] = set()
    store = MemoryTaskStore() if kind == "memory" else SQLiteTaskStore(tmp_path / "tasks.db")
    async with hosting(gated.agent, store) as wire:
        for number in range(ROUNDS):
            task_id = (await send(wire, str(number)))["id"]
            await gated.have_begun(number + 1)
            async with asyncio.TaskGroup() as group:
                # The cancel sets out up to 15 passes of the loop before or after the end.
                ahead = number % 31 - 15
                if ahead <= 0:
                    gated.let()
                await passes(-ahead)
                canceling = group.create_task(wire.rpc("CancelTask", {"id": task_id}))
                await passes(ahead)
                if ahead > 0:
                    gated.let()
            answer = canceling.result()
            task = await ended(wire, task_id)
            state = task["status"]["state"]
            states = await states_in_log(wire, task_id)
            assert [item for item in states if item in TERMINAL] == [state]
            assert states[-1] == state
            if "result" in answer:
                assert answer["result"] == task
                assert state == "TASK_STATE_CANCELED"
            else:
                assert answer["error"]["code"] == -32002
                assert state == "TASK_STATE_COMPLETED"
            outcomes.add(state)
            # A permit that nobody took must not let the next one through.
            gated.forget_permits()
    assert outcomes == {"TASK_STATE_COMPLETED", "TASK_STATE_CANCELED"}


async def passes(count: int) -> None:
    """Let the loop go round."""
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.requirement("R-3.3.1-4")
async def test_of_many_cancels_at_once_one_is_obeyed() -> None:
    gated = Gated()
    async with serving(gated.agent) as served, Wire(served.url) as wire:
        task_id = (await send(wire, "work"))["id"]
        await gated.have_begun(1)
        async with asyncio.TaskGroup() as group:
            cancels = [
                group.create_task(wire.rpc("CancelTask", {"id": task_id})) for _ in range(10)
            ]
        answers = [cancel.result() for cancel in cancels]
        assert sum("result" in answer for answer in answers) == 1
        codes = {answer["error"]["code"] for answer in answers if "error" in answer}
        assert codes == {-32002}
        assert await states_in_log(wire, task_id) == [
            "TASK_STATE_SUBMITTED",
            "TASK_STATE_WORKING",
            "TASK_STATE_CANCELED",
        ]


async def test_a_canceled_turn_is_stopped() -> None:
    gated = Gated()
    async with serving(gated.agent) as served, Wire(served.url) as wire:
        task_id = (await send(wire, "work"))["id"]
        await gated.have_begun(1)
        await wire.result("CancelTask", {"id": task_id})
        await until(lambda: gated.stopped == ["work"])


async def test_a_caller_who_waits_for_a_task_that_is_canceled_gets_it() -> None:
    gated = Gated()
    async with serving(gated.agent) as served, Wire(served.url) as wire:
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(send(wire, "work", is_urgent=False))
            await gated.have_begun(1)
            [task] = (await wire.result("ListTasks"))["tasks"]
            canceled = await wire.result("CancelTask", {"id": task["id"]})
        assert waiting.result() == canceled


# --- messages for a working task ----------------------------------------------------------------


async def test_a_message_for_a_working_task_gets_a_turn_of_its_own_afterwards() -> None:
    gated = Gated()
    async with serving(gated.agent) as served, Wire(served.url) as wire:
        task_id = (await send(wire, "first"))["id"]
        await gated.have_begun(1)
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(send(wire, "second", taskId=task_id, is_urgent=False))
            await unread(wire, task_id, "second")
            assert gated.begun == ["first"]
            gated.let()
            await gated.have_begun(2)
            # The first turn is over; the second send waits for its own.
            assert not sending.done()
            assert await state_of(wire, task_id) == "TASK_STATE_WORKING"
            gated.let()
        task = sending.result()
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert [text_of(item) for item in task["artifacts"]] == ["did first", "did second"]
    assert [text_of(item) for item in task["history"]] == ["first", "second"]


async def unread(wire: Wire, task_id: str, text: str) -> None:
    """Wait until a message is in the task's history."""

    async def look() -> bool | None:
        task = await wire.result("GetTask", {"id": task_id})
        return text in map(text_of, task["history"]) or None

    await find(look)


async def artifacts(wire: Wire, task_id: str) -> None:
    """Wait until a task has artifacts: the turn that made them is over."""

    async def look() -> bool | None:
        return "artifacts" in await wire.result("GetTask", {"id": task_id}) or None

    await find(look)


async def test_several_messages_for_a_working_task_keep_their_order() -> None:
    gated = Gated()
    async with serving(gated.agent) as served, Wire(served.url) as wire:
        task_id = (await send(wire, "0"))["id"]
        await gated.have_begun(1)
        for number in range(1, 6):
            await send(wire, str(number), taskId=task_id)
        gated.let(6)
        task = await ended(wire, task_id)
        states = await states_in_log(wire, task_id)
    order = [str(number) for number in range(6)]
    assert gated.begun == order
    assert [text_of(item) for item in task["history"]] == order
    assert [text_of(item) for item in task["artifacts"]] == [f"did {number}" for number in order]
    assert states == ["TASK_STATE_SUBMITTED", *["TASK_STATE_WORKING"] * 6, "TASK_STATE_COMPLETED"]


@pytest.mark.parametrize(
    ("how", "state"), [("fail", "TASK_STATE_FAILED"), ("decline", "TASK_STATE_REJECTED")]
)
async def test_a_turn_that_fails_ends_the_task_and_those_who_queued_are_told(
    how: str, state: str
) -> None:
    gated = Gated()
    async with serving(gated.agent) as served, Wire(served.url) as wire:
        task_id = (await send(wire, how))["id"]
        await gated.have_begun(1)
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(send(wire, "second", taskId=task_id, is_urgent=False))
            await unread(wire, task_id, "second")
            gated.let()
        task = sending.result()
    assert task["status"]["state"] == state
    assert [text_of(item) for item in task["history"]] == [how, "second"]
    assert gated.begun == [how]


async def test_a_cancel_wins_over_messages_that_wait() -> None:
    gated = Gated()
    async with serving(gated.agent) as served, Wire(served.url) as wire:
        task_id = (await send(wire, "first"))["id"]
        await gated.have_begun(1)
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(send(wire, "second", taskId=task_id, is_urgent=False))
            await unread(wire, task_id, "second")
            canceled = await wire.result("CancelTask", {"id": task_id})
        assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
        # What was acknowledged is in the history, though nobody has taken it up.
        assert [text_of(item) for item in canceled["history"]] == ["first", "second"]
        assert sending.result() == canceled
    assert gated.begun == ["first"]


class SlowInbox(RecordingStore):
    """A store that takes its time with messages for a task."""

    def __init__(self) -> None:
        super().__init__(MemoryTaskStore())
        self.has_come = asyncio.Event()
        self.go = asyncio.Event()

    async def put_inbox(
        self, task_id: str, body: bytes, send: SendRecord | None, *, epoch: int | None = None
    ) -> int:
        self.has_come.set()
        await self.go.wait()
        return await super().put_inbox(task_id, body, send, epoch=epoch)


@asynccontextmanager
async def message_on_its_way(
    gated: Gated, store: SlowInbox
) -> AsyncGenerator[tuple[Hosted, str, asyncio.Task[Json]]]:
    """Run a task while a message for it is on its way to the store."""
    async with hosting(gated.agent, store) as hosted:
        task_id = (await send(hosted, "first"))["id"]
        await gated.have_begun(1)
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(send(hosted, "second", taskId=task_id, is_urgent=False))
            await store.has_come.wait()
            async with asyncio.timeout(PATIENCE_SECONDS):
                yield hosted, task_id, sending
                store.go.set()
                await sending


async def test_a_turn_that_ends_while_a_message_is_on_its_way_waits_for_it() -> None:
    gated = Gated()
    async with message_on_its_way(gated, SlowInbox()) as (hosted, task_id, sending):
        gated.let(2)
        await artifacts(hosted, task_id)
        assert await state_of(hosted, task_id) == "TASK_STATE_WORKING"
    assert sending.result()["status"]["state"] == "TASK_STATE_COMPLETED"
    assert gated.begun == ["first", "second"]


@pytest.mark.parametrize("has_turn_ended", [True, False])
async def test_a_cancel_while_a_message_is_on_its_way_answers_its_sender(
    *, has_turn_ended: bool
) -> None:
    gated = Gated()
    async with message_on_its_way(gated, SlowInbox()) as (hosted, task_id, sending):
        if has_turn_ended:
            gated.let()
            await artifacts(hosted, task_id)
        await hosted.result("CancelTask", {"id": task_id})
    assert sending.result()["status"]["state"] == "TASK_STATE_CANCELED"
    assert [text_of(item) for item in sending.result()["history"]] == ["first", "second"]
    assert gated.begun == ["first"]


async def test_a_message_that_is_not_stored_yet_is_shown_to_nobody() -> None:
    gated = Gated()
    async with message_on_its_way(gated, SlowInbox()) as (hosted, task_id, sending):
        task = await hosted.result("GetTask", {"id": task_id})
        assert [text_of(item) for item in task["history"]] == ["first"]
        gated.let(2)
    assert [text_of(item) for item in sending.result()["history"]] == ["first", "second"]


# --- how much at once ---------------------------------------------------------------------------


async def test_more_turns_than_there_are_slots_wait_as_submitted() -> None:
    gated = Gated()
    async with serving(gated.agent, max_running_turns=2) as served, Wire(served.url) as wire:
        ids = [(await send(wire, str(number)))["id"] for number in range(5)]
        await gated.have_begun(2)
        states = [await state_of(wire, task_id) for task_id in ids]
        assert states == ["TASK_STATE_WORKING"] * 2 + ["TASK_STATE_SUBMITTED"] * 3
        gated.let()
        await gated.have_begun(3)
        gated.let(4)
        for task_id in ids:
            assert (await ended(wire, task_id))["status"]["state"] == "TASK_STATE_COMPLETED"
    # First come, first served.
    assert gated.begun == [str(number) for number in range(5)]


async def test_a_turn_that_waits_for_an_answer_gives_its_slot_back() -> None:
    gated = Gated()
    async with serving(gated.agent, max_running_turns=1) as served, Wire(served.url) as wire:
        asking = await send(wire, "question", skill="ask", is_urgent=False)
        assert asking["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        other = (await send(wire, "other"))["id"]
        await gated.have_begun(2)
        # The answer is taken at once, but the turn goes on only when there is room.
        await send(wire, "answer", skill="ask", taskId=asking["id"])
        assert await state_of(wire, asking["id"]) == "TASK_STATE_WORKING"
        gated.let()
        assert (await ended(wire, other))["status"]["state"] == "TASK_STATE_COMPLETED"
        task = await ended(wire, asking["id"])
    assert text_of(task["artifacts"][0]) == "answer"


async def test_a_task_canceled_before_it_began_frees_its_place() -> None:
    gated = Gated()
    limits: dict[str, Any] = {"max_running_turns": 1, "max_waiting_turns": 1}
    async with serving(gated.agent, **limits) as served, Wire(served.url) as wire:
        running = (await send(wire, "running"))["id"]
        await gated.have_begun(1)
        waiting = (await send(wire, "waiting"))["id"]
        canceled = await wire.result("CancelTask", {"id": waiting})
        assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
        await until_accepted(wire, "next")
        gated.let(2)
        await ended(wire, running)
        await gated.have_begun(2)
    assert gated.begun == ["running", "next"]


async def until_accepted(wire: Wire, text: str) -> None:
    """Send until there is room: the canceled turn leaves a moment after its task."""
    params = request(text)

    async def look() -> bool | None:
        return "result" in await wire.rpc("SendMessage", params) or None

    await find(look)


async def test_above_the_bound_of_the_queue_the_agent_is_busy() -> None:
    gated = Gated()
    limits: dict[str, Any] = {"max_running_turns": 1, "max_waiting_turns": 2}
    async with serving(gated.agent, **limits) as served, Wire(served.url) as wire:
        ids = [(await send(wire, "0"))["id"]]
        await gated.have_begun(1)
        ids += [(await send(wire, str(number)))["id"] for number in (1, 2)]
        response = await wire.http.post("/message:send", json=request("3"))
        assert response.status_code == 503
        assert response.headers["retry-after"] == "1"
        error = response.json()["error"]
        assert "busy" in error["message"]
        assert error["details"][1]["retryDelay"] == "1s"
        # Nothing of it is left behind, and there is room again when a turn has ended.
        assert (await wire.result("ListTasks"))["totalSize"] == 3
        gated.let()
        await ended(wire, ids[0])
        ids.append((await send(wire, "4"))["id"])
        gated.let(3)
        for task_id in ids:
            assert (await ended(wire, task_id))["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_sends_that_arrive_together_do_not_overrun_the_bound() -> None:
    gated = Gated()
    limits: dict[str, Any] = {"max_running_turns": 1, "max_waiting_turns": 2}
    async with hosting(gated.agent, MemoryTaskStore(), **limits) as hosted:
        async with asyncio.TaskGroup() as group:
            sends = [
                group.create_task(hosted.http.post("/message:send", json=request(str(number))))
                for number in range(20)
            ]
        statuses = [sending.result().status_code for sending in sends]
    assert statuses.count(200) == 3
    assert statuses.count(503) == 17
