from typing import Any

import pytest

from dragoman.conformance.answers import Answer
from dragoman.conformance.probes.streaming import CHECKS
from tests.support.conformance.scripted import (
    ScriptedInterface,
    bench_with,
    outcome_of,
    refused,
    task,
)

BY_ID = {check.id: check for check in CHECKS}
FIRST = Answer(result={"task": task("WORKING")})
WHOLE = Answer(result={"task": task()})
MESSAGE = Answer(
    result={"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "x"}]}}
)
ARTIFACT = Answer(
    result={
        "artifactUpdate": {
            "taskId": "t-1",
            "contextId": "c-1",
            "artifact": {"artifactId": "a", "parts": [{"text": "x"}]},
        }
    }
)


def update(state: str) -> Answer:
    status = {"state": f"TASK_STATE_{state}"}
    return Answer(result={"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": status}})


@pytest.mark.parametrize(
    ("check", "events", "outcome"),
    [
        ("stream.send", [FIRST, ARTIFACT, update("COMPLETED")], ""),
        ("stream.send", [FIRST, update("INPUT_REQUIRED")], ""),
        ("stream.send", [FIRST, update("COMPLETED"), WHOLE], ""),
        ("stream.send", [MESSAGE], ""),
        ("stream.send", [], "failed: the stream ends without any event"),
        ("stream.send", [update("COMPLETED")], "failed: the first event is statusUpdate"),
        ("stream.send", [MESSAGE, ARTIFACT], "failed: artifactUpdate follows the message"),
        ("stream.send", [FIRST, MESSAGE], "failed: message follows the task"),
        ("stream.send", [FIRST], "failed: the stream ends while the task is in TASK_STATE_WORKING"),
        (
            "stream.send",
            [FIRST, update("COMPLETED"), ARTIFACT],
            "failed: an artifact comes after the task has ended in TASK_STATE_COMPLETED",
        ),
        ("stream.send", [refused("UnsupportedOperationError")], "failed: it is refused with"),
        ("stream.undeclared", [refused("UnsupportedOperationError")], ""),
        ("stream.undeclared", [FIRST], "failed: it is not refused"),
    ],
)
async def test_a_stream_has_its_order(check: str, events: list[Answer], outcome: str) -> None:
    bench = bench_with(ScriptedInterface(SendStreamingMessage=events))
    found = await outcome_of(BY_ID[check], bench)
    assert found.startswith(outcome)
    assert bool(found) == bool(outcome)


@pytest.mark.parametrize(
    ("check", "events", "outcome"),
    [
        ("subscribe.task", [FIRST], ""),
        ("subscribe.task", [refused("UnsupportedOperationError")], "skipped: the task had ended"),
        ("subscribe.task", [update("WORKING")], "failed: the first event is statusUpdate"),
        (
            "subscribe.task",
            [Answer(result={"task": task(id="t-2")})],
            "failed: the first event is the task t-2",
        ),
        ("subscribe.task", [], "failed: the stream ends without any event"),
        ("subscribe.ended-task", [refused("UnsupportedOperationError")], ""),
        ("subscribe.ended-task", [FIRST], "failed: it is not refused"),
        ("subscribe.unknown-task", [refused("TaskNotFoundError")], ""),
        ("subscribe.undeclared", [refused("UnsupportedOperationError")], ""),
        ("subscribe.undeclared", [FIRST], "failed: it is not refused"),
    ],
)
async def test_following_begins_with_the_task(check: str, events: list[Any], outcome: str) -> None:
    bench = bench_with(ScriptedInterface(SendMessage=FIRST, SubscribeToTask=events))
    bench.settled = task()
    found = await outcome_of(BY_ID[check], bench)
    assert found.startswith(outcome)
    assert bool(found) == bool(outcome)
