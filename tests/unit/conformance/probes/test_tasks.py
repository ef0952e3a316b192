from typing import Any

import pytest

from dragoman.conformance.answers import Answer
from dragoman.conformance.interface import Params
from dragoman.conformance.probes.tasks import CANCEL_CHECKS, GET_CHECKS, LIST_CHECKS
from tests.support.conformance.scripted import (
    ScriptedInterface,
    bench_with,
    outcome_of,
    refused,
    task,
)

BY_ID = {check.id: check for check in (*GET_CHECKS, *LIST_CHECKS, *CANCEL_CHECKS)}
STARTED = Answer(result={"task": task("WORKING")})
OTHER = task(id="t-2")


def page(*tasks: dict[str, Any], following: str = "", total: int = 1) -> Answer:
    return Answer(
        result={"tasks": list(tasks), "nextPageToken": following, "pageSize": 1, "totalSize": total}
    )


@pytest.mark.parametrize(
    ("check", "answers", "outcome"),
    [
        ("get.task", {"GetTask": Answer(result=task())}, ""),
        ("get.task", {"GetTask": Answer(result=OTHER)}, "failed: id is 't-2', not 't-1'"),
        ("get.task", {"GetTask": Answer(result=task("WORKING"))}, "failed: the task was in"),
        ("get.no-history", {"GetTask": Answer(result=task())}, ""),
        (
            "get.no-history",
            {
                "GetTask": Answer(
                    result=task(
                        history=[{"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}]
                    )
                )
            },
            "failed: with historyLength 0 the history has 1 messages",
        ),
        ("get.unknown-task", {}, ""),
        ("get.unknown-task", {"GetTask": Answer(result=task())}, "failed: it is not refused"),
        ("list.tasks", {"ListTasks": page(task())}, ""),
        ("list.tasks", {"ListTasks": page()}, "failed: the list of its context does not have"),
        (
            "list.tasks",
            {"ListTasks": page(task(), task(contextId="c-2"))},
            "failed: the list of one context has tasks of another",
        ),
        (
            "list.tasks",
            {"ListTasks": page(task(artifacts=[]))},
            "failed: tasks are listed with artifacts",
        ),
        ("list.pages", {"ListTasks": page(task())}, "skipped: there is one page only"),
        ("list.pages", {"ListTasks": page(task(), total=2)}, "failed: the first of 2 tasks comes"),
        (
            "list.pages",
            {"ListTasks": page(task(), OTHER, following="x")},
            "failed: a page of size 1 has more than one task",
        ),
        (
            "list.pages",
            {"ListTasks": page(task(), following="x")},
            "failed: the second page begins with the task of the first",
        ),
        ("list.page-too-large", {"ListTasks": refused("InvalidParamsError")}, ""),
        ("list.page-too-large", {"ListTasks": page()}, "failed: it is not refused"),
        ("cancel.task", {"CancelTask": Answer(result=task("CANCELED"))}, ""),
        ("cancel.task", {"CancelTask": refused("TaskNotCancelableError")}, ""),
        ("cancel.task", {"CancelTask": Answer(result=OTHER)}, "failed: task t-1 is canceled, and"),
        ("cancel.task", {"CancelTask": refused("InternalError")}, "failed: it is refused with"),
        ("cancel.ended-task", {"CancelTask": refused("TaskNotCancelableError")}, ""),
        ("cancel.ended-task", {"CancelTask": Answer(result=task())}, "failed: it is not refused"),
        ("cancel.unknown-task", {}, ""),
        ("cancel.unknown-task", {"CancelTask": Answer(result=task())}, "failed: it is not refused"),
    ],
)
async def test_a_check_tells_right_from_wrong(
    check: str, answers: dict[str, Any], outcome: str
) -> None:
    bench = bench_with(ScriptedInterface(SendMessage=STARTED, **answers))
    bench.settled = task()
    found = await outcome_of(BY_ID[check], bench)
    assert found.startswith(outcome)
    assert bool(found) == bool(outcome)


async def test_a_second_page_goes_on() -> None:
    def pages(params: Params) -> Answer:
        return (
            page(OTHER, total=2)
            if params.get("pageToken")
            else page(task(), following="x", total=2)
        )

    bench = bench_with(ScriptedInterface(ListTasks=pages))
    assert await outcome_of(BY_ID["list.pages"], bench) == ""


@pytest.mark.parametrize("check", ["get.task", "get.no-history", "list.tasks"])
async def test_without_a_task_there_is_nothing_to_look_at(check: str) -> None:
    found = await outcome_of(BY_ID[check], bench_with(ScriptedInterface()))
    assert found.startswith("skipped: ")
