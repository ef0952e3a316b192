"""Looking at tasks, listing them, and cancelling them."""

from __future__ import annotations

from typing import Final

from dragoman.conformance.answers import at, objects, text_at
from dragoman.conformance.bench import NO_TASK, Bench, FailedError, SkippedError
from dragoman.conformance.checks import Check
from dragoman.conformance.shapes import TERMINAL

__all__ = ("CANCEL_CHECKS", "GET_CHECKS", "LIST_CHECKS")

_MAX_PAGE: Final = 100
"""R-3.1.4-13."""


async def _get(bench: Bench) -> None:
    if bench.settled is None:
        raise SkippedError(NO_TASK)
    task = await bench.result("GetTask", {"id": at(bench.settled, "id")}, "Task")
    for member in ("id", "contextId"):
        if at(task, member) != at(bench.settled, member):
            raise FailedError(
                f"{member} is {at(task, member)!r}, not {at(bench.settled, member)!r}"
            )
    state = text_at(bench.settled, "status", "state")
    if state in TERMINAL and text_at(task, "status", "state") != state:
        raise FailedError(f"the task was in {state}, and is in {text_at(task, 'status', 'state')}")


async def _get_without_history(bench: Bench) -> None:
    if bench.settled is None:
        raise SkippedError(NO_TASK)
    params = {"id": at(bench.settled, "id"), "historyLength": 0}
    count = len(objects(at(await bench.result("GetTask", params, "Task"), "history")))
    if count:
        raise FailedError(f"with historyLength 0 the history has {count} messages")


async def _get_unknown(bench: Bench) -> None:
    await bench.refused("GetTask", {"id": bench.new_id()}, "TaskNotFoundError")


async def _list(bench: Bench) -> None:
    if bench.settled is None:
        raise SkippedError(NO_TASK)
    params = {"contextId": at(bench.settled, "contextId"), "pageSize": 5}
    page = await bench.result("ListTasks", params, "ListTasksResponse")
    tasks = objects(at(page, "tasks"))
    if at(bench.settled, "id") not in [task.get("id") for task in tasks]:
        raise FailedError("the list of its context does not have the task that was just made")
    # R-3.1.4-15
    if any(task.get("contextId") != at(bench.settled, "contextId") for task in tasks):
        raise FailedError("the list of one context has tasks of another")
    # R-3.1.4-1
    if any(task.get("artifacts") is not None for task in tasks):
        raise FailedError("tasks are listed with artifacts, which were not asked for")


async def _pages(bench: Bench) -> None:
    first = await bench.result("ListTasks", {"pageSize": 1}, "ListTasksResponse")
    token, total = text_at(first, "nextPageToken"), at(first, "totalSize")
    if len(objects(at(first, "tasks"))) > 1:
        raise FailedError("a page of size 1 has more than one task")
    if not token:
        if isinstance(total, int) and total > 1:
            raise FailedError(f"the first of {total} tasks comes without a token for the next page")
        raise SkippedError("there is one page only")
    params = {"pageSize": 1, "pageToken": token}
    second = await bench.result("ListTasks", params, "ListTasksResponse")
    ids = [task.get("id") for page in (first, second) for task in objects(at(page, "tasks"))]
    if len(set(ids)) != len(ids):
        raise FailedError("the second page begins with the task of the first")


async def _page_too_large(bench: Bench) -> None:
    await bench.refused("ListTasks", {"pageSize": _MAX_PAGE + 1}, "InvalidParamsError")


async def _cancel(bench: Bench) -> None:
    task_id = await bench.start()
    answer = await bench.interface.call("CancelTask", {"id": task_id})
    if answer.refusal is not None:
        # It may have ended before, or be of a kind that cannot be stopped.
        bench.judged_refusal(answer, "TaskNotCancelableError")
        return
    task = bench.judged(answer, "Task")
    bench.remember({"task": task})
    if at(task, "id") != task_id:
        raise FailedError(f"task {task_id} is canceled, and task {at(task, 'id')} is shown")


async def _cancel_ended(bench: Bench) -> None:
    task_id = at(bench.ended_task(), "id")
    await bench.refused("CancelTask", {"id": task_id}, "TaskNotCancelableError")


async def _cancel_unknown(bench: Bench) -> None:
    await bench.refused("CancelTask", {"id": bench.new_id()}, "TaskNotFoundError")


GET_CHECKS: Final = (
    Check(
        id="get.task",
        requirement="R-3.1.3-1",
        expected="a task can be looked at by its id, and is as the send has shown it",
        run=_get,
        is_old=True,
    ),
    Check(
        id="get.no-history",
        requirement="R-3.2.4-2",
        expected="with historyLength 0 a task has no history",
        run=_get_without_history,
    ),
    Check(
        id="get.unknown-task",
        requirement="R-3.1.3-2",
        expected="looking at an unknown task fails with TaskNotFoundError",
        run=_get_unknown,
        is_old=True,
    ),
)

LIST_CHECKS: Final = (
    Check(
        id="list.tasks",
        requirement="R-3.1.4-15",
        expected="tasks are listed by their context, without artifacts and with all four members",
        run=_list,
    ),
    Check(
        id="list.pages",
        requirement="R-3.1.4-8",
        expected="a list goes on where the page before has ended",
        run=_pages,
    ),
    Check(
        id="list.page-too-large",
        requirement="R-3.1.4-13",
        expected="a pageSize above 100 fails with InvalidParamsError",
        run=_page_too_large,
    ),
)

CANCEL_CHECKS: Final = (
    Check(
        id="cancel.task",
        requirement="R-3.1.5-2",
        expected="cancelling answers with the task, or fails with TaskNotCancelableError",
        run=_cancel,
        is_old=True,
    ),
    Check(
        id="cancel.ended-task",
        requirement="R-3.1.5-3",
        expected="cancelling a task that has ended fails with TaskNotCancelableError",
        run=_cancel_ended,
        is_old=True,
    ),
    Check(
        id="cancel.unknown-task",
        requirement="R-3.1.5-4",
        expected="cancelling an unknown task fails with TaskNotFoundError",
        run=_cancel_unknown,
        is_old=True,
    ),
)
