import pytest

from dragoman.dialects.legacy.part_marks import UNKNOWN_KIND
from dragoman.dialects.legacy.tolerant import INPUT_REQUEST as MEMBER
from dragoman.dialects.profiles.rxjs.questions import (
    dress,
    dress_for_tools,
    has_results,
    with_tool_parts,
)
from dragoman.model.client_tools import CLIENT_TOOLS
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part

YES, NO = True, False
USE = Part(data={"kind": "tool-use", "toolUseId": "u-1", "name": "look", "input": {}})
RESULT = Part(data={"kind": "tool-result", "toolUseId": "u-1", "result": 1})


def message(*parts: Part, metadata: dict[str, object] | None = None) -> Message:
    return Message(
        message_id="m-1", role=Role.AGENT, parts=(Part(text="Key?"), *parts), metadata=metadata
    )


def request_in(dressed: Message) -> object:
    return (dressed.metadata or {}).get(MEMBER)


def test_what_is_no_question_is_left_as_it_is() -> None:
    said = message(USE)
    assert dress(said, NO) is said


def test_a_question_is_named_by_its_message() -> None:
    assert request_in(dress(message(), YES)) == {
        "kind": "input-request",
        "requestId": "m-1",
        "prompt": "Key?",
        "sensitive": False,
    }


def test_a_tool_is_named_by_its_use() -> None:
    request = request_in(dress(message(USE), YES))
    assert isinstance(request, dict)
    assert request["requestId"] == "u-1"


def test_several_tools_have_no_one_name() -> None:
    assert request_in(dress(message(USE, USE), YES)) is None


@pytest.mark.parametrize("key", [MEMBER, CLIENT_TOOLS])
def test_what_a_question_says_itself_stands(key: str) -> None:
    told = {"requestId": "r-1", "sensitive": True}
    metadata: dict[str, object] = {key: told if key == MEMBER else {"inputRequest": told}}
    assert request_in(dress(message(metadata=metadata), YES)) == told


def test_tools_are_parts_of_their_own_for_who_knows_them() -> None:
    dressed = dress_for_tools(message(USE, RESULT), NO)
    assert [part.metadata for part in dressed.parts] == [
        None,
        {UNKNOWN_KIND: "tool-use"},
        {UNKNOWN_KIND: "tool-result"},
    ]
    plain = message(Part(data={"kind": "odd"}), Part(data=[1]))
    assert with_tool_parts(plain) is plain


def test_an_answer_is_known_by_its_results() -> None:
    assert has_results(message(RESULT))
    assert not has_results(message(USE))
