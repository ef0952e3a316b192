from dragoman.adapters.answers import GrowingAnswer, said_in, speaker
from dragoman.agent.context import Context
from dragoman.testing import RecordingTurn
from dragoman.testing.turn import user_message


def chunks_of(turn: RecordingTurn) -> list[tuple[object, bool, bool]]:
    return [
        (each.artifact.parts[0].text or each.artifact.parts[0].data, each.append, each.last_chunk)
        for each in turn.chunks
    ]


async def test_text_grows_and_ends() -> None:
    turn = RecordingTurn("hi")
    answer = GrowingAnswer(Context(turn), turn.message)
    await answer.add("It ")
    await answer.add("")
    await answer.add("rains")
    assert await answer.close("It rains") is None
    assert chunks_of(turn) == [("It ", False, False), ("rains", True, False)]
    assert {each.artifact.artifact_id for each in turn.chunks} == {"answer-message-1"}


async def test_what_was_no_answer_is_said_and_replaced() -> None:
    turn = RecordingTurn("hi")
    answer = GrowingAnswer(Context(turn), turn.message)
    await answer.add("Let me look")
    await answer.take_back()
    await answer.add("Rain")
    assert [message.parts[0].text for message in turn.said] == ["Let me look"]
    assert chunks_of(turn) == [("Let me look", False, False), ("Rain", False, False)]


async def test_a_result_that_was_not_written_replaces_what_was() -> None:
    turn = RecordingTurn("hi")
    answer = GrowingAnswer(Context(turn), turn.message)
    await answer.add("twelve")
    assert await answer.close({"degrees": 12}) is None
    assert chunks_of(turn)[-1] == ({"degrees": 12}, False, True)


async def test_a_result_without_any_text_is_left_to_the_skill() -> None:
    turn = RecordingTurn("hi")
    answer = GrowingAnswer(Context(turn), turn.message)
    await answer.take_back()
    assert await answer.close({"degrees": 12}) == {"degrees": 12}
    assert (turn.said, turn.chunks) == ([], [])


def test_data_counts_before_text() -> None:
    assert said_in(user_message("yes")) == "yes"
    assert said_in(user_message("see here", {"seat": 4})) == {"seat": 4}


def test_a_conversation_is_told_apart_by_tenant_and_owner() -> None:
    turns = [
        RecordingTurn("hi", tenant=tenant, owner=owner, context_id="c-1")
        for tenant, owner in (("", "ann"), ("", "bob"), ("acme", "ann"))
    ]
    assert len({speaker(Context(turn)) for turn in turns}) == 3
