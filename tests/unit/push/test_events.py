import pytest

from dragoman.model.documents import EventDocument, encode_entry
from dragoman.model.events import TaskArtifactUpdateEvent, TaskEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import TERMINAL, Artifact, TaskState, TaskStatus
from dragoman.push.events import first_news
from dragoman.stores.webhooks import EventKind

SUBMITTED, WORKING, COMPLETED = TaskState.SUBMITTED, TaskState.WORKING, TaskState.COMPLETED
EVERYTHING: tuple[EventKind, ...] = ("states", "artifacts", "messages")


def status(state: TaskState, text: str = "") -> TaskStatusUpdateEvent:
    said = Message(message_id="m", role=Role.AGENT, parts=(Part(text=text),)) if text else None
    return TaskStatusUpdateEvent(
        task_id="t", context_id="c", status=TaskStatus(state=state, message=said)
    )


def artifact() -> TaskArtifactUpdateEvent:
    made = Artifact(artifact_id="a", parts=(Part(text="x"),))
    return TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=made)


def log(*events: TaskEvent, after: int = 0) -> list[EventDocument]:
    return [EventDocument(n, encode_entry(event)) for n, event in enumerate(events, after + 1)]


def told(wants: tuple[EventKind, ...], *events: TaskEvent) -> list[int]:
    """Return the numbers of all events that a webhook is told of."""
    left, seq, state = log(*events), 0, None
    numbers: list[int] = []
    while True:
        found = first_news(left[seq:], wants, seq=seq, state=state)
        seq, state = found.seq, found.state
        if found.event is None:
            assert seq == len(left)
            return numbers
        numbers.append(seq)


STORY: tuple[TaskEvent, ...] = (
    status(SUBMITTED),
    status(WORKING),
    status(WORKING, "still at it"),
    artifact(),
    status(WORKING),
    status(COMPLETED, "done"),
)


@pytest.mark.requirement("R-T.str-6")
@pytest.mark.parametrize(
    ("wants", "numbers"),
    [
        # The end is told to everybody.
        ((), [6]),
        (("states",), [1, 2, 6]),
        (("artifacts",), [4, 6]),
        # A status that says nothing new is told to nobody.
        (("messages",), [3, 6]),
        (EVERYTHING, [1, 2, 3, 4, 6]),
    ],
)
def test_a_webhook_is_told_what_it_wants(wants: tuple[EventKind, ...], numbers: list[int]) -> None:
    assert told(wants, *STORY) == numbers


@pytest.mark.parametrize("state", TaskState)
def test_every_end_is_told(state: TaskState) -> None:
    assert told((), status(SUBMITTED), status(state)) == ([2] if state in TERMINAL else [])


def test_what_is_new_depends_on_what_was_before() -> None:
    events = log(status(WORKING), after=4)
    assert first_news(events, ("states",), seq=4, state=SUBMITTED).event is events[0]
    found = first_news(events, ("states",), seq=4, state=WORKING)
    assert (found.seq, found.state, found.event) == (5, WORKING, None)


def test_nothing_is_found_in_nothing() -> None:
    found = first_news((), EVERYTHING, seq=7, state=WORKING)
    assert (found.seq, found.state, found.event) == (7, WORKING, None)
