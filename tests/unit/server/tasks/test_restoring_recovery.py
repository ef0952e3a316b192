from dragoman.engine.fold import TaskFold
from dragoman.model.documents import encode_entry
from dragoman.model.events import TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, TaskState, TaskStatus
from dragoman.server.tasks.delivery import Delivery, encode
from dragoman.server.tasks.restoring import document_of, fold_of, standing_of
from dragoman.stores.base import InboxItem, StoredTask
from tests.support.server.fakes import SCOPE, agent_message, user_message

BEGUN = (
    encode_entry(user_message()),
    encode_entry(
        TaskStatusUpdateEvent(
            task_id="t-1", context_id="c-1", status=TaskStatus(state=TaskState.WORKING)
        )
    ),
)
GROWN = (
    encode_entry(
        TaskArtifactUpdateEvent(
            task_id="t-1",
            context_id="c-1",
            artifact=Artifact(artifact_id="a-1", parts=(Part(text="x"),)),
        )
    ),
    encode_entry(
        TaskStatusUpdateEvent(
            task_id="t-1",
            context_id="c-1",
            status=TaskStatus(state=TaskState.WORKING, message=agent_message()),
        )
    ),
)


def folded(*entries: bytes) -> TaskFold:
    fold = TaskFold("t-1", "c-1")
    fold.replay(entries)
    return fold


def stored(
    *,
    snapshot: TaskFold | None = None,
    tail: tuple[bytes, ...] = (),
    inbox: tuple[InboxItem, ...] = (),
) -> StoredTask:
    return StoredTask(
        id="t-1",
        scope=SCOPE,
        context_id="c-1",
        skill_id="echo",
        origin_dialect="1.0",
        created_ms=1,
        state=TaskState.WORKING,
        status_at_ms=1,
        epoch=1,
        seq=3,
        snapshot=None if snapshot is None else snapshot.document(),
        snapshot_seq=0,
        tail=tail,
        inbox=inbox,
    )


def test_a_task_is_its_snapshot_and_what_came_after() -> None:
    whole = folded(*BEGUN, *GROWN).task()
    assert fold_of(stored(tail=(*BEGUN, *GROWN))).task() == whole
    assert fold_of(stored(snapshot=folded(*BEGUN), tail=GROWN)).task() == whole
    assert fold_of(stored(snapshot=folded(*BEGUN, *GROWN))).task() == whole


def test_a_snapshot_that_is_the_whole_task_is_handed_through() -> None:
    task = stored(snapshot=folded(*BEGUN))
    assert document_of(task) is task.snapshot


def test_a_document_is_made_of_all_there_is() -> None:
    item = InboxItem(1, encode(Delivery(message=user_message("later", "m-2"))))
    whole = folded(*BEGUN, *GROWN).document((user_message("later", "m-2"),))
    assert document_of(stored(snapshot=folded(*BEGUN), tail=GROWN, inbox=(item,))) == whole


def test_a_task_stands_where_the_store_has_it() -> None:
    task = stored(tail=(*BEGUN, *GROWN))
    standing = standing_of(task, fold_of(task), unread=2)
    assert (standing.task_id, standing.context_id) == ("t-1", "c-1")
    assert (standing.state, standing.seq, standing.unread) == (TaskState.WORKING, 3, 2)


def test_its_artifacts_count_as_open() -> None:
    task = stored(tail=(*BEGUN, *GROWN))
    assert standing_of(task, fold_of(task), unread=0).artifacts == {"a-1": True}
