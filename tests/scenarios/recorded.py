"""The shapes of old versions, written down from their documents, without our own readers."""

from __future__ import annotations

from typing import Any, Final

from tests.support.wire import Json

__all__ = ("Shape", "check_card", "parts_of")

_STATES_0_1: Final = (
    *("submitted", "working", "input-required"),
    *("completed", "canceled", "failed", "unknown"),
)
_STATES: Final = (*_STATES_0_1, "rejected", "auth-required")


class Shape:
    """The shape of the answers of a version: each check fails the test, or says what it saw.

    Args:
        family: 0.1; 0.3, which 0.2 shares; or xpr, which has the objects of 0.1 and the contexts of
            0.3.
        marks: the discriminators that every part has, if not only that of the version.
    """

    def __init__(self, family: str, marks: list[str] | None = None) -> None:
        self._is_0_1 = family in ("0.1", "xpr")
        self._foreign = {"kind", "sessionId"} if family == "xpr" else {"kind", "contextId"}
        self._marks = marks or (["type"] if self._is_0_1 else ["kind"])

    def result(self, told: Json) -> str:
        """Check the result of a send, get or cancel, and return ``message``, or task and state."""
        if told.get("kind") == "message":
            self._check_message(told)
            return "message"
        self._check_task(told)
        return f"task {told['status']['state']}"

    def event(self, told: Json) -> str:
        """Check an event, and return its kind, with its state, and final if it says so."""
        if self._is_0_1:
            kind = "artifact" if "artifact" in told else "status"
            assert isinstance(told["id"], str)
            assert "kind" not in told
        else:
            kind = told["kind"].removesuffix("-update")
        if kind == "artifact":
            self._check_artifact(told["artifact"])
            return kind
        if kind != "status":
            return self.result(told)
        self._check_status(told["status"])
        if not self._is_0_1:
            assert isinstance(told["taskId"], str)
            assert isinstance(told["contextId"], str)
            assert isinstance(told["final"], bool)
        state = told["status"]["state"]
        return f"status {state} final" if told.get("final") else f"status {state}"

    def _check_task(self, task: Json) -> None:
        assert isinstance(task["id"], str)
        if self._is_0_1:
            assert not task.keys() & self._foreign
        else:
            assert task["kind"] == "task"
            assert isinstance(task["contextId"], str)
        self._check_status(task["status"])
        for artifact in task.get("artifacts", []):
            self._check_artifact(artifact)
        for message in task.get("history", []):
            self._check_message(message)

    def _check_status(self, status: Json) -> None:
        assert status["state"] in (_STATES_0_1 if self._is_0_1 else _STATES)
        if "message" in status:
            self._check_message(status["message"])

    def _check_artifact(self, artifact: Json) -> None:
        if self._is_0_1:
            assert isinstance(artifact["index"], int)
            assert "artifactId" not in artifact
        else:
            assert isinstance(artifact["artifactId"], str)
        self._check_parts(artifact["parts"])

    def _check_message(self, message: Json) -> None:
        assert message["role"] in ("user", "agent")
        if self._is_0_1:
            assert not message.keys() & {"kind", "messageId", "taskId", "contextId"}
        else:
            assert message["kind"] == "message"
            assert isinstance(message["messageId"], str)
        self._check_parts(message["parts"])

    def _check_parts(self, parts: list[Json]) -> None:
        assert parts
        for part in parts:
            assert part.keys() & {"kind", "type"} == set(self._marks)
            [kind] = {part[mark] for mark in self._marks}
            # A part of a kind that the version does not know comes back as it was.
            if kind in ("text", "data"):
                assert kind in part
            elif kind == "file":
                assert len(part["file"].keys() & {"bytes", "uri"}) == 1


def parts_of(holder: Json) -> list[Json]:
    """Return the parts of a message or an artifact without their discriminators."""
    return [
        {name: value for name, value in part.items() if name not in ("kind", "type")}
        for part in holder["parts"]
    ]


def check_card(card: Json) -> None:
    """Check what every reader of a card of 0.2 insists on."""
    required: dict[str, type[Any]] = {
        "name": str,
        "description": str,
        "url": str,
        "version": str,
        "capabilities": dict,
        "defaultInputModes": list,
        "defaultOutputModes": list,
        "skills": list,
    }
    for member, kind in required.items():
        assert isinstance(card[member], kind), member
    for skill in card["skills"]:
        assert {"id", "name", "description", "tags"} <= skill.keys()
