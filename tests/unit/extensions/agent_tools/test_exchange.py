import pytest

from dragoman.dialects.legacy.tolerant import INPUT_REQUEST as FOREIGN
from dragoman.errors import InvalidParamsError
from dragoman.extensions.agent_tools.exchange import (
    InputRequest,
    ToolResult,
    ToolUse,
    input_request_in,
    results_in,
    uses_in,
)
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part

USE = ToolUse(tool_use_id="u-1", name="look", input={"at": "me"})


def question(metadata: dict[str, object] | None = None) -> Message:
    return Message(message_id="q", role=Role.AGENT, parts=(Part(text="?"),), metadata=metadata)


def test_a_tool_that_is_asked_for_is_a_data_part() -> None:
    part = USE.part()
    assert part.data == {
        "kind": "tool-use",
        "toolUseId": "u-1",
        "name": "look",
        "input": {"at": "me"},
    }
    assert uses_in((Part(text="Please"), part)) == (USE,)


def test_what_only_looks_like_a_tool_is_left_out() -> None:
    odd = Part(data={"kind": "tool-use", "toolUseId": 3})
    assert uses_in((odd, Part(data=[1]), Part(data={"kind": 3}), USE.part())) == (USE,)


def test_a_result_is_a_data_part() -> None:
    result = ToolResult(tool_use_id="u-1", result=[1, 2])
    assert result.part().data == {"kind": "tool-result", "toolUseId": "u-1", "result": [1, 2]}
    assert results_in((Part(text="Here:"), result.part())) == (result,)
    assert not result.has_failed


def test_a_result_may_be_nothing() -> None:
    result = ToolResult(tool_use_id="u-1")
    assert result.part().data == {"kind": "tool-result", "toolUseId": "u-1", "result": None}
    assert results_in((result.part(),)) == (result,)


@pytest.mark.parametrize(
    "result",
    [
        ToolResult(tool_use_id="u", error="no"),
        ToolResult(tool_use_id="u", error=""),
        ToolResult(tool_use_id="u", is_error=True),
    ],
)
def test_a_result_may_tell_of_a_failure(result: ToolResult) -> None:
    assert result.has_failed
    assert results_in((result.part(),)) == (result,)


def test_a_broken_result_is_refused() -> None:
    with pytest.raises(InvalidParamsError, match=r"message\.parts\[1\] is no tool-result"):
        results_in((Part(text="x"), Part(data={"kind": "tool-result"})))


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ("text", Part(text="text")),
        ({"value": "text"}, Part(text="text")),
        ({"value": 3}, Part(data=3)),
        ({"value": 3, "unit": "m"}, Part(data={"value": 3, "unit": "m"})),
    ],
)
def test_the_value_of_a_result_is_an_ordinary_part(result: object, content: Part) -> None:
    assert ToolResult(tool_use_id="u", result=result).content() == (content,)


def test_a_request_for_input_travels_in_metadata() -> None:
    request = InputRequest(request_id="r-1", prompt="Key?", sensitive=True)
    assert input_request_in(question(request.metadata())) == request


def test_a_request_of_another_manner_is_read_too() -> None:
    told = {"kind": "input-request", "requestId": "r-1", "prompt": "Key?", "sensitive": True}
    assert input_request_in(question({FOREIGN: told})) == InputRequest(
        request_id="r-1", prompt="Key?", sensitive=True
    )


@pytest.mark.parametrize("metadata", [None, {}, {FOREIGN: {"requestId": 3}}])
def test_a_plain_question_has_no_request(metadata: dict[str, object] | None) -> None:
    assert input_request_in(question(metadata)) is None
    assert input_request_in(None) is None
