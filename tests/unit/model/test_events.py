import pytest

from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

WORKING = TaskStatus(state=TaskState.WORKING)
PARTS = (Part(text="x"),)
ARTIFACT = Artifact(artifact_id="a", parts=PARTS)


@pytest.mark.parametrize(
    ("frame", "status"),
    [
        (StreamResponse(task=Task(id="t", context_id="c", status=WORKING)), WORKING),
        (
            StreamResponse(
                status_update=TaskStatusUpdateEvent(task_id="t", context_id="c", status=WORKING)
            ),
            WORKING,
        ),
        (
            StreamResponse(
                artifact_update=TaskArtifactUpdateEvent(
                    task_id="t", context_id="c", artifact=ARTIFACT
                )
            ),
            None,
        ),
        (
            StreamResponse(
                message=Message(
                    message_id="m", task_id="t", context_id="c", role=Role.AGENT, parts=PARTS
                )
            ),
            None,
        ),
    ],
)
def test_a_frame_tells_what_it_is_about(frame: StreamResponse, status: TaskStatus | None) -> None:
    assert (frame.task_id, frame.context_id, frame.status) == ("t", "c", status)


def test_a_message_may_be_about_no_task() -> None:
    message = Message(message_id="m", role=Role.AGENT, parts=PARTS)
    frame = StreamResponse(message=message)
    assert (frame.task_id, frame.context_id, frame.status) == ("", "", None)
