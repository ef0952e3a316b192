import pytest

from dragoman.client.results.content import ReceivedFile
from dragoman.client.results.stream import AgentEvent
from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, TaskState
from tests.support.client.fakes import artifact, chunk, said, status, task


@pytest.mark.parametrize(
    ("event", "kind", "state", "text", "shown"),
    [
        (chunk("one "), "artifact", None, "one ", "one "),
        (
            status(TaskState.INPUT_REQUIRED, said("Which?")),
            "status",
            TaskState.INPUT_REQUIRED,
            "Which?",
            "[input required] Which?",
        ),
        (status(TaskState.WORKING), "status", TaskState.WORKING, "", "[working]"),
        (
            StreamResponse(task=task(TaskState.COMPLETED, artifact("a"), artifact("b"))),
            "task",
            TaskState.COMPLETED,
            "a\nb",
            "[completed] a\nb",
        ),
        (StreamResponse(message=said("hi")), "message", None, "hi", "hi"),
    ],
)
def test_an_event_tells_what_it_is(
    event: StreamResponse, kind: str, state: TaskState | None, text: str, shown: str
) -> None:
    found = AgentEvent(event, 7)
    assert (found.kind, found.state, found.text, str(found)) == (kind, state, text, shown)
    is_message = event.message is not None
    assert (found.task_id, found.context_id) == (("", "") if is_message else ("t", "c"))


def test_an_event_may_carry_data_and_files() -> None:
    parts = (Part(data={"a": 1}), Part(raw=b"x"))
    update = TaskArtifactUpdateEvent(
        task_id="t", context_id="c", artifact=Artifact(artifact_id="a", parts=parts)
    )
    found = AgentEvent(StreamResponse(artifact_update=update))
    assert found.data == {"a": 1}
    assert found.files == (ReceivedFile(content=b"x"),)
    assert AgentEvent(chunk("x")).data is None
