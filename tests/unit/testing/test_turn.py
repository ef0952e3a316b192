import pytest

from dragoman.errors import NoAnswerError
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact
from dragoman.service.worker import Turn
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


async def test_none_among_the_answers_is_that_none_comes_in_time() -> None:
    turn = RecordingTurn("hi", answers=[None, "late"])
    with pytest.raises(NoAnswerError):
        await turn.ask(user_message("?"), timeout_seconds=5)
    assert (await turn.ask(user_message("?"))).parts[0].text == "late"
    assert len(turn.asked) == 2


async def test_who_waits_forever_for_an_answer_that_does_not_come_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="waits for its answer forever"):
        await RecordingTurn("hi", answers=[None]).ask(user_message("?"))


async def test_every_durable_call_is_made_and_kept() -> None:
    turn = RecordingTurn("hi")
    assert turn.call_key("pay") == "task-1/1/pay"
    assert turn.recall("step", "pay") is None
    await turn.record("step", "pay", b"1")
    turn.note("now", "", b"2")
    assert turn.recall("step", "pay") is None
    assert turn.noted == [("step", "pay"), ("now", "")]
    assert turn.call_key("pay") == "task-1/3/pay"


async def test_a_sleep_is_over_at_once_and_moves_the_time_on() -> None:
    turn = RecordingTurn("hi")
    before = turn.now_ms()
    await turn.sleep(1.5)
    await turn.sleep(60)
    assert turn.slept == [1.5, 60]
    assert turn.now_ms() - before == 61_500


async def test_further_messages_are_taken_one_by_one_and_join_the_history() -> None:
    turn = RecordingTurn("hi")
    more = [user_message(text, message_id=text) for text in ("a", "b")]
    turn.waiting += more
    assert [await turn.take_message() for _ in range(3)] == [*more, None]
    assert turn.history() == (turn.message, *more)


def test_it_is_a_turn() -> None:
    turn: Turn = RecordingTurn("hi")
    assert (turn.task_id, turn.skill_id) == ("task-1", "")
