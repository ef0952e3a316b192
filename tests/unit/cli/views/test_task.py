import pytest

from dragoman.cli.views.task import (
    event_lines,
    message_lines,
    push_lines,
    summary_lines,
    task_lines,
)
from dragoman.extensions.agent_tools.exchange import ToolUse
from dragoman.model.events import (
    StreamResponse,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

QUESTION = Message(message_id="m-1", role=Role.AGENT, parts=(Part(text="Which?"), Part(data=[1])))
STATUS = TaskStatus(state=TaskState.WORKING, message=QUESTION, timestamp="2026-01-31T12:00:00.000Z")
ARTIFACT = Artifact(
    artifact_id="a-1",
    name="poem",
    description="A poem.",
    parts=(Part(text="one\ntwo"), Part(raw=b"xyz", filename="p.bin", media_type="a/b")),
    metadata={"k": 1},
)
TASK = Task(
    id="t-1",
    context_id="c-1",
    status=STATUS,
    artifacts=(ARTIFACT,),
    history=(Message(message_id="m-0", role=Role.USER, parts=(Part(text="Hi"),)),),
    metadata={"deep": {"er": True}},
)


def test_a_task_is_shown_concisely() -> None:
    assert task_lines(TASK, is_verbose=False).text() == (
        "Task: t-1\n"
        "Context: c-1\n"
        "State: TASK_STATE_WORKING\n"
        "Updated: 2026-01-31T12:00:00.000Z\n"
        "Status message:\n"
        "  Which?\n"
        "\n"
        "Data:\n"
        "  [\n"
        "    1\n"
        "  ]\n"
        "\n"
        "Artifact: a-1 poem\n"
        "Text:\n"
        "  one\n"
        "  two\n"
        "\n"
        "File: p.bin (a/b, 3 bytes)\n"
    )


def test_a_task_is_shown_with_everything() -> None:
    text = task_lines(TASK, is_verbose=True).text()
    for line in (
        "Part: 1 text text/plain\n",
        "Part: 2 raw a/b\n",
        "Description: A poem.\n",
        'Metadata:\n  {\n    "k": 1\n  }\n',
        "History message:\n  ROLE_USER m-0\n  Hi\n",
        '    "deep": {\n',
    ):
        assert line in text


def test_a_summary_has_the_ids_and_the_state() -> None:
    bare = Task(id="t", status=TaskStatus(state=TaskState.COMPLETED))
    assert summary_lines(bare).text() == "Task: t\nContext:\nState: TASK_STATE_COMPLETED\n"


@pytest.mark.parametrize(
    ("part", "line"),
    [
        (Part(url="https://a.example/x", filename="x", media_type="a/b"), "x (a/b) https://a.e"),
        (Part(url="https://a.example/x"), "unnamed https://a.example/x"),
        (Part(raw=b"1"), "unnamed (1 bytes)"),
    ],
)
def test_files_have_one_line(part: Part, line: str) -> None:
    message = Message(message_id="m", role=Role.AGENT, parts=(part,))
    assert f"File: {line}" in message_lines(message, is_verbose=False).text()


def test_a_tool_that_is_asked_for_is_named() -> None:
    use = ToolUse(tool_use_id="u-1", name="read_file", input={"path": "a"})
    message = Message(message_id="m", role=Role.AGENT, parts=(use.part(),))
    text = message_lines(message, is_verbose=False).text()
    assert 'Tool: read_file\nTool use: u-1\nInput:\n  {\n    "path": "a"\n  }\n' in text
    assert "Data:" not in text


def test_a_message_names_what_it_belongs_to() -> None:
    message = Message(
        message_id="m",
        role=Role.AGENT,
        parts=(Part(text="x"),),
        task_id="t",
        context_id="c",
        metadata={"a": 1},
    )
    text = message_lines(message, is_verbose=True).text()
    assert text.startswith("Message: m\nContext: c\nTask: t\nRole: ROLE_AGENT\n")
    assert "Metadata:" in text
    assert "Metadata:" not in message_lines(message, is_verbose=False).text()


def test_every_event_says_what_it_is_and_ends_with_a_gap() -> None:
    status = TaskStatusUpdateEvent(task_id="t", context_id="c", status=STATUS, metadata={"a": 1})
    chunk = TaskArtifactUpdateEvent(
        task_id="t", context_id="c", artifact=ARTIFACT, append=True, metadata={"a": 1}
    )
    events = {
        "task": StreamResponse(task=TASK),
        "message": StreamResponse(message=QUESTION),
        "status": StreamResponse(status_update=status),
        "artifact": StreamResponse(artifact_update=chunk),
    }
    for kind, event in events.items():
        for is_verbose in (False, True):
            text = event_lines(event, is_verbose=is_verbose).text()
            assert text.startswith(f"Event: {kind}\n")
            assert text.endswith("\n\n")
            assert not text.endswith("\n\n\n")
    shown = event_lines(events["artifact"], is_verbose=False).text()
    assert "Append: yes\nLast chunk: no\n" in shown


def test_a_webhook_is_shown_without_its_secrets() -> None:
    config = TaskPushNotificationConfig(
        id="p",
        task_id="t",
        url="https://me.example",
        token="secret",  # noqa: S106 - it is none
        authentication=AuthenticationInfo(scheme="Bearer", credentials="secret"),
    )
    expected = "Config: p\nTask: t\nURL: https://me.example\nAuth: Bearer\n"
    assert push_lines(config).text() == expected
