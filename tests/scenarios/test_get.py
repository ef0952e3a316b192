"""GetTask: the task as it is now, and no trace of having been asked."""

from __future__ import annotations

import pytest

from tests.scenarios.agents import Gate, make_agent, to
from tests.scenarios.bindings import Binding, HttpJson, JsonRpc, expect
from tests.support.serving import serving
from tests.support.wire import message


@pytest.mark.requirement("R-3.1.3-1")
async def test_a_task_is_read_with_status_artifacts_and_history(wire: Binding) -> None:
    sent = message("hello")
    task = (await wire.send_message(sent))["task"]
    read = await wire.get_task(task["id"])
    assert read == {
        "id": task["id"],
        "contextId": task["contextId"],
        "status": {"state": "TASK_STATE_COMPLETED", "timestamp": task["status"]["timestamp"]},
        "artifacts": [
            {"artifactId": task["artifacts"][0]["artifactId"], "parts": [{"text": "hello"}]}
        ],
        "history": [{**sent, "taskId": task["id"], "contextId": task["contextId"]}],
    }


@pytest.mark.requirement("R-3.1.3-1")
async def test_a_task_at_work_is_read_as_it_is_at_the_moment(wire: Binding, gate: Gate) -> None:
    started = await wire.start(to("steps", gate.name))
    await gate.reached()
    read = await wire.get_task(started["id"])
    assert read["status"]["state"] == "TASK_STATE_WORKING"
    assert read["status"]["message"]["parts"] == [{"text": "first"}]
    assert read["artifacts"] == [
        {"artifactId": "poem", "name": "poem", "parts": [{"text": "draft"}]}
    ]


@pytest.mark.requirement("R-3.1.3-1")
async def test_the_chunks_of_a_text_are_read_as_one_text(wire: Binding, gate: Gate) -> None:
    gate.open(3)
    task = await wire.task(to("chunks", gate.name))
    (artifact,) = (await wire.get_task(task["id"]))["artifacts"]
    assert artifact["parts"] == [{"text": "one two three"}]


@pytest.mark.requirement("R-3.1.3-2", "R-3.3.2-12")
async def test_an_unknown_task_is_not_found(wire: Binding) -> None:
    problem = await expect("TaskNotFoundError", wire.get_task("t-unknown"))
    assert problem.message == "Task not found"
    assert problem.metadata == {"taskId": "t-unknown"}


@pytest.mark.requirement("R-3.3.1-1")
async def test_reading_a_task_changes_nothing(wire: Binding, gate: Gate) -> None:
    started = await wire.start(to("hold", gate.name))
    await gate.reached()
    first = await wire.get_task(started["id"])
    await wire.get_task(started["id"], historyLength=0)
    assert await wire.get_task(started["id"]) == first


@pytest.mark.requirement("R-5.1-2", "R-4-1")
async def test_a_task_reads_the_same_over_every_binding(
    rpc: JsonRpc, rest: HttpJson, gate: Gate
) -> None:
    gate.open(2)
    task = await rpc.task(to("steps", gate.name))
    assert await rest.get_task(task["id"]) == await rpc.get_task(task["id"])


@pytest.mark.parametrize("task_id", ["  ", "a/b", "../tasks", "%", "ü", "t:cancel:x", "?", "#"])
async def test_an_id_may_be_anything_and_is_just_not_found(wire: Binding, task_id: str) -> None:
    await expect("TaskNotFoundError", wire.get_task(task_id))


async def test_an_empty_id_is_invalid(rpc: JsonRpc) -> None:
    problem = await expect("InvalidParamsError", rpc.get_task(""))
    assert problem.violations == [("id", "must not be empty")]


async def test_a_finished_task_is_read_from_the_disk(kind: type[Binding], tmp_path: object) -> None:
    store = f"sqlite:///{tmp_path}/tasks.db"
    async with serving(make_agent(), store=store) as served, kind(served.url) as wire:
        task = await wire.task(message())
    async with serving(make_agent(), store=store) as served, kind(served.url) as wire:
        assert await wire.get_task(task["id"]) == task
