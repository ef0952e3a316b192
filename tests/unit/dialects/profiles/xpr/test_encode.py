import pytest

from dragoman.dialects.profiles.xpr.encode import Writer, task_of, write_message
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

AT = "2026-01-01T00:00:00.000Z"
SAID = Message(message_id="m", role=Role.AGENT, parts=(Part(text="hi"),), metadata={"a": 1})


def task(state: TaskState = TaskState.COMPLETED, **members: object) -> Task:
    status = TaskStatus(state=state, timestamp=AT)
    return Task(id="t", context_id="c", status=status, **members)  # pyright: ignore[reportArgumentType] - members of a task


def test_a_task_is_written_as_the_network_does() -> None:
    artifact = Artifact(
        artifact_id="a", name="n", description="d", parts=(Part(data={"x": 1}), Part(text="y"))
    )
    begun = Message(message_id="m", role=Role.USER, parts=(Part(text="q"),), metadata={"k": 1})
    written = Writer("mine", "alice").task(
        task(artifacts=(artifact,), history=(begun, SAID), metadata={"b": 2})
    )
    assert list(written.items()) == [
        ("id", "mine"),
        ("owner", "alice"),
        ("contextId", "c"),
        ("status", {"state": "completed", "timestamp": AT}),
        ("metadata", {"k": 1, "b": 2}),
        (
            "artifacts",
            [
                {
                    "name": "n",
                    "description": "d",
                    "parts": [{"type": "data", "data": {"x": 1}}, {"type": "text", "text": "y"}],
                    "index": 0,
                }
            ],
        ),
    ]


def test_what_there_is_not_is_left_out() -> None:
    bare = Task(id="t", status=TaskStatus(state=TaskState.WORKING))
    assert Writer().task(bare) == {"id": "t", "status": {"state": "working"}}


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (TaskState.SUBMITTED, "submitted"),
        (TaskState.INPUT_REQUIRED, "input-required"),
        (TaskState.FAILED, "failed"),
        (TaskState.CANCELED, "canceled"),
        # The network has no words for these.
        (TaskState.REJECTED, "failed"),
        (TaskState.AUTH_REQUIRED, "input-required"),
        (TaskState("TASK_STATE_DREAMING"), "working"),
    ],
)
def test_states_have_the_words_of_the_network(state: TaskState, word: str) -> None:
    status = Writer().task(task(state))["status"]
    assert status == {"state": word, "timestamp": AT}


def test_a_message_is_written_without_ids() -> None:
    assert write_message(SAID) == {
        "role": "agent",
        "parts": [{"type": "text", "text": "hi"}],
        "metadata": {"a": 1},
    }


def test_a_message_alone_is_a_task_that_it_completes() -> None:
    written = Writer().task(task_of(SAID))
    assert written["status"] == {"state": "completed", "message": write_message(SAID)}
