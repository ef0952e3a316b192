from dataclasses import dataclass
from enum import Enum

import pytest
from msgspec import Struct

from dragoman.agent.results import (
    ArtifactStream,
    File,
    Rejected,
    Reply,
    direct_message,
    finish,
    parts_of,
    turn_message,
)
from dragoman.errors import UsageError
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact
from dragoman.service.worker import Completed
from dragoman.testing.turn import RecordingTurn, user_message


class Colour(Enum):
    RED = "red"


class Text(str):
    """What libraries give back that can do more than text."""


@dataclass
class Point:
    x: int


class Place(Struct):
    name: str


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("hi", (Part(text="hi"),)),
        ("", (Part(text=""),)),
        (Text("hi"), (Part(text="hi"),)),
        (b"x", (Part(raw=b"x", media_type="application/octet-stream"),)),
        (bytearray(b"x"), (Part(raw=b"x", media_type="application/octet-stream"),)),
        (File(content=b"x", name="a"), (Part(raw=b"x", filename="a"),)),
        (File(url="https://a.example"), (Part(url="https://a.example"),)),
        (Point(1), (Part(data={"x": 1}),)),
        (Place("Rome"), (Part(data={"name": "Rome"}),)),
        ({"a": Point(1)}, (Part(data={"a": {"x": 1}}),)),
        ({1: "one"}, (Part(data={"1": "one"}),)),  # JSON has text for keys only
        ([1, "a"], (Part(data=[1, "a"]),)),
        ([], (Part(data=[]),)),
        (7, (Part(data=7),)),
        (1.5, (Part(data=1.5),)),
        (True, (Part(data=True),)),
        (Colour.RED, (Part(data="red"),)),
        (Part(text="p"), (Part(text="p"),)),
        ([Part(text="p"), File(content=b"x")], (Part(text="p"), Part(raw=b"x"))),
        ((Part(text="p"),), (Part(text="p"),)),
        ([Part(text="p"), 1], (Part(data=[{"text": "p"}, 1]),)),  # a mixture is data
        (Reply("a", 1), (Part(text="a"), Part(data=1))),
        (user_message("hi"), (Part(text="hi"),)),
    ],
)
def test_values_become_parts(value: object, parts: tuple[Part, ...]) -> None:
    assert parts_of(value) == parts


def test_a_value_that_json_cannot_express_is_refused_by_name() -> None:
    class Opaque: ...

    with pytest.raises(UsageError, match="Opaque cannot be sent"):
        parts_of(Opaque())


def test_a_reply_needs_content() -> None:
    with pytest.raises(UsageError, match="something to say"):
        Reply()


def test_rejected_may_say_nothing() -> None:
    assert Rejected().reply is None


def test_rejected_keeps_its_text() -> None:
    verdict = Rejected("No.", metadata={"a": 1})
    assert str(verdict) == "No."
    assert verdict.reply is not None
    assert (verdict.reply.parts, verdict.reply.metadata) == ((Part(text="No."),), {"a": 1})


def test_a_message_within_a_task_names_the_task() -> None:
    assert turn_message(RecordingTurn("hi"), Reply("ok", metadata={"a": 1})) == Message(
        message_id="id-1",
        task_id="task-1",
        context_id="context-1",
        role=Role.AGENT,
        parts=(Part(text="ok"),),
        metadata={"a": 1},
    )


def test_a_direct_message_names_no_task() -> None:
    assert direct_message(Reply("ok"), "c-1", lambda: "m-1") == Message(
        message_id="m-1", context_id="c-1", role=Role.AGENT, parts=(Part(text="ok"),)
    )


async def test_a_returned_value_is_one_whole_artifact() -> None:
    turn = RecordingTurn("hi")
    assert await finish(turn, "result") == Completed()
    (chunk,) = turn.chunks
    assert chunk.artifact == Artifact(artifact_id="id-1", parts=(Part(text="result"),))
    assert (chunk.append, chunk.last_chunk) == (False, True)


async def test_none_completes_without_an_artifact() -> None:
    turn = RecordingTurn("hi")
    assert await finish(turn, None) == Completed()
    assert turn.chunks == []


@pytest.mark.parametrize("value", [0, False, [], {}])
async def test_an_empty_value_is_a_result_too(value: object) -> None:
    turn = RecordingTurn("hi")
    await finish(turn, value)
    assert turn.chunks[0].artifact.parts == (Part(data=value),)


async def test_an_artifact_is_published_as_it_is() -> None:
    turn = RecordingTurn("hi")
    artifact = Artifact(artifact_id="mine", name="n", parts=(Part(text="x"),))
    await finish(turn, artifact)
    assert turn.chunks[0].artifact is artifact


async def test_a_reply_becomes_the_final_status_message() -> None:
    turn = RecordingTurn("hi")
    outcome = await finish(turn, Reply("done"))
    assert isinstance(outcome, Completed)
    assert outcome.message == turn_message(RecordingTurn("hi"), Reply("done"))
    assert turn.chunks == []


async def test_a_message_is_taken_for_a_reply() -> None:
    outcome = await finish(RecordingTurn("hi"), user_message("done", metadata={"a": 1}))
    assert isinstance(outcome, Completed)
    assert outcome.message is not None
    assert (outcome.message.role, outcome.message.metadata) == (Role.AGENT, {"a": 1})


async def test_a_stream_is_one_artifact_whose_last_chunk_is_marked() -> None:
    turn = RecordingTurn("hi")
    stream = ArtifactStream(turn)
    await stream.add("a")
    await stream.add("b")
    await stream.add("")
    assert await stream.close() == Completed()
    assert [chunk.artifact.artifact_id for chunk in turn.chunks] == ["id-1"] * 2
    assert [chunk.artifact.parts[0].text for chunk in turn.chunks] == ["a", "b"]
    assert [chunk.append for chunk in turn.chunks] == [False, True]
    assert [chunk.last_chunk for chunk in turn.chunks] == [False, True]


async def test_a_stream_of_nothing_has_no_artifact() -> None:
    turn = RecordingTurn("hi")
    assert await ArtifactStream(turn).close() == Completed()
    assert turn.chunks == []


async def test_an_artifact_in_a_stream_is_no_chunk_of_it() -> None:
    turn = RecordingTurn("hi")
    stream = ArtifactStream(turn)
    await stream.add("a")
    await stream.add(Artifact(artifact_id="mine", parts=(Part(text="x"),)))
    await stream.add("b")
    await stream.close()
    assert [chunk.artifact.artifact_id for chunk in turn.chunks] == ["id-1", "mine", "id-1"]
    assert [chunk.append for chunk in turn.chunks] == [False, False, True]


async def test_a_reply_in_a_stream_is_refused() -> None:
    with pytest.raises(UsageError, match=r"ctx\.say"):
        await ArtifactStream(RecordingTurn("hi")).add(Reply("x"))
