import pytest

from dragoman.cli.options.options import AGENT_CARD, BEARER, LEGACY, TRANSPORT
from dragoman.cli.options.settings import NO_SETTINGS, Given, Settings
from dragoman.cli.session.progress import Progress
from dragoman.model.events import (
    StreamResponse,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

WORKING = TaskStatus(state=TaskState.WORKING)
ASKING = TaskStatus(state=TaskState.INPUT_REQUIRED)
PART = Part(text="x")


def settings(*given: Given) -> Settings:
    return Settings(given, (), is_walked_up=False)


def test_ids_and_state_are_learnt_from_every_event() -> None:
    progress = Progress(NO_SETTINGS)
    artifact = Artifact(artifact_id="a", parts=(PART,))
    update = TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=artifact)
    progress.see(StreamResponse(artifact_update=update))
    assert (progress.task_id, progress.context_id, progress.state) == ("t", "c", None)
    assert progress.summary() == "task t context c"
    status = TaskStatusUpdateEvent(task_id="t", context_id="c", status=WORKING)
    progress.see(StreamResponse(status_update=status))
    assert progress.summary() == "task t context c state TASK_STATE_WORKING"
    assert not progress.is_settled
    progress.see(StreamResponse(task=Task(id="t", context_id="c", status=ASKING)))
    assert progress.is_settled


def test_a_message_may_name_a_context() -> None:
    progress = Progress(NO_SETTINGS)
    message = Message(message_id="m", role=Role.AGENT, parts=(PART,), context_id="c")
    progress.see(StreamResponse(message=message))
    assert (progress.task_id, progress.context_id) == ("", "c")
    assert progress.next_command() is None


@pytest.mark.parametrize(
    ("state", "command"),
    [
        (TaskState.WORKING, "dragoman task get t --wait"),
        (TaskState.INPUT_REQUIRED, "dragoman send --task-id=t --context-id=c 'YOUR ANSWER'"),
        (TaskState.AUTH_REQUIRED, "dragoman send --task-id=t --context-id=c 'YOUR ANSWER'"),
        (TaskState.COMPLETED, None),
    ],
)
def test_the_command_to_go_on_depends_on_the_state(state: TaskState, command: str | None) -> None:
    progress = Progress(NO_SETTINGS)
    progress.see_task(Task(id="t", context_id="c", status=TaskStatus(state=state)))
    assert progress.next_command() == command


def test_the_command_names_the_agent_and_no_credential() -> None:
    progress = Progress(
        settings(
            Given(AGENT_CARD, "https://me:pass@agent.example", "-a"),
            Given(BEARER, "secret", "--bearer"),
            Given(TRANSPORT, "rest", "--transport"),
            Given(LEGACY, "true", "--legacy"),
        ),
        "a2a",
    )
    progress.task_id = "t"
    command = progress.follow_command()
    assert command.startswith("a2a task get t --wait --agent-card 'https://<redacted>@agent")
    assert command.endswith("--transport rest --legacy")
    assert "secret" not in command
    assert "pass" not in command


def test_an_id_is_nothing_but_a_word_to_a_shell() -> None:
    progress = Progress(NO_SETTINGS)
    progress.task_id = "$(rm -rf ~); 'x"
    assert """'$(rm -rf ~); '"'"'x'""" in progress.follow_command()


def test_an_id_is_no_option() -> None:
    progress = Progress(NO_SETTINGS)
    progress.task_id = "--config=/etc/evil"
    assert progress.follow_command() == "dragoman task get --wait -- --config=/etc/evil"
    assert progress.answer_command() == "dragoman send --task-id=--config=/etc/evil 'YOUR ANSWER'"


@pytest.mark.parametrize(
    ("state", "command"),
    [
        (TaskState.INPUT_REQUIRED, "dragoman chat --context-id=c --task-id=t"),
        (TaskState.COMPLETED, "dragoman chat --context-id=c"),
        (TaskState.WORKING, "dragoman chat --context-id=c"),
    ],
)
def test_a_chat_goes_on_with_a_task_that_waits(state: TaskState, command: str) -> None:
    progress = Progress(NO_SETTINGS)
    progress.see_task(Task(id="t", context_id="c", status=TaskStatus(state=state)))
    assert progress.chat_command() == command


def test_what_is_forgotten_is_not_gone_on_with() -> None:
    progress = Progress(NO_SETTINGS)
    progress.see_task(Task(id="t", context_id="c", status=TaskStatus(state=TaskState.WORKING)))
    progress.forget()
    assert progress.next_command() is None
    assert progress.chat_command() == "dragoman chat"
