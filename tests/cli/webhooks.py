"""An agent that keeps webhooks and tells them what it is told to, for the tests of listening."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.cli.fake import FakeAgent, card, task

__all__ = ("Pushing", "deliver", "update")


def update(state: str, task_id: str = "t-1") -> dict[str, Any]:
    """Return a status update of 1.0."""
    status = {"state": f"TASK_STATE_{state}", "timestamp": "2026-01-02T03:04:05.000Z"}
    return {"statusUpdate": {"taskId": task_id, "contextId": "c-1", "status": status}}


def deliver(url: str, body: object, **headers: str) -> int:
    """Post to a webhook and return the status; underscores stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    label = {"Content-Type": "application/a2a+json"}
    request = Request(url, json.dumps(body).encode(), {**label, **named})  # noqa: S310 - our own
    try:
        with urlopen(request, timeout=10) as response:  # noqa: S310 - our own
            return response.status
    except HTTPError as refused:
        with refused:
            return refused.code


class Pushing:
    """Makes a fake agent keep webhooks.

    ``happen`` is called with the webhook once it is registered and before the task is shown, so
    what it delivers has come when the agent answers.

    Attributes:
        kept: the webhooks by id.
        state: that of the task.
    """

    def __init__(self, fake: FakeAgent, happen: Callable[[dict[str, Any]], None]) -> None:
        self.kept: dict[str, dict[str, Any]] = {}
        self.state = "WORKING"
        self._happen = happen
        listed = [
            {"url": f"{fake.url}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": fake.url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ]
        fake.card = card(
            fake.url, supportedInterfaces=listed, capabilities={"pushNotifications": True}
        )
        fake.answers |= {
            "CreateTaskPushNotificationConfig": self._create,
            "DeleteTaskPushNotificationConfig": self._delete,
            "GetTask": self._get,
            "POST /tasks/t-1/pushNotificationConfigs": self._create,
            "GET /tasks/t-1": self._get,
        }
        self._fake = fake

    def _create(self, params: Any) -> Any:
        self.kept[params["id"]] = {"taskId": "t-1", **params}
        removal = f"DELETE /tasks/t-1/pushNotificationConfigs/{params['id']}"
        self._fake.answers[removal] = lambda _: self._delete(params)
        return self.kept[params["id"]]

    def _get(self, _: Any) -> Any:
        for config in list(self.kept.values()):
            self._happen(config)
        return task(self.state)

    def _delete(self, params: Any) -> Any:
        del self.kept[params["id"]]
        return {}
