import pytest

from dragoman.agent.client_tools import ToolUses, input_of, tools_of
from dragoman.errors import ToolError
from dragoman.extensions.agent_tools.declarations import ClientTool, declaration
from dragoman.extensions.agent_tools.exchange import ToolResult
from dragoman.model.base import JsonObject
from dragoman.model.client_tools import CLIENT_TOOLS
from dragoman.testing import RecordingTurn, user_message
from tests.support.agent.remembering import RememberingTurn

READ = ClientTool(
    name="read_file",
    description="Read.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
)
NOW = ClientTool(name="now", description="Tell the time.", parameters={"type": "object"})


def begun(*tools: ClientTool) -> RecordingTurn:
    return RecordingTurn(user_message("go", metadata=declaration(tools) if tools else None))


def test_tools_are_those_of_the_message() -> None:
    assert tools_of(begun(READ, NOW)) == (READ, NOW)
    assert tools_of(begun()) == ()


def test_an_answer_without_a_declaration_leaves_the_tools_as_they_were() -> None:
    turn = begun(READ)
    turn.message = user_message("an answer", message_id="message-2")
    assert tools_of(turn) == (READ,)


def test_the_latest_declaration_counts() -> None:
    turn = begun(READ)
    turn.message = user_message("an answer", metadata=declaration([NOW]), message_id="message-2")
    assert tools_of(turn) == (NOW,)


def test_a_declaration_that_breaks_a_rule_counts_as_none() -> None:
    broken = user_message("go", metadata={CLIENT_TOOLS: {"tools": [{"name": ""}]}})
    assert tools_of(RecordingTurn(broken)) == ()


@pytest.mark.parametrize(
    ("name", "arguments", "fault"),
    [
        ("write_file", {}, "The caller has no tool 'write_file'"),
        ("read_file", {}, "Missing required parameter: path"),
        ("read_file", {"path": 3}, "Parameter path has wrong type: expected string, got number"),
    ],
)
def test_what_cannot_be_asked_for_is_not_asked_for(
    name: str, arguments: dict[str, object], fault: str
) -> None:
    turn = begun(READ)
    with pytest.raises(ToolError) as caught:
        ToolUses.of(turn, [(name, arguments)])
    assert (str(caught.value), caught.value.tool) == (fault, name)
    assert turn.noted == []


def test_a_turn_that_is_run_again_asks_under_the_same_ids() -> None:
    first = RememberingTurn(user_message("go", metadata=declaration([READ, NOW])))
    wanted: list[tuple[str, JsonObject]] = [("read_file", {"path": "a"}), ("now", {})]
    uses = ToolUses.of(first, wanted)
    assert len({use.tool_use_id for use in uses.uses}) == 2
    assert ToolUses.of(first.again(), wanted) == uses


def test_people_are_told_what_is_wanted() -> None:
    turn = begun(READ, NOW)
    one = ToolUses.of(turn, [("read_file", {"path": "a"})])
    assert one.prompt == 'Please run the tool read_file with {"path":"a"}'
    two = ToolUses.of(turn, [("read_file", {"path": "a"}), ("now", {})])
    assert two.prompt == "Please run these tools: read_file, now"


def test_what_has_failed_is_told_with_its_tool() -> None:
    uses = ToolUses.of(begun(READ, NOW), [("now", {}), ("read_file", {"path": "a"}), ("now", {})])
    ids = [use.tool_use_id for use in uses.uses]
    told = [
        ToolResult(tool_use_id=ids[0], result={"value": 1}),
        ToolResult(tool_use_id=ids[1], error="no such file"),
        ToolResult(tool_use_id=ids[2], is_error=True),
    ]
    answer = user_message([result.part() for result in told])
    ok, failed, unsaid = uses.outcomes(answer)
    assert ok == {"value": 1}
    assert isinstance(failed, ToolError)
    assert (failed.tool, str(failed)) == ("read_file", "no such file")
    assert str(unsaid) == "The caller could not do it"


def test_an_answer_may_come_as_a_result() -> None:
    result = ToolResult(tool_use_id="r", result={"value": "secret"})
    answer = input_of(user_message("Here is the requested input:", result.part()))
    assert [part.text for part in answer.parts] == ["secret"]
    plain = user_message("just text")
    assert input_of(plain) is plain


def test_who_has_no_answer_may_say_so() -> None:
    refusal = ToolResult(tool_use_id="r", error="I will not tell")
    with pytest.raises(ToolError, match="I will not tell"):
        input_of(user_message(refusal.part()))
