from typing import Any

import pytest

from dragoman.conformance.answers import Answer
from dragoman.conformance.interface import Params
from dragoman.conformance.probes.extras import CHECKS
from tests.support.conformance.scripted import (
    ScriptedInterface,
    bench_with,
    outcome_of,
    refused,
    task,
)

BY_ID = {check.id: check for check in CHECKS}
CARD: dict[str, Any] = {
    "name": "N",
    "description": "D",
    "version": "1",
    "supportedInterfaces": [{}],
    "capabilities": {},
    "skills": [{}],
}


class Keeping(ScriptedInterface):
    """Keeps webhooks as it should, but for what it is told to answer."""

    def __init__(self, **answers: Any) -> None:
        self.kept: dict[object, Params] = {}
        good: dict[str, Any] = {
            "SendMessage": Answer(result={"task": task("WORKING")}),
            "CreateTaskPushNotificationConfig": self._create,
            "GetTaskPushNotificationConfig": self._get,
            "ListTaskPushNotificationConfigs": self._list,
            "DeleteTaskPushNotificationConfig": self._delete,
        }
        super().__init__(**{**good, **answers})

    def _create(self, params: Params) -> Answer:
        self.kept[params["id"]] = params
        return Answer(result=params)

    def _get(self, params: Params) -> Answer:
        return Answer(result=self.kept[params["id"]])

    def _list(self, params: Params) -> Answer:
        del params
        return Answer(result={"configs": list(self.kept.values())})

    def _delete(self, params: Params) -> Answer:
        self.kept.pop(params["id"], None)
        return Answer(result={})


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        ({}, ""),
        (
            {"CreateTaskPushNotificationConfig": refused("InvalidParamsError")},
            "skipped: the agent does not take https://me.example/hook",
        ),
        (
            {"CreateTaskPushNotificationConfig": refused("PushNotificationNotSupportedError")},
            "failed: it is refused with PushNotificationNotSupportedError",
        ),
        (
            {"GetTaskPushNotificationConfig": Answer(result={"id": "p", "url": "elsewhere"})},
            "failed: the url is kept as 'elsewhere'",
        ),
        ({"ListTaskPushNotificationConfigs": Answer(result={})}, "failed: the list does not have"),
        (
            {"DeleteTaskPushNotificationConfig": refused("TaskNotFoundError")},
            "failed: deleting is refused with TaskNotFoundError",
        ),
        (
            {"DeleteTaskPushNotificationConfig": Answer(result={})},
            "failed: the webhook is still listed after it was deleted",
        ),
    ],
)
async def test_webhooks_go_round(answers: dict[str, Any], outcome: str) -> None:
    interface = Keeping(**answers)
    bench = bench_with(interface)
    found = await outcome_of(BY_ID["push.round-trip"], bench)
    assert found.startswith(outcome)
    assert bool(found) == bool(outcome)
    await bench.tidy()
    is_made = "CreateTaskPushNotificationConfig" not in answers
    tidied = [operation for operation, _ in interface.asked[-2:]]
    assert tidied[-1] == "CancelTask"
    assert not is_made or tidied[0] == "DeleteTaskPushNotificationConfig"


@pytest.mark.parametrize(
    ("check", "answer", "outcome"),
    [
        ("push.undeclared", refused("PushNotificationNotSupportedError"), ""),
        ("push.undeclared", Answer(result={}), "failed: it is not refused"),
        ("extended-card.get", Answer(result=CARD), ""),
        ("extended-card.get", refused("ExtendedAgentCardNotConfiguredError"), ""),
        ("extended-card.get", refused("UnauthenticatedError"), "skipped: the agent wants other"),
        ("extended-card.get", refused("InternalError"), "failed: it is refused with"),
        ("extended-card.get", Answer(result={}), "failed: /name: is missing"),
        ("extended-card.undeclared", refused("UnsupportedOperationError"), ""),
        ("extended-card.undeclared", Answer(result=CARD), "failed: it is not refused"),
    ],
)
async def test_a_check_tells_right_from_wrong(check: str, answer: Answer, outcome: str) -> None:
    operation = (
        "ListTaskPushNotificationConfigs" if check.startswith("push") else "GetExtendedAgentCard"
    )
    answers: dict[str, Any] = {operation: answer}
    found = await outcome_of(BY_ID[check], bench_with(ScriptedInterface(**answers)))
    assert found.startswith(outcome)
    assert bool(found) == bool(outcome)
