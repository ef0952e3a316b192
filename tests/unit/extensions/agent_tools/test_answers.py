import pytest

from dragoman.errors import InvalidParamsError
from dragoman.extensions.agent_tools.answers import check_answer, is_sensitive, results_by_id
from dragoman.extensions.agent_tools.exchange import InputRequest, ToolResult, ToolUse
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part

ONE = ToolUse(tool_use_id="u-1", name="look")
TWO = ToolUse(tool_use_id="u-2", name="touch")


def asked(*parts: Part, metadata: dict[str, object] | None = None) -> Message:
    said = (Part(text="Please"), *parts)
    return Message(message_id="q-1", role=Role.AGENT, parts=said, metadata=metadata)


def answer(*parts: Part) -> Message:
    return Message(message_id="a-1", role=Role.USER, parts=parts or (Part(text="yes"),))


def result(name: str, value: object = "done") -> Part:
    return ToolResult(tool_use_id=name, result=value).part()


def test_results_are_told_apart_by_id() -> None:
    found = results_by_id((ONE, TWO), answer(result("u-2", 2), result("u-1", 1)))
    assert [found["u-1"].result, found["u-2"].result] == [1, 2]


def test_the_only_tool_may_be_answered_by_words_or_data() -> None:
    assert results_by_id((ONE,), answer())["u-1"].result == "yes"
    assert results_by_id((ONE,), answer(Part(text="x"), Part(data=[1])))["u-1"].result == [1]


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        (answer(), "lacks the tool-result of 'u-1'"),
        (answer(result("u-1")), r"lacks the tool-result of 'u-2' \(touch\)"),
        (answer(result("u-1"), result("u-1")), "has two results for 'u-1'"),
        (answer(result("u-3")), "has a result for 'u-3', which nobody waits for"),
    ],
)
def test_an_answer_to_several_tools_must_fit(told: Message, fault: str) -> None:
    with pytest.raises(InvalidParamsError, match=fault):
        check_answer(asked(ONE.part(), TWO.part()), told)


def test_an_answer_to_a_question_may_name_it() -> None:
    request = InputRequest(request_id="r-1", prompt="Key?")
    question = asked(metadata=request.metadata())
    for name in ("r-1", "q-1"):
        check_answer(question, answer(result(name)))
    check_answer(question, answer())


def test_an_answer_to_another_question_is_refused() -> None:
    with pytest.raises(InvalidParamsError, match="'u-1', which nobody waits for"):
        check_answer(asked(), answer(result("u-1")))


def test_a_result_for_a_task_that_does_not_wait_is_refused() -> None:
    check_answer(None, answer())
    with pytest.raises(InvalidParamsError, match="'u-1', too late"):
        check_answer(None, answer(result("u-1")))


def test_a_question_may_want_a_secret() -> None:
    secret = InputRequest(request_id="r", sensitive=True)
    assert is_sensitive(asked(metadata=secret.metadata()))
    assert not is_sensitive(asked())
