import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.client.following.progress import differences, extension_of
from dragoman.engine.fold import TaskFold
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState
from tests.support.client.fakes import artifact, chunk, said, status, task

PICTURE = Part(raw=b"x", media_type="image/png")


def test_nothing_has_happened() -> None:
    seen = task(TaskState.WORKING, artifact("a"), message=said("hm"))
    assert differences(seen, seen) == ()


def test_a_new_artifact_is_told_whole() -> None:
    before, after = task(), task(TaskState.WORKING, artifact("one", name="poem"))
    (event,) = differences(before, after)
    assert event.artifact_update is not None
    assert (event.artifact_update.append, event.artifact_update.last_chunk) == (False, False)
    assert event.artifact_update.artifact == artifact("one", name="poem")


def test_of_an_artifact_that_has_grown_the_rest_is_told() -> None:
    before = task(TaskState.WORKING, artifact("one "))
    after = task(TaskState.COMPLETED, artifact("one two"))
    grown, done = differences(before, after)
    assert grown == chunk("two", append=True, last_chunk=True)
    assert done == status(TaskState.COMPLETED)


def test_an_artifact_that_is_another_now_is_told_anew() -> None:
    before, after = (
        task(TaskState.WORKING, artifact("draft")),
        task(TaskState.WORKING, artifact("line")),
    )
    (event,) = differences(before, after)
    assert event == chunk("line")


def test_a_change_of_its_description_is_one() -> None:
    before = task(TaskState.WORKING, artifact("a"))
    after = task(TaskState.WORKING, artifact("a", name="n"))
    (event,) = differences(before, after)
    assert event.artifact_update is not None
    assert not event.artifact_update.append


def test_what_was_said_in_between_is_told_first() -> None:
    before = task(TaskState.WORKING, message=said("one", "m-1"))
    after = task(
        TaskState.INPUT_REQUIRED,
        message=said("four", "m-4"),
        history=(
            said("hi", "m-0", role=Role.USER),
            said("one", "m-1"),
            said("two", "m-2"),
            said("three", "m-3"),
        ),
    )
    assert differences(before, after) == (
        status(TaskState.WORKING, said("two", "m-2")),
        status(TaskState.WORKING, said("three", "m-3")),
        status(TaskState.INPUT_REQUIRED, said("four", "m-4")),
    )


@pytest.mark.requirement("R-3.7-4", "R-3.7-7")
def test_what_an_agent_keeps_no_history_of_is_missed_and_nothing_else() -> None:
    before = task(TaskState.WORKING, artifact("one "), message=said("one", "m-1"))
    after = task(TaskState.COMPLETED, artifact("one two"))
    assert differences(before, after) == (
        chunk("two", append=True, last_chunk=True),
        status(TaskState.COMPLETED),
    )


def test_a_task_without_a_context_is_told_under_its_own_id() -> None:
    before = Task(id="t", status=task().status)
    after = Task(id="t", status=task(TaskState.COMPLETED).status)
    (event,) = differences(before, after)
    assert event.status_update is not None
    assert event.status_update.context_id == "t"


def parts(*values: str | Part) -> Artifact:
    made = tuple(Part(text=value) if isinstance(value, str) else value for value in values)
    return Artifact(artifact_id="a", parts=made)


def test_texts_count_as_joined() -> None:
    # Some servers keep the chunks of a text apart, some join them.
    assert extension_of(parts("a", "b"), parts("ab")) == ()
    assert extension_of(parts("ab"), parts("a", "b", "c")) == (Part(text="c"),)
    assert extension_of(parts(""), parts("a")) == (Part(text="a"),)
    assert extension_of(parts("a", ""), parts("a")) == ()


def test_what_follows_other_content() -> None:
    assert extension_of(parts("a", PICTURE), parts("a", PICTURE, "b")) == (Part(text="b"),)
    assert extension_of(parts("a"), parts("ab", PICTURE)) == (Part(text="b"), PICTURE)
    assert extension_of(parts(PICTURE), parts("a")) is None
    assert extension_of(parts("a", PICTURE), parts("b", PICTURE)) is None
    assert extension_of(parts("a", PICTURE), parts("a")) is None


words = st.text("ab", max_size=2)
events = st.one_of(
    st.builds(
        chunk,
        words,
        artifact_id=st.sampled_from(["x", "y"]),
        append=st.booleans(),
    ),
    st.builds(status, st.just(TaskState.WORKING), st.builds(said, words, st.uuids().map(str))),
)


def fold_of(told: list[StreamResponse]) -> Task:
    fold = TaskFold.of(task())
    for event in told:
        update = event.status_update or event.artifact_update
        assert update is not None
        fold.apply(update)
    return fold.task()


@given(st.lists(events, max_size=12), st.lists(events, max_size=12))
def test_who_looks_twice_knows_as_much_as_who_has_listened(
    first: list[StreamResponse], then: list[StreamResponse]
) -> None:
    before, after = fold_of(first), fold_of(first + then)
    known = TaskFold.of(before)
    for event in differences(before, after):
        update = event.status_update or event.artifact_update
        assert update is not None
        known.apply(update)
    found = known.task()
    assert found.status == after.status
    texts = [[_text(each) for each in item.artifacts] for item in (found, after)]
    assert texts[0] == texts[1]
    assert differences(found, after) == ()


def _text(artifact: Artifact) -> tuple[str, str]:
    return artifact.artifact_id, "".join(part.text or "" for part in artifact.parts)
