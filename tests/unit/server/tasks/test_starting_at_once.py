"""The same message twice at once, on a store that one server has to itself."""

import asyncio
from pathlib import Path

from dragoman.model.documents import TaskDocument
from dragoman.model.messages import text_of
from dragoman.model.operations import GetTaskRequest
from dragoman.server.assembly import build_runtime
from dragoman.server.settings import Settings
from dragoman.service.service import Call
from dragoman.service.worker import Completed, Outcome, Turn
from dragoman.stores.base import Scope, StoredTask
from tests.support.server.agency import CALL, Held, Store, send, serving
from tests.support.server.fakes import ScriptedWorker, agent_message


class SlowStore(Store):
    """A store that takes a moment to read a task, like one on a disk."""

    async def load(self, scope: Scope, task_id: str) -> StoredTask | None:
        await asyncio.sleep(0)
        return await super().load(scope, task_id)


class Asking:
    """A turn that asks; any other has nothing to do."""

    def __init__(self) -> None:
        self.turns: list[str] = []

    async def run(self, turn: Turn) -> Outcome:
        """Ask in the first turn."""
        self.turns.append(text_of(turn.message.parts))
        if self.turns[-1] == "hello":
            await turn.ask(agent_message("which?"))
        return Completed()


async def test_an_answer_to_a_task_that_was_put_aside_counts_once() -> None:
    script = Asking()
    async with serving(script.run, store=SlowStore()) as agency:
        task = await agency.send(send())
        while agency.runtime.live_tasks:
            await agency.pass_time(100)
        blue = send("blue", message_id="m-2", task_id=task.id)
        await asyncio.gather(agency.send(blue), agency.send(blue))
        ended = await agency.ended(task.id)
    assert [text_of(each.parts) for each in ended.history].count("blue") == 1
    assert script.turns == ["hello", "hello"]


async def test_so_it_does_on_sqlite(tmp_path: Path) -> None:
    script = Asking()
    settings = Settings(
        store=f"sqlite:///{tmp_path}/tasks.db",
        park_after_seconds=0.1,
        shutdown_grace_seconds=0,
        push=False,
    )
    runtime = build_runtime(ScriptedWorker(script.run), settings)
    service = await runtime.service()
    try:
        task = await service.send_message(send(), CALL)
        assert isinstance(task, TaskDocument)
        async with asyncio.timeout(10):
            while runtime.live_tasks:  # noqa: ASYNC110 - nothing tells of a task put aside
                await asyncio.sleep(0.05)
        blue = send("blue", message_id="m-2", task_id=task.task().id)
        await asyncio.gather(*(service.send_message(blue, CALL) for _ in range(2)))
        ended = await service.get_task(GetTaskRequest(id=task.task().id), CALL)
    finally:
        await runtime.stop()
    assert [text_of(each.parts) for each in ended.task().history].count("blue") == 1
    assert script.turns == ["hello", "hello"]


async def test_a_first_message_under_a_name_begins_one_turn() -> None:
    held = Held()
    named = Call(alias="mine")
    async with serving(held.run, store=SlowStore()) as agency:
        both = [asyncio.ensure_future(agency.service.send_message(send(), named)) for _ in range(2)]
        await held.reached.wait()
        held.released.set()
        tasks = [each for each in await asyncio.gather(*both) if isinstance(each, TaskDocument)]
    assert [len(task.task().history) for task in tasks] == [1, 1]
    assert tasks[0].task().id == tasks[1].task().id
