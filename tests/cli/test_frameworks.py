"""What agents of other frameworks answer, as the command line shows it."""

from typing import Any

import pytest

from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, Frames

OF = {"taskId": "t", "contextId": "c"}


def update(state: str, *texts: str) -> dict[str, Any]:
    """Return an event of 0.3."""
    status: dict[str, Any] = {"state": state}
    if texts:
        parts = [{"kind": "text", "text": text} for text in texts]
        status["message"] = {"messageId": texts[0], "role": "agent", "parts": parts}
    return {"kind": "status-update", **OF, "status": status, "final": state == "completed"}


@pytest.fixture
def old(fake: FakeAgent) -> FakeAgent:
    """A fake agent of 0.3 that streams."""
    fake.card = {
        "name": "Old",
        "protocolVersion": "0.3.0",
        "url": f"{fake.url}/",
        "capabilities": {"streaming": True},
    }
    return fake


@pytest.mark.parametrize("way", [[], ["--stream"]])
def test_an_answer_of_a_task_at_work_is_shown(alone: Cli, old: FakeAgent, way: list[str]) -> None:
    frames = [update("working", "thinking"), update("working", "four"), update("completed")]
    old.answers["message/stream"] = lambda _: Frames(frames)
    result = alone.to(old.url)("send", "2 + 2?", *way)
    assert result.code == 0, result
    assert "four" in result.out


def test_what_a_stream_has_told_is_shown_although_the_task_knows_less(
    alone: Cli, old: FakeAgent
) -> None:
    artifact = {"artifactId": "a", "parts": [{"kind": "text", "text": "four"}]}
    frames = [{"kind": "artifact-update", **OF, "artifact": artifact}, update("completed")]
    old.answers["message/stream"] = lambda _: Frames(frames)
    old.answers["tasks/get"] = lambda _: {
        "kind": "task",
        "id": "t",
        "contextId": "c",
        "status": {"state": "completed"},
    }
    result = alone.to(old.url)("send", "2 + 2?")
    assert (result.code, result.field("State")) == (0, "TASK_STATE_COMPLETED")
    assert "four" in result.out


# --- follow-ups -----------------------------------------------------------------------------------

PENDING = {"interrupts": [{"interruptId": "i-1", "name": "approval"}]}


def asking(*parts: dict[str, Any]) -> dict[str, Any]:
    """Return a task of 0.3 that waits for an answer."""
    question = {
        "messageId": "q",
        "role": "agent",
        "parts": [{"kind": "text", "text": "so?"}, *parts],
    }
    status = {"state": "input-required", "message": question}
    return {"kind": "task", "id": "t", "contextId": "c", "status": status}


def test_an_answer_names_task_and_context(alone: Cli, old: FakeAgent) -> None:
    old.answers["message/stream"] = lambda _: Frames([asking()])
    cli = alone.to(old.url)
    result = cli("send", "hi")
    assert "--task-id=t --context-id=c" in result.field("Resume")
    old.answers["tasks/get"] = lambda _: asking()
    old.answers["message/stream"] = lambda _: Frames([update("completed", "thanks")])
    assert cli("send", "yes", "--task-id=t").code == 0
    sent = old.calls("message/stream")[-1].params["message"]
    assert (sent["taskId"], sent["contextId"]) == ("t", "c")


def test_an_interrupt_of_strands_is_answered_by_its_name(alone: Cli, old: FakeAgent) -> None:
    old.answers["tasks/get"] = lambda _: asking({"kind": "data", "data": PENDING})
    old.answers["message/stream"] = lambda _: Frames([update("completed")])
    answer = ("send", "yes", "--task-id=t", "--context-id=c")
    assert alone.to(old.url)(*answer).code == 0
    response = {"interruptResponse": {"interruptId": "i-1", "response": "yes"}}
    sent = old.calls("message/stream")[-1].params["message"]
    assert sent["parts"] == [{"kind": "data", "data": response}]
