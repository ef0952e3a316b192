import pytest

from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact
from dragoman.testing.turn import RecordingTurn, user_message


def test_a_message_is_made_from_any_content() -> None:
    assert user_message("hi", {"a": 1}, metadata={"m": 1}) == Message(
        message_id="message-1",
        role=Role.USER,
        parts=(Part(text="hi"), Part(data={"a": 1})),
        metadata={"m": 1},
    )


def test_a_turn_takes_a_message_or_content() -> None:
    message = user_message("hi")
    assert RecordingTurn(message).message is message
    assert RecordingTurn("hi").message == message


async def test_what_is_published_is_kept() -> None:
    turn = RecordingTurn("hi")
    artifact = Artifact(artifact_id=turn.new_id(), parts=(Part(text="x"),))
    await turn.say(user_message("a"))
    await turn.artifact(artifact, append=True, last_chunk=True)
    await turn.flush()
    assert turn.said == [user_message("a")]
    assert (turn.chunks[0].artifact, turn.chunks[0].append) == (artifact, True)
    assert artifact.artifact_id == "id-1"


async def test_answers_are_given_in_order_and_join_the_history() -> None:
    turn = RecordingTurn("hi", answers=["a", user_message("b", message_id="m-2")])
    first = await turn.ask(user_message("?"))
    second = await turn.ask(user_message("??"), is_auth=True)
    assert (first.parts[0].text, second.message_id) == ("a", "m-2")
    assert len(turn.asked) == 2
    assert len(turn.auth_asked) == 1
    assert len(turn.history()) == 5


async def test_a_question_without_an_answer_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="no answer is left for question 1"):
        await RecordingTurn("hi").ask(user_message("?"))
