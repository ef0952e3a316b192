from dataclasses import dataclass

import pytest

from dragoman.agent.context import Context
from dragoman.agent.forms import SCHEMA_MEDIA_TYPE
from dragoman.agent.results import Reply
from dragoman.errors import UsageError
from dragoman.model.messages import Role
from dragoman.model.parts import Part
from dragoman.model.schema import schema_of
from dragoman.model.tasks import Artifact
from dragoman.testing.turn import RecordingTurn


@dataclass
class Address:
    street: str
    number: int


def test_a_context_shows_its_task() -> None:
    turn = RecordingTurn(
        "hi",
        tenant="acme",
        owner="ada",
        scopes=("read", "write"),
        metadata={"a": 1},
        extensions=("https://x.example",),
        accepted_output_modes=("text/plain",),
    )
    ctx = Context(turn)
    assert (ctx.task_id, ctx.context_id) == ("task-1", "context-1")
    assert (ctx.tenant, ctx.user) == ("acme", "ada")
    assert (ctx.principal.owner, ctx.scopes) == ("ada", {"read", "write"})
    assert (ctx.message, ctx.history) == (turn.message, (turn.message,))
    assert ctx.metadata == {"a": 1}
    assert ctx.extensions == ("https://x.example",)
    assert ctx.accepted_output_modes == ("text/plain",)


async def test_say_publishes_a_message_of_the_agent() -> None:
    turn = RecordingTurn("hi")
    await Context(turn).say("Half way", {"percent": 50}, metadata={"a": 1})
    (message,) = turn.said
    assert message.role is Role.AGENT
    assert message.parts == (Part(text="Half way"), Part(data={"percent": 50}))
    assert message.metadata == {"a": 1}
    assert message.task_id == "task-1"


async def test_a_reply_is_said_with_its_metadata() -> None:
    turn = RecordingTurn("hi")
    await Context(turn).say(Reply("x", metadata={"a": 1}))
    assert turn.said[0].metadata == {"a": 1}


async def test_saying_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="something to say"):
        await Context(RecordingTurn("hi")).say()


async def test_an_artifact_gets_a_fresh_id_and_what_it_was_given() -> None:
    turn = RecordingTurn("hi")
    artifact_id = await Context(turn).artifact(
        {"a": 1}, name="n", description="d", metadata={"m": 1}
    )
    (chunk,) = turn.chunks
    assert artifact_id == "id-1"
    assert chunk.artifact == Artifact(
        artifact_id="id-1",
        name="n",
        description="d",
        parts=(Part(data={"a": 1}),),
        metadata={"m": 1},
    )
    assert (chunk.append, chunk.last_chunk) == (False, False)


async def test_an_artifact_is_extended_by_its_id() -> None:
    turn = RecordingTurn("hi")
    ctx = Context(turn)
    artifact_id = await ctx.artifact("a")
    assert await ctx.artifact("b", artifact_id=artifact_id, append=True, last_chunk=True) == "id-1"
    assert [chunk.append for chunk in turn.chunks] == [False, True]
    assert [chunk.last_chunk for chunk in turn.chunks] == [False, True]


async def test_an_artifact_value_keeps_its_own_id() -> None:
    turn = RecordingTurn("hi")
    artifact = Artifact(artifact_id="mine", parts=(Part(text="x"),))
    assert await Context(turn).artifact(artifact, append=True) == "mine"
    assert turn.chunks[0].artifact is artifact


async def test_appending_to_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="needs the artifact_id"):
        await Context(RecordingTurn("hi")).artifact("x", append=True)


async def test_ask_returns_the_text_of_the_answer() -> None:
    turn = RecordingTurn("hi", answers=["Rome"])
    assert await Context(turn).ask("Where?") == "Rome"
    assert turn.asked[0].parts == (Part(text="Where?"),)


async def test_ask_with_a_scalar_reads_the_text() -> None:
    turn = RecordingTurn("hi", answers=["21.5"])
    assert await Context(turn).ask("How warm?", float) == 21.5


async def test_ask_with_a_form_carries_its_schema_and_returns_its_value() -> None:
    turn = RecordingTurn("hi", answers=[{"street": "Via", "number": 1}])
    assert await Context(turn).ask("Where to?", Address) == Address("Via", 1)
    question, form = turn.asked[0].parts
    assert question == Part(text="Where to?")
    assert form.media_type == SCHEMA_MEDIA_TYPE
    assert form.data == {"schema": schema_of(Address)}


async def test_an_answer_that_does_not_fit_is_asked_again_with_the_field() -> None:
    turn = RecordingTurn("hi", answers=["Via 1", {"street": "Via"}, {"street": "Via", "number": 1}])
    assert await Context(turn).ask("Where to?", Address) == Address("Via", 1)
    assert [len(message.parts) for message in turn.asked] == [2, 3, 3]
    complaint, question, form = turn.asked[2].parts
    assert complaint.text == "Invalid parameters: message.parts[0].data.number is required"
    assert (question, form) == turn.asked[0].parts


async def test_a_question_may_be_a_reply_with_metadata() -> None:
    turn = RecordingTurn("hi", answers=["a", "1"])
    await Context(turn).ask(Reply("n?", metadata={"k": 1}), int)
    assert [message.metadata for message in turn.asked] == [{"k": 1}, {"k": 1}]


async def test_require_auth_asks_for_authorization_and_returns_the_message() -> None:
    turn = RecordingTurn("hi", answers=["done"])
    message = await Context(turn).require_auth("Sign in", details={"url": "https://id.example"})
    assert message.parts == (Part(text="done"),)
    (asked,) = turn.auth_asked
    assert asked.parts == (Part(text="Sign in"), Part(data={"url": "https://id.example"}))


async def test_the_history_grows_with_the_conversation() -> None:
    turn = RecordingTurn("hi", answers=["Rome"])
    ctx = Context(turn)
    await ctx.ask("Where?")
    assert [part.text for message in ctx.history for part in message.parts] == [
        "hi",
        "Where?",
        "Rome",
    ]
