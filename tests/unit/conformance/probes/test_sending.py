from typing import Any

import pytest

from dragoman.conformance.answers import Answer
from dragoman.conformance.probes.sending import CHECKS
from tests.support.conformance.scripted import (
    ScriptedInterface,
    bench_with,
    outcome_of,
    refused,
    task,
)

BY_ID = {check.id: check for check in CHECKS}


@pytest.mark.parametrize(
    ("check", "settled", "answer", "outcome"),
    [
        ("send.answer", None, Answer(result={"task": task()}), ""),
        ("send.answer", None, refused("InternalError"), "failed: it is refused with"),
        ("send.waits", task("INPUT_REQUIRED"), None, ""),
        ("send.waits", task("WORKING"), None, "failed: the answer to a send that waits has a task"),
        ("send.waits", None, None, "skipped: "),
        ("send.context", task(), None, ""),
        ("send.context", {"id": "t-1"}, None, "failed: the task has no contextId"),
        ("send.returns-at-once", task(id="t-0"), Answer(result={"task": task()}), ""),
        ("send.returns-at-once", task(), Answer(result={"task": task()}), "failed: two sends"),
        ("send.ended-task", task(), refused("UnsupportedOperationError"), ""),
        ("send.ended-task", task(), Answer(result={"task": task()}), "failed: it is not refused"),
        ("send.unknown-task", None, refused("TaskNotFoundError"), ""),
        ("send.unknown-task", None, refused("InvalidParamsError"), "failed: it is refused with"),
        ("send.no-parts", None, refused("InvalidParamsError"), ""),
        ("send.no-parts", None, Answer(result={"task": task()}), "failed: it is not refused"),
    ],
)
async def test_a_check_tells_right_from_wrong(
    check: str, settled: object, answer: Answer | None, outcome: str
) -> None:
    answers: dict[str, Any] = {"SendMessage": answer} if answer else {}
    bench = bench_with(ScriptedInterface(**answers))
    bench.settled = settled
    found = await outcome_of(BY_ID[check], bench)
    assert found.startswith(outcome)
    assert bool(found) == bool(outcome)


async def test_the_first_send_is_what_others_look_at() -> None:
    bench = bench_with(ScriptedInterface(SendMessage=Answer(result={"task": task()})))
    assert await outcome_of(BY_ID["send.answer"], bench) == ""
    assert bench.settled == task()
