import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.artifacts import ArtifactFold
from dragoman.model.base import JsonObject
from dragoman.model.events import TaskArtifactUpdateEvent
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact


def artifact(
    *parts: Part,
    name: str = "",
    description: str = "",
    metadata: JsonObject | None = None,
    extensions: tuple[str, ...] = (),
) -> Artifact:
    return Artifact(
        artifact_id="a-1",
        name=name,
        description=description,
        parts=parts or (Part(text="x"),),
        metadata=metadata,
        extensions=extensions,
    )


def folded(first: Artifact, *chunks: Artifact) -> Artifact:
    """Return the artifact after its chunks."""
    fold = ArtifactFold(first)
    for chunk in chunks:
        fold.append(
            TaskArtifactUpdateEvent(task_id="t-1", context_id="c-1", artifact=chunk, append=True)
        )
    return fold.artifact()


def text(value: str) -> Artifact:
    return artifact(Part(text=value))


def test_one_chunk_is_the_artifact() -> None:
    whole = artifact(
        Part(text="x"), name="n", description="d", metadata={"k": 1}, extensions=("u",)
    )
    assert folded(whole) == whole


def test_plain_texts_are_joined() -> None:
    assert folded(text("a"), text("b"), text("c")) == text("abc")


@given(st.lists(st.text(), min_size=1))
def test_however_many_texts_there_are_they_are_one(pieces: list[str]) -> None:
    assert folded(*map(text, pieces)) == text("".join(pieces))


@pytest.mark.parametrize(
    "part",
    [
        # Not text at all.
        Part(data={"k": 1}),
        Part(raw=b"x"),
        Part(url="https://example.com/x"),
        # Text that says something of itself.
        Part(text="b", metadata={"k": 1}),
        Part(text="b", filename="b.txt"),
        Part(text="b", media_type="text/markdown"),
    ],
)
def test_what_is_not_plain_text_stands_by_itself(part: Part) -> None:
    plain = Part(text="a")
    assert folded(artifact(plain), artifact(part)).parts == (plain, part)
    assert folded(artifact(part), artifact(plain)).parts == (part, plain)


def test_a_chunk_of_several_parts_is_not_joined() -> None:
    a, b, c = (Part(text=value) for value in "abc")
    assert folded(artifact(a), artifact(b, c)).parts == (a, b, c)


def test_text_is_joined_to_the_last_part_only() -> None:
    data = Part(data=1)
    assert folded(artifact(Part(text="a"), data), text("b"), text("c")).parts == (
        Part(text="a"),
        data,
        Part(text="bc"),
    )


def test_text_before_another_part_is_joined_before_it() -> None:
    data = Part(data=1)
    assert folded(text("a"), text("b"), artifact(data)).parts == (Part(text="ab"), data)


def test_looking_at_an_artifact_does_not_change_what_follows() -> None:
    fold = ArtifactFold(text("a"))
    event = TaskArtifactUpdateEvent(task_id="t-1", context_id="c-1", artifact=text("b"))
    fold.append(event)
    assert fold.artifact() == text("ab")
    fold.append(event)
    assert fold.artifact() == text("abb")


def test_an_artifact_already_handed_out_stays_as_it_was() -> None:
    fold = ArtifactFold(text("a"))
    before = fold.artifact()
    fold.append(TaskArtifactUpdateEvent(task_id="t-1", context_id="c-1", artifact=text("b")))
    assert before == text("a")


def test_metadata_is_merged_and_the_later_value_stands() -> None:
    whole = folded(artifact(metadata={"a": 1, "b": 1}), artifact(metadata={"b": 2, "c": 2}))
    assert whole.metadata == {"a": 1, "b": 2, "c": 2}


def test_metadata_may_come_with_a_later_chunk() -> None:
    assert folded(artifact(), artifact(metadata={"a": 1})).metadata == {"a": 1}


def test_a_later_chunk_without_metadata_takes_nothing_away() -> None:
    assert folded(artifact(metadata={"a": 1}), artifact(name="n")).metadata == {"a": 1}


def test_a_later_name_and_description_stand() -> None:
    whole = folded(
        artifact(name="old", description="old"), artifact(name="new", description="new"), artifact()
    )
    assert (whole.name, whole.description) == ("new", "new")


def test_a_missing_name_and_description_leave_the_old() -> None:
    whole = folded(artifact(name="old", description="old"), artifact(metadata={"k": 1}))
    assert (whole.name, whole.description) == ("old", "old")


def test_extensions_are_gathered_once_each_in_order() -> None:
    whole = folded(artifact(extensions=("u", "v")), artifact(extensions=("v", "w")))
    assert whole.extensions == ("u", "v", "w")
