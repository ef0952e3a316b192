from msgspec.structs import replace

from dragoman.model.documents import TaskDocument
from dragoman.model.tasks import TaskState
from dragoman.stores.base import Scope, StoredTask
from dragoman.stores.shared.recent import RecentTasks

OWNER = Scope("", "anna")


def task(name: str, state: TaskState = TaskState.COMPLETED, history: bytes = b"[]") -> StoredTask:
    return StoredTask(
        id=name,
        scope=OWNER,
        context_id="c",
        skill_id="s",
        origin_dialect="1.0",
        created_ms=1,
        state=state,
        status_at_ms=1,
        epoch=1,
        seq=3,
        snapshot=TaskDocument(b"{}", b"[]", history),
        snapshot_seq=3,
    )


def test_an_ended_task_is_found_again() -> None:
    recent = RecentTasks()
    recent.add(task("t"))
    assert recent.find(OWNER, "t") == task("t")


def test_it_is_found_by_its_owner_alone() -> None:
    recent = RecentTasks()
    recent.add(task("t"))
    assert recent.find(Scope("", "bert"), "t") is None
    assert recent.find(Scope("other", "anna"), "t") is None


def test_a_task_under_way_is_not_kept() -> None:
    recent = RecentTasks()
    recent.add(task("t", TaskState.WORKING))
    assert recent.find(OWNER, "t") is None


def test_a_large_task_is_not_kept() -> None:
    recent = RecentTasks()
    recent.add(task("t", history=b"x" * 20_000))
    assert recent.find(OWNER, "t") is None


def test_the_first_to_come_is_the_first_to_go() -> None:
    recent = RecentTasks()
    for number in range(1025):
        recent.add(task(str(number)))
    assert recent.find(OWNER, "0") is None
    assert recent.find(OWNER, "1") is not None
    assert recent.find(OWNER, "1024") is not None


def test_a_task_that_was_removed_is_forgotten() -> None:
    recent = RecentTasks()
    recent.add(task("t"))
    recent.add(task("u"))
    recent.forget(["t", "never seen"])
    assert recent.find(OWNER, "t") is None
    assert recent.find(OWNER, "u") == task("u")


def test_tasks_that_others_may_have_removed_are_forgotten() -> None:
    recent = RecentTasks()
    recent.add(task("old"))
    recent.add(replace(task("new"), status_at_ms=2))
    recent.forget_ended(2)
    assert recent.find(OWNER, "old") is None
    assert recent.find(OWNER, "new") is not None
