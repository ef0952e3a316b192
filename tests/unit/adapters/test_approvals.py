import pytest

from dragoman.adapters.approvals import Decision, Kind, ToolCall, decide
from dragoman.agent.context import Context
from dragoman.agent.forms import SCHEMA_MEDIA_TYPE
from dragoman.testing import RecordingTurn

ALL: tuple[Kind, ...] = ("approve", "edit", "reject", "respond")


def call(*allowed: Kind, name: str = "buy") -> ToolCall:
    return ToolCall(name, {"item": "tea"}, f"May I call {name}?", allowed or ALL)


async def decided(turn: RecordingTurn, *calls: ToolCall) -> list[Decision]:
    return await decide(Context(turn), calls)


async def test_a_question_has_words_the_call_and_a_form() -> None:
    turn = RecordingTurn("go", answers=["yes"])
    await decided(turn, call("approve", "reject"))
    words, shown, form = turn.asked[0].parts
    assert words.text == "May I call buy?"
    assert shown.data == {"tool": "buy", "arguments": {"item": "tea"}}
    assert form.media_type == SCHEMA_MEDIA_TYPE
    assert form.data == {
        "schema": {
            "type": "object",
            "properties": {
                "decision": {"enum": ["approve", "reject"]},
                "message": {"type": "string", "description": "why, or the result"},
            },
            "required": ["decision"],
        }
    }


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ("yes", Decision("approve")),
        (" OK. ", Decision("approve")),
        (True, Decision("approve")),
        ("no", Decision("reject")),
        (False, Decision("reject")),
        ("No - too\nexpensive", Decision("reject", message="too\nexpensive")),
        ("rejected: too dear", Decision("reject", message="too dear")),
        ({"decision": "reject", "reason": "dear"}, Decision("reject", message="dear")),
        ({"decision": "edit", "arguments": {"n": 1}}, Decision("edit", {"n": 1})),
        ({"decision": "respond", "message": "here"}, Decision("respond", message="here")),
    ],
)
async def test_answers_are_understood(answer: object, decision: Decision) -> None:
    assert await decided(RecordingTurn("go", answers=[answer]), call()) == [decision]


@pytest.mark.parametrize(
    "wrong",
    [
        "maybe",
        "yes, but cheaper",
        "nothing",
        "edit",
        {},
        {"decision": "edit"},
        {"decision": "respond"},
        {"decision": "reject", "message": 7},
        {"decisions": [{"type": "approve"}, {"type": "approve"}]},
        {"decisions": ["approve"]},
    ],
)
async def test_what_is_not_understood_is_asked_again_and_told_what_is_wanted(wrong: object) -> None:
    turn = RecordingTurn("go", answers=[*[wrong] * 9, "yes"])
    assert await decided(turn, call()) == [Decision("approve")]
    assert len(turn.asked) == 10
    complaint = turn.asked[-1].parts[0].text or ""
    assert complaint == (
        'That is no decision about buy. Send "yes" to approve, or the form with other arguments, '
        'or "no" and why to reject, or the form with the result.'
    )


async def test_what_is_not_allowed_is_not_understood() -> None:
    turn = RecordingTurn("go", answers=["yes", {"decision": "edit", "arguments": {}}, "no"])
    assert await decided(turn, call("reject")) == [Decision("reject")]


async def test_a_tool_that_only_asks_is_given_the_text() -> None:
    turn = RecordingTurn("go", answers=["yes, blue"])
    assert await decided(turn, call("respond")) == [Decision("respond", message="yes, blue")]


async def test_each_call_is_asked_about_unless_all_are_answered_at_once() -> None:
    calls = (call(), call(name="pay"))
    turn = RecordingTurn("go", answers=["yes", "no"])
    assert await decided(turn, *calls) == [Decision("approve"), Decision("reject")]
    assert [asked.parts[0].text for asked in turn.asked] == ["May I call buy?", "May I call pay?"]
    both = {"decisions": [{"type": "reject", "message": "dear"}, {"type": "approve"}]}
    turn = RecordingTurn("go", answers=[both])
    assert await decided(turn, *calls) == [Decision("reject", message="dear"), Decision("approve")]
